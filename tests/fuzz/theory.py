"""Random calls of the theory: functions of a problem and a start, and plain formulas of numbers."""

from __future__ import annotations

from tests.fuzz.problems import least_squares, start
from tests.fuzz.values import Values
from weightnorm_paper import lemmas

OF_START = ("flow_limit", "flow_limit_as_printed", "gd_limit", "fixed_scale_limit", "restart_limit")

# A parameter's sensible values; the rest is drawn from the hostile ones.
GOOD = {
    "g": ("1.0", "2.0", "-1.0", "0.5"),
    "g_next": ("1.1", "0.9"),
    "g0": ("1.0", "0.5", "2.0"),
    "g_limit": ("3.1", "3.0"),
    "gstar": ("3.0", "2.5"),
    "q0": ("0.7", "0.1", "1.0", "0.0"),
    "ratio": ("1.0", "0.1", "1e-3"),
    "v_norm": ("1.2", "2.0"),
    "step": ("0.1", "0.5"),
    "norm": ("1.0", "2.0"),
    "norm_next": ("1.5",),
    "along": ("0.3", "-0.3"),
    "parallel": ("0.6", "0.0"),
    "cosine": ("-0.6", "0.3"),
    "residual": ("1.0",),
    "a": ("3.0",),
    "b": ("2.9",),
    "perp": ("0.5", "1.0"),
    "next_parallel": ("0.8",),
    "time": ("1.0",),
    "scale_bound": ("1.0",),
    "smallest": ("0.5",),
    "largest": ("1.0", "2.0"),
    "delta": ("1.0", "0.5"),
    "rho": ("0.5", "0.1"),
    "accuracy": ("0.01", "0.1"),
    "second_step": ("0.5", "1.0"),
    "perp_norm": ("0.5",),
    "log_f0": ("1.0", "-2.0"),
    "s": ("0.5",),
    "across": ("0.2",),
    "g_array": ("1.0",),
}

FORMULAS = {
    "limit_scale": "g0 gstar q0 ratio",
    "limit_square": "log_f0 gstar ratio",
    "perp_of_limit": "g0 g_limit q0 ratio",
    "wn_beats_gd": "g0 gstar q0 ratio",
    "example_2d": "g0 ratio",
    "perp_factor": "g0 g ratio norm",
    "invariant": "perp_norm g ratio",
    "flow_step_sizes": "step ratio",
    "loss_envelope": "time scale_bound ratio smallest",
    "adaptive_lambda_rpgd": "g g_next v_norm step",
    "adaptive_lambda_wn": "g g_next norm norm_next along step",
    "adaptive_lambda_sign": "g parallel gstar",
    "scale_step": "g v_norm residual step",
    "scale_gap": "a b g step",
    "scale_increases": "g a step",
    "scale_norm_recursion": "a g parallel",
    "perp_contraction": "perp g gstar",
    "loss_gap": "g_next g v_norm next_parallel",
    "norm_after_first_step": "g0 parallel gstar",
    "two_phase_a": "gstar g0 parallel accuracy rho second_step",
    "two_phase_a_printed_second": "gstar g0 accuracy rho second_step",
    "two_phase_b": "gstar g0 accuracy second_step parallel",
    "two_phase_b_final": "gstar accuracy",
    "two_phase_b_second_order": "gstar g0 accuracy second_step",
    "two_phase_a_step_order": "gstar g0 parallel accuracy rho",
    "rho_tradeoff": "gstar g0 accuracy rho second_step",
    "scale_keeps_increasing": "g0 parallel gstar step",
    "steps_to_perp": "perp g gstar accuracy",
    "two_cycle_basin": "g0 cosine parallel gstar step",
    "safe_scale_second_stage": "g0 perp smallest largest",
    "two_phase_b_bounds": "g gstar accuracy step",
    "two_phase_a_order": "gstar g0 accuracy rho",
    "two_phase_b_order": "gstar g0 accuracy",
    "two_phase_b_gain": "gstar g0",
    "safe_scale": "gstar smallest largest delta",
    "safe_scale_steps": "q0 accuracy delta",
}
VECTORISED = ("limit_scale", "limit_square", "perp_of_limit", "perp_factor", "invariant")


def home(name: str) -> str:
    """The module of a function, as a call writes it."""
    return "lemmas" if name in lemmas.__all__ else "wn.theory"


def theory_formula(v: Values) -> str:
    """A formula of plain numbers, or of arrays where it takes them."""
    kind = v.rng.random()
    if kind < 0.75:
        name = v.pick(tuple(FORMULAS))
        arguments = [(p, v.number(*GOOD[p])) for p in FORMULAS[name].split()]
        if name in VECTORISED and v.chance(0.3):
            arguments[0] = (arguments[0][0], v.array(4))
        return f"{home(name)}.{name}({', '.join(f'{p}={text}' for p, text in arguments)})"
    name = v.pick(
        (
            "distance_map",
            "step_identities",
            "perp_bound",
            "orthogonal_gstar",
            "wn_step",
            "rpgd_step",
            "invariant_drift",
            "safe_scale_any",
            "safe_scale_random",
        )
    )
    number = lambda p: v.number(*GOOD[p])  # noqa: E731

    def positive(n: int) -> str:
        drawn = v.array(n)
        return v.bind(f"np.abs({drawn}) + 0.1") if v.clean else drawn

    arguments = {
        "distance_map": lambda: f"{v.array(3)}, {positive(2)}, {number('gstar')}, {number('q0')}",
        "step_identities": lambda: (
            f"{number('g')}, {number('g_next')}, {number('parallel')}, {v.array(3)}"
        ),
        "perp_bound": lambda: f"{positive(3)}, {v.array(3, scale='0.1')}, {number('gstar')}",
        "orthogonal_gstar": lambda: v.array(3),
        "wn_step": lambda: f"{number('g')}, {v.array(3)}, {v.array(3)}, {number('step')}",
        "rpgd_step": lambda: f"{number('g')}, {v.array(3)}, {v.array(3)}, {number('step')}",
        "invariant_drift": lambda: ", ".join(
            [v.word("rpgd", "wn"), number("g"), number("s"), number("across"), number("ratio")]
        ),
        "safe_scale_any": lambda: f"{number('gstar')}, {positive(3)}, {number('delta')}",
        "safe_scale_random": lambda: (
            f"{number('gstar')}, {positive(v.pick((1, 3, 12)))}, {number('delta')}"
        ),
    }[name]()
    return f"{home(name)}.{name}({arguments})"


def theory_of_problem(v: Values) -> str:
    """A prediction for a problem and a start."""
    data = least_squares(v, kernels=True)
    problem = data.text
    if v.chance(0.2 * v.hostility):
        v.clean = False
        problem = v.pick(("None", "np.eye(3)", "wn.GeneralizedLinear([[1.0, 2.0]], [1])", "3"))
    name = v.pick(
        (
            *OF_START,
            "flow_limit",
            "flow_limit",
            "finite_step_limit",
            "finite_step_limit",
            "sphere_ball",
            "convergence_time",
            "flow_outcome",
            "flow_field",
            "gradients",
            "stationary_point",
            "loss_rate_bounds",
            "plan",
            "plan",
        )
    )
    placed = name != "sphere_ball" and (name != "plan" or v.chance(0.5))
    scale, w = start(v, data.d) if placed else (v.number("1.0", "5.0"), "None")
    ratio = (
        v.number("1.0", "0.1", "10.0", "1e-3")
        if v.chance(0.7)
        else v.pick(("1e-12", "1e-7", "1e7", "1e-300"))
    )
    if name in OF_START:
        last = f", {ratio}" if name.startswith("flow") else ""
        return f"wn.theory.{name}({problem}, {scale}, {w}{last})"
    arguments = {
        "finite_step_limit": f"{scale}, {w}, {v.word('rpgd', 'wn')}, "
        f"{v.number('0.01', '0.1')}, {ratio}",
        "sphere_ball": scale,
        "convergence_time": f"{scale}, {w}, {ratio}, {v.number('1e-6', '1e-2')}",
        "flow_outcome": f"{scale}, {w}, {ratio}",
        "flow_field": f"{scale}, {w}, {ratio}",
        "gradients": f"{scale}, {w}",
        "stationary_point": f"{scale}, {w}",
        "loss_rate_bounds": f"{scale}, {w}, {ratio}",
        "plan": v.number("1e-3", "0.1", "1e-8") + (f", {scale}, {w}" if placed else ""),
    }[name]
    call = f"{home(name)}.{name}({problem}, {arguments})"
    return (
        f"{call}.run({v.array(data.d)})"
        if name == "plan" and v.clean and data.plain and v.chance(0.3)
        else call
    )
