"""Kernel fits: the problem of a kernel matrix, with an intercept where it needs one, and its end
for every target.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.numeric import LARGEST, Array
from ..problems import KernelLeastSquares
from ..problems.kernel.gram import IndefiniteKernelError
from .base import FitEnd, FitOptions, FitStart
from .kernel_data import KernelData, Parts
from .squares import LEAST_NORM, fit_one

APART = 1e8  # weights whose ratio is beyond this may leave samples to rounding …
MISSED = 1e-6  # … which shows where a fit that reaches all of y misses so much of its largest


@dataclass(frozen=True)
class KernelFits:
    """The ends of all targets: what predictions need, and what is known of them.

    Attributes
    ----------
    dual : (n, n_targets) array
        Dual coefficients of the samples that count.
    share, intercept : (n_targets,) arrays
        What is left of the unit start direction, and the intercepts.
    ends : list of FitEnd
        In units of the targets.
    rank : int
        Of the kernel matrix beyond rounding.
    accuracy, lost : float
        The relative error that the kernel leaves in the weights, and the share of y that it cannot
        reach, of the worst target.
    """

    dual: Array
    share: Array
    intercept: Array
    ends: list[FitEnd]
    rank: int
    accuracy: float
    lost: float

    @property
    def worst(self) -> FitEnd:
        """The first end that is none; else the first."""
        return next((e for e in self.ends if e.status not in ("limit", "converged")), self.ends[0])

    @property
    def message(self) -> str:
        """Where it ended, and what the kernel matrix leaves to be known."""
        text = "the fit of minimum norm" if self.worst.message == LEAST_NORM else self.worst.message
        text += f"; K has rank {self.rank} of {len(self.dual)}, accuracy {self.accuracy:.2g}"
        if self.lost > 0.0:
            text += f"; {self.lost:.2g} of y is out of its reach, and not fitted"
        return text


def kernel_problem(
    parts: Parts, intercept: Any, allowed: float
) -> tuple[KernelData, KernelLeastSquares]:
    """The data and the problem of a fit.

    Parameters
    ----------
    parts : tuple
        The kernel (K, its eps and the norm of its errors), the targets, the start, the weights.
    intercept : bool or "auto"
        "auto": only where the kernel is indefinite without one.
    allowed : float
        The share of the largest eigenvalue that a negative one may have by an error, where an
        intercept does not help.

    Returns
    -------
    tuple of KernelData and KernelLeastSquares

    Raises
    ------
    ValueError
        If the kernel is indefinite, with its most negative eigenvalue.
    """
    first = KernelData.of(parts, intercept is True)
    try:
        return first, first.problem()
    except IndefiniteKernelError as refused:
        if intercept == "auto":
            centred = KernelData.of(parts, True)
            try:
                return centred, centred.problem()
            except IndefiniteKernelError:
                pass
        try:
            return first, first.problem(allowed)
        except IndefiniteKernelError:
            what = str(refused).removeprefix("K ").split(";")[0]
            advice = "use another kernel, or other parameters of it"
            raise ValueError(f"the kernel matrix {what}; {advice}") from None


def fit_kernel(
    data: KernelData,
    problem: KernelLeastSquares,
    scale: float,
    options: FitOptions,
    steps: tuple[Any, Any],
    single: bool,
) -> KernelFits:
    """Fit every target; `single` says that the start's values came in single precision."""
    ends, expansions, accuracy, lost = [], [], 0.0, 0.0
    for i, unit in enumerate(map(float, data.units)):
        if abs(scale) > LARGEST * unit:
            reason = f"too large for y, which varies by about {unit:.3g}; rescale y"
            raise ValueError(f"scale has size {abs(scale):.3g}, {reason}")
        direction = None
        if data.starts is not None:
            values = data.starts[:, i]
            direction = problem.direction(values.astype(np.float32) if single else values)
        target = problem.with_targets(data.targets[:, i] / unit)
        with warnings.catch_warnings():  # what K leaves unknown is in the accuracy
            warnings.filterwarnings("ignore", "K leaves an error", RuntimeWarning)
            ends.append(fit_one(target, FitStart(scale / unit, direction), options, steps, unit))
            accuracy = max(accuracy, target.accuracy)
        size = float(np.linalg.norm(target.y))
        lost = max(lost, float(np.sqrt(2.0 * target.floor)) / size if size > 0 else 0.0)
        origin = np.zeros(problem.dimension) if direction is None else direction
        expansions.append(problem.dual_expansion(origin)(ends[-1].coef))
    with np.errstate(over="ignore", invalid="ignore"):
        dual = data.dual(np.array([e.dual_coef for e in expansions]).T * data.units)
        share = np.array([e.start_share for e in expansions]) * data.units
        intercept = data.intercepts(dual, share)
    if not (np.isfinite(dual).all() and np.isfinite(intercept).all()):
        raise ValueError("y is so large against the kernel that coefficients overflow; rescale it")
    return KernelFits(dual, share, intercept, ends, problem.rank, accuracy, lost)


def warn_of_weights(parts: Parts, data: KernelData, found: KernelFits) -> None:
    """Warn where weights are so far apart that rounding of the weighted kernel swallows samples
    which the kernel itself can tell apart: those are not fitted.

    Either they no longer count in the rank, or an end that should pass through every sample is
    measured to miss one.
    """
    (K, eps, noise), targets, starts, weights = parts
    if weights is None or float(weights.max()) <= APART * float(weights.min()):
        return
    alike = KernelData.of(((K, eps, noise), targets, starts, None), bool(data.shares.any()))
    try:
        rank = alike.problem().rank
    except IndefiniteKernelError:  # the fit itself has warned of that
        return
    values = K @ found.dual + found.intercept
    if starts is not None:
        values = values + starts * found.share
    missed = np.abs(values - targets).max(axis=0)
    whole = rank + int(data.shares.any()) >= len(K) and all(e.status == "limit" for e in found.ends)
    if rank > found.rank:
        what = f"leaves the weighted kernel a rank of {found.rank} in place of {rank}: samples"
    elif whole and (missed > MISSED * np.abs(targets).max(axis=0)).any():
        what = "decides what samples"
    else:
        return
    decades = float(np.log10(weights.max()) - np.log10(weights.min()))
    end = "are not fitted" if rank > found.rank else "add to the fit, which misses them"
    warnings.warn(
        f"sample_weight spans {decades:.0f} decades, and rounding {what} with small weights {end}, "
        f"by up to {missed.max():.3g}; give weights that span less, or leave those samples out",
        UserWarning,
        stacklevel=3,
    )
