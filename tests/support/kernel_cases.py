"""Problems known both by their features A and by K = AAᵀ, and what stands between the two."""

from dataclasses import dataclass

import numpy as np

import weightnorm as wn
from weightnorm.problems import Lifter
from weightnorm.problems.coordinates.factorisation import Explicit, Factorisation
from weightnorm.problems.coordinates.reduction import RowSpace

EPS = np.finfo(float).eps
CONDITIONS = (1.0, 10.0, 1e3, 1e5)  # of A
STARTS = ("general", "row space", "orthogonal")


@dataclass(frozen=True)
class Pair:
    """The same data with features and without, a start, and new samples."""

    A: np.ndarray
    y: np.ndarray
    w0: np.ndarray
    new: np.ndarray
    condition: float

    @property
    def explicit(self):
        return wn.LeastSquares(self.A, self.y)

    @property
    def kernel(self):
        return wn.KernelLeastSquares(self.A @ self.A.T, self.y)

    @property
    def f0(self):
        return self.A @ self.w0

    @property
    def new_kernel(self):
        return self.new @ self.A.T

    @property
    def new_f0(self):
        return self.new @ self.w0

    @property
    def tolerance(self):
        """κ(K)·eps, relatively, and what a thousand steps add."""
        return 4 * EPS * self.condition**2 + 1e-12


def pair(condition=10.0, start="general", seed=0, m=12, d=30, rank=None, reach=True):
    """A = U S Vᵀ with singular values from 1 to 1/condition, and a start of some kind."""
    rng = np.random.default_rng(seed)
    rank = m if rank is None else rank
    U = np.linalg.qr(rng.standard_normal((m, m)))[0][:, :rank]
    V = np.linalg.qr(rng.standard_normal((d, rank)))[0]
    A = (U * np.geomspace(1.0, 1.0 / condition, rank)) @ V.T
    y = A @ (V @ rng.standard_normal(rank))
    if not reach:
        y = y + rng.standard_normal(m)
    w = rng.standard_normal(d)
    inside = V @ (V.T @ w)
    w = {"general": w, "row space": inside, "orthogonal": w - inside}[start]
    return Pair(A, y, w / np.linalg.norm(w), rng.standard_normal((5, d)), condition)


def lifted(pair, found):
    """Weights in features, from dual coefficients and the share of the start."""
    return pair.A.T @ found.dual_coef.T + np.multiply.outer(pair.w0, found.start_share)


def off(found, known):
    """How far numbers are apart, relatively to the largest."""
    known = np.asarray(known)
    return float(np.abs(np.asarray(found) - known).max() / max(np.abs(known).max(), 1e-300))


class Twin(wn.LeastSquares):
    """Least squares with features whose numbers all come from K and the values of starts."""

    def __init__(self, A, y):
        super().__init__(A, y)
        self.kernel = wn.KernelLeastSquares(self.A @ self.A.T, y)
        factors = self.kernel.factorisation
        right = self.A.T @ (factors.left.columns / factors.singular_values)
        self.__dict__["factorisation"] = Factorisation(
            factors.singular_values, factors.left, Explicit(right), factors.orthogonality
        )

    def reduction(self, samples):
        inner = self.kernel.reduce(samples)
        return TwinSpace(inner.problem, self.factorisation, inner.groups, inner, self)


@dataclass(eq=False)
class TwinSpace(RowSpace):
    """Starts enter by their values alone; weights leave as Aᵀα + s·w0."""

    inner: object = None
    twin: object = None

    def enter(self, units):
        return np.array([self.start(unit)[0] for unit in units])

    def start(self, unit):
        own = self.twin.kernel.direction(self.twin.A @ unit)
        coordinates, lifter = self.inner.start(own)
        return coordinates, Lifter(self, (lifter, unit, own))

    def lift(self, coordinates, axes):
        lifter, unit, own = axes
        found = self.twin.kernel.dual_expansion(own)(lifter.lift(coordinates))
        return self.twin.A.T @ found.dual_coef + found.start_share * unit
