"""The lemmas of the paper that checks and proofs use, and what the paper prints.

They are written like the functions of `weightnorm.theory` and follow its rule: nothing here imports
methods, runs or flows. What one calls to predict where training ends is in `weightnorm.theory`.
"""

from .adaptive import adaptive_lambda_rpgd, adaptive_lambda_sign, adaptive_lambda_wn
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
from .example import example_2d
from .flow import flow_field, flow_step_sizes, gradients, perp_factor, sphere_ball, stationary_point
from .forgetting import norm_after_first_step, perp_bound, perp_contraction
from .losses import loss_envelope, loss_rate, loss_rate_bounds
from .matrices import random_tail, safe_scale_any, safe_scale_random, safe_scale_second_stage
from .orders import (
    rho_tradeoff,
    two_phase_a_order,
    two_phase_a_step_order,
    two_phase_b_gain,
    two_phase_b_order,
    two_phase_b_second_order,
)
from .phases import two_phase_a_printed_second, two_phase_b_bounds, two_phase_b_final
from .steps import rpgd_step, wn_step

__all__ = [
    "adaptive_lambda_rpgd",
    "adaptive_lambda_sign",
    "adaptive_lambda_wn",
    "example_2d",
    "flow_field",
    "flow_step_sizes",
    "gradients",
    "loss_envelope",
    "loss_gap",
    "loss_rate",
    "loss_rate_bounds",
    "norm_after_first_step",
    "orthogonal_gstar",
    "perp_bound",
    "perp_contraction",
    "perp_factor",
    "random_tail",
    "rho_tradeoff",
    "rpgd_step",
    "safe_scale_any",
    "safe_scale_random",
    "safe_scale_second_stage",
    "scale_gap",
    "scale_increases",
    "scale_keeps_increasing",
    "scale_norm_recursion",
    "scale_step",
    "sphere_ball",
    "stationary_point",
    "step_identities",
    "two_phase_a_order",
    "two_phase_a_printed_second",
    "two_phase_a_step_order",
    "two_phase_b_bounds",
    "two_phase_b_final",
    "two_phase_b_gain",
    "two_phase_b_order",
    "two_phase_b_second_order",
    "wn_step",
]
