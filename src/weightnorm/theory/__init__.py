"""The theory, executable: one function per claim, each in its exact form.

A function returns a small object with the value, the assumptions it checked (`.assumptions`,
`.applies`, `.failing`) and where the paper states it (`.paper`); a few plain formulas return
arrays. `index.CLAIMS` lists every claim with its function, what the paper prints and what is true;
`weightnorm verify` checks each one against simulation.

Nothing here imports methods, runs or flows: a prediction must not contain what it predicts. The one
exception in name only is `plan`, which turns these bounds into methods that run; it lives in
`weightnorm.advice.planning` and is only offered here.
"""

from typing import Any

from .._support.late import OFFERED
from .adaptive import adaptive_lambda_rpgd, adaptive_lambda_sign, adaptive_lambda_wn
from .batch_norm import batchnorm_limit
from .bracket import norm_bracket
from .comparison import Comparison, distance_map, example_2d, wn_beats_gd
from .contraction import perp_after, perp_bound, perp_contraction, steps_to_perp
from .coordinates import coordinate_wise_end, grouped_invariant
from .cycle import TwoCycle, escape, two_cycle, two_cycle_basin
from .decay import DecayLimit, EdgeTime, edge_time, weight_decay_limit
from .discrete import (
    loss_gap,
    orthogonal_gstar,
    scale_gap,
    scale_increases,
    scale_keeps_increasing,
    scale_norm_recursion,
    scale_step,
    step_identities,
)
from .dynamics import (
    flow_field,
    flow_outcome,
    flow_step_sizes,
    gradients,
    invariant,
    perp_factor,
    stationary_point,
)
from .finite_step import FiniteStepLimit, finite_step_limit
from .fixed_scale import fixed_scale_limit, frozen_contraction, restart_limit, sphere_ball
from .general_matrix import (
    general_matrix,
    general_matrix_any,
    general_matrix_random,
    general_matrix_second_stage,
    general_matrix_steps,
    random_tail,
)
from .iterative import IterativeLimit
from .layer import LayerLimit, linear_layer_limit
from .limits import (
    Limit,
    flow_limit,
    flow_limit_as_printed,
    gd_limit,
    limit_perp,
    limit_scale,
    limit_square,
    perp_of_limit,
    ratio_for_share,
)
from .noise import NoiseEquilibrium, noise_equilibrium
from .one_step import invariant_drift, rpgd_step, wn_step
from .orders import (
    rho_tradeoff,
    two_phase_a_order,
    two_phase_a_step_order,
    two_phase_b_gain,
    two_phase_b_order,
    two_phase_b_second_order,
)
from .potential import bregman, potential
from .rates import convergence_time, loss_envelope, loss_rate, loss_rate_bounds
from .separable import MarginOffset, MaxMargin, max_margin, max_margin_offset
from .separatrix import ScaleSign, scale_sign
from .stability import Stability, stability
from .statement import Assumption, Bounds, Statement, Value
from .step_sizes import (
    TwoPhase,
    two_phase_a,
    two_phase_a_printed_second,
    two_phase_b,
    two_phase_b_bounds,
    two_phase_b_final,
)

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
    "adaptive_lambda_rpgd",
    "adaptive_lambda_sign",
    "adaptive_lambda_wn",
    "batchnorm_limit",
    "bregman",
    "convergence_time",
    "coordinate_wise_end",
    "distance_map",
    "edge_time",
    "escape",
    "example_2d",
    "finite_step_limit",
    "fixed_scale_limit",
    "flow_field",
    "flow_limit",
    "flow_limit_as_printed",
    "flow_outcome",
    "flow_step_sizes",
    "frozen_contraction",
    "gd_limit",
    "general_matrix",
    "general_matrix_any",
    "general_matrix_random",
    "general_matrix_second_stage",
    "general_matrix_steps",
    "gradients",
    "grouped_invariant",
    "invariant",
    "invariant_drift",
    "limit_perp",
    "limit_scale",
    "limit_square",
    "linear_layer_limit",
    "loss_envelope",
    "loss_gap",
    "loss_rate",
    "loss_rate_bounds",
    "max_margin",
    "max_margin_offset",
    "noise_equilibrium",
    "norm_bracket",
    "orthogonal_gstar",
    "perp_after",
    "perp_bound",
    "perp_contraction",
    "perp_factor",
    "perp_of_limit",
    "potential",
    "random_tail",
    "ratio_for_share",
    "restart_limit",
    "rho_tradeoff",
    "rpgd_step",
    "scale_gap",
    "scale_increases",
    "scale_keeps_increasing",
    "scale_norm_recursion",
    "scale_sign",
    "scale_step",
    "sphere_ball",
    "stability",
    "stationary_point",
    "step_identities",
    "steps_to_perp",
    "two_cycle",
    "two_cycle_basin",
    "two_phase_a",
    "two_phase_a_order",
    "two_phase_a_printed_second",
    "two_phase_a_step_order",
    "two_phase_b",
    "two_phase_b_bounds",
    "two_phase_b_final",
    "two_phase_b_gain",
    "two_phase_b_order",
    "two_phase_b_second_order",
    "weight_decay_limit",
    "wn_beats_gd",
    "wn_step",
]


def __getattr__(name: str) -> Any:
    if name == "plan":
        return OFFERED["theory.plan"]()
    raise AttributeError(f"module 'weightnorm.theory' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), "plan"])
