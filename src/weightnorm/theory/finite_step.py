"""Where WN and rPGD end at finite steps, before running: momentum, mini-batches, clipping."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import erfc
from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import LARGEST
from ..problems.coordinates.factorisation import require_squarable
from ._drift import TAIL, Drift, TrainingSteps, drift_along
from ._followed import followed_side, steps_edge
from ._path_noise import certainty, drift_variance, flow_way
from ._root import perp_at_the_end
from ._row import LayerRow, RowSteps
from ._samples import Samples
from ._sign import critical_scale, limit_sign
from .limits import Limit, sign_by_rounding, warn_of_doubt
from .refuse import momentum_of, one_of
from .setup import Setup, require_target, set_up
from .statement import assume

# of the change that all drifts together could make, per unit of the equivalent step: the constant
# of the second order, measured over thousands of runs (tests/theory/test_beyond.py)
SECOND_ORDER = 3.0
INTEGRATION = 1e-7  # relative accuracy of the integration along the flow
WIDE = 6.0  # standard deviations of the end that mini-batches may take a run
ROUNDING = 1e-11  # of ‖x‖, where a run stops
VALID = 0.4  # the equivalent step up to which the first order is worth having
SURE = 5.0  # standard deviations of the noise that leave no doubt about the side


@dataclass(frozen=True, eq=False)
class FiniteStepLimit(Limit):
    """The predicted end of a run at finite steps.

    Attributes
    ----------
    drift : float
        The predicted change of I = log(‖w⊥‖/‖w‖) + g²/2c over the run, first order in the step;
        c times ‖w0‖² for weight normalization.
    error : float
        How far a run ends from the prediction at most, in ‖x‖, ‖x⊥‖ and the distance to x* alike,
        where `.applies`: second order in the step for full batches, an estimate with a constant
        measured over thousands of runs and not a proof; with mini-batches six times `.spread`
        besides. Infinite where the integration did not get to the end.
    spread : float
        An estimate from above of the standard deviation of ‖x⊥‖ that mini-batches cause among runs
        that end on one side, of order 3/2 in the step. 0 without them.
    probability : float
        That the scale ends positive, P(g∞ > 0): 0 or 1 for full batches, whose steps are followed
        until their side is settled (NaN where 20,000 are not enough, or rounding decides). With
        mini-batches it is Φ(u/σ), to leading order in the step, u the distance of the start from
        those that end in S = {g = 0, yᵀAŵ = 0} and σ the standard deviation that batches give it;
        `.scale` then has the likelier sign, and where |u| < 5σ the side is not promised: `.applies`
        is False.
    equivalent_step : float
        ρh·max(g²/N, c)·λmax along the way, h = η/(1 − β) and ρ = (1 + β)/(1 − β) (Nesterov:
        1 + 2β²/(1 − β)): what the first order is an expansion in. Beyond 0.4 nothing is promised.
    direction_norm : float
        ‖w‖ at the end; 1 for rPGD.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> predicted = wn.theory.finite_step_limit(problem, 1.0, w0, method="wn", step=0.01)
    >>> actual = wn.run(wn.WeightNorm(0.01, 0.01), problem, 1.0, w0, tolerance=1e-20)
    >>> abs(actual.perp_norm - predicted.perp_norm) < predicted.error
    True
    """

    drift: float
    error: float
    spread: float
    probability: float
    equivalent_step: float
    direction_norm: float


def finite_step_limit(  # noqa: PLR0913
    problem: Any,
    scale: float,
    direction: Any = None,
    method: str | None = None,
    step: float | None = None,
    ratio: float = 1.0,
    *,
    momentum: float = 0.0,
    nesterov: bool = False,
    batch_size: int | None = None,
    clip: float | None = None,
    direction_norm: float = 1.0,
    start_values: Any = None,
) -> FiniteStepLimit:
    """Predict where WN or rPGD with steps η = step and γ = ratio·step ends.

    Such a run follows the flow in time h = η/(1 − β) per step, β the momentum, and the flow's
    invariant drifts a little on the way: that moves the end by O(h). Let P be the projection across
    ŵ = w/‖w‖, s = ⟨ŵ, Aᵀr⟩ and p = ‖PAᵀr‖², N = ‖w‖², V_s and V_p the variances of s and of PAᵀr
    over mini-batches, and ρ = (1 + β)/(1 − β), for Nesterov 1 + 2β²/(1 − β). Per unit of time,

    rPGD: dI = (h/2)[ρ(cs² − g²p) + g²s² + cV_s − g²V_p + a₂g²V_s], I = log q + g²/2c, with
    a₂ = (1 − β)/(1 + β), for Nesterov ((1 + β)² + β⁴/(1 − β²))(1 − β)²;

    WN: dN = (hg²/N)(ρp + V_p) and dJ = (h/2)[ρk(s², p) + k(V_s, V_p)], J = log‖w⊥‖ + g²/2cN, with
    k(a, b) = (c/N − g²/N²)a − g⁴b/(cN³).

    It ends where G(1 − e^{j − G/cN}) = g*², j = 2J − log N (rPGD: 2I, N = 1).

    Steps that change in time keep the end of the flow as long as γ = cη, and so does clipping of
    the joint gradient of g and w, which only slows down: by a factor φ, and the drift by φ².

    Parameters
    ----------
    problem : LeastSquares
        The data A and y, with a y that is not zero in A's reach.
    scale : float
        g0, the scale of the start.
    direction : (d,) array, optional
        w0, the direction of the start, nonzero; it is normalised.
    method : {"rpgd", "wn"}
        Which method makes the steps. Coordinate-wise ones (Adam, sign descent) are refused: see
        `coordinate_wise_end`.
    step : float
        η, the direction's step; greater than 0.
    ratio : float
        c, the scale's step over the direction's; greater than 0.
    momentum : float
        β in [0, 1), in torch's convention, on both w and g.
    nesterov : bool
        Whether the momentum is Nesterov's.
    batch_size : int, optional
        Samples per step, without replacement, their gradient scaled to be unbiased.
    clip : float, optional
        The largest norm of the joint gradient by g and w. Not together with batch_size.
    direction_norm : float
        ‖w0‖ for weight normalization.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`. One of the
        two is needed, but for such a problem, where none is a start orthogonal to the data.

    Returns
    -------
    FiniteStepLimit
        The predicted end, with `.drift`, an `.error` and the `.equivalent_step`; `.applies` is
        False where the steps are too large for any of it.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> predicted = wn.theory.finite_step_limit(problem, 2.8, w0, "rpgd", 0.001, momentum=0.9)
    >>> actual = wn.run(wn.RPGD(0.001, 0.001, momentum=0.9), problem, 2.8, w0, tolerance=1e-20)
    >>> flow = wn.theory.flow_limit(problem, 2.8, w0)
    >>> 20 * abs(actual.norm - predicted.norm) < abs(actual.norm - flow.norm)
    True
    """
    method = validate.given("method", method)
    one_of("method", method, ("rpgd", "wn"))
    eta = validate.real("step", validate.given("step", step), minimum=0.0, strict=True)
    c = validate.real("ratio", ratio, minimum=0.0, strict=True)
    beta, ahead = momentum_of(momentum, nesterov)
    start_norm = validate.real("direction_norm", direction_norm, minimum=0.0, strict=True)
    if method == "rpgd" and start_norm != 1.0:
        raise ValueError(f"direction_norm must be 1 for rPGD, got {start_norm:g}")
    if clip is not None:
        clip = validate.real("clip", clip, minimum=0.0, strict=True)
        if batch_size is not None:
            raise ValueError(
                "clip and batch_size together have no known end: clipped batches are biased; "
                "leave one of them out"
            )
    setup = set_up(problem, scale, direction, start_values)
    require_target(setup)
    require_squarable("x*", setup.target, 1.0 / LARGEST, "rescale y and the scale")
    training = TrainingSteps(method, eta / (1.0 - beta), c, beta, ahead, clip, start_norm**2)
    samples = _samples(problem, setup, training, direction, start_values, batch_size)
    found = drift_along(setup, training, samples)
    flow_sign, settled = limit_sign(setup, c * start_norm**2)
    perp, norm = _end(setup, training, found, 0.0)
    shifts = [_end(setup, training, found, way * found.variation) for way in (-1.0, 1.0)]
    change = max(abs(a - b) for each in shifts for a, b in zip(each, (perp, norm), strict=True))
    clear = warn_of_doubt(setup, c * start_norm**2, norm)
    side = _side(setup, training, samples, found.equivalent, flow_sign)
    if sign_by_rounding(setup, c * start_norm**2):
        side = replace(side, probability=np.nan)
    moved = found.spread + _moved_by_noise(setup, training, samples, norm)
    wide = [_end(setup, training, found, way * moved)[0] for way in (-1.0, 1.0)]
    spread = 0.5 * abs(wide[1] - wide[0])
    error = SECOND_ORDER * change * found.equivalent + WIDE * spread
    inside = batch_size is None or batch_size == problem.shape[0] or float(problem.floor) == 0.0
    return FiniteStepLimit(
        weights=setup.lift(setup.target, side.sign * perp),
        scale=side.sign * norm,
        norm=norm,
        perp_norm=perp,
        distance=perp,
        drift=_change_of_invariant(training, found, norm),
        error=max(error, INTEGRATION * (change + norm * found.variation)) + ROUNDING * norm
        if found.done
        else np.inf,
        spread=spread,
        probability=side.probability,
        equivalent_step=found.equivalent,
        direction_norm=float(np.sqrt(found.square)),
        assumptions=(
            settled,
            clear,
            assume("finite steps end on the side of the flow", side.followed == flow_sign),
            assume("mini-batches leave no doubt about the sign of the scale", side.sure),
            assume("the drift has settled", found.done),
            assume(
                f"ρh·max(g²/N, c)·λmax ≤ {VALID:g}: the steps are small enough for a first order",
                found.equivalent <= VALID,
            ),
            assume("mini-batches interpolate: y is in A's reach", inside),
        ),
        paper="beyond the paper",
        _expand=setup.expand,
    )


def _samples(
    problem: Any,
    setup: Setup,
    training: TrainingSteps,
    direction: Any,
    start_values: Any,
    batch_size: Any,
) -> Samples | None:
    """The samples, in units of g* = λmax = ‖w0‖ = 1; None where all are seen at once."""
    if batch_size is None:
        return None
    m = int(problem.shape[0])
    size = validate.integer("batch_size", batch_size, minimum=1, maximum=m)
    if size == m:
        return None
    space = problem.reduce(samples=True)
    given = problem.start_direction(direction, start_values)
    unit = problem.unit_direction("direction", given, False)
    steep = float(np.sqrt(setup.lam.max()))
    return Samples(
        rows=space.problem.matrix / steep,
        targets=problem.y / (steep * setup.gstar),
        share=(m - size) / ((m - 1) * size),
        ratio=training.ratio * training.square / setup.gstar**2,
        start=space.start(unit)[0][:-1],
    )


@dataclass(frozen=True)
class _Side:
    """The sign with which the scale ends: the likelier one, that of steps without noise (None where
    it is not settled), and P(g∞ > 0).
    """

    sign: float
    followed: float | None
    probability: float
    sure: bool


def _side(
    setup: Setup,
    training: TrainingSteps,
    samples: Samples | None,
    equivalent: float,
    flow_sign: float,
) -> _Side:
    """On which side of S the steps pass, and what mini-batches make of it."""
    size, steep = setup.gstar, float(setup.lam.max())
    time = size**2 * steep
    singular = np.sqrt(setup.lam / steep)
    row = LayerRow(singular, singular * (setup.target / size), setup.g0 / size, setup.z0, setup.q0)
    beta, c = training.momentum, training.ratio / size**2
    steps = RowSteps(
        training.method, c, 0.0, training.step * (1.0 - beta) * time, beta, training.nesterov,
        norm=float(np.sqrt(training.square)),
    )  # fmt: skip
    clip = np.inf if training.clip is None else training.clip / (steep * size)
    coarsest = VALID / max(equivalent, 1e-300) if equivalent > 0 else 1.0
    way = followed_side(row, steps, coarsest, flow_sign, clip, size)
    followed = way.sign if way.settled else None
    sign = flow_sign if followed is None else followed
    if samples is None:
        probability = np.nan if followed is None else float(followed > 0)
        return _Side(sign, followed, probability, True)
    edge = critical_scale(setup, training.ratio * training.square)
    if edge is None:  # no scale in reach changes the side
        return _Side(sign, followed, float(sign > 0), True)
    moved = steps_edge(row, steps, edge / size, coarsest, size) if edge else 0.0
    h = training.step * time / training.square  # WN's directions move ‖w0‖² times more slowly
    away = certainty(samples, edge / size, setup.g0 / size - moved, h)
    if np.isnan(away):
        return _Side(sign, followed, np.nan, False)
    probability = 0.5 * erfc(-away / np.sqrt(2.0))
    return _Side(1.0 if away > 0 else -1.0, followed, probability, abs(away) >= SURE)


def _moved_by_noise(
    setup: Setup, training: TrainingSteps, samples: Samples | None, norm: float
) -> float:
    """The standard deviation of the drift that batches cause by moving the way."""
    if samples is None:
        return 0.0
    way = flow_way(samples, setup.g0 / setup.gstar, samples.start, TAIL)
    if way is None:
        return np.inf
    h = training.step * setup.gstar**2 * float(setup.lam.max()) / training.square
    coefficients = training.coefficients(samples.ratio, (norm / setup.gstar) ** 2)
    return float(np.sqrt(h**3 * drift_variance(samples, way, coefficients)))


def _change_of_invariant(training: TrainingSteps, found: Drift, norm: float) -> float:
    """That of log q + g²/2cN, N of the start, from that of log‖w⊥‖ + g²/2cN, N of each moment."""
    grown = found.square / training.square
    shift = norm / training.ratio * (norm / training.square) * (1.0 - 1.0 / grown)
    return found.change + 0.5 * (shift - float(np.log(grown)))


def _end(setup: Setup, training: TrainingSteps, found: Drift, more: float) -> tuple[float, float]:
    """‖x⊥‖ and ‖x‖ where the invariant has changed by so much more on the way."""
    ratio = training.ratio * found.square
    grown = found.square / training.square
    with np.errstate(divide="ignore", over="ignore"):
        # e^{g0²/c} with c = ratio·‖w0‖² in terms of the c at the end
        shift = setup.g0 * (setup.g0 / training.ratio) * (1.0 / training.square) * (1 - 1 / grown)
        log_q2 = 2.0 * (np.log(setup.q0) + found.change + more) - np.log(grown) + shift
    perp = float(perp_at_the_end(setup.g0, setup.gstar, log_q2, ratio))
    return perp, float(np.hypot(setup.gstar, perp))
