"""Fresh noise on the labels: where it takes rPGD, and what it does to weight normalization."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support import validate
from ..problems import require_least_squares
from ._solution import reachable, solved
from .formula import formula
from .refuse import one_of
from .statement import Statement, assume


@dataclass(frozen=True)
class NoiseEquilibrium(Statement):
    """Where label noise takes a run along the solutions, to order η².

    Attributes
    ----------
    norm : float
        ‖x‖ around which rPGD settles in the long run, the minimum norm where it gets there;
        infinite for weight normalization, whose weights grow without bound in the end where there
        are solutions other than x*.
    reaches_min_norm : bool
        Whether rPGD goes all the way to the minimum-norm solution.
    drift : float
        The change per step of log q + ‖x‖²/2c at the given norm (rPGD), or of ‖w‖⁴ (weight
        normalization); q = ‖w⊥‖/‖w‖.
    turning_norm : float
        For weight normalization the ‖w‖ from which on the noise of the scale wins, and q rises
        again; infinite for rPGD.
    assumptions, paper, applies, failing
        See `Statement`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> found = wn.theory.noise_equilibrium(problem, 0.01, ratio=3.0, label_noise=0.1)
    >>> round(found.norm**2, 9), found.reaches_min_norm
    (3.0, False)
    """

    norm: float
    reaches_min_norm: bool
    drift: float
    turning_norm: float


@formula
def noise_equilibrium(
    problem: Any,
    direction_step: float,
    ratio: float = 1.0,
    label_noise: float = 1.0,
    norm: Any = None,
    method: str = "rpgd",
    direction_norm: float = 1.0,
) -> NoiseEquilibrium:
    """Where training with fresh noise of standard deviation σ on y goes along the solutions.

    rPGD: log q + G/2c changes by −(η²σ²/2)[G·tr(AAᵀ) − (2 + c/G)‖y‖²] per step, G = ‖x‖². It
    reaches the minimum-norm solution if and only if tr(AAᵀ)g*² ≥ (2 + c/g*²)‖y‖², and otherwise
    settles at G = (‖y‖²/tr(AAᵀ))(1 + √(1 + c·tr(AAᵀ)/‖y‖²)): always for one sample. Weight
    normalization: ‖w‖⁴ grows by 2η²σ²G·tr(PAᵀA) per step, and q first falls; once
    c‖w‖²‖y‖² > G(G·tr(AAᵀ) − ‖y‖²) it rises again, and ‖x‖ grows without bound. Divide the scale's
    step by ‖w‖² to avoid it. This is an average to order η²: runs agree within some percent at
    small steps.

    Parameters
    ----------
    problem : LeastSquares
        The data A and y.
    direction_step : float
        η; greater than 0.
    ratio : float
        c, the scale's step over the direction's; greater than 0.
    label_noise : float
        σ, the standard deviation of the noise on every y; greater than 0.
    norm : float or Result, optional
        ‖x‖ of the solution at which `.drift` is wanted, by default that of the equilibrium.
    method : {"rpgd", "wn"}
        Which method makes the steps.
    direction_norm : float
        ‖w‖, for weight normalization.

    Returns
    -------
    NoiseEquilibrium
        With `.norm`, `.reaches_min_norm`, `.drift` and `.turning_norm`.

    Examples
    --------
    >>> import weightnorm as wn
    >>> problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    >>> wn.theory.noise_equilibrium(problem, 0.01, ratio=1.0, label_noise=0.1).reaches_min_norm
    True
    """
    one_of("method", method, ("rpgd", "wn"))
    eta = validate.real("direction_step", direction_step, minimum=0.0, strict=True)
    c = validate.real("ratio", ratio, minimum=0.0, strict=True)
    sigma = validate.real("label_noise", label_noise, minimum=0.0, strict=True)
    length = validate.real("direction_norm", direction_norm, minimum=0.0, strict=True)
    at = solved(require_least_squares(problem))
    trace, square = float(at.lam.sum()), float(at.pull @ at.pull)
    lowest = at.gstar**2
    there = square / trace * (1.0 + float(np.sqrt(1.0 + c * trace / square)))
    reaches = trace * lowest >= (2.0 + c / lowest) * square
    settled = at.gstar if reaches or not at.free else float(np.sqrt(there))
    size = settled if norm is None else validate.real("norm", getattr(norm, "norm", norm))
    G = max(size, at.gstar) ** 2
    if method == "rpgd":
        drift = -0.5 * (eta * sigma) ** 2 * (G * trace - (2.0 + c / G) * square)
        turning = np.inf
    else:
        drift = 2.0 * (eta * sigma) ** 2 * (G * trace - square)  # tr(PAᵀA) = tr(AAᵀ) − ‖y‖²/G
        turning = float(np.sqrt(max(0.0, G * (G * trace - square)) / (c * square)))
    return NoiseEquilibrium(
        norm=settled if method == "rpgd" or not at.free else np.inf,
        reaches_min_norm=bool(reaches) and method == "rpgd",
        drift=drift,
        turning_norm=turning,
        assumptions=(
            assume("solutions of this norm exist", reachable(np.array(size), at)),
            assume("‖w‖ = 1 for rPGD", method == "wn" or length == 1.0),
            assume("η‖x‖²λmax/‖w‖² < 1: small steps", eta * G / length**2 * at.lam.max() < 1.0),
        ),
        paper="beyond the paper",
    )
