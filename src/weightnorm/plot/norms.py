"""end_norms: where runs end, against their start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..runs.dataset import ended_norms, exact_norms
from ..runs.result import Status
from .style import THEORY, clean, label_of, looks, new_axes

if TYPE_CHECKING:
    import xarray
    from matplotlib.axes import Axes

OVER = ("start", "seed")  # dimensions that are averaged over
NAMES = {
    "scale": "scale of the start, g₀",
    "alpha": "scale of the start, α",
    "condition_number": "condition number of A, κ",
    "step": "step size",
    "noise": "standard deviation of the noise on y",
}
SOLID: Any = ("-", 0.8)
LOGARITHMIC = ("condition_number", "step", "alpha")


def end_norms(
    dataset: xarray.Dataset,
    ax: Axes | None = None,
    *,
    x: str | None = None,
    relative_to: str | None = None,
    top: float | None = None,
    theory: bool = True,
    labels: dict[str, str] | None = None,
) -> Axes:
    """Draw the norm at the end against the start, one line per algorithm, with the exact limits.

    Lines are means over starts and seeds, bands one standard deviation, without runs that diverged.
    A hollow marker stands where some runs did not converge. Thin grey lines are where the runs end
    exactly, as their steps and their tolerance go to zero; the dotted line is the minimum norm.

    Parameters
    ----------
    dataset : xarray.Dataset
        Of `wn.sweep`, of a sweep file, or of `weightnorm reproduce`.
    ax : matplotlib axes, optional
        Drawn into; new ones by default.
    x : str, optional
        The dimension, or a coordinate along it, on the horizontal axis; by default the first of
        scale, condition_number, step and others that has more than one value.
    relative_to : str, optional
        A coordinate to divide the norms by, such as "minimum_norm".
    top : float, optional
        Norms above are drawn as triangles at this height.
    theory : bool
        Whether to draw the exact limits, where they are known (least squares).
    labels : dict, optional
        What the legend calls each algorithm.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ValueError
        If another dimension has several values: select one, or draw one plot for each.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> starts = [wn.datasets.random_direction(50, seed) for seed in range(3)]
    >>> methods = {"gd": wn.GradientDescent(0.1), "rpgd": wn.RPGD(0.1, 0.1)}
    >>> ax = wn.plot.end_norms(wn.sweep(problem, methods, [0.5, 1.0, 2.0, 4.0], starts))
    >>> ax.get_xlabel()
    'scale of the start, g₀'
    """
    dataset = _of_sweep(dataset, relative_to)
    dim, places, name = _horizontal(dataset, x)
    others = [str(d) for d in dataset.norm.dims if d not in ("algorithm", dim)]
    _refuse_several(dataset, others)
    ax = new_axes(ax)
    unit = 1.0 if relative_to is None else dataset[relative_to]
    _lines(ax, dataset, places, dim, others, unit, top, labels or {})
    if theory:
        _theory(ax, dataset, places, dim, others, unit)
    _minimum(ax, dataset, unit, relative_to)
    ax.set_xlabel(NAMES.get(name, name))
    ax.set_ylabel(_what_is_drawn(dataset, relative_to))
    if name in LOGARITHMIC:
        _logarithmic(ax, places)
    elif places.size > 1:
        ax.set_xlim(float(places.min()), float(places.max()))
    clean(ax)
    ax.legend(frameon=False)
    return ax


def _of_sweep(dataset: Any, relative_to: str | None) -> Any:
    """The dataset with a dimension algorithm; refused where it is none of a sweep."""
    if not hasattr(dataset, "data_vars") or "norm" not in dataset:
        given = type(dataset).__name__
        raise ValueError(f"dataset must be a Dataset with the variable norm, got a {given}")
    if "algorithm" not in dataset.coords:
        raise ValueError("dataset must have a dimension algorithm")
    if relative_to is not None and relative_to not in dataset.coords:
        raise ValueError(f"relative_to must be a coordinate of dataset, got {relative_to!r}")
    if "algorithm" in dataset.norm.dims:
        return dataset
    dataset = dataset.expand_dims("algorithm")
    own = [name for name in ("kind", "ratio") if name in dataset.coords]
    along = {name: dataset[name].expand_dims(algorithm=dataset.algorithm) for name in own}
    return dataset.assign_coords(along)


def _refuse_several(dataset: Any, others: list[str]) -> None:
    """Refuse dimensions of several values that are not those a mean is taken over."""
    several = [d for d in others if d not in OVER and dataset.sizes[d] > 1]
    if several:
        raise ValueError(
            f"dataset has several values of {', '.join(several)} as well: select one with "
            f".sel({several[0]}=…), or draw one plot for each"
        )


def _lines(
    ax: Any,
    dataset: Any,
    places: Any,
    dim: str,
    others: list[str],
    unit: Any,
    top: float | None,
    labels: dict[str, str],
) -> None:
    """A line per algorithm, with hollow markers where some runs did not converge."""
    norm = (ended_norms(dataset) / unit).transpose("algorithm", dim, ...)
    mean, spread = norm.mean(others).values, norm.std(others).values
    partly = _partly(dataset, dim, others)
    algorithms = [str(a) for a in dataset.algorithm.values]
    kinds = [str(k) for k in np.atleast_2d(dataset.kind)[0]] if "kind" in dataset.coords else None
    styles = looks(algorithms, kinds)
    for row, algorithm in enumerate(algorithms):
        text = labels.get(algorithm, label_of(algorithm))
        _line(ax, places, mean[row], spread[row], styles[algorithm], text, top)
        hollow = partly[row] & np.isfinite(mean[row])
        if hollow.any():
            colour = styles[algorithm][0]
            shown = mean[row][hollow] if top is None else np.minimum(mean[row][hollow], top)
            ax.plot(places[hollow], shown, "o", mfc="white", mec=colour, markersize=4)


def _what_is_drawn(dataset: Any, relative_to: str | None) -> str:
    """The label of the vertical axis."""
    nuclear = "nuclear" in dataset.norm.attrs.get("long_name", "")
    text = f"{'nuclear norm' if nuclear else 'norm'} at the end"
    if relative_to is None:
        return text if nuclear else f"{text}, ‖x‖"
    return f"{text} / {'minimum' if 'minimum' in relative_to else relative_to}"


def _horizontal(dataset: Any, x: str | None) -> tuple[str, Any, str]:
    """The dimension to draw along, its values, and the name of these."""
    if x is None:
        known = ["scale", "condition_number", "step"]
        known += [str(d) for d in dataset.norm.dims if d not in (*known, *OVER, "algorithm")]
        sized = [d for d in known if d in dataset.norm.dims]
        x = next((d for d in sized if dataset.sizes[d] > 1), sized[0] if sized else "")
    if x not in dataset.coords or len(dataset[x].dims) != 1:
        raise ValueError(f"x must be a dimension of dataset or a coordinate along one, got {x!r}")
    return str(dataset[x].dims[0]), np.asarray(dataset[x].values, dtype=float), x


def _partly(dataset: Any, dim: str, others: list[str]) -> Any:
    """Where some of the runs that were made did not converge."""
    if "status" not in dataset:
        return np.zeros((dataset.sizes["algorithm"], dataset.sizes[dim]), dtype=bool)
    status = dataset.status.transpose("algorithm", dim, ...)
    made = status != Status.UNDEFINED.code
    return ((status != Status.CONVERGED.code) & made).any(others).values


def _line(
    ax: Any,
    x: Any,
    mean: Any,
    spread: Any,
    look: tuple[str, str, str],
    text: str,
    top: float | None,
) -> None:
    colour, dashes, marker = look
    drawn = np.isfinite(mean)
    if top is None:
        ax.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
        ax.plot(x[drawn], mean[drawn], dashes, color=colour, label=text, linewidth=1.8)
        return
    beyond = mean > top
    bars = np.where(beyond, 0.0, spread)[drawn]
    options: dict[str, Any] = {"markersize": 4.5, "linewidth": 1.3, "capsize": 2, "elinewidth": 0.8}
    ax.errorbar(
        x[drawn], np.minimum(mean, top)[drawn], bars, fmt=marker + "-", color=colour, label=text,
        **options,
    )  # fmt: skip
    for place in np.flatnonzero(beyond):
        where = (x[place], top)
        ax.annotate("▲", where, ha="center", va="bottom", color=colour, fontsize=8,
                    annotation_clip=False)  # fmt: skip


def _theory(ax: Any, dataset: Any, x: Any, dim: str, others: list[str], unit: Any) -> None:
    """The exact limits, once for gradient descent and once for each ratio of rates."""
    limit = exact_norms(dataset)
    if limit is None:
        return
    if dim not in limit.dims:
        limit = limit.expand_dims({dim: dataset[dim]})
    limit = limit / unit
    mean = limit.mean([d for d in limit.dims if d in others]).transpose("algorithm", dim)
    kinds = dataset.kind.isel({d: 0 for d in dataset.kind.dims if d != "algorithm"}).values
    ratios = [np.unique(dataset.ratio.sel(algorithm=a).values) for a in dataset.algorithm.values]
    seen: set[Any] = set()
    dashes: Any = iter((("-.", 0.8), ((0, (3, 1, 1, 1, 1, 1)), 0.8), (":", 1.0)))
    for row, values in enumerate(mean.values):
        flow = kinds[row] != "gd"
        key = tuple(ratios[row]) if flow else "gd"
        if key in seen or not np.isfinite(values).any():
            continue
        seen.add(key)
        if not flow:
            text, style = "exact limit of gradient descent", SOLID
        else:
            only = len(key) == 1 and not np.isclose(key[0], 1.0)
            ratio = f", c = {key[0]:.3g}" if only else ""
            text, style = f"exact limit of the WN flow{ratio}", next(dashes, ("--", 0.6))
        ax.plot(x, values, color=THEORY, linestyle=style[0], linewidth=style[1], label=text)


def _minimum(ax: Any, dataset: Any, unit: Any, relative_to: str | None) -> None:
    """The minimum norm, if all runs have the same."""
    if "minimum_norm" not in dataset.coords or "algorithm" in dataset.minimum_norm.dims:
        return
    values = np.asarray(dataset.minimum_norm / unit)
    value = float(values.mean())
    if np.ptp(values) > 1e-6 * value:
        return
    text = f"minimum norm ‖x*‖ = {value:.4g}" if relative_to is None else "minimum norm"
    ax.axhline(value, color="black", linewidth=0.8, linestyle=":", label=text)


def _logarithmic(ax: Any, x: Any) -> None:
    ax.set_xscale("log")
    if x.size > 1 and x.max() / x.min() < 1e3:
        round_ones = [v for v in x if f"{v:.6e}"[0] in "125" and f"{v:.6e}"[2:8] == "000000"]
        ticks = round_ones if len(round_ones) > 2 else list(x)
        ax.set_xticks(ticks, [f"{v:g}" for v in ticks])
        ax.minorticks_off()
