"""early_stopping: a cross-validated path, with ridge beside it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .style import BLUE, ORANGE, THEORY, clean, new_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def early_stopping(model: Any, ax: Axes | None = None, *, chosen: str = "chosen") -> Axes:
    """Draw the cross-validated error of a path against its degrees of freedom, with ridge's.

    To the left training has just begun, to the right it has ended; ridge with a large penalty is on
    the left, too. The dotted line is the error of minimum norm.

    Parameters
    ----------
    model : WeightNormRegressorCV
        Fitted.
    ax : matplotlib axes, optional
        Drawn into; new ones by default.
    chosen : str
        What the legend calls the time with the smallest error.

    Returns
    -------
    matplotlib axes

    Raises
    ------
    ValueError
        If the model has no path: it is not fitted, or another estimator.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> import numpy as np, weightnorm as wn
    >>> rng = np.random.default_rng(0)
    >>> X, noise = rng.standard_normal((30, 50)), rng.standard_normal(30)
    >>> model = wn.WeightNormRegressorCV().fit(X, X[:, 0] + noise)
    >>> wn.plot.early_stopping(model).get_xlabel()
    'degrees of freedom'
    """
    if not hasattr(model, "coef_path_"):
        raise ValueError("model must be a fitted WeightNormRegressorCV, with a coef_path_")
    ax = new_axes(ax)
    row = int(np.flatnonzero(model.shares_ == model.share_)[0])
    at = int(np.flatnonzero(model.times_ == model.time_)[0])
    share = f", from {model.share_:g} of the prior" if model.direction is not None else ""
    errors, freedom = model.cv_error_[row], model.degrees_of_freedom_
    ax.plot(freedom, errors, color=ORANGE, label=f"stopped early{share}")
    ax.plot(
        model.ridge_degrees_of_freedom_, model.ridge_path_error_, "--", color=BLUE, label="ridge"
    )
    ax.plot(freedom[at], errors[at], "o", color=ORANGE, markersize=7, label=chosen)
    if np.isfinite(model.min_norm_error_):
        ax.axhline(
            model.min_norm_error_, linestyle=":", color=THEORY, linewidth=1.0, label="minimum norm"
        )
    shown = np.concatenate([errors, model.ridge_path_error_])
    shown = shown[np.isfinite(shown) & (shown > 0)]
    if shown.size and shown.max() > 30 * shown.min():
        ax.set_yscale("log")
    ax.set(xlabel="degrees of freedom", ylabel="mean squared error, samples left out")
    clean(ax)
    ax.legend(frameon=False, fontsize=9)
    return ax
