"""path: the ways of runs and flows in the plane."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from ..problems.contract import require_problem
from .style import clean, label_of, looks, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def path(
    problem: Any,
    results: Any,
    ax: Axes | None = None,
    *,
    levels: int = 12,
    labels: dict[str, str] | None = None,
) -> Axes:
    """Draw the paths of runs or flows on a problem with two weights, over contours of the loss.

    Parameters
    ----------
    problem : Problem
        With two weights.
    results : mapping of label -> path, or a sequence of paths, or one path
        Each a flow, a result of `wn.run(…, record=1, keep=("weights",))`, or an (n, 2) array of
        weights.
    ax : matplotlib axes, optional
        Drawn into; new ones by default.
    levels : int
        How many contours.
    labels : dict, optional
        What the legend calls each path.

    Returns
    -------
    matplotlib axes

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> start = {"scale": 0.6, "direction": [-0.2, 1.0]}
    >>> run = wn.run(wn.GradientDescent(0.1), problem, **start, record=1, keep=("weights",))
    >>> ax = wn.plot.path(problem, {"gd": run, "flow": wn.flow(problem, **start)})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['gradient descent', 'flow', 'minimum norm']
    """
    if require_problem(problem).dimension != 2:
        raise ValueError(f"path draws problems with two weights, got one with {problem.dimension}")
    if not isinstance(results, Mapping):
        several = results if isinstance(results, list | tuple) else [results]
        kinds = ["flow" if hasattr(result, "time") else "run" for result in several]
        number = len(several) > 1
        results = {
            f"{kind} {i + 1}" if number else kind: result
            for i, (kind, result) in enumerate(zip(kinds, several, strict=True))
        }
    paths = {name: _points(name, result) for name, result in results.items()}
    if not paths:
        raise ValueError("results must hold at least one path")
    ax = new_axes(ax, size=(6.4, 6.0))
    minimum = problem.min_norm_solution() if problem.is_least_squares else None
    seen = [*paths.values(), *([minimum[None]] if minimum is not None else []), np.zeros((1, 2))]
    low, high = np.concatenate(seen).min(axis=0), np.concatenate(seen).max(axis=0)
    margin = 0.12 * max(float((high - low).max()), 1e-12)
    low, high = low - margin, high + margin
    _contours(ax, problem, low, high, levels)
    styles = looks(list(paths))
    for name, points in paths.items():
        colour, dashes, _ = styles[name]
        text = (labels or {}).get(name, label_of(name))
        ax.plot(*points.T, dashes, color=colour, linewidth=1.8, label=text)
        ax.plot(*points[0], "o", color=colour, markersize=5, mfc="white")
        ax.plot(*points[-1], "o", color=colour, markersize=5)
    if minimum is not None:
        ax.plot(*minimum, "*", color="black", markersize=11, label="minimum norm", linestyle="none")
    ax.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xlabel="x₁", ylabel="x₂")
    ax.set_aspect("equal")
    clean(ax)
    ax.legend(frameon=True, framealpha=0.9, edgecolor="none", fontsize=9)
    return ax


def _points(name: str, result: Any) -> Any:
    """The weights (n, 2) on the way."""
    history = getattr(result, "history", None)
    if hasattr(result, "history"):
        if history is None or history.weights is None:
            raise ValueError(
                f"{name}: the run kept no weights; run it with record=1, keep=('weights',)"
            )
        result = history
    points = np.asarray(result.weights if hasattr(result, "weights") else result, dtype=float)
    if points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise ValueError(f"{name}: a path must have shape (n, 2), got {points.shape}")
    return points


def _contours(ax: Any, problem: Any, low: Any, high: Any, levels: int) -> None:
    """The loss, darker where it is zero."""
    x, y = np.linspace(low[0], high[0], 200), np.linspace(low[1], high[1], 200)
    grid = np.stack(np.meshgrid(x, y), axis=-1)
    loss = np.asarray(problem.value_and_gradient(grid.reshape(-1, 2))[0]).reshape(200, 200)
    ax.contour(x, y, loss, levels=levels, colors="0.85", linewidths=0.8)
    along = _solutions(problem)
    if along is None:
        return
    best = np.asarray(problem.min_norm_solution())
    ax.axline(best, best + along, color="black", linewidth=1.0)
    along = along if along[1] >= 0 else -along
    edge = np.where(along > 0, high, low)
    with np.errstate(divide="ignore", invalid="ignore"):
        reach = np.nanmin(np.where(along == 0, np.inf, (edge - best) / along))
    word = "zero loss" if problem.floor == 0 else f"loss {problem.floor:.3g}"
    ax.annotate(
        word, best + 0.95 * reach * along, xytext=(4, 0), textcoords="offset points", fontsize=9
    )


def _solutions(problem: Any) -> Any:
    """The direction of the line of all solutions, where there is one."""
    if not problem.is_least_squares or problem.factorisation.rank != 1:
        return None
    parts = [problem.factorisation.split(axis)[1] for axis in np.eye(2)]
    longest = max(parts, key=np.linalg.norm)
    return longest / np.linalg.norm(longest)
