"""The regressor: several targets, weights, other losses, priors chosen by cross-validation."""

import warnings

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import PoissonRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import weightnorm as wn


def wide(seed=0, n=12, d=40):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) * rng.uniform(0.5, 2.0, d) + rng.standard_normal(d)
    return X, X @ rng.standard_normal(d) + 3.0, rng


@pytest.mark.parametrize("offset", [0.0, 1e9, 1e12])
def test_an_offset_of_y_costs_only_what_rounding_took_of_it(offset):
    for n, d in ((12, 40), (60, 5)):
        X, y, _ = wide(1, n, d)
        moved = y + offset
        plain, model = (wn.WeightNormRegressor().fit(X, t) for t in (moved - offset, moved))
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-9, atol=1e-9)
        assert model.intercept_ - offset == pytest.approx(
            plain.intercept_, abs=1e-9 + 4e-16 * offset
        )


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), power=st.integers(-6, 6))
def test_units_of_y_and_of_all_features(seed, power):
    X, y, _ = wide(seed)
    c = 10.0**power
    plain = wn.WeightNormRegressor().fit(X, y)
    np.testing.assert_allclose(wn.WeightNormRegressor().fit(X, c * y).coef_, c * plain.coef_,
                               rtol=1e-9, atol=1e-12 * c)  # fmt: skip
    np.testing.assert_allclose(wn.WeightNormRegressor().fit(c * X, y).coef_ * c, plain.coef_,
                               rtol=1e-8, atol=1e-10)  # fmt: skip


def test_the_default_start_is_deterministic_and_minimum_norm_exactly():
    X, y, _ = wide(2)
    model = wn.WeightNormRegressor().fit(X, y)
    A = X - X.mean(axis=0)
    np.testing.assert_allclose(
        model.coef_, np.linalg.pinv(A, rcond=1e-10) @ (y - y.mean()), atol=1e-12
    )
    assert (model.perp_norm_, model.min_norm_distance_, model.status_) == (0.0, 0.0, "limit")
    assert model.rank_ == 11
    np.testing.assert_allclose(
        model.singular_values_, np.linalg.svd(A, compute_uv=False)[:11], rtol=1e-10
    )
    np.testing.assert_array_equal(model.coef_, wn.WeightNormRegressor().fit(X, y).coef_)
    random = [
        wn.WeightNormRegressor(direction="random", random_state=s).fit(X, y) for s in (0, 0, 1)
    ]
    np.testing.assert_array_equal(random[0].coef_, random[1].coef_)
    assert (random[0].coef_ != random[2].coef_).any()


@pytest.mark.parametrize("method", ["limit", "rpgd", "gd"])
def test_several_targets_are_each_their_own_fit(method):
    X, y, rng = wide(3)
    Y = np.column_stack([y, 1e3 * rng.standard_normal(12), np.full(12, 2.0)])
    direction = rng.standard_normal((3, 40))
    options = {"method": method, "scale": 0.3}
    options |= {"tol": 1e-4} if method != "limit" else {}
    both = wn.WeightNormRegressor(direction=direction, **options).fit(X, Y)
    assert both.coef_.shape == (3, 40)
    assert both.predict(X).shape == (12, 3)
    for k in range(3):
        one = wn.WeightNormRegressor(direction=direction[k], **options).fit(X, Y[:, k])
        size = np.linalg.norm(one.coef_) + 1e-12
        np.testing.assert_allclose(both.coef_[k], one.coef_, atol=1e-9 * size)
        assert both.intercept_[k] == pytest.approx(one.intercept_, rel=1e-9)
        assert both.scale_[k] == pytest.approx(one.scale_, rel=1e-9, abs=1e-12)
    assert not both.coef_[2].any()


@pytest.mark.parametrize("shape", [(12, 40), (60, 5)])
@pytest.mark.parametrize("sparse", [False, True])
def test_weights_are_repeats(shape, sparse):
    X, y, rng = wide(4, *shape)
    y = y + rng.standard_normal(shape[0])
    counts = rng.integers(0, 4, shape[0])
    data = scipy.sparse.csr_array(X) if sparse else X
    for options in ({}, {"loss": "huber"}, {"direction": rng.standard_normal(shape[1])}):
        weighted = wn.WeightNormRegressor(**options).fit(data, y, sample_weight=counts)
        repeated = wn.WeightNormRegressor(**options).fit(
            np.repeat(X, counts, axis=0), np.repeat(y, counts)
        )
        size = np.linalg.norm(repeated.coef_)
        np.testing.assert_allclose(weighted.coef_, repeated.coef_, atol=1e-7 * size)
        assert weighted.intercept_ == pytest.approx(repeated.intercept_, rel=1e-6, abs=1e-6)


def test_sparse_data_is_not_factorised_where_normal_equations_do():
    rng = np.random.default_rng(5)
    for n, d in ((40, 300), (300, 40)):
        X = scipy.sparse.random_array((n, d), density=0.1, rng=rng, format="csr")
        y = rng.standard_normal(n)
        w0 = rng.standard_normal(d)
        for options in (
            {},
            {"direction": w0},
            {"fit_intercept": False},
            {"scale": 0.4, "direction": w0},
        ):
            sparse = wn.WeightNormRegressor(**options).fit(X, y)
            dense = wn.WeightNormRegressor(**options).fit(X.toarray(), y)
            np.testing.assert_allclose(sparse.coef_, dense.coef_, atol=1e-9)
            assert sparse.rank_ == dense.rank_
            assert sparse.perp_norm_ == pytest.approx(dense.perp_norm_, abs=1e-9)
    plain = wn.WeightNormRegressor(fit_intercept=False).fit(X, y)
    best = scipy.sparse.linalg.lsqr(X, y, atol=1e-14, btol=1e-14)[0]
    np.testing.assert_allclose(plain.coef_, best, atol=1e-9)


def test_training_says_how_near_it_is():
    """The loss may be within a millionth of its least value while coefficients are off by 1 %."""
    X, y, _ = wide(6, 40, 20)
    X = X * np.geomspace(1.0, 1e-2, 20)
    limit = wn.WeightNormRegressor().fit(X, y)
    for method in ("rpgd", "wn", "gd"):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model = wn.WeightNormRegressor(method, max_iter=5_000).fit(X, y)
        error = np.linalg.norm(model.coef_ - limit.coef_) / np.linalg.norm(limit.coef_)
        assert model.min_norm_distance_ == pytest.approx(error * limit.scale_, rel=1e-6)
        assert (model.status_ == "converged") == (error <= 1e-4)
        assert f"within {error:.2g} of the best" in model.message_
    with pytest.raises(ValueError, match="training diverged after"):
        wn.WeightNormRegressor("rpgd", direction_step=10.0, scale_step=10.0).fit(X, y)
    for options in ({"direction_step": 0.1}, {"scale_step": 0.1}):
        with pytest.warns(UserWarning, match="not used by method='limit'"):
            wn.WeightNormRegressor(**options).fit(X, y)


@pytest.mark.long
def test_counts_are_those_of_poisson_regression():
    rng = np.random.default_rng(7)
    X = rng.standard_normal((200, 4)) * [1.0, 1e3, 1e-3, 1.0] + 5.0
    y = rng.poisson(np.exp(0.5 * (X[:, 0] - 5.0)))
    weights = rng.random(200)
    model = wn.WeightNormRegressor(loss="poisson").fit(X, y, sample_weight=weights)
    peer = make_pipeline(StandardScaler(), PoissonRegressor(alpha=0.0, tol=1e-12, max_iter=10_000))
    peer.fit(X, y, poissonregressor__sample_weight=weights)
    np.testing.assert_allclose(model.predict(X), peer.predict(X), rtol=1e-5)
    for method in ("rpgd", "wn", "gd"):
        trained = wn.WeightNormRegressor(method, loss="poisson").fit(X[:, :1], y)
        exact = wn.WeightNormRegressor(loss="poisson").fit(X[:, :1], y)
        np.testing.assert_allclose(trained.coef_, exact.coef_, rtol=5e-3)
    with pytest.raises(ValueError, match="y must not be negative"):
        wn.WeightNormRegressor(loss="poisson").fit(X, y - 1.0)
    with pytest.raises(ValueError, match="y is zero for every sample"):
        wn.WeightNormRegressor(loss="poisson").fit(X, np.zeros(200))
    one_hot = np.eye(3)[np.arange(30) % 3]
    falling = wn.WeightNormRegressor(loss="poisson").fit(one_hot, (np.arange(30) % 3 == 0) * 2.0)
    assert falling.status_ == "quasi_separable"
    assert "falls for ever" in falling.message_


def test_huber_is_not_moved_by_outliers_and_follows_units():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((100, 3))
    y = X @ [1.0, 2.0, 3.0] + 0.1 * rng.standard_normal(100)
    y[:5] += 1e3
    model = wn.WeightNormRegressor(loss="huber").fit(X, y)
    assert np.abs(model.coef_ - [1.0, 2.0, 3.0]).max() < 0.5
    assert np.abs(wn.WeightNormRegressor().fit(X, y).coef_ - [1.0, 2.0, 3.0]).max() > 5.0
    for unit, offset in ((1e6, 0.0), (1e-6, 0.0), (1.0, 1e9)):
        other = wn.WeightNormRegressor(loss="huber").fit(X, unit * y + offset)
        np.testing.assert_allclose(other.coef_, unit * model.coef_, rtol=1e-5)
    # far-off targets with nothing between: many coefficients fit alike, and that is said
    with pytest.raises(ValueError, match="huber_width must be greater than 0"):
        wn.WeightNormRegressor(loss="huber", huber_width=0.0).fit(X, y)
    with pytest.raises(ValueError, match="loss must be one of"):
        wn.WeightNormRegressor(loss="absolute").fit(X, y)


# Cross-validated shares of a prior.
