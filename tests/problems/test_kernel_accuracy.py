"""What K cannot tell, and what is said of it: ranks, floors, starts near the row space."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import weightnorm as wn
from tests.support.kernel_cases import EPS, lifted, off, pair
from weightnorm import theory

QUIETLY = pytest.mark.filterwarnings("ignore:K leaves an error", "ignore:start_values")


def features(condition, rank=6, n=12, d=20, seed=0):
    """A = U S Vᵀ with its parts, of some rank."""
    rng = np.random.default_rng(seed)
    U = np.linalg.qr(rng.standard_normal((n, n)))[0]
    V = np.linalg.qr(rng.standard_normal((d, rank)))[0]
    A = (U[:, :rank] * np.geomspace(1.0, 1.0 / condition, rank)) @ V.T
    return A, U, V


# The part of y that is out of reach.


@QUIETLY
@settings(deadline=None, max_examples=60)
@given(st.integers(0, 10_000), st.integers(2, 20), st.floats(0.01, 30.0))
def test_a_loss_is_that_of_the_features(seed, n, gamma):
    """Whatever the rank and however small the last eigenvalue that is kept."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(0.0, 1.0, (n, 1))
    problem = wn.KernelLeastSquares(np.exp(-gamma * (X - X.T) ** 2), rng.standard_normal(n))
    result = wn.run(wn.GradientDescent(0.5 / problem.curvature), problem, 0.0, max_steps=200)
    assert result.loss == pytest.approx(problem.value(result.weights), rel=1e-6, abs=1e-12)


@pytest.mark.parametrize(
    ("eigenvalues", "y", "noise", "floor"),
    [
        ([1.0, 1e-3, 1e-9], [1.0, 2.0, 1.0], 9e-4, 0.5),
        ([1.0, 5e-15, 0.0], [1.0, 10.0, 5.0], 0.0, 12.5),
        ([1.0, 1e-12, 0.0], [1.0, 1000.0, 1.0], 0.0, 0.5),
        ([1.0, 1e-12, 0.0], [1.0, 1000.0, 0.0], 0.0, 0.0),
        ([1.0, 1e-12, 1e-13], [1.0, 1.0, 1.0], 0.0, 0.0),
    ],
)
@QUIETLY
def test_the_floor_of_small_eigenvalues(eigenvalues, y, noise, floor):
    problem = wn.KernelLeastSquares(np.diag(eigenvalues), y, noise=noise)
    assert problem.floor == pytest.approx(floor, rel=1e-9)


@QUIETLY
@pytest.mark.parametrize("condition", [1.0, 1e3, 1e5])
def test_the_accuracy_knows_of_what_is_out_of_reach(condition):
    """Rounding in K tilts its range, so that the unreachable part leaks into the solution."""
    for seed in range(5):
        A, U, V = features(condition, seed=seed)
        y = A @ V @ np.ones(6) + U[:, 6:] @ np.ones(6)
        problem = wn.KernelLeastSquares(A @ A.T, y)
        known = wn.LeastSquares(A, y).min_norm_solution()
        found = A.T @ problem.expand(problem.min_norm_solution(), None).dual_coef
        assert off(found, known) <= 8 * problem.accuracy
        tilt = np.sqrt(6.0) * condition / np.linalg.norm(known)
        expected = EPS * condition**2 * (1.0 + tilt)
        assert problem.accuracy == pytest.approx(expected, rel=0.05)
        assert problem.floor == pytest.approx(3.0, rel=1e-6)


def test_a_solution_that_k_cannot_give_is_warned_of():
    A, U, V = features(1e6)
    y = A @ V @ np.ones(6) + U[:, 6:] @ np.ones(6)
    problem = wn.KernelLeastSquares(A @ A.T, y)
    with pytest.warns(
        RuntimeWarning, match=r"K leaves an error of \S+, relatively.*rank is 6 of 12"
    ):
        theory.gd_limit(problem, 0.0)
    everything = wn.KernelLeastSquares(np.eye(2), [1.0, 1.0], noise=2.0)  # nothing is kept
    with pytest.warns(RuntimeWarning, match="an error of inf"):
        assert theory.gd_limit(everything, 0.0).norm == 0.0


def test_a_target_wholly_out_of_reach():
    A, U, _ = features(1e5)
    problem = wn.KernelLeastSquares(A @ A.T, U[:, 6:] @ np.ones(6))
    assert not problem.target.any()
    with pytest.raises(ValueError, match="out of A's reach"):
        theory.flow_limit(problem, 1.0)


# Starts near the row space.


@QUIETLY
@pytest.mark.parametrize("q0", [0.3, 1e-2, 3e-3])
def test_gradient_descent_does_not_mind_how_much_is_seen(q0):
    """x* + g0·w0⊥ is right through the values of w0, whatever K tells of the length of w0⊥."""
    A = np.array([[1.0, 0.0, 0.0], [0.0, 1e-5, 0.0]])
    w0 = np.array([np.sqrt(0.5 * (1 - q0**2)), np.sqrt(0.5 * (1 - q0**2)), q0])
    y, new = A @ [1.0, 1.0, 0.0], np.ones((1, 3))
    found = theory.gd_limit(wn.KernelLeastSquares(A @ A.T, y), 5.0, start_values=A @ w0)
    assert found.predict(new @ A.T, new @ w0) == pytest.approx(2.0 + 5.0 * q0, rel=1e-6)


@QUIETLY
def test_an_end_that_hinges_on_what_k_cannot_tell_is_warned_of():
    A = np.array([[1.0, 0.0, 0.0], [0.0, 1e-5, 0.0]])
    problem = wn.KernelLeastSquares(A @ A.T, A @ [1.0, 1.0, 0.0])
    for q0 in (0.0, 1e-3, 4e-3):
        c = np.sqrt(0.5 * (1 - q0**2))
        with pytest.warns(RuntimeWarning, match="the end hinges on what the data cannot see"):
            theory.flow_limit(problem, 5.0, ratio=1.0, start_values=A @ [c, c, q0])
        # from a small scale it does not hinge on it: no warning
        theory.flow_limit(problem, 0.5, ratio=0.1, start_values=A @ [c, c, q0])


@QUIETLY
@settings(deadline=None, max_examples=60)
@given(
    st.integers(0, 10_000),
    st.integers(1, 25),
    st.integers(1, 40),
    st.floats(-3, 3),
    st.booleans(),
    st.booleans(),
)
def test_no_start_of_features_is_refused(seed, n, d, size, row_space, single):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((n, d)) * 10.0**size
    w = A.T @ rng.standard_normal(n) if row_space else rng.standard_normal(d)
    f0 = A @ (w / np.linalg.norm(w))
    f0 = f0.astype(np.float32) if single else f0
    problem = wn.KernelLeastSquares(A @ A.T, np.ones(n))
    unit = problem.direction(f0)
    if row_space or d <= n:
        assert unit[-1] <= (2e-2 if single else 1e-4)


def test_no_start_is_refused_for_the_errors_that_k_has():
    """AAᵀ = diag(1, 0.01), given with an error of 0.006."""
    problem = wn.KernelLeastSquares(np.diag([1.0, 0.004]), [1.0, 1.0], noise=0.006)
    assert problem.rank == 1
    assert problem.direction([0.0, 0.09])[-1] == 1.0


# Precision.


def test_the_precision_of_k_can_be_given():
    K = np.diag([1.0, 1e-4])
    problem = wn.KernelLeastSquares(K, [1.0, 1.0], eps=1e-7)
    assert problem.accuracy == pytest.approx(1e-3)
    assert wn.KernelLeastSquares(K, [1.0, 1.0], eps=1e-3).rank == 1
    with pytest.raises(ValueError, match="eps must be at least 0"):
        wn.KernelLeastSquares(K, [1.0, 1.0], eps=-1.0)


def test_what_k_lacks_of_symmetry_counts():
    it = pair(30.0)
    K = it.A @ it.A.T
    K[0, 1] += 500 * EPS * np.abs(K).max()
    problem = wn.KernelLeastSquares(K, it.y)
    assert problem.accuracy > 20 * it.kernel.accuracy
    exact = it.kernel.min_norm_solution()
    assert off(problem.min_norm_solution(), exact) <= problem.accuracy


# Results that are copied, changed, or of another problem.


def test_copies_of_results_expand_their_own_weights_alone():
    it = pair(3.0)
    result = wn.run(wn.RPGD(0.1, 0.1), it.kernel, 1.0, start_values=it.f0)
    twice = replace(result, weights=2.0 * result.weights)
    np.testing.assert_allclose(twice.dual_coef, 2.0 * result.dual_coef, rtol=1e-12, atol=1e-13)
    for same in (pickle.loads(pickle.dumps(result)), copy.copy(result), copy.deepcopy(result)):
        assert np.array_equal(same.dual_coef, result.dual_coef)
        with pytest.raises(ValueError, match="the weights are others"):
            replace(same, weights=2.0 * same.weights).dual_coef  # noqa: B018


@QUIETLY
def test_results_stay_with_their_kernel():
    it = pair(3.0)
    kernel, method = it.kernel, wn.RPGD(0.1, 0.1)
    result = wn.run(method, kernel, 1.0, start_values=it.f0, max_steps=5)
    with pytest.raises(ValueError, match="start is a result on a kernel"):
        wn.run(method, wn.LeastSquares(np.eye(12, 13), it.y), start=result)
    fewer = wn.KernelLeastSquares(it.A @ it.A.T, it.y, noise=0.13)
    assert fewer.rank < kernel.rank
    on = wn.run(method, fewer, start=pickle.loads(pickle.dumps(result)), max_steps=5)
    assert on.total_steps == 5  # another problem: its own schedules begin


def test_weights_of_another_start_are_refused():
    it = pair(3.0)
    inside = pair(3.0, "row space")
    with pytest.raises(ValueError, match="neither a combination of the samples nor of this start"):
        it.kernel.expand(np.eye(13)[-1], inside.f0)
    with pytest.raises(ValueError, match="weights must have 13 entries"):
        it.kernel.expand(np.ones(12), it.f0)
    rows = wn.run(
        wn.RPGD(0.1, 0.1), it.kernel, 1.0, start_values=it.f0, record=1, keep="weights", max_steps=4
    ).history.weights
    found = it.kernel.expand(rows, it.f0)
    assert found.predict(it.new_kernel, it.new_f0).shape == (len(rows), 5)
    np.testing.assert_allclose(
        (lifted(it, found).T)[0], 1.0 * it.w0, atol=1e-12
    )  # the first record is the start


# Every function with a start.


def test_the_direction_may_be_left_out():
    it = pair(3.0)
    f0, kernel = {"start_values": it.f0}, it.kernel
    calls = (
        lambda p, s: theory.two_cycle(p, 1.0, scale_step=0.1, **s).scale,
        lambda p, s: theory.flow_outcome(p, 1.0, ratio=1.0, **s).value,
        lambda p, s: theory.convergence_time(p, 1.0, ratio=1.0, accuracy=0.1, **s).value["time"],
        lambda p, s: theory.finite_step_limit(p, 1.0, method="wn", step=1e-3, **s).norm,
        lambda p, s: theory.flow_limit(p, 1.0, iterative=True, **s).norm,
        lambda p, s: theory.scale_sign(p, 1.0, **s).sign,
    )
    for call in calls:
        known, found = call(it.explicit, {"direction": it.w0}), call(kernel, f0)
        assert found == pytest.approx(known, rel=1e-6)
    for call, name in (
        (lambda: theory.two_cycle(kernel, 1.0), "scale_step"),
        (lambda: theory.flow_outcome(kernel, 1.0), "ratio"),
        (lambda: theory.convergence_time(kernel, 1.0, ratio=1.0), "accuracy"),
        (lambda: theory.finite_step_limit(kernel, 1.0, method="wn"), "step"),
        (lambda: theory.finite_step_limit(kernel, 1.0), "method"),
    ):
        with pytest.raises(ValueError, match=f"{name} is needed"):
            call()
    end = theory.flow_limit(kernel, 1.0, iterative=True, **f0)
    exact = theory.flow_limit(kernel, 1.0, **f0)
    np.testing.assert_allclose(end.dual_coef, exact.dual_coef, atol=1e-6)


def test_plots_and_the_explorer_start_as_the_limits_do(tmp_path):
    import matplotlib as mpl

    mpl.use("Agg")
    from weightnorm.explorer.describe import describe
    from weightnorm.plot.phase import start_numbers

    it = pair(3.0)
    assert start_numbers(it.kernel, None, None)[1] == 1.0
    seen = np.sqrt(1.0 - it.kernel.direction(it.f0)[-1] ** 2)
    assert start_numbers(it.kernel, None, it.f0)[1] == pytest.approx(np.sqrt(1 - seen**2))
    known = describe(it.explicit, direction=it.w0)
    found = describe(it.kernel, start_values=it.f0)
    for name in ("scale", "angle", "tilt"):
        assert found["start"][name] == pytest.approx(known["start"][name], rel=1e-9)
    assert describe(it.kernel)["start"]["angle"] == pytest.approx(90.0)
    wn.plot.phase_diagram(it.kernel, start_values=it.f0)
    ax = wn.plot.limit_norms(it.kernel, scales=np.array([1.0]))
    orthogonal = theory.gd_limit(it.kernel, 1.0).norm
    assert ax.lines[0].get_ydata() == pytest.approx([orthogonal])
    with pytest.raises(ValueError, match=r"problem.direction\(values\)"):
        wn.plot.phase_diagram(it.kernel, direction=it.f0)
    with pytest.raises(ValueError, match="start_values must come with a problem"):
        wn.explore(start_values=it.f0)


def test_messages_name_what_this_problem_has():
    it = pair(3.0)
    with pytest.raises(ValueError, match="give start_values= as well"):
        theory.plan(it.kernel, 1e-3, 50.0)
    with pytest.raises(ValueError, match="direction is not a rectangular array"):
        wn.run(wn.RPGD(0.1, 0.1), it.kernel, 1.0, [[1], [1, 2]])
    with pytest.raises(TypeError, match=r"K is sparse.*K.toarray\(\)"):
        wn.KernelLeastSquares(scipy.sparse.csr_array(np.eye(2)), [1.0, 1.0])
