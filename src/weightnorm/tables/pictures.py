"""Pictures of one's own table: what `weightnorm fit --plot` draws."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .._support.files import replacing
from ..estimators.regressor_cv import WeightNormRegressorCV
from ..plot import early_stopping, limit_norms, phase_diagram
from ..problems import LeastSquares
from .fit import Fitted
from .read import TableError

FORMATS = (".png", ".svg", ".pdf")


def draw_fit(fitted: Fitted, path: Path) -> None:
    """Draw a fitted table: its path; and, where features outnumber what the data sees, its norms
    against the start and its phase diagram.

    Parameters
    ----------
    fitted : Fitted
        Of numbers, with the squared loss.
    path : Path
        The picture to write.

    Raises
    ------
    TableError
        If the picture's format is not known, or nothing is left to draw.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    if path.suffix.lower() not in FORMATS:
        raise TableError(f"--plot {path.name} must end in {', '.join(FORMATS)}")
    X, y = fitted.standardized, fitted.target
    model, chosen = fitted.estimator, "chosen"
    if not isinstance(model, WeightNormRegressorCV):
        model, chosen = WeightNormRegressorCV().fit(X, y), "best time to stop (not this fit)"
    problem = LeastSquares(X - X.mean(axis=0), y - y.mean())
    if not float(np.linalg.norm(problem.target)):
        raise TableError("--plot: the target is constant; there is nothing to draw")
    if problem.factorisation.rank == X.shape[1]:  # nothing is unseen: every start ends alike
        figure = Figure(figsize=(7.5, 4.5), layout="constrained")
        ax = early_stopping(model, figure.subplots(), chosen=chosen)
        ax.set_title("Early stopping and ridge (the data sees all features: any start ends alike)")
    else:
        figure = Figure(figsize=(7.5, 13.0), layout="constrained")
        upper, middle, lower = figure.subplots(3, 1, height_ratios=[1.0, 1.0, 1.5])
        early_stopping(model, upper, chosen=chosen).set_title("Early stopping and ridge")
        direction = model.direction
        limit_norms(problem, middle, direction=direction).set_title("Norm against the start")
        phase_diagram(problem, lower, direction=direction).set_title("Distance from minimum norm")
    with replacing(path) as spare, mpl.rc_context({"svg.hashsalt": "weightnorm"}):
        figure.savefig(spare, format=path.suffix[1:].lower(), dpi=110)
