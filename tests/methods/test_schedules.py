"""Schedules: values, powers, what they know of their own end."""

import numpy as np
import pytest

import weightnorm as wn
from weightnorm import schedules
from weightnorm.engine.backends.rules import step_at
from weightnorm.methods.steps import bind_steps


def test_two_phase_counts_from_zero_and_switches_at_the_switch():
    assert schedules.two_phase(1.0, 2.0, 3)([0, 1, 2, 3, 4]).tolist() == [1, 1, 1, 2, 2]
    assert schedules.two_phase(1.0, 2.0, 0)(0) == 2.0


def test_piecewise():
    schedule = schedules.piecewise([1.0, 2.0, 3.0], [2, 4])
    assert schedule(np.arange(6)).tolist() == [1, 1, 2, 2, 3, 3]
    assert schedules.piecewise([1.0], [])(5) == 1.0


def test_a_callable_is_asked_step_by_step():
    def branchy(t):
        return 0.1 if t < 2 else 0.2  # fails on an array

    assert schedules.scaled(branchy, 1)(np.arange(4)).tolist() == [0.1, 0.1, 0.2, 0.2]


@pytest.mark.parametrize(
    ("schedule", "settled", "frozen"),
    [
        (schedules.constant(0.1), 0, False),
        (schedules.constant(0.0), 0, True),
        (schedules.two_phase(0.0, 0.1, 7), 7, False),
        (schedules.two_phase(0.1, 0.0, 7), 7, True),
        (schedules.scaled(lambda t: 0.0), None, False),
    ],
)
def test_what_a_schedule_knows_of_its_end(schedule, settled, frozen):
    assert schedule.settled_from == settled
    assert schedule.ends_frozen is frozen


def test_powers_multiply_the_value():
    method = wn.WeightNorm(schedules.scaled(schedules.scaled(0.5, 1), norm_power=2), 0.1)
    step, _ = bind_steps(method, object())
    scale, norm = np.array([-2.0, 7.0]), np.array([5.0, 2.0])
    assert step_at(step, 0.5, scale, norm).tolist() == [0.5 * 2 * 25, 0.5 * 7 * 4]


def test_curvature_is_the_methods_own():
    problem = wn.LeastSquares([[2.0, 0.0], [0.0, 1.0]], [1.0, 1.0])  # λmax = 4
    scale, norm = np.array([10.0]), np.array([5.0])
    for method, expected in (
        (wn.RPGD(schedules.curvature(0.5), 0.0), 0.5 / (100 * 4)),
        (wn.WeightNorm(schedules.curvature(0.5), 0.0), 0.5 * 25 / (100 * 4)),
        (wn.BatchNorm(schedules.curvature(0.5), 0.0), 0.5 * 25 / (100 * 4)),
        (wn.GradientDescent(schedules.curvature(0.5)), 0.5 / 4),
    ):
        step, _ = bind_steps(method, problem)
        found = step_at(step, step.values(0, 1)[0], scale, norm)[0]
        assert found == pytest.approx(expected, rel=1e-15)


def test_methods_are_frozen_and_compare_by_configuration():
    assert wn.RPGD(0.1, schedules.two_phase(0, 0.1, 5)) == wn.RPGD(
        0.1, schedules.two_phase(0, 0.1, 5)
    )
    with pytest.raises(AttributeError):
        wn.RPGD(0.1, 0.1).scale_step = 0.2


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: schedules.constant(0.1)(-1),
            ValueError,
            "t must be whole numbers between 0 and 2\\^62, got -1",
        ),
        (lambda: schedules.constant(0.1)(float("inf")), ValueError, "t must be whole numbers"),
        (lambda: schedules.constant(0.1)([0.5]), ValueError, "t must be whole numbers"),
        (lambda: schedules.constant(0.1)(1j), TypeError, "t has dtype complex128"),
        (lambda: schedules.piecewise(0.1, [2]), TypeError, "values must be a sequence such as"),
        (
            lambda: schedules.piecewise([0.1, 0.2], "2"),
            TypeError,
            "switches must be a sequence such as",
        ),
        (lambda: schedules.two_phase(0.1, 0.2, 10**400), ValueError, "switch must be at most"),
        (
            lambda: schedules.Schedule(),
            ValueError,
            "phases must have one entry more than switches, got 0 and 0",
        ),
        (lambda: schedules.Schedule(phases=("a",)), TypeError, r"phases\[0\] must be a number"),
        (lambda: schedules.Schedule(function=3), TypeError, "function must be callable, got int"),
        (
            lambda: schedules.Schedule(phases=(0.1,), scale_power=float("nan")),
            ValueError,
            "scale_power must be finite",
        ),
        (
            lambda: schedules.scaled(lambda t: 1 / t)(0),
            ValueError,
            "step size at t = 0.*failed: ZeroDivisionError",
        ),
        (
            lambda: schedules.scaled([0.1, 0.2].__getitem__)(2),
            ValueError,
            "step size at t = 2.*failed: IndexError",
        ),
        (lambda: schedules.scaled(lambda: 0.1)(0), TypeError, "step size at t = 0.*failed"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_an_error_of_the_users_own_comes_through():
    class OwnError(Exception):
        pass

    def step(t):
        raise OwnError

    with pytest.raises(OwnError):
        schedules.scaled(step)(0)
