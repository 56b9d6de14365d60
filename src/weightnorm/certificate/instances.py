"""Random and hostile instances: sizes, conditioning, signs, starts in the row space and
orthogonal to it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..problems import LeastSquares

Array = NDArray[np.float64]
KINDS = ("general", "general", "general", "row space", "orthogonal", "nearly in the row space")


@dataclass(frozen=True, eq=False)
class Instance:
    """A problem and a start."""

    problem: LeastSquares
    g0: float
    w0: Array
    c: float
    kind: str

    @property
    def gstar(self) -> float:
        """‖x*‖."""
        return float(np.linalg.norm(self.solution))

    @property
    def solution(self) -> Array:
        """x*."""
        return solution_of(self.problem)

    @property
    def summary(self) -> dict[str, Any]:
        """The instance in a few numbers, for a counterexample."""
        m, d = self.problem.shape
        return {
            "m": m,
            "d": d,
            "g0": self.g0,
            "g*": self.gstar,
            "c": self.c,
            "q0": perp_size(self.problem, self.w0),
            "w0": self.kind,
        }


def solution_of(problem: LeastSquares) -> Array:
    """The x* a problem was made with."""
    assert problem.solution is not None
    return problem.solution


def make_problem(
    rng: np.random.Generator,
    *,
    orthogonal: bool = False,
    condition: float | None = None,
    m: int | None = None,
    d: int | None = None,
) -> LeastSquares:
    """A = U S Vᵀ with λmax(AAᵀ) = 1, x* in the row space with ‖x*‖ between 0.3 and 4."""
    m = int(rng.integers(1, 7)) if m is None else m
    d = m + int(rng.integers(1, 8)) if d is None else d
    kappa = (
        1.0
        if orthogonal
        else float(rng.choice([1.0, 2.0, 5.0, 30.0]))
        if condition is None
        else condition
    )
    U = np.linalg.qr(rng.standard_normal((m, m)))[0]
    V = np.linalg.qr(rng.standard_normal((d, m)))[0]
    coordinates = rng.standard_normal(m)
    coordinates *= float(rng.choice([0.3, 1.0, 2.0, 4.0])) / np.linalg.norm(coordinates)
    singular = np.geomspace(1.0, 1.0 / kappa, m)
    return LeastSquares(
        (U * singular) @ V.T, U @ (singular * coordinates), solution=V @ coordinates
    )


def split(problem: LeastSquares, w: Array) -> tuple[Array, Array]:
    """w∥ and w⊥, by the pseudo-inverse."""
    inside = np.linalg.pinv(problem.A) @ (problem.A @ w)
    return inside, w - inside


def perp_size(problem: LeastSquares, w: Array) -> float:
    """‖w⊥‖."""
    return float(np.linalg.norm(split(problem, w)[1]))


def make_start(rng: np.random.Generator, problem: LeastSquares, kind: str = "general") -> Array:
    """A unit direction of the given kind."""
    w = rng.standard_normal(problem.shape[1])
    inside, rest = split(problem, w)
    w = {
        "row space": inside,
        "orthogonal": rest,
        "nearly in the row space": inside + 1e-4 * rest,
    }.get(kind, w)
    return np.asarray(w / np.linalg.norm(w))


def make_instance(
    rng: np.random.Generator, kinds: tuple[str, ...] = KINDS, **options: Any
) -> Instance:
    """A problem, a start of some kind, a scale of either sign under or over g*, and a ratio from
    tiny to huge.
    """
    problem = make_problem(rng, **options)
    kind = str(rng.choice(kinds))
    gstar = float(np.linalg.norm(solution_of(problem)))
    g0 = (
        float(rng.choice([-1.0, 1.0, 1.0]))
        * gstar
        * float(rng.choice([0.1, 0.5, 0.9, 1.0, 1.3, 2.0]))
    )
    c = float(rng.choice([0.05, 0.3, 1.0, 3.0, 30.0])) * gstar**2 / 4.0
    return Instance(problem, g0, make_start(rng, problem, kind), c, kind)
