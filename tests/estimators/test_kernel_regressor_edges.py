"""WeightNormKernelRegressor on kernels that lack something, and on hostile data."""

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import GridSearchCV

import weightnorm as wn
from tests.estimators.test_kernel_regressor import Regressor, data, of_pairs


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
