"""Where WN and rPGD end at a finite step, before running: the flow's limit, corrected by the
drift of its invariant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from ._integrate import integrate_until
from ._root import perp_at_the_end
from ._sign import limit_sign, perp_square
from .limits import Limit
from .setup import Setup, require_target, set_up
from .statement import assume

# relative accuracy of the integration along the flow: no prediction is better than that
INTEGRATION = 1e-10
# ‖Aᵀr‖² fallen by this factor: the drift is an integral of such squares, and what is left of it is
# nothing
TAIL = 1e-14


@dataclass(frozen=True, eq=False)
class FiniteStepLimit(Limit):
    """The predicted end of a run at a finite step.

    Attributes
    ----------
    drift : float
        The predicted change of I = log(‖w⊥‖/‖w‖) + g²/2c over the run, first order in the step.
    error : float
        An estimate of how far a run ends from the prediction, in ‖x‖, ‖x⊥‖ and the distance to x*
        alike. It is second order in the step: what the drift's total variation would change, times
        the step, times the largest rate along the flow; and at least what the integration may err.
        Infinite where the integration did not get to the end.

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


def finite_step_limit(
    problem: Any, scale: float, direction: Any, method: str, step: float, ratio: float = 1.0
) -> FiniteStepLimit:
    """Predict where WN or rPGD with steps η = step and γ = ratio·step ends.

    It is `flow_limit` with F0·e^{2D}, F0 = ‖w0⊥‖² e^{g0²/c}. D is the second-order drift of the
    invariant per step, integrated along the flow: rPGD dD/dt = (η/2)[(c + g²)s² − g²‖PAᵀr‖²]; WN
    dD/dt = (η/2)[(c − g²)s² − g²‖PAᵀr‖²] + gs(1/N − 1), with N = ‖w‖² growing by
    dN/dt = ηg²‖PAᵀr‖²/N. The error is second order in η.

    Parameters
    ----------
    problem : LeastSquares
        The data A and y, with a y that is not zero in A's reach.
    scale : float
        g0, the scale of the start.
    direction : (d,) array
        w0, the direction of the start, nonzero; it is normalised.
    method : {"rpgd", "wn"}
        Which method makes the steps.
    step : float
        η, the direction's step; greater than 0.
    ratio : float
        c, the scale's step over the direction's; greater than 0.

    Returns
    -------
    FiniteStepLimit
        The predicted end, with `.drift` and an estimate of its `.error`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> predicted = wn.theory.finite_step_limit(problem, 2.8, w0, method="rpgd", step=0.02)
    >>> actual = wn.run(wn.RPGD(0.02, 0.02), problem, 2.8, w0, tolerance=1e-20)
    >>> flow = wn.theory.flow_limit(problem, 2.8, w0)
    >>> abs(actual.norm - predicted.norm) < 1e-3 < abs(actual.norm - flow.norm)
    True
    """
    _validate.choice("method", method, ("rpgd", "wn"))
    eta = _validate.real("step", step, minimum=0.0, strict=True)
    c = _validate.real("ratio", ratio, minimum=0.0, strict=True)
    setup = set_up(problem, scale, direction)
    require_target(setup)
    sign, settled = limit_sign(setup, c)
    drift, variation, rate, done = _integrated_drift(setup, c, eta, method)

    def end(change: float) -> tuple[float, float]:
        """‖x⊥‖ and ‖x‖ where the invariant has changed by so much on the way."""
        with np.errstate(divide="ignore"):
            log_q2 = 2.0 * (np.log(setup.q0) + change)
        perp = float(perp_at_the_end(setup.g0, setup.gstar, log_q2, c))
        return perp, float(np.hypot(setup.gstar, perp))

    perp, norm = end(drift)
    stable = eta * rate
    moved = tuple(zip(end(drift + variation), (perp, norm), strict=True))
    return FiniteStepLimit(
        weights=setup.lift(setup.target, sign * perp),
        scale=sign * norm,
        norm=norm,
        perp_norm=perp,
        distance=perp,
        drift=drift,
        error=max(*((a - b) * stable for a, b in moved), INTEGRATION * norm) if done else np.inf,
        assumptions=(
            settled,
            assume("the drift has settled", done),
            assume("the step is well inside the stable range, η·max(g², c)·λmax < 1", stable < 1.0),
        ),
        paper="beyond the paper",
    )


def _integrated_drift(
    setup: Setup, c: float, eta: float, method: str
) -> tuple[float, float, float, bool]:
    """D along the flow, its total variation, the largest rate max(g², c)·λmax on the way, and
    whether it has settled.
    """
    lam, xi = setup.lam, setup.target
    sign = 1.0 if method == "rpgd" else -1.0

    def unit(state: NDArray[np.float64]) -> tuple[NDArray[np.float64], float]:
        """The row-space part of w/‖w‖ and the square of the rest, with w⊥ from the flow's
        invariant.
        """
        perp2 = perp_square(setup, float(state[0]), c)
        whole = state[1:-3] @ state[1:-3] + perp2
        return state[1:-3] / np.sqrt(whole), float(perp2 / whole)

    def field(t: float, state: NDArray[np.float64]) -> NDArray[np.float64]:
        g, square = state[0], state[-3]
        z, perp2 = unit(state)
        pull = lam * (g * z - xi)
        s = z @ pull
        across = pull - s * z
        # The part of Aᵀr across w has no component off the row space except that of −s·w⊥, whose
        # square is s²‖w⊥‖².
        size = across @ across + s * s * perp2
        along, across_part = 0.5 * eta * (c + sign * g * g) * s * s, 0.5 * eta * g * g * size
        growth = g * s * (1.0 / square - 1.0) if method == "wn" else 0.0
        drift, variation = along - across_part + growth, abs(along) + across_part + abs(growth)
        return np.concatenate(
            [[-c * s], -g * across, [eta * g * g * size / square, drift, variation]]
        )

    start = np.concatenate([[setup.g0], setup.z0, [1.0, 0.0, 0.0]])
    reference = max(
        float(np.sum((lam * xi) ** 2)), float(np.sum((lam * (setup.g0 * setup.z0 - xi)) ** 2))
    )
    widest = [abs(setup.g0)]

    def settled(state: NDArray[np.float64]) -> bool:
        return bool(np.sum((lam * (state[0] * unit(state)[0] - xi)) ** 2) <= TAIL * reference)

    end, done = integrate_until(
        field, start, settled, lambda state: widest.append(abs(float(state[0])))
    )
    return float(end[-2]), float(end[-1]), max(max(widest) ** 2, c) * float(lam.max()), done
