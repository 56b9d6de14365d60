"""limit_norms: the norm at the end against the scale of the start, exactly, for one's own data."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._support import validate
from ..theory import limit_scale
from .phase import start_numbers
from .style import BLUE, ORANGE, THEORY, clean, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RATIOS = (0.1, 1.0, 10.0)


def limit_norms(
    problem: Any,
    ax: Axes | None = None,
    *,
    direction: Any = None,
    start_values: Any = None,
    scales: Any = None,
    ratios: Any = RATIOS,
) -> Axes:
    """Draw where gradient descent and the WN flow end, as a norm, against the scale of the start.

    These are exact limits, not runs; `end_norms` draws runs.

    Parameters
    ----------
    problem : LeastSquares, or a pair (g*, q0)
        The pair is ‖x*‖ and ‖w0⊥‖, all that the norms depend on.
    ax : matplotlib axes, optional
        Drawn into; new ones by default.
    direction : (d,) array, optional
        With a problem: the start's direction; by default a typical random one.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`; without them
        the start is orthogonal to the data.
    scales : vector, optional
        g0; by default 0 … 3·‖x*‖.
    ratios : sequence of float
        c/‖x*‖², the scale's rate over the direction's, one line for each.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import weightnorm as wn
    >>> ax = wn.plot.limit_norms(wn.datasets.make_regression(seed=0))
    >>> len(ax.get_legend().get_texts())
    5
    """
    gstar, q0 = start_numbers(problem, direction, start_values)
    at = np.linspace(0.0, 3.0 * gstar, 200)
    if scales is not None:
        at = validate.array("scales", scales, ndim=1)
    ax = new_axes(ax)
    ax.plot(at, np.hypot(gstar, at * q0), color=BLUE, label="gradient descent")
    for ratio, dashes in zip(np.atleast_1d(ratios), _dashes(), strict=False):
        norms = limit_scale(at, gstar, q0, float(ratio) * gstar**2)
        ax.plot(at, norms, dashes, color=ORANGE, label=f"WN, c = {ratio:g}·‖x*‖²")
    ax.axhline(gstar, linestyle=":", color=THEORY, linewidth=1.0, label="minimum norm, ‖x*‖")
    ax.set(xlabel="scale of the start, g₀", ylabel="norm at the end")
    clean(ax)
    ax.legend(frameon=False, fontsize=9)
    return ax


def _dashes() -> list[str]:
    return ["-", "--", "-.", ":"] * 8
