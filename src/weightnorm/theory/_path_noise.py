"""What mini-batches do to a run along its way: how they move the drift, and which side it ends on.

A run follows a way θ(t), t growing by h per step, and batches add noise of covariance h·C(θ) per
unit of time. To first order in that noise a functional of the way has the variance h∫ℓᵀCℓ, where ℓ
is its gradient by θ(t): the adjoint equation −ℓ′ = F′ᵀℓ carries it back from where it is known.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from .._support.numeric import Array
from ._integrate import integrate_for, integrate_until
from ._samples import Samples

ACCURACY = 1e-6  # of the adjoint equation: a standard deviation needs no more
PASSED = 1e-3  # of ‖Aᵀr‖²: by then a way has left S behind


@dataclass(frozen=True, eq=False)
class Way:
    """θ at growing times, the first of them 0, and its derivative there."""

    times: Array
    states: Array
    slopes: Array

    def between(self) -> Callable[[float], Array]:
        """θ(t), by cubics between those times."""
        from scipy.interpolate import CubicHermiteSpline

        return CubicHermiteSpline(self.times, self.states, self.slopes)  # type: ignore[no-any-return]


def flow_way(samples: Samples, g0: float, z0: Array, tail: float) -> Way | None:
    """The flow until ‖Aᵀr‖² has fallen to this share; None where the integration did not get
    there.
    """
    start = np.concatenate([[0.0, g0], z0])
    passed = [start]
    least = tail * max(samples.steepness(start[1:]), samples.steepness(0.0 * start[1:]))
    _, done = integrate_until(
        lambda t, state: np.concatenate([[1.0], samples.field(state[1:])]),
        start,
        lambda state: samples.steepness(state[1:]) <= least,
        passed.append,
        accuracy=1e-7,
    )
    if not done:
        return None
    states = np.array(passed)
    slopes = np.array([samples.field(theta) for theta in states[:, 1:]])
    return Way(states[:, 0], states[:, 1:], slopes)


def drift_variance(samples: Samples, way: Way, coefficients: Array) -> float:
    """The variance, over h³, of the drift ∫hD that batches cause by moving the way; infinite where
    it could not be integrated.
    """
    return _carried_back(
        samples,
        way,
        len(way.times) - 1,
        np.zeros(way.states.shape[1]),
        lambda theta: samples.drift_gradient(theta, coefficients),
    )[0]


def certainty(samples: Samples, critical: float, above: float, h: float) -> float:
    """By how many standard deviations of the noise a start misses the starts that flow into
    S = {g = 0, yᵀAŵ = 0}; positive on the side of g > 0, NaN where it could not be integrated.

    `critical` is the scale at which this direction flows into S, and `above` by how much that of
    the start is larger. Near S the starts that end in it are those with u = μg + c·yᵀAŵ = 0, where
    μ > 0 is the rate at which u grows, μ² + c‖Aŵ‖²μ = c‖Aᵀy‖². The gradient of u, carried back
    along the critical way, is what a difference of the start is worth there. The variance of u is
    what the way gathers, and (hμ/2)c²V_s for what comes, V_s the variance of yᵀAŵ over batches.
    """
    way = flow_way(samples, critical, samples.start, PASSED)
    if way is None:
        return np.nan
    steep, c = samples.steepest, samples.ratio
    size = float(np.linalg.norm(steep))
    nearest = int(np.argmin(np.hypot(way.states[:, 0], way.states[:, 1:] @ (steep / size))))
    theta = way.states[nearest].copy()
    seen = samples.rows @ theta[1:]
    half = 0.5 * c * float(seen @ seen)
    mu = c * size**2 / (half + float(np.hypot(half, np.sqrt(c) * size)))
    gathered, first = _carried_back(samples, way, nearest, np.concatenate([[mu], c * steep]))
    # at S, where r = −y: ℓᵀCℓ of a pure scale is c²V_s
    theta[0], of_scale = 0.0, np.eye(1, theta.size)[0]
    variance = gathered + 0.5 * mu * samples.variance(theta, of_scale)
    with np.errstate(divide="ignore", invalid="ignore"):
        return float(np.float64(first[0] * above) / np.sqrt(h * variance))


def _carried_back(
    samples: Samples,
    way: Way,
    last: int,
    ell: Array,
    source: Callable[[Array], Array] | None = None,
) -> tuple[float, Array]:
    """∫ℓᵀCℓ from the start to the moment of index `last`, where ℓ is given; and ℓ at the start."""
    end = float(way.times[last])
    if end == 0.0:
        return 0.0, ell
    at = way.between()

    def field(back: float, state: Array) -> Array:
        theta, ell = at(end - back), state[:-1]
        moved = samples.back(theta, ell)
        if source is not None:
            moved = moved + source(theta)
        return np.append(moved, samples.variance(theta, ell))

    state, done = integrate_for(field, np.append(ell, 0.0), end, accuracy=ACCURACY)
    return float(state[-1]) if done else np.inf, state[:-1]
