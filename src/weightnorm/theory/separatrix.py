"""Which sign the scale ends with: decided without integrating where a bracket says so."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._support import validate
from ._sign import STUCK, UNDECIDED, at_rest, decide
from .limits import sign_by_rounding
from .setup import Setup, require_target, set_up_convex
from .statement import Statement, assume

NOT_BY_ROUNDING = "rounding of the start's part off the row space does not decide the sign"
CLOSE = 0.1  # the distance from S up to which the local rule is offered …
CLEAR = 0.5  # … where its two terms do not cancel to under this share of their sizes


@dataclass(frozen=True)
class ScaleSign(Statement):
    """The sign with which the scale of the WN flow ends, and what decides it.

    Attributes
    ----------
    sign : float
        1 or −1.
    decided_by : str
        "start": the scale keeps the sign of g0. "pull": g0 = 0, and the sign is that of yᵀAw0.
        "bracket": y is an eigenvector of AAᵀ (or there is one sample), and g0² < −c·log(1 − a0²),
        a0 = ⟨w0, w*⟩. "integration": none of these, and a short integration settled it. "linear":
        the start is too near to S for that, and the flow linearised there settles it. "stuck" and
        "undecided" where there is no answer.
    local : float or None
        The sign by the linearisation at S = {g = 0, yᵀAw = 0}, for least squares, starts within
        0.1 of it and two terms that do not cancel; None elsewhere. It is a first order, not a
        proof.
    assumptions, paper, applies, failing
        See `Statement`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], [1.0, 0.0])
    >>> found = wn.theory.scale_sign(problem, scale=0.1, direction=[-0.6, 0.0, 0.8])
    >>> found.sign, found.decided_by
    (-1.0, 'bracket')
    """

    sign: float
    decided_by: str
    local: float | None


def scale_sign(
    problem: Any,
    scale: float,
    direction: Any = None,
    ratio: float = 1.0,
    *,
    start_values: Any = None,
) -> ScaleSign:
    """Which sign the scale of the WN flow ends with, by a closed form where there is one.

    Let a = ⟨ŵ, w*⟩, w* = x*/‖x*‖. If y is an eigenvector of AAᵀ, log(1 − a²) + g²/c never
    increases; so g0² < −c·log(1 − a0²) leads to the sign of a0, and g0² > −c·log q0² to that of
    g0 (the latter for every A). Between the two a short integration decides. Near S the sign is
    that of μg0 + c·yᵀAw0, μ > 0 the root of μ² + c‖Aw0‖²μ = c‖Aᵀy‖²: the left eigenvector of the
    flow linearised there.

    Parameters
    ----------
    problem : LeastSquares, or GeneralizedLinear with a convex loss
        The data A and y, with a y that is not zero in A's reach.
    scale : float
        g0, the scale of the start.
    direction : (d,) array, optional
        w0, the direction of the start, nonzero; it is normalised.
    ratio : float
        c, the scale's step over the direction's; greater than 0.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`. One of the
        two is needed, but for such a problem, where none is a start orthogonal to the data.

    Returns
    -------
    ScaleSign
        With `.sign`, `.decided_by` and `.local`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> [wn.theory.scale_sign(problem, g0, w0).decided_by for g0 in (0.0, 0.01, 3.0)]
    ['pull', 'start', 'start']
    """
    c = validate.real("ratio", ratio, minimum=0.0, strict=True)
    setup = set_up_convex(problem, scale, direction, start_values)
    require_target(setup)
    sign, how = decide(setup, c)
    return ScaleSign(
        sign=sign,
        decided_by=how,
        local=_local(setup, c),
        assumptions=(
            assume(STUCK, how != "stuck"),
            assume(UNDECIDED, how != "undecided"),
            assume(NOT_BY_ROUNDING, not sign_by_rounding(setup, c)),
        ),
        paper="beyond the paper",
    )


def _local(setup: Setup, c: float) -> float | None:
    """The sign of μg0 + c·yᵀAw0; None far from S, or exactly on its stable set."""
    found = at_rest(setup, c)
    if found is None or found.rounded or found.distance > CLOSE or found.clear <= CLEAR:
        return None
    return found.sign
