"""Brackets and signs at the ends of the doubles: the same in all units, and no leaked warning.

Warnings are errors in the tests, so a call that gives an answer has given none.
"""

import contextlib
import itertools

import numpy as np
import pytest

import weightnorm as wn
from weightnorm import theory

BASE = wn.datasets.make_regression(6, 10, condition_number=3.0, seed=0)
W0 = wn.datasets.random_direction(10, seed=0)
UNITS = [
    *((1e100, 1e100), (1e-100, 1.0), (1e100, 1.0), (1.0, 1e-139), (1.0, 1e139), (1e100, 1e-30)),
    (1e-130, 1e100),
]
SIZES = [1e-320, 1e-300, 1e-150, 1e-100, 1.0, 1e100, 1e150, 1e300, 1.7e308]


def in_units(a, b):
    return wn.LeastSquares(BASE.A * a, BASE.y * b)


@pytest.mark.parametrize(("a", "b"), UNITS)
def test_a_bracket_knows_no_units(a, b):
    """A in units of a, y in units of b: norms are b/a times as large, with steps that fit."""
    problem = in_units(a, b)
    for eta, gamma in ((0.1, 0.1), (0.02, 1.5), (0.0, 3.0), (0.15, 0.0), (0.5, 0.1)):
        usual = theory.norm_bracket(BASE, eta, gamma)
        found = theory.norm_bracket(problem, eta / b / b, gamma / a / a)
        if usual is None:
            assert found is None
        else:
            np.testing.assert_allclose(found, np.array(usual) * (b / a), rtol=1e-9)


@pytest.mark.parametrize(("a", "b"), UNITS[:-1])
def test_signs_know_no_units(a, b):
    problem, size = in_units(a, b), b / a
    for g0, c in itertools.product((-2.0, -0.3, -0.01, 0.0, 0.01, 2.0), (0.1, 1.0, 30.0)):
        usual = theory.scale_sign(BASE, g0, W0, c)
        found = theory.scale_sign(problem, g0 * size, W0, c * size * size)
        assert (found.sign, found.local) == (usual.sign, usual.local), (g0, c)
        usual = theory.batchnorm_limit(BASE, g0, W0, c)
        found = theory.batchnorm_limit(problem, g0 * size, W0, c * b * b)
        assert np.sign(found.scale) == np.sign(usual.scale), (g0, c)
        np.testing.assert_allclose(found.norm, usual.norm * size, rtol=1e-9)


@pytest.mark.parametrize(("a", "b"), [(1.0, 1.0), (1.0, 1e-300), *UNITS[:-1]])
def test_an_answer_or_a_sentence_however_far_out(a, b):
    """A sign may take a short integration, so of those there are fewer."""
    problem, answers = in_units(a, b), 0
    for eta, gamma in itertools.product([0.0, *SIZES], repeat=2):
        with contextlib.suppress(ValueError):
            theory.norm_bracket(problem, eta, gamma)
            answers += 1
    for sign in (theory.scale_sign, theory.batchnorm_limit):
        for g0, c in itertools.product((-1.0, 0.0, 1e139), (1e-320, 1e-300, 1e300, 1.7e308)):
            sign(problem, g0, W0, c)
            answers += 1
    assert answers > 30


def test_a_step_that_no_norm_can_bear_is_named():
    for name, steps in (("scale_step", (0.0, 1e300)), ("direction_step", (1e-320, 0.1))):
        with pytest.raises(ValueError, match=f"{name} is .*; take 0 or another step, or rescale"):
            theory.norm_bracket(in_units(1e100, 1.0), *steps)
    assert theory.norm_bracket(BASE, 1e300, 1e-3) is None
    low, high = theory.norm_bracket(BASE, 0.0, 1e280)
    assert low == pytest.approx(np.linalg.norm(BASE.y) * np.sqrt(0.5e280), rel=1e-9)
    assert high == np.inf


def test_the_rest_of_a_far_solution_is_its_rounding():
    """Its square overflowed, and a start in the row space was one off it."""
    usual = wn.datasets.make_regression(6, 10, condition_number=1.0, seed=0)
    here = usual.reduce().problem.target
    for a, b in ((1e-139, 1e100), (1e100, 1e-60)):
        found = wn.LeastSquares(usual.A * a, usual.y * b).reduce().problem.target
        np.testing.assert_allclose(found, here * (b / a), rtol=1e-9)


@pytest.mark.parametrize("tol", [1e150, 1e200, 1e300])
def test_a_tolerance_whose_square_overflows_stops_at_once(tol):
    model = wn.WeightNormRegressor("rpgd", max_iter=20, tol=tol)
    assert model.fit(BASE.A, BASE.y * 1e6).n_iter_ <= 1
