"""Thresholds of kernel problems, and starts that are passed on to where they are used."""

import pickle
import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel, sigmoid_kernel

import weightnorm as wn
from tests.estimators.test_kernel_regressor import data
from tests.support.kernel_cases import EPS, lifted, off, pair
from weightnorm import theory
from weightnorm.estimators.kernels import rbf_noise
from weightnorm.problems.kernel.gram import centre

Kernel, Regressor = wn.KernelLeastSquares, wn.WeightNormKernelRegressor


def spectrum(values):
    """A symmetric matrix with these eigenvalues."""
    n = len(values)
    U = np.linalg.qr(np.random.default_rng(0).standard_normal((n, n)))[0]
    K = (U * values) @ U.T
    return 0.5 * (K + K.T)


# What is rounding in K, and what is not.


def test_what_is_kept_of_k():
    y = [1.0, 1.0]
    assert Kernel(np.diag([1.0, 8 * EPS]), y).rank == 1
    assert Kernel(np.diag([1.0, 32 * EPS]), y).rank == 2
    assert Kernel(np.diag([1.0, -200 * EPS]), y).rank == 1
    with pytest.raises(ValueError, match="indefinite"):
        Kernel(np.diag([1.0, -400 * EPS]), y)
    # a negative eigenvalue shows how far off the others are
    assert Kernel(np.diag([1.0, 1.5e-7, -1e-7]), np.ones(3), noise=1.1e-7).rank == 1
    seen = Kernel(np.diag([1.0, 1e-3, -100 * EPS]), [1.0, 1.0, 0.0])
    assert seen.accuracy == pytest.approx(100 * EPS / 1e-3)


def test_what_k_may_lack_of_symmetry():
    K = np.array([[1.0, 0.5], [0.5 + 5e3 * EPS, 1.0]])
    with pytest.raises(ValueError, match="symmetric"):
        Kernel(K, [1.0, 1.0])
    K[1, 0] = 0.5 + 5e2 * EPS
    problem = Kernel(K, [1.0, 1.0])
    assert np.array_equal(problem.K, problem.K.T)
    large = np.eye(600)
    large[599, 3] = 0.1  # beyond the first block of rows
    with pytest.raises(ValueError, match=r"K\[3, 599\] = 0 where K\[599, 3\] = 0.1"):
        Kernel(large, np.ones(600))


def test_the_refusal_of_an_indefinite_kernel():
    K = [[1.0, 2.0], [2.0, 1.0]]
    with pytest.raises(ValueError, match="indefinite") as caught:
        Kernel(K, [1.0, 2.0])
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    advice = float(re.search(r"noise=([\d.e+-]+\d)", str(caught.value))[1])
    assert Kernel(K, [1.0, 2.0], noise=advice).rank == 1
    with pytest.raises(ValueError, match=r"none below zero; use another kernel$"):
        Kernel(-np.eye(2), [1.0, 2.0])


def test_what_is_rounding_in_y():
    assert Kernel(np.diag([1.0, 0.0]), [1.0, 100 * EPS]).floor == 0.0
    assert Kernel(np.diag([1.0, 0.0]), [1.0, 5000 * EPS]).floor > 0.0
    again = pair(1e4, seed=19, rank=6)
    twice = np.vstack([again.A, again.A])
    both = Kernel(twice @ twice.T, np.concatenate([again.y, again.y]))
    assert (both.rank, both.floor) == (6, 0.0)


def test_what_is_rounding_in_a_start():
    problem = Kernel(np.diag([1.0, 0.0]), [1.0, 0.0])
    problem.direction([1.0 + 4 * EPS, 0.0])
    with pytest.raises(ValueError, match="above 1"):
        problem.direction([1.0 + 1e-13, 0.0])
    coarse = Kernel(np.diag([1.0, 1e-9]), [1.0, 0.0], noise=1e-6)
    coarse.direction([0.6, 0.8 * 1e-9**0.5])
    with pytest.raises(ValueError, match="out of K's range"):
        coarse.direction([0.6, 3e-3])
    it = pair(10.0, seed=19, rank=4)
    seen = np.linalg.norm(it.kernel.direction(it.f0)[:-1])
    with pytest.raises(ValueError, match=r"f0ᵀK⁺f0 = 1 \+ 1e\+20, above 1"):
        it.kernel.direction(1e10 * it.f0 / seen)


def test_warnings_point_to_the_caller():
    with pytest.warns(RuntimeWarning, match="known to") as seen:
        Kernel(np.diag([1.0, 1e-14]), [1.0, 0.0]).direction([0.0, 0.8e-7])
    assert seen[0].filename == __file__
    X, y = np.linspace(0, 1, 60)[:, None], np.random.default_rng(0).standard_normal(60)
    with pytest.warns(UserWarning, match="of y is not fitted") as seen:
        Regressor(gamma=1.0).fit(X, y)
    assert seen[0].filename == __file__
    X, y, _, _ = data()
    with pytest.warns(ConvergenceWarning) as seen:
        Regressor(gamma=1.0).fit(X, y, start_values=np.zeros(30))
    assert seen[0].filename == __file__


def test_single_precision_keeps_small_starts():
    problem = Kernel(np.eye(3, dtype=np.float32), [1.0, 1.0, 1.0])
    limit = theory.flow_limit(problem, 0.0, start_values=np.full(3, 1e-6))
    assert limit.applies


def test_means_of_k_and_y():
    assert centre(np.eye(4), np.full(4, 0.25))[1] == 4.0 * EPS
    it = pair(3.0, seed=29)
    K = it.A @ it.A.T
    assert Kernel(K, it.y + 1e9 / 3).centred().floor == 0.0
    single = Kernel((K + 100.0).astype(np.float32), it.y).centred()
    assert (single.rank, single.accuracy > 1e-6) == (11, True)
    coarse = np.diag([1.0, 1.0, 1e-3, 1e-3])
    exact = Kernel(coarse, [1.0, -1.0, 0.0, 0.0]).centred().rank
    assert Kernel(coarse, [1.0, -1.0, 0.0, 0.0], noise=0.01).centred().rank == exact - 1


# Starts, passed on to where they are used.


def test_results_on_kernels_that_are_nearly_the_same():
    it = pair(4.0, seed=31)
    K, method = it.A @ it.A.T, wn.RPGD(0.1, 0.1)
    half = wn.run(method, it.kernel, 1.5, start_values=it.f0, max_steps=5)
    for start in (half, pickle.loads(pickle.dumps(half))):
        wn.run(method, Kernel(K * (1 + 1e-11), it.y), start=start, max_steps=5)
        for factor in (1 + 1e-6, 2.0):
            with pytest.raises(ValueError, match="another kernel"):
                wn.run(method, Kernel(factor * K, it.y), start=start, max_steps=5)
    sums = Kernel([[2.0, 1.0], [1.0, 2.0]], [1.0, 2.0])  # of the rows of both are 3
    begun = wn.run(wn.GradientDescent(0.1), sums, 1.0, max_steps=5)
    with pytest.raises(ValueError, match="another kernel"):
        wn.run(wn.GradientDescent(0.1), Kernel(3 * np.eye(2), [1.0, 2.0]), start=begun)


def test_a_sweep_without_values_starts_off_the_data():
    it = pair(2.0)
    methods = {"gd": wn.GradientDescent(0.1)}
    found = wn.sweep(it.kernel, methods, 1.0, tolerance=0, max_steps=5)
    assert float(found.start_perp_norm[0]) == 1.0


def test_a_negative_share_is_a_share():
    it = pair(2.0)
    result = wn.run(wn.GradientDescent(0.5), it.kernel, -1.0, start_values=it.f0)
    assert result.start_share < 0
    with pytest.raises(ValueError, match="start_values are needed"):
        result.predict(it.new_kernel)


def test_every_prediction_is_from_the_start_that_was_given():
    it = pair(3.0, seed=13)
    at, there = {"start_values": it.f0}, {"direction": it.w0}
    assert theory.scale_sign(it.explicit, 0.01, it.w0).sign == -1.0  # +1 from an unseen start
    assert theory.scale_sign(it.kernel, 0.01, **at).sign == -1.0
    assert theory.flow_outcome(it.kernel, 0.0, ratio=1.0, **at).value == 0.0
    assert theory.flow_outcome(it.kernel, 0.0, ratio=1.0).value > 1.0  # at rest
    fixed = [theory.flow_outcome(p, 0.5, ratio=0.0, **s).value for p, s in
             ((it.kernel, at), (it.explicit, there))]  # fmt: skip
    assert fixed[0] == pytest.approx(fixed[1], rel=1e-9)
    times = [theory.convergence_time(p, 1.5, ratio=1.0, accuracy=1e-6, **s).value for p, s in
             ((it.kernel, at), (it.explicit, there))]  # fmt: skip
    assert times[0] == pytest.approx(times[1], rel=1e-9)
    options = {"method": "rpgd", "step": 0.01, "ratio": 10.0, "batch_size": 4}
    steps = [theory.finite_step_limit(p, 1.5, **s, **options).perp_norm for p, s in
             ((it.kernel, at), (it.explicit, there))]  # fmt: skip
    assert steps[0] == pytest.approx(steps[1], rel=1e-6)
    known = theory.batchnorm_limit(it.explicit, 1.0, it.w0)
    found = theory.batchnorm_limit(it.kernel, 1.0, **at)
    assert off(found.predict(it.new_kernel, it.new_f0), it.new @ known.weights) <= it.tolerance
    one = pair(1.0, seed=13)
    assert theory.two_cycle(one.explicit, 0.01, -one.w0, 0.1).trapped
    assert theory.two_cycle(one.kernel, 0.01, scale_step=0.1, start_values=-one.f0).trapped
    counts = wn.GeneralizedLinear([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]], [1, 3], loss="poisson")
    with pytest.raises(TypeError, match="start_values are for problems that know"):
        theory.flow_limit(counts, 1.0, [1.0, 0.0, 0.0], start_values=[1.0, 1.0])


def test_a_plan_for_any_start_runs_from_the_one_that_is_given():
    it = pair(3.0, seed=17)
    ended = theory.plan(it.kernel, 1e-3).run(start_values=it.f0)
    known = theory.plan(it.explicit, 1e-3).run(it.w0)
    assert off(lifted(it, ended), known.weights) <= 1e-12


def test_a_flow_goes_through_pickle():
    it = pair(4.0, seed=37)
    path = wn.flow(it.kernel, 1.5, start_values=it.f0, times=[0.0, 1.0])
    stored = pickle.dumps(path)
    assert b"DualExpansion" not in stored
    expected = path.predict(it.new_kernel, it.new_f0)
    assert np.array_equal(pickle.loads(stored).predict(it.new_kernel, it.new_f0), expected)


# The estimator.


def test_how_negative_an_error_may_be():
    y, given = [1.0, 2.0, 3.0], Regressor(kernel="precomputed", fit_intercept=False)
    with pytest.raises(ValueError, match="indefinite"):
        given.fit(spectrum([1.0, 0.5, -1e-4]), y)
    with pytest.warns(UserWarning, match="negative eigenvalue"):
        given.fit(spectrum([1.0, 0.5, -5e-6]), y)
    with pytest.raises(ValueError, match="most negative eigenvalue is -1,"):
        given.fit(np.array([[1, 2], [2, 1]]), y[:2])
    whole = np.array([[10, 10, 10], [10, 10, 9], [10, 9, 10]])  # −0.3 against 29: may be rounding
    with pytest.warns(UserWarning, match="negative eigenvalue"):
        given.fit(whole, y)
    with pytest.raises(ValueError, match="indefinite"):
        given.fit(whole.astype(float), y)
    with pytest.raises(ValueError, match="indefinite"):
        given.fit(np.diag([100, 50, 20, -3]), np.ones(4))  # under 5 %, over √4
    X, y, _, _ = data()
    lowest = np.linalg.eigvalsh(sigmoid_kernel(X, gamma=1.0, coef0=1.0))[0]
    with pytest.raises(ValueError, match=re.escape(f"eigenvalue is {lowest:.4g}")):
        Regressor(kernel="sigmoid", gamma=1.0, coef0=1.0).fit(X, y)


def test_rounding_in_squared_distances():
    X = np.array([[3.0, 4.0], [0.0, 1.0]])
    K = rbf_kernel(X, gamma=0.5)
    expected = 4.0 * EPS * 0.5 * 25.0 * K[0, 1]
    assert rbf_noise(X, 0.5, K) == pytest.approx(expected, rel=1e-6, abs=0.0)
    # within clusters 2e5 apart they are off by 1e10·eps
    rng = np.random.default_rng(0)
    X = rng.standard_normal((30, 2)) + np.where(np.arange(30) < 15, 1e5, -1e5)[:, None]
    with pytest.warns(UserWarning, match="of y is not fitted"):
        model = Regressor(gamma=0.05).fit(X, np.sin(X[:, 0]))
    assert model.rank_ < 30
    X, y, _, _ = data(d=4)
    assert Regressor().fit(X, y).accuracy_ == Regressor(gamma=0.25).fit(X, y).accuracy_
    ranks = [Regressor(gamma=0.5 / a**2).fit(a * X, y).rank_ for a in (1.0, 2.0**20)]
    assert ranks[0] == ranks[1]


def test_what_constant_targets_are():
    X, y, _, _ = data()
    nearly = np.full(30, 1e9 + 0.1)
    nearly[0] = np.nextafter(nearly[0], np.inf)
    assert not Regressor(gamma=1.0, fit_intercept=True).fit(X, nearly).dual_coef_.any()
    rising = 1.0 + 1e-14 * np.arange(30)
    assert np.ptp(Regressor(gamma=1.0, fit_intercept=True).fit(X, rising).predict(X)) > 2e-13
    far = Regressor(gamma=1.0, fit_intercept=True).fit(X, y + 1e9)
    assert "out of its reach" not in far.message_


def test_weights_scale_what_is_rounding():
    X, y, _, _ = data()
    K, counts = X @ X.T + 1e8, 1.0 + np.arange(30) % 3
    for unit in (1.0, 1e6):
        model = Regressor(kernel="precomputed", fit_intercept=True).fit(K, y, unit * counts)
        assert model.rank_ == 4
    some = Regressor(gamma=1.0).fit(X, y, np.arange(30) % 3)
    assert "K has rank 20 of 20" in some.message_


@pytest.mark.parametrize("unit", [1e-170, 1e150])
@pytest.mark.parametrize("method", ["limit", "rpgd"])
def test_targets_of_any_size(unit, method):
    X, y, new, _ = data()
    known = Regressor(gamma=2.0, method=method).fit(X, y).predict(new)
    found = Regressor(gamma=2.0, method=method).fit(X, unit * y).predict(new) / unit
    np.testing.assert_allclose(found, known, rtol=1e-3, atol=1e-3)


def test_options_of_kernels():
    X, y, new, _ = data(n=10)
    known = Regressor(kernel="poly", gamma=1.0).fit(X, y).predict(new)
    found = Regressor(kernel="poly", gamma=1.0, degree=None, coef0=None).fit(X, y).predict(new)
    np.testing.assert_array_equal(found, known)
    with pytest.raises(ValueError, match=r"kernel must give a matrix of shape \(10, 10\)"):
        Regressor(kernel=lambda X, Y: (X @ Y.T)[:3, :3]).fit(X, y)
    line = Regressor(kernel="linear", fit_intercept=True)
    base = line.fit(X, y).predict(new)
    np.testing.assert_allclose(line.fit(X + 1e6, y).predict(new + 1e6), base, atol=1e-8)

    def distance(X, Y):  # symmetric to rounding, with negative entries only
        return -np.linalg.norm(X[:, None] - Y[None], axis=2) * (1 + 1e-15 * X[:, :1])

    assert Regressor(kernel=distance).fit(X, y).rank_ == 9


def test_several_targets_and_the_worst_of_them():
    X, y, new, _ = data()
    f0 = 0.1 * rbf_kernel(X, X[:1], 1.0)
    both = np.column_stack([y, y**2])
    fits = [Regressor(gamma=1.0, scale=1.0).fit(X, both, start_values=values) for values in
            (f0, f0[:, 0], np.repeat(f0, 2, axis=1))]  # fmt: skip
    assert all(np.array_equal(fit.dual_coef_, fits[0].dual_coef_) for fit in fits)
    empty = np.column_stack([np.zeros(30), y])
    with pytest.warns(ConvergenceWarning):
        resting = Regressor(gamma=1.0).fit(X, empty, start_values=np.zeros(30))
    assert resting.status_ == "stationary"
    model = Regressor(gamma=0.3, scale=1.0).fit(X, empty, start_values=f0)
    assert model.start_share_[0] == 0.0 != model.start_share_[1]
    with pytest.raises(ValueError, match="start_values are needed"):
        model.predict(new)
    slow = Regressor(gamma=2.0, method="rpgd", tol=1e-8)
    unlike = np.column_stack([rbf_kernel(X, X[:1], 2.0)[:, 0], y])
    each = [slow.fit(X, column).n_iter_ for column in unlike.T]
    assert each[0] != each[1]
    assert slow.fit(X, unlike).n_iter_ == max(each)
    K, missing = np.diag([1.0, 1.0, 0.0]), np.array([[2.0, 1.0, 0.0], [2.0, 1.0, 2.0]]).T
    for targets in (missing, missing[:, 1]):
        message = Regressor(kernel="precomputed").fit(K, targets).message_
        assert "; 0.67 of y is out of its reach" in message
