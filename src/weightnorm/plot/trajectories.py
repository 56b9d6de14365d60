"""trajectory: what a run or a flow passed on its way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .style import LONE, clean, label_of, looks, new_axes


def trajectory(results: Any, ax: Any = None) -> Any:
    """Draw the loss, the scale with ‖x⊥‖, and the invariant of runs or flows.

    ‖x⊥‖ is the part of the weights that the data cannot see, the invariant log ‖w⊥‖ + g²/2c: the
    WN flow keeps it exactly, runs at finite steps drift from it. The thin grey line is its first
    value; where the scale is frozen there is none.

    Parameters
    ----------
    results : Result with a history, flow, or a mapping of label -> either
        A result of `wn.run(…, record=k)`, or what `wn.flow` gives.
    ax : three matplotlib axes, or one, optional
        Drawn into, one below the other inside a single one; a new figure by default.

    Returns
    -------
    array of three matplotlib axes
        For the loss, the scale and ‖x⊥‖, and the invariant.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(seed=0)
    >>> w0 = wn.datasets.random_direction(50, seed=0)
    >>> axes = wn.plot.trajectory(wn.run(wn.RPGD(0.01, 0.01), problem, 2.0, w0, record=10))
    >>> axes[2].get_ylabel()
    'invariant'
    >>> axes = wn.plot.trajectory({"flow": wn.flow(problem, 2.0, w0)})
    >>> axes[-1].get_xlabel()
    'time'
    """
    named = results if isinstance(results, Mapping) else {"": results}
    tracks = {str(name): _track(str(name), result) for name, result in named.items()}
    if not tracks:
        raise ValueError("results must hold at least one run or flow")
    units = {track["unit"] for track in tracks.values()}
    if len(units) > 1:
        raise ValueError(
            "runs count steps and flows time: draw them apart, or give the runs' steps as times "
            "with wn.flow(…, times=step * history.step)"
        )
    axes = np.asarray(_panels(ax))
    if axes.size != 3:
        raise ValueError(f"ax must be three axes, for loss, scale and invariant, got {axes.size}")
    loss, scale, invariant = axes.flat
    styles = dict.fromkeys(tracks, LONE) if len(tracks) == 1 else looks(list(tracks))
    for name, track in tracks.items():
        colour, dashes, _ = styles[name]
        shown = label_of(name) or None
        x = track["x"]
        positive = np.where(track["loss"] > 0, track["loss"], np.nan)
        loss.semilogy(x, positive, dashes, color=colour, label=shown)
        scale.plot(x, track["scale"], dashes, color=colour)
        scale.plot(x, track["perp_norm"], ":", color=colour)
        values = track["invariant"]
        finite = values[np.isfinite(values)]
        if finite.size:
            moved = f"{finite[-1] - finite[0]:+.2g} from start to end"
            text = moved if not name else f"{shown}: {moved}"
            invariant.plot(x, values, dashes, color=colour, label=text)
            invariant.axhline(finite[0], color="0.6", linewidth=0.7)
    for style, text in (("-", "scale g"), (":", "‖x⊥‖")):
        scale.plot([], [], style, color="0.3", label=text)
    loss.set_ylabel("loss")
    scale.set_ylabel("scale, ‖x⊥‖")
    invariant.set_ylabel("invariant")
    invariant.set_xlabel(next(iter(units)))
    if not any(np.isfinite(track["invariant"]).any() for track in tracks.values()):
        where = {"transform": invariant.transAxes, "ha": "center", "color": "0.4"}
        invariant.text(
            0.5,
            0.5,
            "none: no scale, a frozen one, callable steps, or a start in the row space",
            **where,
        )
    for ax in axes.flat:
        clean(ax)
        if ax.get_legend_handles_labels()[0]:
            ax.legend(frameon=False, fontsize=9)
    return axes


def _panels(ax: Any) -> Any:
    """Three axes: those given, parts of the one given, or new ones."""
    if not hasattr(ax, "inset_axes"):
        return new_axes(ax, rows=3, size=(7.0, 7.0))
    ax.set_axis_off()
    lower = [ax.inset_axes((0.0, y, 1.0, 0.28)) for y in (0.72, 0.36, 0.0)]
    for upper in lower[:2]:
        upper.sharex(lower[2])
        upper.tick_params(labelbottom=False)
    return lower


def _track(name: str, result: Any) -> dict[str, Any]:
    """What is drawn of a run or a flow."""
    if hasattr(result, "history"):
        if result.history is None:
            raise ValueError(f"{name or 'the run'} has no history; run it with record=1, say")
        result = result.history
    if hasattr(result, "time"):
        x, unit = result.time, "time"
    elif hasattr(result, "step") and hasattr(result, "perp_norm"):
        x, unit = result.step, "step"
    else:
        raise TypeError(
            f"results must be a Result with a history or a flow, got {type(result).__name__}"
        )
    scale = np.asarray(result.scale, dtype=float)
    if scale.ndim > 1:
        raise ValueError("runs with one scale per column have no single scale to draw")
    values = {n: np.asarray(getattr(result, n), dtype=float) for n in ("loss", "perp_norm")}
    invariant = np.asarray(result.measured_invariant(), dtype=float)
    return {"x": np.asarray(x), "unit": unit, "scale": scale, "invariant": invariant, **values}
