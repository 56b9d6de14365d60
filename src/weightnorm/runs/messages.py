"""Why a run ended, in a sentence: what happened, the number, and what to do about it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support.validate import is_dask
from ..advice.before_run import undisturbed
from ..engine.loop import Policy
from ..engine.stopping import gradient_vanishes, relative_gradient
from ..methods.steps import bind_steps
from ..theory import stability, two_cycle
from .result import Status

TINY = 1e-20  # a loss under this share of that of zero weights is rounding, one above it is not

# the theory's names of the methods whose stability it knows, and those whose ‖w‖ is their own
KINDS = {"RPGD": "rpgd", "WeightNorm": "wn", "GradientDescent": "gd", "BatchNorm": "batchnorm"}
FREE = ("WeightNorm", "BatchNorm")
IN_CYCLE = 0.01  # |g| this close, relatively, to that of the 2-cycle is in it


def explain(run: Any, status: Status, policy: Policy) -> str:
    """The status in a sentence: what happened, why, and what to do about it."""
    batch, tolerance, loss = run.batch, policy.tolerance, float(run.batch.loss[0])
    if status is Status.CONVERGED:
        return _converged(run, policy, loss)
    if status is Status.DIVERGED:
        if batch.ended_at[0] == 0:
            return (
                f"the loss is {loss:.6g} at the start already: rescale the problem or start nearer"
            )
        return f"the loss grew to {loss:.6g}, or ‖w‖ overflowed; {_smaller(run)}"
    floor = batch.problem.known_floor
    out_of_reach = floor if floor is not None and floor > tolerance else None
    if status is Status.STATIONARY:
        return _standstill(run, out_of_reach, floor is None, loss, tolerance)
    text = f"made max_steps = {policy.max_steps} steps; the loss is {loss:.6g}"
    if tolerance > 0:
        text += f", above tolerance {tolerance:g}"
        if out_of_reach is not None:
            text += f"; y is partly out of reach, so the loss cannot go below {out_of_reach:.6g}"
    cause = _unfinished(run)
    return f"{text}; {cause}" if cause else text


def _converged(run: Any, policy: Policy, loss: float) -> str:
    if loss <= policy.tolerance:
        return f"loss {loss:.6g} <= tolerance {policy.tolerance:g}"
    share, asked = float(relative_gradient(run.batch)[0]), policy.stopping.gradient_tolerance
    if asked is not None and share <= asked:
        within = f"within gradient_tolerance {asked:g}"
        return f"the gradient is {share:.2g} of its terms, {within}; the loss is {loss:.6g}"
    return (
        f"the gradient vanishes to rounding ({share:.2g} of its terms): the optimum of a "
        f"convex loss, at loss {loss:.6g}"
    )


def _unfinished(run: Any) -> str | None:
    """Why a run that has used up its steps did not end, where that can be told."""
    if known := _shrinking(run) or _two_cycle(run):
        return known
    stopping = run.stopping
    for seen, note in (
        (stopping.cycling, "it keeps coming back to the same points, a cycle"),
        (stopping.rough, "the loss goes up and down"),
    ):
        if seen is not None and seen[0]:
            return f"{note}: {_smaller(run)}"
    return _threshold(run)


def _smaller(run: Any) -> str:
    """The advice to take smaller steps, and how small they must be where that is known."""
    known = _threshold(run)
    return f"try smaller steps: {known}" if known else "try smaller steps"


def _threshold(run: Any) -> str | None:
    """The largest stable steps where the run's own are not; None where they are, or where the
    theory of stability does not apply.
    """
    method, batch = run.method, run.batch
    kind = KINDS.get(method.name)
    if kind is None or not undisturbed(method) or method.per_column:
        return None
    if not run.problem.is_least_squares or not run.problem.is_factorised:
        return None
    position = batch.position()
    scale, length = np.abs(position.scale[0]), position.direction_norm[0]
    steps = []
    for bound in bind_steps(method, batch.problem):
        with np.errstate(all="ignore"):
            powers = scale**bound.scale_power * length**bound.norm_power
            value = bound.values(max(0, batch.clock - 1), 1)[0] * bound.factor
            steps.append(float(value * powers if method.has_scale else value))
    norm = max(float(scale), float(np.linalg.norm(run.problem.target)))
    if not np.isfinite([norm, *steps]).all():
        return None
    options: dict[str, Any] = {"momentum": method.momentum, "nesterov": method.nesterov}
    if method.name in FREE:
        options["direction_norm"] = float(length)
    try:
        found = stability(run.problem, norm, steps[0], steps[1], method=kind, **options)
    except ValueError:  # no y, or weights that are not finite
        return None
    if found.stable:
        return None
    if kind == "gd":
        return f"the step {steps[0]:.4g} is not stable; take one < {found.max_direction_step:.4g}"
    text = f"at ‖x‖ = {norm:.4g} the steps {steps[0]:.4g} of w and {steps[1]:.4g} of g are not "
    if found.max_direction_step > 0:
        return f"{text}stable together; take a step of w < {found.max_direction_step:.4g}"
    alone = stability(run.problem, norm, 0.0, 0.0, method=kind, **options)
    return f"{text}stable; take a scale step < {alone.max_scale_step:.4g}"


def _two_cycle(run: Any) -> str | None:
    """That rPGD is in its 2-cycle, and how to stay out of it; None for anything else."""
    method, clock = run.method, run.batch.clock
    turn, grow = method.schedules
    plain = grow.function is None and (grow.scale_power, grow.norm_power) == (0.0, 0.0)
    plain &= undisturbed(method) and not method.momentum
    if method.name != "RPGD" or not turn.per_curvature or turn.phases != (1.0,) or not plain:
        return None
    step, position = float(grow(clock)), run.batch.position()
    try:
        unit = run.lifter.lift(position.unit[0])
        if is_dask(unit):  # to be told would cost a pass over the data
            return None
        now = two_cycle(run.problem, float(position.scale[0]), unit, step)
        start = two_cycle(run.problem, run.beginning.scale, unit, step)
    except (TypeError, ValueError):  # no least squares, or no y: the theory does not apply
        return None
    if not now.trapped or grow.settled_from is None or grow.settled_from > clock:
        return None
    there = abs(abs(float(position.scale[0])) - now.scale) <= IN_CYCLE * now.scale
    text = f"rPGD is {'in' if there else 'heading for'} the 2-cycle g = ±{now.scale:.4g}, loss "
    text += f"{now.loss:.6g}, which no step leaves: "
    if grow.switches:
        return text + "start again with the first scale step frozen"
    return (
        f"{text}freeze the first step, scale_step=two_phase(0, {step:g}, 1), or take a scale step "
        f"< {start.safe_step:.3g}"
    )


def _shrinking(run: Any) -> str | None:
    """That decay shrinks a w which nothing else brings back, so that the run does not come to
    rest; None for anything else.
    """
    method = run.method
    if not (method.free_norm and method.direction_decay):
        return None
    norm = float(np.ravel(run.batch.position().direction_norm)[0])
    return (
        f"direction_decay shrinks w, now ‖w‖ = {norm:.3g}, so that the steps of its direction, "
        "η/‖w‖², grow until they throw x off: it does not come to rest"
    )


def _balance(run: Any, loss: float) -> str | None:
    """That the loss and the decay cancel; None where there is no decay, or it cannot act."""
    method = run.method
    if not method.penalised or method.schedules[int(method.has_scale)].ends_frozen:
        return None
    name, square = ("scale_decay", "g²") if method.has_scale else ("direction_decay", "‖x‖²")
    known = run.problem.known_floor is not None or run.problem.converges_at_optimum
    where = "the minimum" if known else "a minimum, or another point of rest,"
    return (
        f"the decay and the loss balance: {where} of the loss plus ½·{name}·{square}, at loss "
        f"{loss:.6g}; for less loss use less decay"
    )


def _standstill(run: Any, floor: float | None, unknown: bool, loss: float, tolerance: float) -> str:
    batch, method = run.batch, run.method
    position = batch.position()
    if own := batch.problem.explain_rest(position.unit, position.scale):
        return f"{own}; the loss stays {loss:.6g}"
    if method.has_scale and not np.any(position.scale[0]):
        return (
            f"a point of {run.problem.rest_set}: no step leaves it, and the loss stays {loss:.6g}"
        )
    if balance := _balance(run, loss):
        return balance
    if floor is not None:
        return (
            f"the floor of an unreachable y: the loss cannot go below {floor:.6g}, above "
            f"tolerance {tolerance:g}"
        )
    frozen = [
        name
        for name, s in zip(("direction", "scale"), method.schedules, strict=True)
        if s.ends_frozen
    ]
    if len(frozen) == 2:
        return f"every step is zero from here on; the loss stays {loss:.6g}"
    if method.has_scale and frozen:
        return (
            f"the {frozen[0]} will not move any more, and the rest has settled at loss {loss:.6g}"
        )
    if unknown and loss > TINY * run.problem.zero_loss and bool(gradient_vanishes(batch)[0]):
        return (
            f"{run.problem.zero_gradient}; the gradient vanishes at loss {loss:.6g}, above "
            f"tolerance {tolerance:g}"
        )
    return (
        f"the update no longer moves the iterate, at loss {loss:.6g}: rounding allows no less; "
        "raise the tolerance"
    )
