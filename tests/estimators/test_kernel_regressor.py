"""WeightNormKernelRegressor: the contract, ridgeless regression, priors, and hostile data."""

import pickle

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.gaussian_process.kernels import RBF
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import weightnorm as wn

Regressor = wn.WeightNormKernelRegressor


def of_matrices(X, Y):
    return (1.0 + X @ Y.T) ** 2


def of_pairs(x, y):
    return float(1.0 + x @ y) ** 2


quietly = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning",
    "ignore::sklearn.exceptions.SkipTestWarning",
    "ignore:the kernel has a negative eigenvalue",
    "ignore:.* of y is not fitted",
)


@quietly
@parametrize_with_checks([Regressor(), Regressor(kernel="precomputed")])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.long
@quietly
@parametrize_with_checks(
    [
        Regressor(kernel=RBF(1.0)),
        Regressor(fit_intercept=True),
        Regressor(method="rpgd"),
        Regressor(kernel="linear", method="gd", fit_intercept=True, max_iter=2000),
    ]
)
def test_scikit_learn_checks_of_the_others(estimator, check):
    check(estimator)


def data(n=30, d=4, seed=0, new=7):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + new, d))
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] ** 2 + 0.1 * rng.standard_normal(n + new)
    return X[:n], y[:n], X[n:], y[n:]


# What it computes.


@pytest.mark.parametrize("method", ["limit", "rpgd", "wn", "gd"])
def test_from_the_default_start_it_is_ridgeless_regression(method):
    X, y, new, _ = data()
    gamma = 2.0
    known = rbf_kernel(new, X, gamma) @ np.linalg.solve(rbf_kernel(X, gamma=gamma), y)
    model = Regressor(method=method, gamma=gamma, tol=1e-8).fit(X, y)
    assert model.status_ == ("limit" if method == "limit" else "converged")
    np.testing.assert_allclose(model.predict(new), known, atol=1e-6 if method != "limit" else 1e-12)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-6 if method != "limit" else 1e-12)
    assert model.start_share_ == 0.0
    assert model.rank_ == 30
    assert f"K has rank 30 of 30, accuracy {model.accuracy_:.2g}" in model.message_
    ridge = KernelRidge(alpha=1e-12, kernel="rbf", gamma=gamma).fit(X, y)
    np.testing.assert_allclose(model.predict(new), ridge.predict(new), atol=1e-6)


def test_every_way_to_give_a_kernel():
    X, y, new, _ = data(n=10)
    named = Regressor(kernel="poly", gamma=1.0, degree=2, coef0=1).fit(X, y).predict(new)
    for model, new_data, old in (
        (Regressor(kernel=of_matrices), new, X),
        (Regressor(kernel=of_pairs), new, X),
        (Regressor(kernel="precomputed"), of_matrices(new, X), of_matrices(X, X)),
        (
            Regressor(
                kernel=lambda X, Y, power: (1 + X @ Y.T) ** power, kernel_params={"power": 2}
            ),
            new,
            X,
        ),
    ):
        np.testing.assert_allclose(model.fit(old, y).predict(new_data), named, atol=1e-10)
    gaussian = Regressor(kernel=RBF(0.5)).fit(X, y).predict(new)
    np.testing.assert_allclose(gaussian, Regressor(gamma=2.0).fit(X, y).predict(new), atol=1e-12)
    sparse = Regressor(gamma=2.0).fit(scipy.sparse.csr_array(X), y)
    np.testing.assert_allclose(sparse.predict(scipy.sparse.csr_array(new)), gaussian, atol=1e-12)


@pytest.mark.parametrize("n_features", [2, 3])
def test_a_product_of_samples_is_no_product_of_matrices(n_features):
    """x @ y of two matrices has a shape that fits where there are as many samples as features."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((n_features, n_features)), rng.standard_normal(n_features)
    model = Regressor(kernel=lambda x, y: x @ y).fit(X, y)
    known = Regressor(kernel="linear").fit(X, y)
    np.testing.assert_allclose(model.dual_coef_, known.dual_coef_, rtol=1e-9)


@settings(deadline=None, max_examples=25)
@given(
    st.integers(0, 1000),
    st.sampled_from(["limit", "rpgd", "gd"]),
    st.booleans(),
    st.booleans(),
    # a scale of rounding size is on the edge between the two signs of the end
    st.one_of(st.just(0.0), st.floats(0.01, 2), st.floats(-2, -0.01)),
)
def test_a_linear_kernel_is_the_linear_estimator(seed, method, intercept, weighted, scale):
    """With a prior, weights and an intercept: features and kernels give the same predictions."""
    rng = np.random.default_rng(seed)
    X, new = rng.standard_normal((8, 20)), rng.standard_normal((5, 20))
    y, w = rng.standard_normal(8), rng.standard_normal(20)
    weights = rng.integers(0, 3, 8) + (np.arange(8) < 3) if weighted else None
    unit = w / np.linalg.norm(w)
    options = {"method": method, "scale": scale, "fit_intercept": intercept, "tol": 1e-10}
    known = wn.WeightNormRegressor(direction=w, **options).fit(X, y, weights)
    found = Regressor(kernel="linear", **options).fit(X, y, weights, start_values=X @ unit)
    np.testing.assert_allclose(
        found.predict(new, new @ unit), known.predict(new), atol=1e-7, rtol=1e-7
    )
    assert found.scale_ == pytest.approx(known.scale_, abs=1e-8)
    assert found.perp_norm_ == pytest.approx(known.perp_norm_, abs=1e-8)
    assert found.min_norm_distance_ == pytest.approx(known.min_norm_distance_, abs=1e-7)


def test_a_prior_is_kept_by_gradient_descent_and_left_by_a_small_ratio():
    X, y, new, _ = data()
    prior = Regressor(gamma=0.5).fit(*data(seed=1)[:2])
    size = prior.scale_
    f0, new_f0 = prior.predict(X) / size, prior.predict(new) / size
    kept = Regressor(method="gd", gamma=0.5, scale=size, tol=1e-6, max_iter=10**6)
    kept.fit(X, y, start_values=f0)
    assert kept.start_share_ == pytest.approx(size, rel=1e-6)
    limits = [
        Regressor(gamma=0.5, scale=size, ratio=ratio).fit(X, y, start_values=f0)
        for ratio in (1e-3, 1e6)
    ]
    assert abs(limits[0].start_share_) < 0.5 * size < limits[1].start_share_
    ridgeless = Regressor(gamma=0.5).fit(X, y).predict(new)
    off = [np.abs(m.predict(new, new_f0) - ridgeless).max() for m in limits]
    assert off[0] < off[1]
    with pytest.raises(ValueError, match="start_values are needed"):
        kept.predict(new)


def test_several_targets_are_each_by_themselves():
    X, y, new, _ = data()
    both = np.column_stack([y, 1e6 * y**2])
    f0 = 0.1 * rbf_kernel(X, X[:1], 1.0)[:, 0]
    values = np.column_stack([f0, -0.5 * f0])
    new_values = 0.1 * rbf_kernel(new, X[:1], 1.0) * [1.0, -0.5]
    model = Regressor(gamma=1.0, scale=1.0).fit(X, both, start_values=values)
    for i in range(2):
        alone = Regressor(gamma=1.0, scale=1.0).fit(X, both[:, i], start_values=values[:, i])
        np.testing.assert_allclose(model.dual_coef_[:, i], alone.dual_coef_, rtol=1e-9, atol=1e-9)
        np.testing.assert_allclose(
            model.predict(new, new_values)[:, i], alone.predict(new, new_values[:, i]), rtol=1e-9
        )


# Units, and what must not matter.


@settings(deadline=None, max_examples=25)
@given(st.integers(-6, 6), st.integers(-6, 6), st.booleans())
def test_units(features, targets, intercept):
    X, y, new, _ = data()
    known = Regressor(gamma=1.0, fit_intercept=intercept).fit(X, y).predict(new)
    a, b = 10.0**features, 10.0**targets
    model = Regressor(gamma=1.0 / a**2, fit_intercept=intercept).fit(a * X, b * y)
    np.testing.assert_allclose(model.predict(a * new) / b, known, rtol=1e-7, atol=1e-9)


def test_offsets():
    X, y, new, _ = data()
    known = Regressor(gamma=1.0, fit_intercept=True).fit(X, y).predict(new)
    far = Regressor(gamma=1.0, fit_intercept=True).fit(X, y + 1e9)
    np.testing.assert_allclose(far.predict(new) - 1e9, known, atol=1e-5)
    moved = Regressor(gamma=1.0, fit_intercept=True).fit(X + 1e6, y)
    np.testing.assert_allclose(moved.predict(new + 1e6), known, atol=1e-6)
    line = Regressor(kernel="linear", fit_intercept=True)
    base = line.fit(X, y).predict(new)
    np.testing.assert_allclose(line.fit(X + 1e6, y + 1e9).predict(new + 1e6) - 1e9, base, atol=1e-4)


def test_a_constant_target_and_a_zero_one():
    X, _, new, _ = data()
    model = Regressor(gamma=1.0, fit_intercept=True).fit(X, np.full(30, 1e9 + 0.1))
    assert (model.predict(new) == 1e9 + 0.1).all()
    assert (Regressor(gamma=1.0).fit(X, np.zeros(30)).predict(new) == 0.0).all()


def test_weights_are_repetitions():
    X, y, new, _ = data(n=12)
    counts = np.arange(12) % 3
    counted = Regressor(gamma=1.0, fit_intercept=True).fit(X, y, counts)
    assert (counted.dual_coef_[counts == 0] == 0.0).all()
    repeated = Regressor(gamma=1.0, fit_intercept=True).fit(
        np.repeat(X, counts, axis=0), np.repeat(y, counts)
    )
    np.testing.assert_allclose(counted.predict(new), repeated.predict(new), atol=1e-10)
    assert counted.rank_ == repeated.rank_ == 7


def test_the_same_bits_twice_and_after_a_round_trip():
    X, y, new, _ = data()
    model = Regressor(gamma=1.0).fit(X, y)
    again = clone(model).fit(X, y)
    assert np.array_equal(model.dual_coef_, again.dual_coef_)
    copy = pickle.loads(pickle.dumps(model))
    assert np.array_equal(copy.predict(new), model.predict(new))


def test_searches_and_splits():
    X, y, _, _ = data(n=60)
    search = GridSearchCV(Regressor(), {"gamma": [0.01, 0.1, 1.0]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.0
    given = cross_val_score(Regressor(kernel="precomputed"), rbf_kernel(X, gamma=0.1), y, cv=3)
    np.testing.assert_allclose(given, cross_val_score(Regressor(gamma=0.1), X, y, cv=3), atol=1e-6)


# Where the kernel is none, or hardly one.
