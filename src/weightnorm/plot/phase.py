"""phase_diagram: where the WN flow ends, over the scale of the start and the ratio of rates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .._support import validate
from ..problems import require_least_squares
from ..theory import distance_map, perp_of_limit
from .style import new_axes

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

PRINTED = 0.01  # the printed limit counts as off beyond this share


def phase_data(gstar: float, q0: float, scales: Any, ratios: Any) -> xarray.Dataset:
    """Where the WN flow and gradient descent end, over scales and ratios.

    Parameters
    ----------
    gstar : float
        ‖x*‖ > 0.
    q0 : float
        ‖w0⊥‖ of the unit start direction, in [0, 1].
    scales, ratios : vectors
        g0, and c > 0.

    Returns
    -------
    xarray.Dataset
        `distance` = ‖x∞ − x*‖ over (scale, ratio), `gd_distance` over scale, and `printed_error`,
        by what share the norm of the paper's printed limit is off.
    """
    import xarray

    g0, c = (
        np.atleast_1d(validate.numbers(n, v)) for n, v in (("scales", scales), ("ratios", ratios))
    )
    exact = distance_map(g0, c, gstar, q0)
    with np.errstate(over="ignore"):
        printed = perp_of_limit(g0[:, None], gstar, q0, c[None, :])  # with g* in place of g∞
        true = np.hypot(gstar, exact)
        off = np.abs(np.hypot(gstar, printed) - true) / true
    dims = ("scale", "ratio")
    text = {
        "distance": "‖x∞ − x*‖ of the WN flow",
        "gd_distance": "‖x∞ − x*‖ of gradient descent",
        "printed_error": "share by which the norm of the paper's printed limit is off",
    }
    return xarray.Dataset(
        {
            "distance": (dims, exact, {"long_name": text["distance"]}),
            "gd_distance": (("scale",), np.abs(g0) * q0, {"long_name": text["gd_distance"]}),
            "printed_error": (dims, off, {"long_name": text["printed_error"]}),
        },
        {"scale": g0, "ratio": c, "minimum_norm": gstar, "start_perp_norm": q0},
    )


def phase_diagram(
    problem: Any,
    ax: Axes | None = None,
    *,
    direction: Any = None,
    start_values: Any = None,
    scales: Any = None,
    ratios: Any = None,
    printed: bool = False,
) -> Any:
    """Draw the distance from the end of the WN flow to the minimum-norm solution.

    On the solid lines the WN flow and gradient descent end at the same distance from the solution;
    between them one of the two ends closer. The vertical line is g0 = ‖x*‖/√(1 − q0²), where q0 is
    ‖w0⊥‖, the part of the unit start direction that the data cannot see.

    Parameters
    ----------
    problem : LeastSquares, or a pair (g*, q0)
        The pair is ‖x*‖ and ‖w0⊥‖, all that the map depends on.
    ax : matplotlib axes, optional
        Drawn into; new ones by default.
    direction : (d,) array, optional
        With a problem: the start's direction, which gives q0; by default q0 = √(1 − rank/d), that
        of a typical random direction.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`; without them
        q0 = 1, that of a start orthogonal to the data.
    scales : vector, optional
        g0; by default 0 … 5/3·‖x*‖.
    ratios : vector, optional
        c; by default (‖x*‖/3)² · 0.05 … 50.
    printed : bool
        Whether to draw also the dashed line beyond which the paper's printed limit is off by more
        than 1 %.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import weightnorm as wn
    >>> wn.plot.phase_diagram(wn.datasets.make_regression(solution_norm=2.0, seed=0)).get_yscale()
    'log'
    >>> wn.plot.phase_diagram((3.0, 0.6**0.5), printed=True).get_ylabel()
    'ratio of rates, c = γ/η'
    """
    gstar, q0 = start_numbers(problem, direction, start_values)
    g0 = np.linspace(0.0, gstar * 5 / 3, 200) if scales is None else scales
    c = (gstar / 3) ** 2 * np.geomspace(0.05, 50.0, 200) if ratios is None else ratios
    return draw_phase(phase_data(gstar, q0, g0, c), ax, printed=printed)


def draw_phase(data: xarray.Dataset, ax: Any = None, *, printed: bool = False) -> Any:
    """Draw what `phase_data` found."""
    from matplotlib.patheffects import withStroke

    ax = new_axes(ax)
    g0, c, gstar = data.scale.values, data.ratio.values, float(data.minimum_norm)
    low, high = 1e-6 * gstar / 3, max(float(data.distance.max()), 1e-5 * gstar)
    shown = np.log10(np.clip(data.distance.values, low, None)).T
    options = {"shading": "gouraud", "cmap": "cividis", "rasterized": True}
    picture = ax.pcolormesh(g0, c, shown, vmin=np.log10(low), vmax=np.log10(high), **options)
    bar = ax.figure.colorbar(
        picture, ax=ax, label="distance from the end to x*, the minimum-norm solution"
    )
    ticks = np.arange(np.ceil(np.log10(low)), np.floor(np.log10(high)) + 0.5, 2.0)
    bar.set_ticks(ticks, labels=[f"1e{int(tick)}" if tick else "1" for tick in ticks])
    halo = [withStroke(linewidth=3.0, foreground="white")]
    lead = (data.gd_distance - data.distance).transpose("ratio", "scale").values
    _contour(ax, g0, c, lead, 0.0, "-", "WN and GD end equally close", halo)
    if printed:
        off = np.minimum(data.printed_error, 1.0).transpose("ratio", "scale").values
        _contour(ax, g0, c, off, PRINTED, "--", "printed limit off by 1 %", halo)
    for sign, text in ((1, "WN ends closer than GD"), (-1, "GD ends closer")):
        _name_region(ax, g0, c, sign * lead > 0, text, halo)
    q0 = float(data.start_perp_norm)
    ax.set(
        xlabel=f"scale of the start, g₀ (‖x*‖ = {gstar:.4g}, ‖w₀⊥‖² = {q0 * q0:.3g})",
        ylabel="ratio of rates, c = γ/η",
        yscale="log",
    )
    if ax.get_legend_handles_labels()[0]:
        ax.legend(loc="upper right", fontsize=9, framealpha=0.9)
    return ax


def _contour(
    ax: Any, x: Any, y: Any, values: Any, level: float, style: str, text: str, halo: Any
) -> None:
    """A line where the values cross a level, if they do, with its name in the legend."""
    if not (values.min() < level < values.max()):
        return
    lines = ax.contour(
        x, y, values, levels=[level], colors="black", linewidths=1.5, linestyles=style
    )
    lines.set(path_effects=halo)
    ax.plot([], [], style, color="black", linewidth=1.5, label=text)


def _name_region(ax: Any, x: Any, y: Any, inside: Any, text: str, halo: Any) -> None:
    """The text in the middle of a region, if that is large enough for it."""
    if inside.mean() < 0.06:
        return
    rows, columns = np.nonzero(inside)
    row = int(np.median(rows))
    here = columns[rows == row]
    if here.size == 0:
        return
    place = x[int(np.median(here))]
    ax.text(place, y[row], text, fontsize=9, path_effects=halo, ha="center", va="center")


def start_numbers(problem: Any, direction: Any, start_values: Any) -> tuple[float, float]:
    """‖x*‖ and ‖w0⊥‖ of a problem and a start, or of a pair that gives them."""
    if isinstance(problem, tuple | list) and len(problem) == 2:
        gstar = validate.real("problem[0], ‖x*‖,", problem[0], minimum=0.0, strict=True)
        q0 = validate.real("problem[1], ‖w0⊥‖,", problem[1], minimum=0.0)
        if q0 > 1:
            raise ValueError(
                f"problem[1], ‖w0⊥‖ of a unit direction, must be at most 1, got {q0:g}"
            )
        return gstar, q0
    problem = require_least_squares(problem)
    gstar = float(np.linalg.norm(problem.target))
    if gstar == 0.0:
        raise ValueError("y is zero, or wholly out of A's reach: then x* = 0 and there is no map")
    if direction is None and start_values is None and problem.needs_direction:
        return gstar, float(np.sqrt(max(0.0, 1.0 - problem.factorisation.rank / problem.shape[1])))
    direction = problem.start_direction(direction, start_values)
    unit = problem.unit_direction("direction", direction, False)
    return gstar, float(np.linalg.norm(problem.factorisation.split(unit)[1]))
