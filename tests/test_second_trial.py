"""What a second trial by fresh eyes found: going on from results, far-out formulas, links."""

import pickle

import mpmath
import numpy as np
import pytest
from commands import plain, run

import weightnorm as wn
from weightnorm import theory
from weightnorm._resume import agree


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("coordinates", ["reduced", "full"])
def test_a_unit_direction_leaves_another_method_its_own_norm(seed, coordinates):
    """‖w‖ of rPGD is 1 to rounding, and no rounding is worth keeping."""
    problem = wn.datasets.make_regression(seed=seed)
    w0 = wn.datasets.random_direction(50, seed=seed)
    first = wn.run(wn.RPGD(0.01, 0.01), problem, 2.0, w0, max_steps=30, coordinates=coordinates)
    rule, limits = wn.WeightNorm(0.01, 0.01, initial_norm=3.0), {"max_steps": 50, "tolerance": 0}
    on = wn.run(rule, problem, start=first, **limits)
    anew = wn.run(rule, problem, first.scale, first.direction, **limits)
    assert on.direction_norm == pytest.approx(anew.direction_norm, rel=1e-12)
    np.testing.assert_allclose(on.weights, anew.weights, rtol=1e-9, atol=1e-12)


def test_a_pickled_result_goes_on_where_a_probe_overflows():
    rng = np.random.default_rng(0)
    A = 300.0 * rng.normal(size=(6, 20))
    problem = wn.GeneralizedLinear(A, [1.0, 0, 2, 1, 3, 1], loss="poisson")
    rule, limits = wn.GradientDescent(0.002 / 300**2, momentum=0.9), {"tolerance": 0}
    first = wn.run(rule, problem, 0.1 / 300, rng.normal(size=20), max_steps=100, **limits)
    whole = wn.run(rule, problem, start=first, max_steps=100, **limits)
    back = wn.run(rule, problem, start=pickle.loads(pickle.dumps(first)), max_steps=100, **limits)
    assert back.total_steps == whole.total_steps == 200
    np.testing.assert_array_equal(back.weights, whole.weights)


def test_numbers_that_are_not_finite_agree_with_their_like_only():
    with_inf = np.array([1.0, np.inf, np.nan])
    assert agree(with_inf, with_inf.copy())
    assert not agree(with_inf, np.array([1.0, -np.inf, np.nan]))
    assert not agree(with_inf, np.array([1.0, np.inf, 2.0]))
    assert not agree(with_inf, np.array([1.1, np.inf, np.nan]))
    assert not agree(np.array([1.0]), np.array([np.inf]))


@pytest.mark.parametrize("size", [1e-9, 1e-7, 1e-6, 1e-4, 0.3])
@pytest.mark.parametrize("steps", [0, 1, 7])
def test_what_is_left_at_a_scale_far_above_the_solution(size, steps):
    found = theory.perp_after(size, 1.0 / size, 1.0, steps).value
    with mpmath.workdps(60):
        kappa, q = mpmath.mpf(size) ** 2, mpmath.mpf(size)
        inverse = kappa**steps / q**2 + (kappa**steps - 1) / (kappa - 1)
        wanted = float(1 / mpmath.sqrt(inverse))
    assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("share", [1e3, 1e4, 1e5, 1e7, 1e9])
def test_a_critical_ratio_far_below_the_solution(share):
    found = theory.wn_beats_gd(1.3, 1.3 * share, 0.04, 1.0).critical_ratio
    with mpmath.workdps(60):
        g0, gstar, q0 = mpmath.mpf(1.3), mpmath.mpf(1.3 * share), mpmath.mpf(0.04)
        D = gstar**2 - g0**2 * (1 - q0**2)
        wanted = float(D / mpmath.log(1 + D / g0**2))
    assert found == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("command", [["fit", "LOOP", "--target", "y"], ["predict", "LOOP", "LOOP"]])
def test_a_link_to_itself_is_an_error_in_a_sentence(tmp_path, command):
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    done = run(*(loop if word == "LOOP" else word for word in command))
    assert done.exit_code == 2
    assert "loop.csv" in plain(done.output)
