"""Random and hostile instances: sizes, conditioning, signs, starts in the row space and
orthogonal to it. Plain arrays; the problem object is made only to be handed to the theory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from weightnorm._support.numeric import Array
from weightnorm.problems import LeastSquares

Rng = np.random.Generator
KINDS = ("general", "general", "general", "row space", "orthogonal", "nearly in the row space")
OFF = ("general", "orthogonal", "nearly in the row space")
TAME = ("general", "orthogonal")


@dataclass(frozen=True, eq=False)
class Instance:
    """Least squares with A x* = y and x* in the row space, and a start."""

    A: Array
    x: Array
    g0: float
    w0: Array
    c: float
    kind: str

    @cached_property
    def y(self) -> Array:
        """A x*."""
        return self.A @ self.x

    @cached_property
    def problem(self) -> LeastSquares:
        """What the theory is asked about."""
        return LeastSquares(self.A, self.y)

    @cached_property
    def gstar(self) -> float:
        """‖x*‖."""
        return float(np.linalg.norm(self.x))

    @cached_property
    def projection(self) -> Array:
        """Onto the row space."""
        return np.array(np.linalg.pinv(self.A) @ self.A, dtype=np.float64)

    @cached_property
    def lam(self) -> Array:
        """The eigenvalues of AAᵀ, ascending."""
        return np.asarray(np.linalg.eigvalsh(self.A @ self.A.T), dtype=np.float64)

    def perp(self, w: Array) -> Array:
        """w⊥."""
        return w - self.projection @ w

    def q(self, w: Array) -> float:
        """‖w⊥‖."""
        return float(np.linalg.norm(self.perp(w)))

    def p(self, w: Array) -> float:
        """‖Aw‖."""
        return float(np.linalg.norm(self.A @ w))

    def loss(self, x: Array) -> float:
        """½‖Ax − y‖²."""
        r = self.A @ x - self.y
        return 0.5 * float(r @ r)

    def gradient(self, x: Array) -> Array:
        """Aᵀ(Ax − y)."""
        return np.asarray(self.A.T @ (self.A @ x - self.y))

    def at(self, **changes: Any) -> Instance:
        """The same with another start, ratio or kind."""
        return replace(self, **changes)

    @property
    def summary(self) -> dict[str, Any]:
        """The instance in a few numbers, for a counterexample."""
        m, d = self.A.shape
        numbers = {"m": m, "d": d, "g0": self.g0, "g*": self.gstar, "c": self.c}
        return numbers | {"q0": self.q(self.w0), "w0": self.kind}


def make(
    rng: Rng,
    kinds: tuple[str, ...] = KINDS,
    *,
    orthogonal: bool = False,
    condition: float | None = None,
    m: int | None = None,
) -> Instance:
    """A = U S Vᵀ with λmax(AAᵀ) = 1, ‖x*‖ between 0.3 and 4, a start of some kind, a scale of
    either sign under or over g*, and a ratio from tiny to huge.
    """
    m = int(rng.integers(1, 7)) if m is None else m
    d = m + int(rng.integers(1, 8))
    kappa = condition or float(rng.choice([1.0, 2.0, 5.0, 30.0]))
    singular = np.geomspace(1.0, 1.0 if orthogonal else 1.0 / kappa, m)
    U = np.linalg.qr(rng.standard_normal((m, m)))[0]
    V = np.linalg.qr(rng.standard_normal((d, m)))[0]
    coordinates = rng.standard_normal(m)
    gstar: float = float(rng.choice([0.3, 1.0, 2.0, 4.0]))
    coordinates *= gstar / np.linalg.norm(coordinates)
    share = float(rng.choice([0.1, 0.5, 0.9, 1.0, 1.3, 2.0]))
    sign = float(rng.choice([-1.0, 1.0, 1.0]))
    c = float(rng.choice([0.05, 0.3, 1.0, 3.0, 30.0])) * gstar**2 / 4.0
    kind = str(rng.choice(kinds))
    it = Instance((U * singular) @ V.T, V @ coordinates, sign * gstar * share, np.zeros(d), c, kind)
    return it.at(w0=direction(rng, it, kind))


def direction(rng: Rng, it: Instance, kind: str = "general") -> Array:
    """A unit direction of the given kind."""
    w: Array = np.asarray(rng.standard_normal(it.A.shape[1]))
    inside = it.projection @ w
    rest = w - inside
    w = {
        "row space": inside,
        "orthogonal": rest,
        "nearly in the row space": inside + 1e-4 * rest,
    }.get(kind, w)
    return np.asarray(w / np.linalg.norm(w))


def plain(g0: float, w0: Any, y: float = 1.0, c: float = 1.0) -> Instance:
    """A = [1, 0], where the second coordinate of w is w⊥ to its last digit."""
    A = np.array([[1.0, 0.0]])
    return Instance(A, np.array([y, 0.0]), g0, np.asarray(w0, dtype=np.float64), c, "given")


def angled(q: float) -> Array:
    """The unit direction of `plain` with ‖w⊥‖ = q."""
    return np.array([np.sqrt((1.0 - q) * (1.0 + q)), q])
