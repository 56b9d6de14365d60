"""The flows: against an integration in d dimensions, closed forms, conservation, stiffness."""

import numpy as np
import pytest
from hypothesis import given
from scipy.integrate import solve_ivp

import weightnorm as wn
from tests.test_properties import instances


def in_d_dimensions(problem, g, w, c, time):
    """The WN flow with w a plain vector on the sphere, by another solver."""

    def field(t, state):
        g, w = state[0], state[1:] / np.linalg.norm(state[1:])
        pull = problem.A.T @ (problem.A @ (g * w) - problem.y)
        s = w @ pull
        return np.concatenate([[-c * s], -g * (pull - s * w)])

    end = solve_ivp(
        field, (0, time), np.concatenate([[g], w]), method="DOP853", rtol=1e-12, atol=1e-14
    ).y[:, -1]
    return end[0] * end[1:] / np.linalg.norm(end[1:])


@pytest.fixture(scope="module")
def problem():
    return wn.datasets.make_regression(5, 12, condition_number=3.0, seed=2)


@pytest.fixture(scope="module")
def w0():
    return wn.datasets.random_direction(12, seed=3)


@pytest.mark.parametrize("ratio", [0.0, 0.3, 1.0, 20.0])
@pytest.mark.parametrize("scale", [-1.0, 0.5, 3.0, 4.0])
def test_equals_an_integration_in_d_dimensions(problem, w0, scale, ratio):
    trajectory = wn.flow(problem, scale, w0, ratio, tolerance=0, max_time=1.5)
    assert trajectory.status == "max_time"
    assert trajectory.time[-1] == 1.5
    expected = in_d_dimensions(problem, scale, w0, ratio, 1.5)
    np.testing.assert_allclose(
        trajectory.final_weights, expected, atol=1e-9 * np.linalg.norm(expected)
    )


@pytest.mark.parametrize("seed", [7, 18, 31])
@pytest.mark.parametrize(("features", "unit"), [(1e6, 1e-9), (1.0, 1e-3), (1e-6, 1e6)])
def test_units_do_not_matter(seed, features, unit):
    """The scale has the unit of the weights, c that of its square; w has none."""
    rng = np.random.default_rng(seed)
    singular, target = np.geomspace(1.0, 1.0 / 30.0, 3), rng.standard_normal(3)
    target /= np.linalg.norm(target)
    seen = rng.standard_normal(3)
    w = np.append(seen * np.sqrt(1.0 - 0.02**2) / np.linalg.norm(seen), -0.02)
    A = np.column_stack([np.diag(singular), np.zeros(3)])
    y, times = singular * target, np.array([0.0, 0.01, 0.3, 3.0, 30.0, 300.0])
    plain = wn.flow(wn.LeastSquares(A, y), 0.4, w, 30.0, times=times)
    other = wn.LeastSquares(features * A, features * unit * y)
    clock = (features * unit) ** 2
    scaled = wn.flow(other, 0.4 * unit, w, 30.0 * unit**2, times=times / clock)
    size = np.abs(plain.weights).max()
    np.testing.assert_allclose(scaled.weights / unit, plain.weights, rtol=0, atol=6e-11 * size)


def test_the_trajectory_is_consistent(problem, w0):
    trajectory = wn.flow(problem, 2.0, w0, 0.7)
    n = trajectory.time.size
    assert trajectory.weights.shape == (n, 12)
    for name in ("scale", "perp_norm", "loss", "invariant"):
        assert getattr(trajectory, name).shape == (n,)
    assert trajectory.status == "converged"
    np.testing.assert_allclose(
        np.linalg.norm(trajectory.weights, axis=1), np.abs(trajectory.scale), rtol=1e-12
    )
    np.testing.assert_allclose(
        trajectory.loss, problem.value(trajectory.weights), rtol=1e-6, atol=1e-15
    )
    perp = [np.linalg.norm(problem.split(x)[1]) for x in trajectory.weights[:: n // 5]]
    np.testing.assert_allclose(trajectory.perp_norm[:: n // 5], perp, rtol=1e-8)
    assert (np.diff(trajectory.loss) <= 1e-14).all()
    # stopped at the tolerance, not beyond it
    assert trajectory.loss[-1] == pytest.approx(1e-10, rel=1e-3)
    assert "converged at time" in repr(trajectory)


@given(instances())
def test_the_invariant_is_conserved(instance):
    problem, scale, w0, _, ratio = instance
    assert wn.flow(problem, scale, w0, ratio).drift <= 1e-9


@pytest.mark.parametrize("scale", [1.0, -1.0, 2.8])
def test_stiff_problems_finish(scale):
    problem = wn.datasets.make_regression(condition_number=1e6, seed=0)
    trajectory = wn.flow(problem, scale, wn.datasets.random_direction(50, 0))
    assert trajectory.status == "converged"
    assert trajectory.drift <= 1e-9


def test_an_error_of_the_norm_does_not_grow():
    """A start next to the row space at a large scale: w⊥ grows by e^{6}, and an error of ‖w‖
    would with it.
    """
    problem = wn.datasets.make_regression(6, 11, condition_number=30.0, solution_norm=1.0, seed=0)
    inside, rest = problem.split(wn.datasets.random_direction(11, 0))
    w0 = inside + 4e-5 * rest / np.linalg.norm(rest)
    end = wn.flow(problem, 2.0, w0, 0.25, tolerance=1e-26)
    limit = wn.theory.flow_limit(problem, 2.0, w0, 0.25)
    assert end.perp_norm[-1] == pytest.approx(limit.perp_norm, rel=1e-8)


def test_a_slow_beginning_is_no_standstill():
    """g0 = 1e-10 next to S: hardly anything moves for a long time, but the direction's gradient
    is all there.
    """
    problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    trajectory = wn.flow(problem, 1e-10, [0.0, 1.0])
    assert trajectory.status == "converged"
    limit = wn.theory.flow_limit(problem, 1e-10, [0.0, 1.0])
    np.testing.assert_allclose(trajectory.final_weights, limit.weights, atol=1e-4)


@pytest.mark.parametrize("ratio", [1e-2, 1e-3, 1e-4])
def test_the_invariant_at_small_ratios(problem, w0, ratio):
    assert wn.flow(problem, 1.0, w0, ratio).drift <= 1e-9


class TestStandstill:
    def test_a_point_of_s(self, problem, w0):
        trajectory = wn.flow(problem, 0.0, problem.split(w0)[1])
        assert (trajectory.status, trajectory.time.size) == ("stationary", 1)

    def test_a_fixed_scale_settles(self, problem, w0):
        trajectory = wn.flow(problem, 1.0, w0, 0.0)
        assert trajectory.status == "stationary"
        assert trajectory.scale[-1] == 1.0
        assert trajectory.perp_norm[-1] < 1e-10

    def test_the_floor_of_an_unreachable_y(self):
        problem = wn.LeastSquares([[1.0, 0.0, 0.0], [1.0, 0.0, 0.0]], [1.0, 0.0])
        trajectory = wn.flow(problem, 1.0, [0.5, 0.5, 1.0])
        assert trajectory.status == "stationary"
        assert trajectory.loss[-1] == pytest.approx(0.25, abs=1e-12)

    def test_a_start_within_tolerance(self, problem, w0):
        trajectory = wn.flow(problem, 1.0, w0, tolerance=1e9)
        assert (trajectory.status, trajectory.time.tolist()) == ("converged", [0.0])


def test_restart_in_one_call(problem, w0):
    """Theorem 2.6, part II: the minimum-norm solution, from c = 0 and then c > 0."""
    trajectory = wn.flow(problem, 1.0, w0, 0.0, tolerance=1e-20, restart_ratio=1.0)
    assert trajectory.status == "converged"
    assert (np.diff(trajectory.time) >= 0).all()
    assert np.linalg.norm(trajectory.final_weights - problem.solution) < 1e-8


def test_gradient_flow_is_the_limit_of_gradient_descent(problem, w0):
    x = wn.gradient_flow(problem, 2.0, w0, [0.0, 0.7]).weights
    np.testing.assert_allclose(x[0], 2.0 * w0, atol=1e-14)
    errors = []
    for step in (0.01, 0.005):
        run = wn.run(
            wn.GradientDescent(step), problem, 2.0, w0, tolerance=0, max_steps=round(0.7 / step)
        )
        errors.append(np.linalg.norm(run.weights - x[1]))
    assert errors[0] / errors[1] == pytest.approx(2.0, abs=0.05)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda p, w: wn.flow(p, 1.0, w, ratio=-1.0), "ratio must be at least 0, got -1"),
        (lambda p, w: wn.flow(p, 1.0, w, tolerance=-1.0), "tolerance must be at least 0, got -1"),
        (lambda p, w: wn.flow(p, 1.0, w, max_time=-1.0), "max_time must be at least 0, got -1"),
        (
            lambda p, w: wn.flow(p, 1.0, w, restart_ratio=0.0),
            "restart_ratio must be greater than 0, got 0",
        ),
        (lambda p, w: wn.flow(p, np.nan, w), "scale must be finite, got nan"),
        (lambda p, w: wn.flow(p, 1.0, 0 * w), "direction is zero"),
        (lambda p, w: wn.gradient_flow(p, 1.0, w, [1.0, 0.0]), "times must not decrease"),
    ],
)
def test_bad_input(problem, w0, call, message):
    with pytest.raises(ValueError, match=message):
        call(problem, w0)


@pytest.mark.parametrize("method", ["wn", "rpgd"])
def test_the_drift_of_the_invariant_is_second_order_a_step_and_first_order_a_run(
    problem, w0, method
):
    rule = {"wn": wn.WeightNorm, "rpgd": wn.RPGD}[method]
    steps = np.array([0.02, 0.01, 0.005, 0.0025])

    def drift(step, num_steps):
        history = wn.run(
            rule(step, 2 * step), problem, 1.0, w0, tolerance=0, max_steps=num_steps, record=1
        ).history
        value = np.log(history.direction_perp_norm) + history.scale**2 / 4
        return abs(value[-1] - value[0])

    one = np.polyfit(np.log(steps), np.log([drift(step, 1) for step in steps]), 1)[0]
    whole = np.polyfit(np.log(steps), np.log([drift(step, round(3 / step)) for step in steps]), 1)[
        0
    ]
    assert one == pytest.approx(2.0, abs=0.1)
    assert whole == pytest.approx(1.0, abs=0.1)


def test_work_is_bounded_and_the_message_says_so():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((6, 9))
    problem = wn.LeastSquares(A, 1e6 * A @ rng.standard_normal(9))
    path = wn.flow(problem, 1000.0, rng.standard_normal(9))
    assert path.status == "max_steps"
    assert "used up its 15,000 steps or" in path.message
    assert np.isfinite(path.loss).all()


def test_a_right_hand_side_that_overflows_ends_the_flow():
    path = wn.flow(wn.LeastSquares([[1.0, 0.0], [0.0, 2.0]], [1e139, 1e139]), 1e100, [1.0, 1.0])
    assert path.status == "max_steps"
    assert "got no further than" in path.message


def test_a_start_without_a_loss_is_refused():
    problem = wn.GeneralizedLinear([[1000.0]], [1.0], "poisson")
    with pytest.raises(ValueError, match="scale = 2 starts at a loss of inf"):
        wn.flow(problem, 2.0, [1.0])


def test_an_error_in_a_loss_of_ones_own_comes_through():
    class Loss:
        def value(self, z):
            return z**2

        def derivative(self, z):
            if (z > 0.9).any():
                raise ValueError("from the user's own loss")
            return 2.0 * z - 2.0

    with pytest.raises(ValueError, match="the user's own loss"):
        wn.flow(wn.GeneralizedLinear([[1.0, 0.0]], [1.0], Loss()), 0.5, [1.0, 1.0], tolerance=0)


def test_a_tiny_ratio_has_an_infinite_invariant_and_no_warning():
    path = wn.flow(
        wn.LeastSquares([[1.0, 0.0]], [1.0]), 1e6, [1.0, 1.0], ratio=1e-300, max_time=1e-6
    )
    assert np.isinf(path.invariant).all()
    assert np.isnan(path.drift)
    inside = wn.flow(
        wn.LeastSquares([[1.0, 0.0]], [1.0]), 1e6, [1.0, 0.0], ratio=1e-300, max_time=1e-6
    )
    assert np.isneginf(inside.invariant).all()
    assert inside.drift == 0.0
    assert np.isfinite(path.loss).all()
