"""What one calls to predict: where training ends, with which steps, and how fast.

A function returns a small object with the value, the assumptions it checked (`.assumptions`,
`.applies`, `.failing`) and where the paper states it (`.paper`); a few plain formulas return
arrays. `weightnorm verify` checks each function against simulation.

Nothing here imports methods, runs or flows: a prediction must not contain what it predicts. The one
exception in name only is `plan`, which turns these bounds into methods that run; it lives in
`weightnorm.advice.planning` and is only offered here.
"""

import warnings
from typing import Any

from .._support import extensions
from .._support.late import OFFERED
from .batchnorm import batchnorm_limit
from .bracket import norm_bracket
from .comparison import Comparison, distance_map, wn_beats_gd
from .contraction import perp_after, steps_to_perp
from .coordinates import coordinate_wise_end, grouped_invariant
from .cycle import TwoCycle, two_cycle, two_cycle_basin
from .decay import DecayLimit, EdgeTime, edge_time, weight_decay_limit
from .dynamics import flow_outcome, invariant
from .finite_step import FiniteStepLimit, finite_step_limit
from .fixed_scale import fixed_scale_limit, frozen_contraction, restart_limit
from .iterative import IterativeLimit
from .layer import LayerLimit, linear_layer_limit
from .limits import Limit, flow_limit, flow_limit_as_printed, gd_limit
from .noise import NoiseEquilibrium, noise_equilibrium
from .one_step import invariant_drift
from .potential import bregman, potential
from .rates import convergence_time
from .safe_scale import safe_scale, safe_scale_steps
from .scalar_limits import limit_perp, limit_scale, limit_square, perp_of_limit, ratio_for_share
from .separable import MarginOffset, MaxMargin, max_margin, max_margin_offset
from .separatrix import ScaleSign, scale_sign
from .stability import Stability, stability
from .statement import Assumption, Bounds, Statement, Value
from .step_sizes import TwoPhase, two_phase_a, two_phase_b

__all__ = [
    "Assumption",
    "Bounds",
    "Comparison",
    "DecayLimit",
    "EdgeTime",
    "FiniteStepLimit",
    "IterativeLimit",
    "LayerLimit",
    "Limit",
    "MarginOffset",
    "MaxMargin",
    "NoiseEquilibrium",
    "ScaleSign",
    "Stability",
    "Statement",
    "TwoCycle",
    "TwoPhase",
    "Value",
    "batchnorm_limit",
    "bregman",
    "convergence_time",
    "coordinate_wise_end",
    "distance_map",
    "edge_time",
    "finite_step_limit",
    "fixed_scale_limit",
    "flow_limit",
    "flow_limit_as_printed",
    "flow_outcome",
    "frozen_contraction",
    "gd_limit",
    "grouped_invariant",
    "invariant",
    "invariant_drift",
    "limit_perp",
    "limit_scale",
    "limit_square",
    "linear_layer_limit",
    "max_margin",
    "max_margin_offset",
    "noise_equilibrium",
    "norm_bracket",
    "perp_after",
    "perp_of_limit",
    "potential",
    "ratio_for_share",
    "restart_limit",
    "safe_scale",
    "safe_scale_steps",
    "scale_sign",
    "stability",
    "steps_to_perp",
    "two_cycle",
    "two_cycle_basin",
    "two_phase_a",
    "two_phase_b",
    "weight_decay_limit",
    "wn_beats_gd",
]


# names of 0.3, for one release
RENAMED = {
    "escape": "norm_after_first_step",
    "general_matrix": "safe_scale",
    "general_matrix_any": "safe_scale_any",
    "general_matrix_random": "safe_scale_random",
    "general_matrix_second_stage": "safe_scale_second_stage",
    "general_matrix_steps": "safe_scale_steps",
}


def __getattr__(name: str) -> Any:
    if name == "plan":
        return OFFERED["theory.plan"]()
    if not name.startswith("_"):
        new, lemmas = RENAMED.get(name, name), extensions.load("lemmas")
        here = new in __all__
        if here or new in lemmas.__all__:
            place = "wn.theory" if here else lemmas.__name__
            message = f"wn.theory.{name} is {place}.{new} now"
            warnings.warn(message, DeprecationWarning, stacklevel=2)
            return globals()[new] if here else getattr(lemmas, new)
    raise AttributeError(f"module 'weightnorm.theory' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), "plan"])
