"""Numbers that used to be silently wrong: limits over the whole range of doubles, extreme
targets, wrong adjoints.
"""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse.linalg import LinearOperator

import weightnorm as wn
from weightnorm import theory
from weightnorm_paper import lemmas

# below this a square root of a subnormal number may lose digits: only its size is compared
TINY = 1e-290


def perp_to_fifty_digits(g0, gstar, log_q2, c):
    """‖x∞⊥‖ by bisection in t = log(D/c) of log(D/G) − 2 log q0 = (g0² − g*² − D)/c."""
    with mpmath.workdps(50):
        g0, gstar, c, log_q2 = map(mpmath.mpf, (g0, gstar, c, log_q2))
        right = log_q2 + (g0**2 - gstar**2) / c
        log_a = 2 * mpmath.log(gstar) - mpmath.log(c)
        low = min(log_a, 0) + min(right, 0) - 3
        high = mpmath.log(max(right, 0) + max(log_a, 0) + 3)
        for _ in range(140):
            t = (low + high) / 2
            share = (
                -mpmath.log1p(mpmath.exp(log_a - t))
                if t > log_a
                else t - log_a - mpmath.log1p(mpmath.exp(t - log_a))
            )
            low, high = (t, high) if share + mpmath.exp(t) < right else (low, t)
        return float(mpmath.sqrt(mpmath.exp(low) * c))


exponents = st.floats(-150, 150)


@pytest.mark.long
@given(
    log_gstar=exponents,
    relative=st.one_of(st.floats(-4, 4), st.floats(-1e-3, 1e-3), st.just(0.0), exponents),
    log_c=st.one_of(st.floats(-20, 6), st.floats(-2, 2), st.floats(-300, 300)),
    log_q=st.one_of(st.just(0.0), st.floats(-2, 0), st.floats(-300, 0)),
)
@settings(max_examples=300, deadline=None)
def test_the_limit_agrees_with_fifty_digits_over_the_whole_range(log_gstar, relative, log_c, log_q):
    gstar = 10.0**log_gstar
    g0 = (
        gstar * 10.0**relative
        if abs(relative) < 100
        else 10.0 ** (log_gstar + relative)
        if abs(log_gstar) < 50
        else gstar
    )
    c = min(max(gstar**2 * 10.0**log_c, 1e-300), 1e300)
    q0 = 10.0**log_q
    ours = float(theory.limit_perp(g0, gstar, q0, c))
    exact = perp_to_fifty_digits(g0, gstar, float(2 * np.log(q0)), c)
    assert ours == pytest.approx(exact, rel=1e-11, abs=TINY)
    assert float(theory.limit_scale(g0, gstar, q0, c)) == pytest.approx(
        np.hypot(gstar, exact), rel=1e-11
    )


@pytest.mark.parametrize("c", [1e-6, 1e-9, 1e-12, 1e-14, 1e-100, 1e-300])
def test_small_ratios_do_not_cancel(c):
    problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, 0)
    limit = theory.flow_limit(problem, 4.0, w0, c)
    assert limit.applies
    # the norm of a solution that the scale need not move to
    assert limit.norm == pytest.approx(4.0, abs=c)
    assert limit.norm == limit.scale == pytest.approx(np.linalg.norm(limit.weights), rel=1e-14)
    assert np.linalg.norm(problem.A @ limit.weights - problem.y) < 1e-13
    predicted = theory.finite_step_limit(problem, 4.0, w0, "rpgd", 1e-3, c)
    assert abs(predicted.norm - 4.0) <= max(predicted.error, c)
    assert predicted.error > 0


def test_a_prediction_that_did_not_get_to_the_end_claims_no_accuracy():
    problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, 0)
    lost = theory.finite_step_limit(problem, 4.0, w0, "rpgd", 0.01, 1e300)
    assert not lost.applies
    assert lost.error == np.inf


def test_the_phase_diagram_far_out():
    assert theory.distance_map([1e5], [1e-7], 1.0, 0.5)[0, 0] == pytest.approx(
        np.sqrt(1e10 - 1), rel=1e-14
    )
    assert theory.distance_map(1.0, 1.0, 1.0, 0.5).shape == (1, 1)
    with pytest.raises(ValueError, match="g0 and ratio must be vectors"):
        theory.distance_map([[1.0]], [1.0], 1.0, 0.5)


@pytest.mark.parametrize("size", [1e141, 1e155, 1e160, 1e300])
def test_targets_whose_squares_overflow_are_refused_by_name(size):
    for make in (
        lambda: wn.LeastSquares(np.eye(2, 3), [size, 0.0]),
        lambda: wn.GeneralizedLinear(np.eye(2, 3), [size, 0.0], loss="huber"),
        lambda: wn.MatrixSensing(np.eye(2)[None], [size]),
    ):
        with pytest.raises(
            ValueError, match=r"y has a largest entry of .*, whose square overflows"
        ):
            make()
    with pytest.raises(ValueError, match="solution_norm must be at most 1e140"):
        wn.datasets.make_regression(solution_norm=size)


@given(power=st.integers(-310, 139))
@settings(max_examples=60, deadline=None)
def test_the_minimum_norm_solution_has_the_units_of_y(power):
    # the third row is the sum of the others
    A = np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 0.25], [1.0, 1.5, 0.25]])
    unit = 10.0**power
    base, problem = (
        wn.LeastSquares(A, [1.0, 2.0, 3.5]),
        wn.LeastSquares(A, np.array([1.0, 2.0, 3.5]) * unit),
    )
    np.testing.assert_allclose(
        problem.min_norm_solution(), base.min_norm_solution() * unit, rtol=1e-12, atol=1e-320
    )
    if abs(power) < 140:
        assert problem.floor == pytest.approx(base.floor * unit**2, rel=1e-9)
    w0 = np.array([1.0, -1.0, 2.0])
    gd = theory.gd_limit(problem, 0.5 * unit, w0)
    assert gd.norm == pytest.approx(
        theory.gd_limit(base, 0.5, w0).norm * unit, rel=1e-12, abs=1e-320
    )


B = np.random.default_rng(0).standard_normal((4, 7))


@pytest.mark.parametrize(
    ("rmatvec", "message"),
    [
        (lambda r: -B.T @ r, "not the adjoint"),
        (lambda r: B.T @ r[::-1], "not the adjoint"),
        (lambda r: (B.T @ r)[:3], "A.rmatvec"),
        (lambda r: np.full(7, np.nan), "A.rmatvec.* has 7 entries that are NaN"),
        (lambda r: 1j * (B.T @ r), "A.rmatvec.* has dtype complex128"),
    ],
)
def test_an_operator_with_a_wrong_adjoint_is_refused(rmatvec, message):
    wrong = LinearOperator(B.shape, matvec=lambda x: B @ x, rmatvec=rmatvec, dtype=np.float64)
    with pytest.raises((ValueError, TypeError), match=message):
        wn.LeastSquares(wrong, np.ones(4))


def test_a_single_precision_operator_passes_its_adjoint_test():
    single = B.astype(np.float32)
    operator = LinearOperator(
        B.shape,
        matvec=lambda x: single @ x.astype("f4"),
        rmatvec=lambda r: single.T @ r.astype("f4"),
        dtype=np.float32,
    )
    assert wn.LeastSquares(operator, np.ones(4)).shape == (4, 7)


def test_masked_arrays_are_refused_wherever_they_come_in():
    for make in (
        lambda: wn.LeastSquares(np.ma.masked_array(B, mask=np.eye(4, 7)), np.ones(4)),
        lambda: wn.LeastSquares(B, np.ma.masked_array(np.ones(4), mask=[0, 0, 1, 0])),
        lambda: wn.MatrixSensing(
            np.ma.masked_array(np.ones((1, 2, 2)), mask=np.eye(2)[None]), [1.0]
        ),
    ):
        with pytest.raises(TypeError, match="is a masked array"):
            make()


@pytest.mark.parametrize(
    "x", [np.full(7, np.nan), np.ones(7) + 1j, np.full((2, 7), np.inf), [[1.0], [1.0, 2.0]]]
)
def test_value_and_gradient_take_finite_real_weights_only(x):
    problem = wn.LeastSquares(B, np.ones(4))
    for function in (problem.value, problem.gradient, wn.GeneralizedLinear(B, [0, 1, 1, 0]).value):
        with pytest.raises((ValueError, TypeError), match=r"^x "):
            function(x)


@pytest.mark.parametrize("bad", [1.0 + 1j, np.nan, "2", None])
def test_comparisons_take_finite_real_numbers_only(bad):
    with pytest.raises((ValueError, TypeError), match=r"^(g0|gstar|q0|ratio) "):
        theory.wn_beats_gd(1.0, bad, 0.5, 1.0)
    with pytest.raises((ValueError, TypeError), match=r"^g0 "):
        theory.limit_perp(bad, 1.0, 0.5, 1.0)


def test_too_large_to_factorise_is_said_before_trying_with_the_way_out(monkeypatch):
    import scipy.sparse

    from weightnorm.problems.coordinates import factorisation

    monkeypatch.setattr(factorisation, "physical_memory", lambda: 2.0**35)
    A = scipy.sparse.random_array(
        (100_000, 1_000_000), density=1e-7, rng=np.random.default_rng(0), format="csr"
    )
    problem, w0 = wn.LeastSquares(A, np.ones(100_000)), np.ones(1_000_000)
    with pytest.raises(MemoryError, match="coordinates='full'"):
        wn.run(wn.GradientDescent(0.1), problem, 1.0, w0, max_steps=2)
    assert (
        wn.run(wn.GradientDescent(0.1), problem, 1.0, w0, max_steps=2, coordinates="full").num_steps
        == 2
    )


@pytest.mark.parametrize("size", [1e-300, 1e-200, 1e200, 1e300])
def test_the_adjoint_test_knows_no_units(size):
    C = B * size
    assert wn.LeastSquares(
        LinearOperator(B.shape, matvec=C.dot, rmatvec=C.T.dot, dtype=float), np.ones(4)
    ).shape == (4, 7)
    with pytest.raises(ValueError, match="is -1 times that"):
        wn.LeastSquares(
            LinearOperator(B.shape, matvec=C.dot, rmatvec=(-C.T).dot, dtype=float), np.ones(4)
        )


def test_an_operator_may_have_any_attributes():
    class Mine(LinearOperator):
        data = "not its entries"

        def __init__(self):
            super().__init__(np.float64, B.shape)

        def _matvec(self, x):
            return B @ x.ravel()

        def _rmatvec(self, r):
            return B.T @ r.ravel()

    best = np.linalg.lstsq(B, np.ones(4), rcond=None)[0]
    np.testing.assert_allclose(
        wn.LeastSquares(Mine(), np.ones(4)).min_norm_solution(), best, atol=1e-12
    )


def test_a_start_in_the_row_space_has_a_limit_at_any_ratio():
    problem = wn.LeastSquares([[2.0]], [3.0])
    for c in (5e-324, 1e-300, 1.0, 1e300):
        limit = theory.flow_limit(problem, 0.5, [1.0], c)
        assert (limit.norm, limit.perp_norm) == (1.5, 0.0)


def test_a_scale_whose_square_overflows_is_named():
    with pytest.raises(ValueError, match=r"^g must be at most"):
        lemmas.loss_rate_bounds(wn.LeastSquares(B, np.ones(4)), 1.7e308, np.ones(7), 1.0)


@pytest.mark.parametrize("method", ["wn", "rpgd"])
@pytest.mark.parametrize("ratio", [1e-10, 1e-100, 1e-300])
def test_a_drift_that_overflows_does_not_raise(method, ratio):
    """Terms of the drift are beyond the largest float on the way; the end is x*, or not known."""
    problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    found = wn.theory.finite_step_limit(problem, 0.9, [0.0, 1.0], method, 0.1, ratio)
    if found.applies:
        assert found.norm == pytest.approx(1.0)
    else:
        assert found.error == np.inf


class TestFarOut:
    """Formulas where squares, or differences of logarithms, run out of digits; mpmath has them."""

    def test_wn_beats_gd_where_the_start_has_next_to_nothing_to_keep(self):
        """From 300 with q0 = 4e-10 to g* = 4e-7 GD ends at 1.2e-7, WN at 300."""
        found = theory.wn_beats_gd(300.0, 4e-7, 4e-10, 1e-4)
        assert not found.closer
        with mpmath.workdps(60):
            g0, gstar, q0 = mpmath.mpf(300.0), mpmath.mpf(4e-7), mpmath.mpf(4e-10)
            D = gstar**2 - g0**2 * (1 - q0**2)
            wanted = D / mpmath.log(1 + D / g0**2)
        assert found.critical_ratio == pytest.approx(float(wanted), rel=1e-12)
        for ratio in (0.9 * found.critical_ratio, 1.1 * found.critical_ratio):
            gd = 300.0 * 4e-10
            ends_at = float(theory.limit_perp(300.0, 4e-7, 4e-10, ratio))
            assert theory.wn_beats_gd(300.0, 4e-7, 4e-10, ratio).closer == (ends_at < gd)

    @settings(max_examples=200, deadline=None)
    @given(st.floats(-6, 6), st.floats(-12, 0), st.floats(-6, 12))
    def test_a_ratio_for_a_share_is_that_of_sixty_digits(self, gstar, q0, perp):
        gstar, q0, perp = 10.0**gstar, 10.0**q0, 10.0**perp
        with mpmath.workdps(60):
            a, b, c = mpmath.mpf(gstar), mpmath.mpf(q0), mpmath.mpf(perp)
            log = mpmath.log(mpmath.sqrt(a * a + c * c) * b / c)
            wanted = (a * a + c * c) / (2 * log) / a**2 if log > 0 else None
            # how far the answer moves with the last digits of its arguments
            doubt = 4 * np.finfo(float).eps * float((abs(log) + 1) / abs(log)) if log else np.inf
        found = theory.ratio_for_share(gstar, q0, perp)
        if doubt > 0.01:
            return
        assert (found is None) == (wanted is None)
        if found is not None:
            assert found == pytest.approx(float(wanted), rel=1e-12 + 4 * doubt)

    def test_ratios_for_shares_of_the_issue(self):
        for perp in (3e7, 1e8):  # c = G/log(1 + 1/perp²), nearly perp⁴
            wanted = (1 + perp**2) / np.log1p(perp**-2)
            assert theory.ratio_for_share(1.0, 1.0, perp) == pytest.approx(wanted, rel=1e-12)
        found = theory.ratio_for_share(1e300, 1e-160, 1.0)
        assert found == pytest.approx(0.5 / np.log(1e300 * 1e-160), rel=1e-12)
        assert theory.ratio_for_share(1.0, 1.0, 1e200) is None

    def test_what_is_left_after_many_steps_is_no_zero(self):
        found = theory.perp_after(0.8, 0.0688, 1.0, 249).value
        with mpmath.workdps(60):
            kappa, q = 1 / mpmath.mpf(0.0688) ** 2, mpmath.mpf(0.8)
            wanted = 1 / mpmath.sqrt(kappa**249 / q**2 + (kappa**249 - 1) / (kappa - 1))
        assert found > 0.0
        assert found == pytest.approx(float(wanted), rel=1e-11)
        assert theory.perp_after(1e-200, 2.0, 1.0, 3).value == pytest.approx(8e-200, rel=1e-12)
