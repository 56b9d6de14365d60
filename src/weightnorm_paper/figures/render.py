"""Every kind of figure, from the data of an experiment: `wn.plot` and a few labels."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from weightnorm.plot import end_norms
from weightnorm.plot import path as draw_paths
from weightnorm.plot.phase import draw_phase
from weightnorm.plot.style import LOOKS, RC, SHORT

from ..experiments.figures import PLANE, PRINTED
from . import beyond, network

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

TOP = 2.2  # of the nuclear norms that are drawn, over the minimum


def render(kind: str, data: Any) -> dict[str, bytes]:
    """Draw a figure as PNG, SVG and PDF.

    Parameters
    ----------
    kind : str
        What to draw, one of the kinds that experiments have.
    data : xarray.Dataset
        The experiment's data.

    Returns
    -------
    dict
        The content of each file, by suffix.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with mpl.rc_context(RC):
        rows, columns, width, height = _LAYOUTS.get(kind, (1, 1, 7.0, 4.2))
        figure, axes = plt.subplots(
            rows, columns, figsize=(width, height), layout="constrained", sharex=rows > 1
        )
        _KINDS[kind](figure, axes, data)
        figure.draw_without_rendering()  # laid out once, not for every format
        figure.set_layout_engine("none")
        pictures = {}
        for suffix in ("png", "svg", "pdf"):
            content = io.BytesIO()
            dates = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
            figure.savefig(content, format=suffix, dpi=170, metadata=dates.get(suffix, {}))
            pictures[suffix] = content.getvalue()
        plt.close(figure)
    return pictures


def _norms(figure: Figure, axes: Axes, data: Any) -> None:
    end_norms(data, axes)


def _kappa(figure: Figure, axes: Axes, data: Any) -> None:
    end_norms(data.isel(scale=0), axes)
    axes.legend(frameon=False, loc="upper left", ncols=2)
    low, high = axes.get_ylim()
    axes.set_ylim(low, high + 0.25 * (high - low))  # room for the legend


def _readings(figure: Figure, axes: Any, data: Any) -> None:
    """The steps as we read them, and beside them as they are printed, to one scale."""
    names = ("gd", "wn", "rpgd")
    for place, (suffix, title) in enumerate((("", "as we read them"), (PRINTED, "as printed"))):
        drawn = data.sel(algorithm=["gd", *(name + suffix for name in names[1:])])
        end_norms(drawn.isel(scale=0).assign_coords(algorithm=list(names)), axes[place])
        axes[place].set_title(f"steps {title}", fontsize=10)
        axes[place].get_legend().remove()
    limits = [axis.get_ylim() for axis in axes]
    for axis in axes:
        axis.set_ylim(min(low for low, _ in limits), max(high for _, high in limits))
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False, fontsize=9)


PATHS = {
    "gd": "gradient descent, a → d",
    "flow": "WN and rPGD, a → e",
    "two_phase": "two phases, a → b → c",
    "slow_scale": "slow scale, a → c",
    "large_start": "start beyond ‖x*‖, f → g",
}


def _paths(figure: Figure, axes: Axes, data: Any) -> None:
    paths = {name: _points(data, name) for name in PATHS}
    draw_paths(PLANE, paths, axes, labels=PATHS)
    two = paths["two_phase"]
    # the corner of the two phases: where the fixed scale's flow came to rest
    sizes = np.linalg.norm(two, axis=1)
    corner = two[np.flatnonzero(np.isclose(sizes, sizes[0], rtol=1e-6))[-1]]
    points = {"a": paths["gd"][0], "b": corner, "c": np.array([1.0, 0.0])}
    points |= {"d": paths["gd"][-1], "e": paths["flow"][-1]}
    points |= {"f": paths["large_start"][0], "g": paths["large_start"][-1]}
    beside = {"b": (-12, 5), "e": (6, -12)}  # where another name stands in the way
    for name, point in points.items():
        axes.plot(*point, "o", color="black", markersize=4)
        place = beside.get(name, (6, 5))
        axes.annotate(name, point, xytext=place, textcoords="offset points", fontweight="bold")
    axes.set(xlabel="x₁ (what the data sees)", ylabel="x₂ (what it does not)")


def _points(data: Any, name: str) -> Any:
    """The points of a path (n, 2)."""
    path = data.sel(path=name)
    points = np.column_stack([path.x1.values, path.x2.values])
    return points[np.isfinite(points).all(axis=1)]


def _phase(figure: Figure, axes: Axes, data: Any) -> None:
    draw_phase(data, axes, printed=True)


def _nuclear(axes: Axes, data: Any, title: str = "") -> None:
    end_norms(data, axes, x="alpha", relative_to="psd_minimum", top=TOP, theory=False, labels=SHORT)
    lines = (
        (data.psd_minimum, "minimum, X ⪰ 0", ":"),
        (data.symmetric_minimum, "minimum, X = Xᵀ", (0, (1, 3))),
        (data.true_norm, "‖X*‖∗", "--"),
    )
    for values, label, style in lines:
        height = float((values / data.psd_minimum).mean())
        axes.axhline(height, color="black", linewidth=0.9, linestyle=style, label=label)
    low = min(
        float(data.share_mean.min()), float((data.symmetric_minimum / data.psd_minimum).mean())
    )
    axes.set(ylim=(low - 0.08, TOP + 0.02), ylabel="nuclear norm at the end / minimum")
    axes.set_title(title, fontsize=10)


def _sensing(figure: Figure, axes: Axes, data: Any) -> None:
    _nuclear(axes, data)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)


def _refined(figure: Figure, axes: Any, data: Any) -> None:
    for place, (phase, title) in enumerate((("equal", "equal steps"), ("two_phase", "two phases"))):
        _nuclear(axes[place], data.sel(phase=phase), f"{title}, refined")
        axes[place].get_legend().remove()
    error = data.recovery_error.mean("seed")
    for name in data.algorithm.values:
        colour, _, marker = LOOKS[str(name)]
        for phase, style in (("equal", "-"), ("two_phase", "--")):
            if (name, phase) != ("gd", "two_phase"):
                values = error.sel(phase=phase, algorithm=name).values
                drawn = np.isfinite(values)
                x, y = data.alpha.values[drawn], values[drawn]
                axes[2].plot(x, y, marker + style, color=colour, markersize=4, linewidth=1.1)
    axes[2].plot([], [], "-", color="0.3", label="equal steps")
    axes[2].plot([], [], "--", color="0.3", label="two phases")
    axes[2].set(
        xscale="log",
        yscale="log",
        xlabel="scale of the start, α",
        ylabel="recovery error ‖X − X*‖ / ‖X*‖",
    )
    axes[2].set_title("recovery", fontsize=10)
    axes[2].legend(frameon=False, loc="upper left", fontsize=9)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=8, frameon=False, fontsize=9)


_LAYOUTS = {  # rows, columns, width, height
    "paths": (1, 1, 6.4, 6.0),
    "readings": (1, 2, 10.0, 4.4),
    "refined": (1, 3, 13.0, 4.4),
    **beyond.LAYOUTS,
    **network.LAYOUTS,
}
_KINDS: dict[str, Any] = {
    "sensing": _sensing,
    "refined": _refined,
    "norms": _norms,
    "kappa": _kappa,
    "readings": _readings,
    "paths": _paths,
    "phase": _phase,
    **beyond.KINDS,
    **network.KINDS,
}
