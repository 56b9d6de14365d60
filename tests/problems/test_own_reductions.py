"""Reductions of one's own that are wrong: refused by name, in runs and in sweeps."""

import numpy as np
import pytest

import weightnorm as wn
from weightnorm.problems import Lifter, Reduction

DIMENSION = 8
W0 = wn.datasets.random_direction(DIMENSION, seed=3)
A = np.random.default_rng(0).standard_normal((3, DIMENSION))
Q = np.linalg.qr(A.T)[0]


class Quartic(wn.Problem):
    """¼ Σ ((Ax)ᵢ − 1)⁴, with a reduction that a test chooses."""

    def __init__(self, matrix=A, space=None, reference=None, share=1.0):
        self.matrix, self.space, self.reference = matrix, space, reference
        self.dimension, self.share = matrix.shape[1], share

    def value_and_gradient(self, x):
        error = x @ self.matrix.T - 1.0
        return self.share * (error**4).sum(axis=1) / 4, self.share * error**3 @ self.matrix

    def reduction(self, samples):
        return self.in_full() if self.space is None else self.space()


SMALL = np.column_stack([A @ Q, np.zeros(3)])


class RowSpace(Reduction):
    """(Qᵀw, ‖the rest‖), as it should be."""

    def enter(self, units):
        inside = units @ Q
        return np.column_stack([inside, np.linalg.norm(units - inside @ Q.T, axis=1)])

    def start(self, unit):
        rest = unit - Q @ (Q.T @ unit)
        return self.enter(unit[None])[0], Lifter(self, (rest / np.linalg.norm(rest),))

    def lift(self, coordinates, axes):
        return Q @ coordinates[:-1] + coordinates[-1] * axes[0]

    def perp_units(self, units, wanted):
        return np.eye(1, 4, 3)


class NoStart(RowSpace):
    start = Reduction.start


class NoLifter(RowSpace):
    def start(self, unit):
        return self.enter(unit[None])[0]


class LongPerp(RowSpace):
    def perp_units(self, units, wanted):
        return units


def test_what_is_right_runs_the_same_both_ways():
    problem = Quartic(space=lambda: RowSpace(Quartic(SMALL)))
    runs = [
        wn.run(wn.WeightNorm(0.01, 0.01), problem, 1.0, W0, max_steps=300, coordinates=where)
        for where in ("reduced", "full")
    ]
    assert np.allclose(runs[0].weights, runs[1].weights, rtol=1e-10)
    data = wn.sweep(problem, {"m": wn.WeightNorm(0.01, 0.01)}, [1.0], W0, max_steps=300)
    assert np.isclose(data.norm.item(), runs[0].norm, rtol=1e-10)


@pytest.mark.parametrize(
    ("space", "sentence"),
    [
        (lambda: Quartic(SMALL), r"Quartic.reduction must return a weightnorm.problems.Reduction"),
        (lambda: RowSpace(Quartic(SMALL, share=1.5)), "must have the loss of the problem"),
        (lambda: RowSpace(Quartic(SMALL[:2])), "must have the loss of the problem"),
        (lambda: RowSpace(Quartic(SMALL, reference=W0)), r"reference .* of shape \(4,\), got \(8,"),
        (lambda: RowSpace(Quartic(A)), r"RowSpace.start must give 8 coordinates"),
        (lambda: NoStart(Quartic(SMALL)), r"NoStart.lift failed at a start.*give `start`"),
        (lambda: NoLifter(Quartic(SMALL)), r"NoLifter.start must return two things"),
        (lambda: LongPerp(Quartic(SMALL)), r"LongPerp.perp_units must give unit vectors"),
    ],
)
def test_what_is_wrong_is_named(space, sentence):
    problem = Quartic(space=space)
    for call in (wn.run, lambda m, p, g, w: wn.sweep(p, {"m": m}, g, w)):
        with pytest.raises((TypeError, ValueError), match=sentence):
            call(wn.RPGD(0.01, 0.01), problem, 1.0, W0)


def test_a_loss_that_differs_by_rounding_is_the_same():
    """At a solution nothing but rounding is left of the loss."""
    x = np.linalg.pinv(A) @ np.ones(3)
    problem = Quartic(space=lambda: RowSpace(Quartic(SMALL)))
    scale = float(np.linalg.norm(x))
    assert wn.run(wn.RPGD(0.01, 0.01), problem, scale, x).status == "converged"


def test_reduced_coordinates_without_the_curvature():
    class Curved(Quartic):
        curvature = 3.0

    problem = Curved(space=lambda: RowSpace(Quartic(SMALL)))
    step = wn.schedules.curvature(0.1)
    with pytest.raises(TypeError, match=r"Quartic, the problem in reduced coordinates, has no cur"):
        wn.run(wn.RPGD(step, 0.01), problem, 1.0, W0)
