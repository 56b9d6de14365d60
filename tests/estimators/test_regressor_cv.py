"""Shares of a prior by cross-validation, and features of very different units."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import scipy.sparse.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_predict

import weightnorm as wn
from tests.estimators.test_regressor import wide


def related(seed=0, n=40, d=80, off=0.3, noise=0.5):
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(d)
    X = rng.standard_normal((n, d)) + 2.0
    y = X @ truth + noise * rng.standard_normal(n) + 10.0
    return X, y, truth + off * rng.standard_normal(d)


@pytest.mark.parametrize(
    ("shape", "sparse"),
    [
        ((40, 80), True),
        ((60, 15), False),
        ((60, 15), True),
        pytest.param((40, 80), False, marks=pytest.mark.slow),
    ],
)
def test_the_errors_are_those_of_fits_made_one_by_one(shape, sparse):
    X, y, prior = related(1, *shape)
    data = scipy.sparse.csr_array(X) if sparse else X
    shares, times = [0.0, 0.4, 1.0], [0.0, 0.05, 2.0, np.inf]
    model = wn.WeightNormRegressorCV(prior, shares=shares, times=times, cv=4).fit(data, y)
    errors = np.zeros((3, 4))
    for train, test in KFold(4).split(X):
        A, b = X[train] - X[train].mean(axis=0), y[train] - y[train].mean()
        covariance = A.T @ A / len(train)
        for i, share in enumerate(shares):
            for j, time in enumerate(times):
                start = share * prior
                values, vectors = np.linalg.eigh(covariance)
                pull = np.linalg.pinv(A, rcond=1e-10) @ (b - A @ start)
                learnt = np.ones_like(values) if np.isinf(time) else -np.expm1(-values * time)
                learnt = np.where(values > 1e-10 * values.max(), learnt, 0.0)
                coef = start + vectors @ (learnt * (vectors.T @ pull))
                guess = (X[test] - X[train].mean(axis=0)) @ coef + y[train].mean()
                errors[i, j] += ((guess - y[test]) ** 2).sum() / len(y)
    np.testing.assert_allclose(model.cv_error_, errors, rtol=1e-7)
    assert model.cv_error_.min() == errors[shares.index(model.share_), times.index(model.time_)] \
        or model.cv_error_.min() == pytest.approx(errors.min(), rel=1e-7)  # fmt: skip
    ridge = Ridge(model.ridge_alpha_ * len(y) * 0.75)  # its penalty is not divided by n
    guess = cross_val_predict(ridge, X, y, cv=KFold(4))
    assert model.ridge_error_ == pytest.approx(((guess - y) ** 2).mean(), rel=1e-6)


def test_the_limit_of_a_share_is_that_of_weight_normalization():
    X, y, prior = related(2, noise=0.05)
    model = wn.WeightNormRegressorCV(prior, shares=[0.2], times=[np.inf]).fit(X, y)
    assert model.status_ == "limit"
    A = X - X.mean(axis=0)
    rest = prior - np.linalg.pinv(A, rcond=1e-10) @ (A @ prior)
    best = np.linalg.pinv(A, rcond=1e-10) @ (y - y.mean())
    np.testing.assert_allclose(model.coef_, best + 0.2 * rest, atol=1e-9)
    same = wn.WeightNormRegressor(direction=prior, ratio=model.ratio_).fit(X, y)
    np.testing.assert_allclose(same.coef_, model.coef_, atol=1e-8)
    assert model.perp_norm_ == pytest.approx(0.2 * np.linalg.norm(rest), rel=1e-9)
    assert model.min_norm_distance_ == pytest.approx(model.perp_norm_, rel=1e-9)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-8)
    far = wn.WeightNormRegressorCV(prior, shares=[50.0], times=[np.inf]).fit(X, y)
    assert far.ratio_ is None
    away = wn.WeightNormRegressorCV(-prior, shares=[0.2], times=[np.inf]).fit(X, y)
    assert away.ratio_ is None  # from scale 0 the flow would turn it round


def test_the_path_and_the_report():
    X, y, prior = related(3)
    model = wn.WeightNormRegressorCV(prior).fit(X, y)
    assert model.share_ > 0.7
    assert model.coef_path_.shape == (43, 80)
    np.testing.assert_allclose(model.coef_path_[0], model.share_ * prior, atol=1e-9)
    assert (np.diff(model.degrees_of_freedom_) >= -1e-12).all()
    assert model.degrees_of_freedom_[0] == 1.0
    assert model.degrees_of_freedom_[-1] == pytest.approx(model.rank_ + 1.0)
    report = model.report()
    assert report.error.idxmin() == "chosen"
    assert report.loc["chosen", "difference"] == 0.0
    assert (report.difference >= -1e-12).all()
    assert report.loc["ridge", "error"] == pytest.approx(model.ridge_error_)
    assert report.loc["minimum norm", "error"] == pytest.approx(model.min_norm_error_)
    assert set(report.index) >= {"ridge towards the prior", "minimum norm"}
    without = wn.WeightNormRegressorCV(cv="loo").fit(X, y)
    assert (without.share_, without.shares_.tolist()) == (0.0, [0.0])
    assert "ridge towards the prior" not in without.report().index
    useless = wn.WeightNormRegressorCV(np.random.default_rng(9).standard_normal(80)).fit(X, y)
    assert useless.share_ < 0.3


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), power=st.integers(-6, 6))
def test_units_of_y_do_not_change_the_choice(seed, power):
    X, y, prior = related(seed, 20, 30)
    c = 10.0**power
    plain = wn.WeightNormRegressorCV(prior).fit(X, y)
    other = wn.WeightNormRegressorCV(c * prior).fit(X, c * y + 1e3 * c)
    np.testing.assert_allclose(other.cv_error_, c**2 * plain.cv_error_, rtol=1e-6)
    if other.share_ == plain.share_ and other.time_ == plain.time_:  # but for ties
        np.testing.assert_allclose(other.coef_, c * plain.coef_, rtol=1e-6, atol=1e-8 * c)


def test_what_cross_validation_refuses():
    X, y, prior = related(4, 10, 6)
    for options, message in (
        ({"cv": 11}, "cv = 11 is more than the 10 samples"),
        ({"cv": "leave"}, "cv must be a number of folds, a splitter, or 'loo', got 'leave'"),
        ({"shares": [-1.0]}, "shares must not be negative"),
        ({"times": ["a"]}, "times must be a vector of numbers"),
        ({"cv": 1}, "cv is not as expected"),
        ({"times": [-1.0]}, "times must be a vector of numbers"),
        ({"times": []}, "times must be a vector of numbers"),
        ({"shares": [np.nan]}, "shares has 1 entr"),
        ({"direction": prior[:3]}, r"direction must have shape \(6,\)"),
    ):
        with pytest.raises(ValueError, match=message):
            wn.WeightNormRegressorCV(**options).fit(X, y)
    constant = wn.WeightNormRegressorCV().fit(X, np.full(10, 3.0))
    assert not constant.coef_.any()
    assert constant.predict(X[:1])[0] == 3.0


def test_pandas_nullable_and_categories():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    plain = wn.WeightNormRegressor().fit(X, y)
    nullable = wn.WeightNormRegressor().fit(X.convert_dtypes(), y.convert_dtypes())
    np.testing.assert_allclose(nullable.coef_, plain.coef_)
    with_text = X.assign(sex=pd.Series(np.where(X.sex > 0, "f", "m"), dtype="category"))
    with pytest.raises(ValueError, match="X or y is not as expected: could not convert"):
        wn.WeightNormRegressor().fit(with_text, y)
    with pytest.raises(ValueError, match="NaN"):
        wn.WeightNormRegressor().fit(X.convert_dtypes(), y.where(y > 100))
    single = wn.WeightNormRegressor().fit(X[:1], y[:1])
    assert single.predict(X[:1])[0] == y[0]


# What a referee found.


def test_features_of_very_different_units_and_offsets_are_all_kept():
    """A timestamp and a wavelength; 10^±6 on many samples: least squares, training, priors."""
    rng = np.random.default_rng(0)
    time, length = 1.7e9 + rng.uniform(0, 3e4, 200), 5e-7 + 1e-8 * rng.standard_normal(200)
    X, y = np.c_[time, length], (length - 5e-7) / 1e-8 + 0.1 * rng.standard_normal(200)
    for model in (wn.WeightNormRegressor(), wn.WeightNormRegressorCV(),
                  wn.WeightNormRegressor(loss="huber")):  # fmt: skip
        model.fit(X, y)
        assert model.rank_ == 2
        assert model.score(X, y) > 0.98
    with pytest.warns(ConvergenceWarning):
        assert wn.WeightNormRegressor("rpgd", max_iter=100).fit(X, y).status_ == "max_steps"
    Z = rng.standard_normal((20_000, 2))
    units = np.array([1e-6, 1e6])
    for model in (wn.WeightNormRegressor(), wn.WeightNormRegressorCV()):
        model.fit(Z * units, Z @ [1.0, 2.0])
        np.testing.assert_allclose(model.coef_ * units, [1.0, 2.0], rtol=1e-6)
    sparse = wn.WeightNormRegressor(direction=[1.0, 1.0], scale=0.1)
    sparse.fit(scipy.sparse.csr_array(Z[:500] * units), Z[:500] @ [1.0, 2.0])
    np.testing.assert_allclose(sparse.coef_ * units, [1.0, 2.0], rtol=1e-6)


def test_a_nearly_constant_column_takes_no_other_with_it():
    rng = np.random.default_rng(0)
    a = rng.standard_normal(300)
    b, t = a + 1e-5 * rng.standard_normal(300), 1e9 + 0.01 * rng.standard_normal(300)
    y = (b - a) * 1e5
    for loss in ("squared", "huber"):
        model = wn.WeightNormRegressor(loss=loss).fit(np.c_[a, b, t], y)
        assert model.rank_ == 3
        assert model.score(np.c_[a, b, t], y) > 0.999


@pytest.mark.parametrize(
    ("method", "loss"),
    [
        *(pytest.param(m, "poisson", marks=pytest.mark.slow) for m in ("rpgd", "wn")),  # many steps
        ("gd", "poisson"),
        ("rpgd", "huber"),
        ("wn", "huber"),
        ("gd", "huber"),
    ],
)
def test_training_is_not_fooled_by_the_unit_of_a_feature(loss, method):
    rng = np.random.default_rng(0)
    Z = rng.standard_normal((200, 2))
    y = rng.poisson(np.exp(Z[:, 0])).astype(float)
    with pytest.warns(ConvergenceWarning, match="the relative gradient is 0"):
        model = wn.WeightNormRegressor(method, loss=loss, max_iter=60).fit(Z * [1e-6, 1.0], y)
    assert model.status_ == "max_steps"
    good = wn.WeightNormRegressor(method, loss=loss, tol=1e-3).fit(Z, y)
    assert good.status_ == "converged"
    exact = wn.WeightNormRegressor(loss=loss).fit(Z, y)
    np.testing.assert_allclose(good.coef_, exact.coef_, atol=0.02)


def test_small_things_of_a_referee():
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((10, 2)), 3 * rng.standard_normal(10) + rng.standard_t(1, 10)
    plain = wn.WeightNormRegressor(loss="huber").fit(X, y)
    for weight in (0.1, 0.3, 0.7, 7.0, 1e-3):  # the unit of the weights does not matter
        same = wn.WeightNormRegressor(loss="huber").fit(X, y, sample_weight=np.full(10, weight))
        np.testing.assert_allclose(same.coef_, plain.coef_, rtol=1e-8)
    X = np.array([[1, 0], [1, 0], [-1, 0], [-1, 0], [0, 1], [0, 1], [0, -1], [0, -1], [0, 2],
                  [0, -2]], dtype=float)  # fmt: skip
    counts = [1, 1, 1, 1, 9, 3, 2, 1, 12, 0]
    with pytest.warns(ConvergenceWarning, match="start from another one"):
        stuck = wn.WeightNormRegressor(loss="poisson", direction=[1.0, 0.0]).fit(X, counts)
    assert not stuck.coef_.any()
    assert stuck.intercept_ == pytest.approx(np.log(np.mean(counts)), rel=1e-9)
    curved = np.array([[-1, 0], [-1, 0], [0, 1], [0, 0], [-1, -1], [1, -1], [0, -1], [1, -1],
                       [-1, -1]], dtype=float)  # fmt: skip
    found = wn.WeightNormRegressor(loss="poisson").fit(curved, [0, 0, 0, 1, 1, 58, 6, 65, 2])
    assert found.status_ == "limit"
    many = wn.WeightNormRegressor(loss="poisson").fit(X, np.arange(10.0) + 1e9)
    assert many.status_ == "limit"
    for tiny in (X * 1e-300, X * [1.0, 1e-170]):
        with pytest.raises(ValueError, match="whose square vanishes; rescale it"):
            wn.WeightNormRegressor(loss="huber").fit(tiny, np.arange(10.0))
    with pytest.raises(ValueError, match="y is text"):
        wn.WeightNormRegressor().fit(X, ["up"] * 10)


def test_steps_of_all_rounds_count_and_each_target_has_its_own_unit():
    """Training goes on until the coefficients are near enough; max_iter is for all of it."""
    X, y, rng = wide(6, 40, 20)
    X = X * np.geomspace(1.0, 0.2, 20)
    model = wn.WeightNormRegressor("gd", tol=1e-6).fit(X, y)
    problem = wn.LeastSquares(X - X.mean(axis=0), y - y.mean())
    best, start = problem.min_norm_solution(), problem.A.T @ problem.y
    result = wn.run(wn.GradientDescent(1.0 / problem.curvature), problem, 0.0, start,
                    tolerance=0.0, max_steps=model.n_iter_)  # fmt: skip
    np.testing.assert_allclose(model.coef_, result.weights, rtol=1e-7, atol=1e-12)
    assert np.linalg.norm(result.weights - best) <= 1e-6 * np.linalg.norm(best)
    with pytest.warns(ConvergenceWarning):
        short = wn.WeightNormRegressor("gd", tol=1e-6, max_iter=model.n_iter_ - 5).fit(X, y)
    assert short.n_iter_ == model.n_iter_ - 5
    X, y, rng = wide(7)
    Y = np.column_stack([y, 1e4 * rng.standard_normal(12)])
    steps = {"direction_step": 1e-10, "scale_step": 1e-3, "direction": rng.standard_normal(40)}
    options = {"scale": 0.5, "max_iter": 50, **steps}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        both = wn.WeightNormRegressor("rpgd", **options).fit(X, Y)
        for k in range(2):
            one = wn.WeightNormRegressor("rpgd", **options).fit(X, Y[:, k])
            np.testing.assert_allclose(both.coef_[k], one.coef_, rtol=1e-10)
