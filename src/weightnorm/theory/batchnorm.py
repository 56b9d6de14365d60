"""Where batch norm ends: x = g·w/‖Aw‖."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import Array
from ..problems.coordinates.factorisation import scaled_norm
from ._integrate import integrate_until
from .limits import Limit
from .setup import Setup, require_target, set_up
from .statement import Assumption, assume

ROUNDING = 1e-14
NOT_STUCK = "the start is not on the stable set of S"


def batchnorm_limit(
    problem: Any,
    scale: float,
    direction: Any = None,
    ratio: float = 1.0,
    grown: float = 0.0,
    *,
    start_values: Any = None,
    sign: float | None = None,
) -> Limit:
    """Predict where batch norm, x = g·w/‖Aw‖, ends: at x* ± (g*/‖w0∥‖)w0⊥.

    The gradient by w lies in the row space and is orthogonal to w, so w⊥ never moves, under any
    optimiser that adds multiples of gradients, and the flow keeps ‖w∥‖. It ends where Aw ∥ y, at
    the same point for every g0, ratio and ‖w0‖; only the sign depends on them. It is the limit of
    weight normalization for c → ∞. A step of gradient descent lengthens w∥: then ‖w0∥‖² + η²Σ‖∇_w‖²
    takes the place of ‖w0∥‖², exactly. With centring, as torch's BatchNorm1d has it, the same holds
    for `problem.centred()`.

    Parameters
    ----------
    problem : LeastSquares
        The data A and y, with a y that is not zero in A's reach.
    scale : float
        The scale of the start x0 = scale·w0/‖w0‖; it decides the sign of the end only.
    direction : (d,) array, optional
        w0, the direction of the start, not orthogonal to the row space; it is normalised.
    ratio : float
        c, the scale's step over the direction's, times ‖w0‖²; greater than 0. It decides the sign
        only.
    grown : float
        η²Σ‖∇_w‖²/‖w0‖², by which finite steps lengthened w∥; 0 for the flow.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`. One of the
        two is needed, but for such a problem, where none is a start orthogonal to the data.
    sign : {1, -1}, optional
        The sign that the scale ends with, where it is known, as it is of a run; otherwise the
        flow's, which finite steps and mini-batches near the edge between the two need not have.

    Returns
    -------
    Limit
        The weights at the end, `.scale` being that of the weights: x = scale·w/‖w‖.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> end = wn.theory.batchnorm_limit(problem, scale=2.0, direction=[0.6, 0.8])
    >>> end.weights.round(6).tolist()
    [1.0, 1.333333]
    """
    c = validate.real("ratio", ratio, minimum=0.0, strict=True)
    more = validate.real("grown", grown, minimum=0.0)
    setup = set_up(problem, scale, direction, start_values)
    require_target(setup)
    inside = float(np.sqrt(setup.z0 @ setup.z0 + more))
    if not setup.z0.any():
        raise ValueError("direction is orthogonal to the row space of A, and ‖Aw‖ = 0 divides")
    if sign is None:
        way, settled = _sign(setup, c)
    elif sign in (1.0, -1.0):
        way, settled = float(sign), assume(NOT_STUCK, True)
    else:
        raise ValueError(f"sign must be 1, -1 or None, got {sign!r}")
    perp = setup.gstar / inside * setup.q0
    norm = float(np.hypot(setup.gstar, perp))
    return Limit(
        weights=setup.lift(setup.target, way * perp),
        scale=way * norm,
        norm=norm,
        perp_norm=perp,
        distance=perp,
        assumptions=(settled,),
        paper="beyond the paper",
        _expand=setup.expand,
    )


def _sign(setup: Setup, c: float) -> tuple[float, Assumption]:
    """That of g once it agrees with that of yᵀAw: from there neither changes any more."""
    off = assume(NOT_STUCK, True)
    steep = scaled_norm(setup.lam * setup.target) * float(np.linalg.norm(setup.z0))
    if abs(setup.pull) <= ROUNDING * steep and setup.g0 == 0.0:
        return 1.0, assume(off.text, False)
    if setup.g0 == 0.0 or setup.g0 * setup.pull > 0:
        return float(np.sign(setup.pull)), off
    # in units in which g* = ‖w∥‖ = λmax = 1; the time of w is scaled with them
    size, length = setup.gstar, float(np.linalg.norm(setup.z0))
    lam, target = setup.lam / setup.lam.max(), setup.target / size
    own = setup.g0 * float(np.sqrt(setup.lam @ setup.z0**2))  # g0 = scale·‖Aw0‖
    unit = size * float(np.sqrt(setup.lam.max()))
    rate = c * (length / size) * (length / size) / float(setup.lam.max())

    def field(t: float, state: Array) -> Array:
        g, z = state[0], state[1:]
        seen = float(np.sqrt(lam @ z**2))
        pull = lam * target
        along = float(z @ pull)
        turn = (g / seen) * (pull - along / seen**2 * (lam * z))
        return np.concatenate([[-rate * (g - along / seen)], turn])

    def agrees(state: Array) -> bool:
        return bool(state[0] * float(state[1:] @ (lam * target)) > 0)

    start = np.concatenate([[own / unit], setup.z0 / length])
    end, done = integrate_until(field, start, agrees)
    return float(np.sign(end[0])) or 1.0, off if done else assume(off.text, False)
