"""Every theory function that promises something, on hostile parameters, simulated by plain steps.

Scales from 1e-6 to 1e6, g0/g* near 0 and near 1, both signs. The loops here are written out once
more: nothing of the package but the promise itself.
"""

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

import weightnorm as wn
from weightnorm import theory
from weightnorm_paper import lemmas

UNITS = st.floats(-6, 6).map(lambda power: 10.0**power)
SHARES = st.one_of(
    st.floats(0.01, 0.99), st.floats(-4, -1).map(lambda p: 10.0**p), st.floats(0.99, 0.999)
)
ANGLES = st.floats(0.0, np.pi)
ACCURACIES = st.one_of(st.floats(0.01, 0.49), st.floats(-5, -1).map(lambda p: 10.0**p))
STEPS = 20_000
# hostile parameters often lie where nothing is promised
HOSTILE = settings(
    deadline=None, max_examples=30, suppress_health_check=[HealthCheck.filter_too_much]
)


def steps(y, g, w, gammas):
    """rPGD on A = [1, 0] with η = 1/g²; w⊥ is the second coordinate."""
    p, q = w
    for gamma in gammas:
        r = g * p - y
        v = p - r / g
        size = np.hypot(v, q)
        g, p, q = g - gamma * p * r, v / size, q / size
    return g, p, q


def unit(angle):
    return np.cos(angle), abs(np.sin(angle))


@HOSTILE
@given(UNITS, SHARES, ANGLES, ACCURACIES, st.floats(0.02, 0.98), st.floats(0.02, 0.5))
def test_two_phases_of_case_a(y, share, angle, accuracy, rho, gamma):
    g0, (p, q) = share * y, unit(angle)
    plan = theory.two_phase_a(y, g0, abs(p), accuracy, rho, gamma)
    assert plan.applies
    assume(plan.total <= STEPS)
    g, p, q = steps(y, g0, (p, q), [0.0, *[plan.first_step] * (plan.first - 1)])
    assert q <= plan.perp * (1 + 1e-9)
    assert plan.perp <= accuracy
    assert g**2 <= (y**2 - rho * (y**2 - g0**2)) * (1 + 1e-9)
    g, p, q = steps(y, g, (p, q), [plan.second_step] * plan.second)
    assert q <= accuracy * (1 + 1e-9)
    assert (g * p - y) ** 2 <= accuracy * y**2 * (1 + 1e-9)


def test_the_promise_that_was_broken():
    """δ = ε/(2g* + ε) is larger than ε for a small g*."""
    plan = theory.two_phase_a(gstar=0.1, g0=0.09, parallel=0.96, accuracy=0.1, rho=0.5)
    assert plan.applies
    g, p, q = steps(0.1, 0.09, (0.96, 0.28), [0.0, *[plan.first_step] * (plan.first - 1)])
    assert q <= 0.1
    g, p, q = steps(0.1, g, (p, q), [plan.second_step] * plan.second)
    assert q <= 0.1
    assert (g * p - 0.1) ** 2 <= 0.1 * 0.1**2


@HOSTILE
@given(UNITS, SHARES, ANGLES, ACCURACIES, st.floats(0.02, 1.0))
def test_two_phases_of_case_b(y, share, angle, accuracy, gamma):
    g0, (p, q) = share * y, unit(angle)
    plan = theory.two_phase_b(y, g0, accuracy, gamma, abs(p))
    assert plan.applies
    assume(plan.total <= STEPS)
    assert plan.needed <= plan.first
    _, _, turned = steps(y, g0, (p, q), [0.0] * plan.needed)
    assert turned <= accuracy * (1 + 1e-9)
    if plan.needed:
        assert steps(y, g0, (p, q), [0.0] * (plan.needed - 1))[2] > accuracy * (1 - 1e-9)
    g, p, q = steps(y, g0, (p, q), [0.0] * plan.first + [gamma] * plan.second)
    final = lemmas.two_phase_b_final(y, accuracy).value
    assert q <= accuracy * (1 + 1e-9)
    assert p >= final["cosine"] * (1 - 1e-9)
    assert 0.5 * (g * p - y) ** 2 <= final["loss"] * (1 + 1e-6) + 1e-24 * y**2
    assert (1 - 2 * accuracy**2) * y * (1 - 1e-9) <= g <= y / np.sqrt(1 - accuracy**2) * (1 + 1e-9)


@pytest.mark.parametrize("plan", [theory.two_phase_a, theory.two_phase_b])
@HOSTILE
@given(st.floats(-1e6, 1e6), st.floats(-1e6, 1e6), st.floats(-2, 2), st.floats(-2, 2))
def test_out_of_range_is_reported_and_not_raised(plan, gstar, g0, parallel, accuracy):
    arguments = {"gstar": gstar, "g0": g0, "accuracy": accuracy, "parallel": parallel}
    said = plan(**arguments)
    limit = 1.0 if plan is theory.two_phase_a else 0.5
    fine = 0 < g0 < gstar and 0 <= parallel <= 1 and 0 < accuracy < limit
    assert said.applies == fine
    assert fine or (said.failing and said.total == 0)


@HOSTILE
@given(UNITS, st.floats(0.05, 20.0), ANGLES, st.booleans(), st.floats(0.02, 0.98))
def test_the_two_cycle(y, share, angle, negative, gamma):
    """Trapped exactly as predicted; never with a frozen first step or a safe step."""
    g0, (p, q) = (-share if negative else share) * y, unit(angle)
    problem = wn.LeastSquares([[1.0, 0.0]], [y])
    cycle = theory.two_cycle(problem, g0, [p, q], gamma)
    assume(cycle.applies)
    first = (1 - gamma * p**2) * g0 + gamma * y * p
    assume(abs(first) > 1e-6 * y)  # on the edge rounding decides
    turned = y / np.hypot(y, g0 * q)
    second = (1 - gamma * turned**2) * first + gamma * turned * y * np.sign(g0)
    assume(abs(second) > 1e-6 * y)
    count = min(STEPS, int(80 / gamma))
    g, p_end, _ = steps(y, g0, (p, q), [gamma] * count)
    loss = 0.5 * (g * p_end - y) ** 2
    assert cycle.trapped == (loss > 0.5 * y**2)
    if cycle.trapped:
        assert abs(g) == pytest.approx(cycle.scale, rel=1e-6)
        assert loss == pytest.approx(cycle.loss, rel=1e-6)
        assert gamma >= cycle.safe_step
        thawed = steps(y, g0, (p, q), [0.0] + [gamma] * count)
        assert 0.5 * (thawed[0] * thawed[1] - y) ** 2 < 1e-6 * y**2
    safe = 0.999 * cycle.safe_step
    assert not theory.two_cycle(problem, g0, [p, q], safe).trapped


@HOSTILE
@given(UNITS, st.floats(0.01, 5.0), st.floats(0.01, 1.0), st.integers(0, 300))
def test_the_contraction_at_a_fixed_scale(y, share, q0, count):
    p0 = np.sqrt((1 - q0) * (1 + q0))
    observed = steps(y, share * y, (p0, q0), [0.0] * count)[2]
    assert theory.perp_after(q0, share * y, y, count).value == pytest.approx(observed, rel=1e-9)


@HOSTILE
@given(UNITS, SHARES, st.floats(0.0, 1.0), st.floats(0.01, 0.99))
def test_the_scale_keeps_increasing(y, share, parallel, gamma):
    said = lemmas.scale_keeps_increasing(share * y, parallel, y, gamma)
    assert said.applies
    g, p, q = share * y, parallel, np.sqrt((1 - parallel) * (1 + parallel))
    for gammas in ([0.0], *[[gamma]] * 50):
        before = g
        g, p, q = steps(y, g, (p, q), gammas)
        assert g >= before * (1 - 1e-13)


@HOSTILE
@given(UNITS, UNITS, st.floats(0.01, 10.0), st.floats(0.01, 1.0))
def test_who_ends_closer(y, ratio, share, q0):
    """c* decides, in any unit: the closed form against the limit's own root."""
    said = theory.wn_beats_gd(share * y, y, q0, ratio * y**2)
    wn_keeps = float(theory.limit_perp(share * y, y, q0, ratio * y**2))
    gd_keeps = share * y * q0
    assume(abs(wn_keeps / gd_keeps - 1) > 1e-9)
    assert said.closer == (wn_keeps < gd_keeps)


@HOSTILE
@given(UNITS, st.floats(0.01, 0.9), ANGLES, st.floats(0.02, 0.5))
def test_the_printed_limit_is_good_where_it_says_so(y, share, angle, ratio):
    problem, w0 = wn.LeastSquares([[1.0, 0.0]], [y]), unit(angle)
    printed = theory.flow_limit_as_printed(problem, share * y, w0, ratio * y**2)
    assume(printed.applies)
    exact = theory.flow_limit(problem, share * y, w0, ratio * y**2)
    assert printed.perp_norm == pytest.approx(exact.perp_norm, rel=0.02, abs=1e-12 * y)
    assert np.allclose(printed.weights, exact.weights, rtol=0.02, atol=0.02 * exact.perp_norm)


@HOSTILE
@given(UNITS, st.floats(0.2, 4.0), ANGLES, st.floats(0.1, 5.0), st.floats(1e-6, 0.5))
def test_the_time_to_convergence(y, share, angle, ratio, target):
    problem, w0 = wn.LeastSquares([[1.0, 0.0]], [y]), unit(angle)
    g0, c, accuracy = share * y, ratio * y**2, target * y**2
    said = theory.convergence_time(problem, g0, w0, c, accuracy)
    assume(said.applies)
    trajectory = wn.flow(problem, g0, w0, c, tolerance=accuracy)
    assert trajectory.time[-1] <= said.value["time"] * (1 + 1e-3) + 1e-12


@HOSTILE
@given(UNITS, st.floats(0.02, 30.0), ANGLES, st.booleans(), st.sampled_from([1e-2, 1e-4]))
def test_a_plan_never_steps_into_the_cycle(y, share, angle, negative, accuracy):
    problem, w0 = wn.LeastSquares([[1.0, 0.0]], [y]), unit(angle)
    g0 = -share * y if negative else share * y
    assume(abs(g0 * w0[0] - y) > 1e-6 * y)  # a start that fits y already is left by no gradient
    assert theory.plan(problem, accuracy, g0, w0).run().status == "converged"
