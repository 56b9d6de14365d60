"""WeightNormKernelRegressor: the contract, ridgeless regression, priors, and hostile data."""

import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
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


def test_an_indefinite_kernel_is_refused_with_its_eigenvalue():
    X, y, _, _ = data()
    with pytest.raises(ValueError, match="is indefinite: its most negative eigenvalue is -"):
        Regressor(kernel="sigmoid", gamma=1.0, coef0=1.0).fit(X, y)
    with pytest.raises(ValueError, match="most negative eigenvalue is -1"):
        Regressor(kernel="precomputed").fit([[1, 2], [2, 1]], [1.0, 2.0])


def test_a_kernel_up_to_a_constant_gets_an_intercept():
    """−‖x − x'‖ is positive definite once means are taken off: then it needs an intercept."""
    X, y, new, _ = data()

    def distance(X, Y):
        return -np.linalg.norm(X[:, None] - Y[None], axis=2)

    model = Regressor(kernel=distance).fit(X, y)
    np.testing.assert_allclose(model.predict(X), y, atol=1e-9)
    assert model.intercept_ != 0.0
    assert model.rank_ == 29
    assert abs(model.dual_coef_.sum()) <= 1e-12 * np.abs(model.dual_coef_).sum()
    # the spline that interpolates with coefficients that sum to zero
    system = np.block([[distance(X, X), np.ones((30, 1))], [np.ones((1, 30)), np.zeros((1, 1))]])
    solved = np.linalg.solve(system, np.append(y, 0.0))
    known = distance(new, X) @ solved[:-1] + solved[-1]
    np.testing.assert_allclose(model.predict(new), known, atol=1e-9)
    with pytest.raises(ValueError, match="indefinite"):
        Regressor(kernel=distance, fit_intercept=False).fit(X, y)


def test_a_kernel_with_errors_is_warned_of():
    X, y, new, _ = data(d=2)
    K = rbf_kernel(X, gamma=0.05).astype(np.float32).astype(float)
    with pytest.warns(UserWarning, match="negative eigenvalue, -.*errors of that size"):
        model = Regressor(kernel="precomputed").fit(K, y)
    assert model.rank_ < 30
    assert "of y is out of its reach, and not fitted" in model.message_
    single = Regressor(kernel="precomputed").fit(K.astype(np.float32), y)  # which says so itself
    assert single.rank_ <= model.rank_
    assert np.isfinite(single.predict(rbf_kernel(new, X, 0.05))).all()


def test_a_start_at_rest_is_warned_of():
    X, y, _, _ = data()
    with pytest.warns(ConvergenceWarning, match="it rests where the scale is zero"):
        model = Regressor(gamma=1.0).fit(X, y, start_values=np.zeros(30))
    assert model.status_ == "stationary"


@pytest.mark.parametrize(
    ("options", "fit", "text"),
    [
        ({"kernel": "gauss"}, {}, "kernel must be one of"),
        ({"kernel": 3}, {}, "kernel must be one of"),
        ({"method": "adam"}, {}, "method must be one of"),
        ({"scale": np.inf}, {}, "scale must be finite"),
        ({"fit_intercept": "yes"}, {}, "fit_intercept must be"),
        ({"ratio": 0.0}, {}, "ratio must be greater than 0"),
        ({"gamma": "wide"}, {}, "gamma must be a number"),
        ({"gamma": -1.0}, {}, "gamma must be greater than 0"),
        ({"kernel": "poly", "degree": "two"}, {}, "kernel='poly' failed"),
        ({"kernel": of_pairs, "gamma": 1.0}, {}, "gamma is for kernels with a name"),
        (
            {"kernel_params": {"gamma": 1.0}},
            {},
            "kernel_params are for a kernel that is a function",
        ),
        ({"kernel": lambda x, y: 1 / 0}, {}, "kernel failed: ZeroDivisionError"),
        ({"kernel": lambda X, Y: np.full((len(X), len(Y)), np.nan)}, {}, "kernel has 900 entries"),
        ({}, {"start_values": np.ones(29)}, r"start_values must have shape \(30,\)"),
        ({}, {"start_values": np.full(30, 10.0)}, "start_values has f0ᵀK⁺f0 ="),
        ({}, {"start_values": np.full(30, np.nan)}, "start_values has 30 entries that are NaN"),
        ({}, {"sample_weight": -np.ones(30)}, "sample_weight must not be negative"),
        ({"kernel": "precomputed"}, {}, "X must be square"),
    ],
)
def test_bad_input_is_refused_by_name(options, fit, text):
    X, y, _, _ = data()
    with pytest.raises((TypeError, ValueError), match=text):
        Regressor(**options).fit(X, y, **fit)


def test_bad_samples_are_refused_by_name():
    X, y, new, _ = data()
    model = Regressor(gamma=1.0).fit(X, y)
    with pytest.raises(ValueError, match="X is not as expected"):
        model.predict(new[:, :2])
    with pytest.raises(ValueError, match="start_values must have shape"):
        model.predict(new, np.ones(3))
    with pytest.raises(ValueError, match="y is text"):
        Regressor().fit(X, ["a"] * 30)
    with pytest.raises(ValueError, match="X or y is not as expected"):
        Regressor().fit(np.full((30, 4), np.nan), y)


# What newcomers ran into.


def test_an_intercept_by_any_kind_of_truth():
    X, y, _, _ = data()
    known = Regressor(gamma=1.0, fit_intercept=True).fit(X, y + 5.0)
    for truth in (np.True_, 1):
        found = Regressor(gamma=1.0, fit_intercept=truth).fit(X, y + 5.0)
        assert found.intercept_ == known.intercept_ != 0.0
    for falsehood in (np.False_, 0, False):
        assert Regressor(gamma=1.0, fit_intercept=falsehood).fit(X, y).intercept_ == 0.0


def test_a_fit_that_fails_leaves_the_last_one_whole():
    X, y, new, _ = data()
    model = Regressor(gamma=1.0).fit(X, y)
    before = model.predict(new)
    with pytest.raises(ValueError, match="start_values"):
        model.fit(X + 1.0, y, start_values=np.full(30, 10.0))
    assert np.array_equal(model.predict(new), before)
    never = Regressor(gamma=1.0)
    with pytest.raises(ValueError, match="start_values"):
        never.fit(X, y, start_values=np.full(30, 10.0))
    with pytest.raises(NotFittedError):
        never.predict(new)


def test_the_training_samples_are_kept_as_they_are():
    X, y, new, _ = data()
    model = Regressor(gamma=0.5).fit(X + 3.0, y)
    assert np.array_equal(model.X_fit_, X + 3.0)
    by_hand = rbf_kernel(new + 3.0, model.X_fit_, 0.5) @ model.dual_coef_
    np.testing.assert_allclose(by_hand, model.predict(new + 3.0), atol=1e-9)


def test_single_precision_in_any_container():
    X, y, _, _ = data(d=2)
    K = rbf_kernel(X, gamma=3.0).astype(np.float32)
    known = wn.KernelLeastSquares(K, y)
    for matrix in (K, pd.DataFrame(K), np.asfortranarray(K)):
        model = Regressor(kernel="precomputed").fit(matrix, y)
        assert (model.rank_, model.accuracy_) == (known.rank, pytest.approx(known.accuracy))
    called = Regressor(kernel=lambda a, b: rbf_kernel(a, b, 3.0).astype(np.float32)).fit(X, y)
    assert (called.rank_, called.accuracy_) == (known.rank, pytest.approx(known.accuracy))


def test_whole_numbers_up_to_a_constant_are_centred_first():
    """min(i, j) − 2 needs an intercept, as whole numbers and as others."""
    i = np.arange(1, 51)
    K, y = np.minimum.outer(i, i) - 2, np.random.default_rng(0).standard_normal(50)
    for matrix in (K, K.astype(float), K.tolist()):
        model = Regressor(kernel="precomputed").fit(matrix, y)
        assert model.rank_ == 49
        np.testing.assert_allclose(model.predict(matrix), y, atol=1e-9)


def test_white_noise_of_a_gaussian_process():
    rng = np.random.default_rng(0)
    X, new = rng.uniform(-2, 2, (40, 1)), np.array([[-2.0], [0.3]])
    y = np.sin(X[:, 0]) + 0.3 * rng.standard_normal(40)
    kernel = RBF(1.0) + WhiteKernel(0.09)
    known = kernel(new, X) @ np.linalg.solve(kernel(X), y)
    np.testing.assert_allclose(Regressor(kernel=kernel).fit(X, y).predict(new), known, atol=1e-9)


def test_samples_far_apart():
    """K is the identity; rounding in squared distances of 1e17 does no harm to it."""
    X = 1.7e9 + np.arange(200.0)[:, None] * 2.6e6
    model = Regressor().fit(X, np.arange(200.0))
    assert model.rank_ == 200
    np.testing.assert_allclose(model.predict(X), np.arange(200.0), atol=1e-9)


def test_a_smooth_kernel_that_misses_labels_says_so():
    X, y = np.linspace(0, 1, 60)[:, None], np.random.default_rng(0).standard_normal(60)
    with pytest.warns(UserWarning, match=r"of y is not fitted: the kernel has rank \d+ of 60"):
        model = Regressor(gamma=1.0).fit(X, y)
    lost = np.linalg.norm(model.predict(X) - y) / np.linalg.norm(y)
    assert f"{lost:.2g} of y is out of its reach, and not fitted" in model.message_


def test_dense_and_sparse_samples_mix():
    X, y, new, _ = data()
    known = Regressor(gamma=1.0).fit(X, y).predict(new)
    for kind in (scipy.sparse.csr_array, scipy.sparse.csr_matrix):
        dense = Regressor(gamma=1.0).fit(X, y).predict(kind(new))
        sparse = Regressor(gamma=1.0).fit(kind(X), y).predict(new)
        np.testing.assert_allclose(dense, known, atol=1e-9)
        np.testing.assert_allclose(sparse, known, atol=1e-9)


def test_a_kernel_of_pairs_that_minds_matrices():
    def strict(x, y):
        assert x.ndim == 1
        return float(np.exp(-((x - y) ** 2).sum()))

    X, y, new, _ = data(n=10)
    known = Regressor(gamma=1.0).fit(X, y).predict(new)
    np.testing.assert_allclose(Regressor(kernel=strict).fit(X, y).predict(new), known, atol=1e-10)


def test_a_prior_in_a_search_over_its_scale():
    X, y, _, _ = data(n=60)
    prior = Regressor(gamma=0.5).fit(*data(seed=1)[:2])
    f0 = prior.predict(X) / prior.scale_
    with config_context(enable_metadata_routing=True):
        model = Regressor(gamma=0.5, ratio=1.0)
        model.set_fit_request(start_values=True).set_score_request(start_values=True)
        search = GridSearchCV(model, {"scale": [0.0, prior.scale_]}, cv=3)
        search.fit(X, y, start_values=f0)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert np.ptp(search.cv_results_["mean_test_score"]) > 0.0


def test_numbers_beyond_double_precision_are_named():
    X, y, new, _ = data()
    model = Regressor(kernel="linear").fit(X, y)
    with pytest.raises(ValueError, match=r"kernel has \d+ entries that are NaN or infinite"):
        model.predict(np.full((1, 4), 1e308))
    with pytest.raises(ValueError, match="predictions overflow"):
        Regressor(kernel="linear").fit(X, 1e150 * y).predict(1e200 * new)
    with pytest.raises(ValueError, match="scale has size 1, too large for y"):
        Regressor(gamma=1.0, scale=1.0).fit(X, 1e-300 * y)


def test_nothing_to_fit_is_zero_whatever_the_start():
    X, _, new, _ = data()
    f0 = 0.1 * rbf_kernel(X, X[:1] + 0.5, 1.0)[:, 0]
    model = Regressor(gamma=1.0, method="gd", scale=10.0).fit(X, np.zeros(30), start_values=f0)
    assert (model.predict(new) == 0.0).all()
    assert model.message_.startswith("y is constant, or out of X's reach")


@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("decades", [0, 4, 12, 16, 20])
def test_samples_that_weights_leave_to_rounding_are_warned_of(decades, intercept):
    """A fit that says nothing interpolates; one that cannot says how far it is off."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((15, 3)), rng.standard_normal(15)
    weights = 10.0 ** np.linspace(0, -decades, 15)
    model = wn.WeightNormKernelRegressor(kernel="rbf", gamma=1.0, fit_intercept=intercept)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X, y, sample_weight=weights)
    missed = np.abs(model.predict(X) - y).max()
    said = [str(warning.message) for warning in caught]
    if decades < 14:
        assert not said
        assert missed < 1e-9
    else:
        assert missed > 0.1
        assert len(said) == 1
        assert f"sample_weight spans {decades} decades" in said[0]
        assert f"not fitted, by up to {missed:.3g};" in said[0]


def test_a_kernel_that_cannot_fit_all_samples_is_not_the_fault_of_weights():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((15, 3)), rng.standard_normal(15)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        wn.WeightNormKernelRegressor(kernel="linear").fit(
            X, y, sample_weight=np.geomspace(1, 1e9, 15)
        )
