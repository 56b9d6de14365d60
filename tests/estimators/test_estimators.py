"""The scikit-learn estimators: their contract, their limits, and what they do with hostile data."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.linalg
import scipy.sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import weightnorm as wn
from tests.support.cases import slow

ESTIMATORS = [
    wn.WeightNormRegressor(),
    wn.WeightNormRegressor("rpgd"),
    wn.WeightNormRegressor("wn"),
    wn.WeightNormRegressor("gd"),
    wn.WeightNormRegressor(loss="huber"),
    wn.WeightNormRegressor(loss="poisson"),
    wn.WeightNormRegressor(fit_intercept=False),
    wn.WeightNormRegressor(direction="random", random_state=0),
    wn.WeightNormRegressorCV(),
    wn.WeightNormClassifier(),
    wn.WeightNormClassifier(class_weight="balanced"),
]
SLOWER = [
    wn.WeightNormRegressorCV(cv="loo"),
    wn.WeightNormRegressor("rpgd", loss="huber", max_iter=300),
    wn.WeightNormRegressor("wn", loss="poisson", max_iter=300),
    wn.WeightNormRegressor("gd", loss="poisson", max_iter=300),
    wn.WeightNormClassifier("rpgd", max_iter=500),
    wn.WeightNormClassifier("wn", max_iter=500),
    wn.WeightNormClassifier("gd", max_iter=500),
    wn.WeightNormClassifier("rpgd", multi_class="softmax", max_iter=500),
]


@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::sklearn.exceptions.SkipTestWarning"
)
@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore::sklearn.exceptions.SkipTestWarning"
)
@parametrize_with_checks(SLOWER)
def test_scikit_learn_checks_of_the_other_methods(estimator, check):
    check(estimator)


def test_scikit_learn_checks_without_an_intercept():
    """All but one, which asks weights to move a boundary that has no intercept to move:
    LogisticRegression(fit_intercept=False) does not pass it either.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(
            wn.WeightNormClassifier(fit_intercept=False), on_fail=None, on_skip=None
        )
    failed = {check["check_name"] for check in found if check["status"] == "failed"}
    assert failed <= {"check_class_weight_classifiers"}


def problem(seed=0, n=8, d=30, noise=0.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d) + rng.standard_normal(d)
    y = X @ rng.standard_normal(d) + 3.0 + noise * rng.standard_normal(n)
    return X, y, rng.standard_normal(d)


def centred(X, y):
    return wn.LeastSquares(X - X.mean(axis=0), y - y.mean())


@pytest.mark.parametrize("seed", [*range(30), *slow(range(30, 100))])
def test_the_limit_is_where_the_flow_ends(seed):
    X, y, w0 = problem(seed, n=5 + seed % 4, d=12 + seed % 20)
    scale, ratio = (
        float(np.random.default_rng(seed).choice([0.0, 0.5, 3.0, -2.0])),
        float(10.0 ** (seed % 3 - 1)),
    )
    model = wn.WeightNormRegressor(scale=scale, direction=w0, ratio=ratio).fit(X, y)
    least_squares = centred(X, y)
    c = ratio * np.linalg.norm(least_squares.min_norm_solution()) ** 2
    trajectory = wn.flow(least_squares, scale, w0, c, tolerance=1e-20)
    size = np.linalg.norm(model.coef_)
    assert np.linalg.norm(trajectory.final_weights - model.coef_) <= 1e-6 * size
    assert model.perp_norm_ == pytest.approx(trajectory.perp_norm[-1], abs=1e-6 * size)
    assert model.min_norm_distance_ == pytest.approx(
        np.linalg.norm(model.coef_ - least_squares.min_norm_solution()), abs=1e-8 * size
    )
    np.testing.assert_allclose(model.predict(X), y, atol=1e-8 * np.abs(y).max())


@pytest.mark.parametrize("method", ["wn", "rpgd"])
def test_runs_tend_to_the_limit_at_first_order(method):
    X, y, w0 = problem(1)
    limit = wn.WeightNormRegressor(scale=0.5, direction=w0, ratio=1.0).fit(X, y)
    gstar = np.linalg.norm(centred(X, y).min_norm_solution())
    steps = 2.0 ** -np.arange(15, 20)
    errors = []
    for eta in steps:
        model = wn.WeightNormRegressor(
            method,
            scale=0.5,
            direction=w0,
            direction_step=eta,
            scale_step=gstar**2 * eta,
            tol=1e-20,
            max_iter=10**8,
        ).fit(X, y)
        errors.append(np.linalg.norm(model.coef_ - limit.coef_))
    assert np.polyfit(np.log(steps), np.log(errors), 1)[0] == pytest.approx(1.0, abs=0.1)


@pytest.mark.parametrize("intercept", [True, False])
def test_minimum_norm_from_near_zero_with_a_small_ratio_or_from_the_row_space(intercept):
    X, y, w0 = problem(2)
    A, b = (X - X.mean(axis=0), y - y.mean()) if intercept else (X, y)
    best = scipy.linalg.lstsq(A, b)[0]
    size = np.linalg.norm(best)
    near = wn.WeightNormRegressor(
        scale=1e-6, direction=w0, ratio=0.01, fit_intercept=intercept
    ).fit(X, y)
    inside = wn.WeightNormRegressor(
        scale=3.0,
        direction=A.T @ np.ones(len(y)) if not intercept else A[0],
        ratio=5.0,
        fit_intercept=intercept,
    ).fit(X, y)
    for model in (near, inside):
        assert np.linalg.norm(model.coef_ - best) <= 1e-8 * size
        assert model.min_norm_distance_ <= 1e-8 * size
    far = wn.WeightNormRegressor(scale=0.0, direction=w0, ratio=5.0, fit_intercept=intercept).fit(
        X, y
    )
    assert far.min_norm_distance_ > 0.1 * size  # a zero scale alone is not enough


def test_tall_data_has_one_answer():
    X, y, w0 = problem(3, n=60, d=7, noise=1.0)
    best = scipy.linalg.lstsq(np.column_stack([X, np.ones(60)]), y)[0]
    for method in ("limit", "rpgd", "wn", "gd"):
        model = wn.WeightNormRegressor(
            method, scale=2.0, direction=w0, tol=1e-14, max_iter=10**7
        ).fit(X, y)
        np.testing.assert_allclose(np.append(model.coef_, model.intercept_), best, rtol=1e-4)
        assert model.status_ in ("limit", "converged")


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_the_ratio_means_the_same_in_any_units(unit):
    X, y, w0 = problem(4)
    base = wn.WeightNormRegressor(scale=0.0, direction=w0, ratio=0.5).fit(X, y)
    other = wn.WeightNormRegressor(scale=0.0, direction=w0, ratio=0.5).fit(X, unit * y)
    np.testing.assert_allclose(other.coef_, unit * base.coef_, rtol=1e-8)
    turned = wn.WeightNormRegressor(scale=0.0, direction=w0, ratio=0.5).fit(unit * X, y)
    np.testing.assert_allclose(unit * turned.coef_, base.coef_, rtol=1e-8)


@pytest.mark.parametrize("method", ["limit", "rpgd", "gd"])
@pytest.mark.parametrize("shape", [(8, 30), (40, 6)])
def test_sparse_and_pandas_equal_dense(method, shape):
    X, y, _ = problem(5, *shape)
    X[np.abs(X) < 1.0] = 0.0
    options = {"scale": 0.3, "random_state": 0, "tol": 1e-10, "max_iter": 10**6}
    dense = wn.WeightNormRegressor(method, **options).fit(X, y)
    for other in (
        scipy.sparse.csr_array(X),
        scipy.sparse.csc_matrix(X),
        pd.DataFrame(X, columns=[f"x{i}" for i in range(shape[1])]),
    ):
        model = wn.WeightNormRegressor(method, **options).fit(other, y)
        np.testing.assert_allclose(model.coef_, dense.coef_, atol=1e-7)
        np.testing.assert_allclose(model.predict(other), dense.predict(X), atol=1e-6)


def test_warm_start_pipeline_grid_search_and_pickle():
    X, y, w0 = problem(6, n=30, d=60)
    warm = wn.WeightNormRegressor("gd", coef_init=w0, fit_intercept=False, tol=1e-14).fit(X, y)
    rest = w0 - np.linalg.pinv(X) @ (X @ w0)
    # gradient descent keeps its start
    np.testing.assert_allclose(warm.coef_ - np.linalg.pinv(X) @ y, rest, atol=1e-5)
    search = GridSearchCV(
        make_pipeline(StandardScaler(), wn.WeightNormRegressor(random_state=0)),
        {"weightnormregressor__ratio": [0.05, 1.0], "weightnormregressor__scale": [0.0, 10.0]},
        cv=3,
    ).fit(X, y)
    again = pickle.loads(pickle.dumps(search.best_estimator_))
    np.testing.assert_array_equal(again.predict(X), search.predict(X))
    data = pd.DataFrame(X).rename(columns=str)
    assert list(wn.WeightNormRegressor().fit(data, y).feature_names_in_) == list(data.columns)


@pytest.mark.parametrize("offset", [30.0, 100.0, 1e3, 1e4, 1e6])
def test_features_far_from_zero(offset):
    """Rounding of the means must not become a direction of its own."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 60))
    y = X @ rng.standard_normal(60)
    moved = X + offset
    # The minimum-norm fit of the moved data, which is what rounding left of X.
    A = moved - moved.mean(axis=0)
    A = A - A.mean(axis=0)
    best = np.linalg.pinv(A, rcond=1e-8) @ (y - y.mean())
    for data in (moved, scipy.sparse.csr_array(moved)):
        model = wn.WeightNormRegressor(ratio=0.01, random_state=0).fit(data, y)
        assert np.linalg.norm(model.coef_ - best) <= 1e-14 * offset * np.linalg.norm(best)
        np.testing.assert_allclose(model.predict(data), y, atol=1e-13 * offset)


def test_constant_features_and_constant_targets():
    for data in (np.full((10, 3), 0.1), scipy.sparse.csr_array(np.full((10, 3), 0.1))):
        model = wn.WeightNormRegressor(random_state=0).fit(data, np.arange(10.0))
        assert not model.coef_.any()
        assert model.intercept_ == pytest.approx(4.5)
    X = np.random.default_rng(0).standard_normal((49, 49))
    for method in ("limit", "rpgd", "wn", "gd"):
        model = wn.WeightNormRegressor(method, scale=5.0, random_state=0).fit(X, np.full(49, 0.1))
        assert not model.coef_.any()
        assert model.intercept_ == 0.1


@pytest.mark.parametrize("size", [1e-300, 1e-170, 1e-8, 1e160, 1e300])
def test_targets_of_any_size(size):
    X, y, w0 = problem(8)
    for method in ("limit", "gd", "rpgd"):
        options = {"method": method, "direction": w0, "tol": 1e-12, "max_iter": 10**6}
        base, model = (wn.WeightNormRegressor(**options).fit(X, unit * y) for unit in (1.0, size))
        assert np.linalg.norm(model.coef_ / size - base.coef_) <= 1e-10 * np.linalg.norm(base.coef_)
        assert model.n_iter_ == base.n_iter_


@pytest.mark.parametrize("k", [1e-3, 1e-6, 1e-9])
def test_the_limit_from_far_above(k):
    X, y, w0 = problem(9)
    model = wn.WeightNormRegressor(scale=5.0, direction=w0, ratio=0.1).fit(X, k * y)
    assert np.linalg.norm(model.coef_) == pytest.approx(abs(model.scale_), rel=1e-10)


def test_a_flow_that_cannot_leave_its_start_is_not_called_its_limit():
    X, y, _ = problem(10)
    X[:, 3] = 0.0
    with pytest.warns(ConvergenceWarning, match="does not reach its limit"):
        model = wn.WeightNormRegressor(direction=np.eye(30)[3]).fit(X, y)
    assert model.status_ == "stationary"
    assert not model.coef_.any()
