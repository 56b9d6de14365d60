"""A problem of your own: phase retrieval, (1/4m) Σ ((aᵢ·x)² − yᵢ)², where only the squares of the
measurements are known.

A problem gives `dimension` and `value_and_gradient` over a batch of runs; then every method runs on
it. This one also depends on A x alone, so it has a reduction: coordinates in the row space of A and
one number for all the rest of w. What a run costs then depends on the number of measurements, not
on the dimension. Run it: python examples/own_problem.py
"""

import time

import numpy as np

import weightnorm as wn
from weightnorm.problems import Lifter, Reduction


class PhaseRetrieval(wn.Problem):
    """(1/4m) Σ ((aᵢ·x)² − yᵢ)² for A of shape (m, d)."""

    has_label_noise = True

    def __init__(self, A, y):
        self.A, self.y = A, y
        self.num_samples, self.dimension = A.shape

    def value_and_gradient(self, x):
        """The loss (n,) and the gradient (n, d) at the rows of x."""
        z = x @ self.A.T
        error = z**2 - self.y
        return (error**2).mean(axis=1) / 4, (error * z) @ self.A / self.num_samples

    def sample(self, rows, noise):
        """What a random step sees: some rows, with noise on y; the mean over them is m/b times
        their share.
        """
        y = self.y if noise is None else self.y + noise
        return PhaseRetrieval(self.A, y) if rows is None else PhaseRetrieval(self.A[rows], y[rows])

    def reduction(self, samples):
        """The same problem in rank + 1 coordinates."""
        Q = np.linalg.qr(self.A.T)[0]  # an orthonormal basis of the row space
        small = PhaseRetrieval(np.column_stack([self.A @ Q, np.zeros(len(self.y))]), self.y)
        return RowSpace(small, Q)


class RowSpace(Reduction):
    """w ↦ (Qᵀw, ‖the rest of w‖): an isometry on all that training can reach from a start."""

    def __init__(self, problem, Q):
        super().__init__(problem)
        self.Q = Q

    def enter(self, units):
        """Unit vectors (n, d) -> coordinates (n, rank + 1)."""
        return np.column_stack(
            [units @ self.Q, np.linalg.norm(units - units @ self.Q @ self.Q.T, axis=1)]
        )

    def start(self, unit):
        """The coordinates of one start, and the axis that leads back from the last of them."""
        rest = unit - self.Q @ (self.Q.T @ unit)
        return self.enter(unit[None])[0], Lifter(self, (rest / max(np.linalg.norm(rest), 1e-300),))

    def lift(self, coordinates, axes):
        """Coordinates -> a vector of d entries."""
        return self.Q @ coordinates[:-1] + coordinates[-1] * axes[0]

    def perp_units(self, units, wanted):
        """What is off the row space is the last coordinate."""
        return np.eye(1, self.problem.dimension, self.problem.dimension - 1)


rng = np.random.default_rng(0)
A = rng.standard_normal((40, 2_000)) / np.sqrt(2_000)
problem = PhaseRetrieval(A, (A @ rng.standard_normal(2_000)) ** 2)
w0 = rng.standard_normal(2_000)
for method in (
    wn.GradientDescent(2.0),
    wn.WeightNorm(1e-3, 1.0, momentum=0.5),
    wn.RPGD(1e-3, 1.0, batch_size=20, seed=0),
):
    for coordinates in ("reduced", "full"):
        begun = time.perf_counter()
        result = wn.run(
            method, problem, 30.0, w0, tolerance=1e-6, max_steps=20_000, coordinates=coordinates
        )
        print(f"{coordinates:>7}, {time.perf_counter() - begun:5.2f} s: {method.name:>15} {result}")
