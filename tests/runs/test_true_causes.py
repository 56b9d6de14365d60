"""Messages that name the true cause, and what a run leaves behind when it is stopped."""

import pickle
import sys

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import weightnorm as wn
from weightnorm.problems.coordinates.factorisation import scaled_norm

PROBLEM = wn.datasets.make_regression(10, 50, seed=0)
W0 = wn.datasets.random_direction(50, seed=0)


@pytest.mark.parametrize(
    "method",
    [
        lambda step: wn.GradientDescent(step),
        lambda step: wn.RPGD(step, 0.01),
        lambda step: wn.WeightNorm(0.01, step),
    ],
)
def test_a_schedule_that_has_no_more_values(method):
    """StopIteration inside a generator is another error, which names nothing."""
    values = iter([0.001] * 5)
    with pytest.raises(ValueError, match=r"step size at t = 5, from the callable .*StopIteration"):
        wn.run(method(lambda t: next(values)), PROBLEM, 2.0, W0)
    values = iter([])
    with pytest.raises(ValueError, match=r"at t = 0, .* raised StopIteration: .* every step"):
        wn.schedules.scaled(lambda t: next(values))(0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("alone", [True, False])
def test_a_start_in_blocks_that_is_not_finite(bad, alone):
    da = pytest.importorskip("dask.array")
    start = np.zeros(50) if alone else W0.copy()
    start[3] = bad
    problem = wn.LeastSquares(da.from_array(PROBLEM.A, chunks=(-1, 10)), PROBLEM.y)
    with pytest.raises(ValueError, match="direction has NaN, infinite or huge entries"):
        wn.run(wn.GradientDescent(0.01), problem, 2.0, da.from_array(start, chunks=10))
    with pytest.raises(ValueError, match="direction is zero"):
        wn.run(wn.GradientDescent(0.01), problem, 2.0, da.zeros(50, chunks=10))


def test_a_length_is_what_its_entries_make_it():
    found = [scaled_norm(np.array(each)) for each in ([], [0.0], [3e200, 4e200], [np.inf, 1.0])]
    assert found == [0.0, 0.0, pytest.approx(5e200), np.inf]
    assert np.isnan(scaled_norm(np.array([np.nan, 1.0])))


X = np.random.default_rng(0).standard_normal((30, 4))


@pytest.mark.parametrize(
    ("gamma", "advice"),
    [(1e300, "use a smaller one"), (1e18, "use a smaller one"), (1e-300, "a larger gamma, or")],
)
def test_what_is_wrong_with_gamma(gamma, advice):
    """A huge one makes the rounding of a distance, even that of a sample to itself, all there
    is.
    """
    with pytest.warns(UserWarning, match=advice):
        wn.WeightNormKernelRegressor(gamma=gamma).fit(X, X[:, 0])


@pytest.mark.parametrize("size", [1e300, 1e-300])
@pytest.mark.parametrize("model", [wn.WeightNormRegressor, wn.WeightNormClassifier])
def test_weights_that_cannot_be_squared_are_what_is_to_be_rescaled(model, size):
    with pytest.raises(ValueError, match=r"sample_weight has .*; rescale the weights$"):
        model().fit(X, (X[:, 0] > 0).astype(int), sample_weight=np.full(30, size))


def test_ctrl_c_before_the_first_step_has_no_result_yet(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    problem = wn.LeastSquares(PROBLEM.A, PROBLEM.y)
    monkeypatch.setattr(sys.modules["weightnorm.runs.run"], "begin", interrupt)
    with pytest.raises(wn.Interrupted, match="before the first step") as stopped:
        wn.run(wn.GradientDescent(0.01), problem, 2.0, W0)
    assert stopped.value.result is None
    assert pickle.loads(pickle.dumps(stopped.value)).result is None


def test_ctrl_c_while_the_end_is_explained_keeps_the_run(monkeypatch):
    from weightnorm.runs import messages

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(messages, "explain", interrupt)
    with pytest.raises(wn.Interrupted) as stopped:
        wn.run(wn.GradientDescent(1e-5), PROBLEM, 2.0, W0, max_steps=7)
    assert stopped.value.result.num_steps == 7


def test_a_step_may_be_an_array_of_no_dimensions():
    rule = wn.RPGD(np.array(0.5), np.array(0.1), momentum=np.array(0.5))
    assert rule == wn.RPGD(0.5, 0.1, momentum=0.5)
    assert hash(rule) == hash(wn.RPGD(0.5, 0.1, momentum=0.5))


def test_no_error_is_measured_of_nan():
    problem = wn.datasets.make_sensing(3, 1, 6, seed=0)
    with pytest.raises(ValueError, match="X has"):
        problem.recovery_error(np.full((3, 3), np.nan))


def test_a_classifier_whose_coefficients_overflow_has_diverged():
    """Their norm is infinite before any of them is."""
    X = 1e3 * np.random.default_rng(459).standard_normal((4, 8))
    start = np.random.default_rng(645).standard_normal(8)
    model = wn.WeightNormClassifier("gd", max_iter=20, coef_init=start, tol=0)
    with pytest.raises(ValueError, match="training diverged"):
        model.fit(X, np.arange(4) % 3)


def test_a_regressor_says_once_that_it_did_not_converge():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3, 6)), rng.standard_normal(3)
    model = wn.WeightNormRegressor(
        "rpgd", coef_init=rng.standard_normal(6), direction_step=1e9, scale_step=0.05, max_iter=50
    )
    with pytest.warns(ConvergenceWarning, match="rpgd did not converge") as caught:
        model.fit(X, y)
    assert len(caught) == 1
