"""What runs say of how they ended, and what errors say of what to do."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weightnorm as wn

OVERLAP = ([[1.0, 0.5], [1.0, -0.5], [-1.0, 0.3], [0.6, -1.0]], [1, 0, 0, 1])  # not separable


class TestOptimum:
    """A generalized linear model at its optimum has converged: there is no floor to know."""

    @pytest.mark.parametrize(
        ("loss", "coordinates"),
        [
            ("logistic", "reduced"),
            ("logistic", "full"),
            ("poisson", "reduced"),
            ("huber", "full"),
            ("squared", "reduced"),
        ],
    )
    def test_a_model_at_its_optimum_has_converged(self, loss, coordinates):
        problem = wn.GeneralizedLinear(*OVERLAP, loss=loss)
        method = wn.RPGD(0.05, 0.1)
        result = wn.run(method, problem, 0.5, [1.0, 2.0], coordinates=coordinates)
        assert result.status == "converged"
        assert "the gradient vanishes to rounding" in result.message
        assert "unreachable" not in result.message
        assert np.linalg.norm(problem.gradient(result.weights)) < 1e-12
        data = wn.sweep(problem, {"m": method}, [0.5], [1.0, 2.0], coordinates=coordinates)
        assert data.status.item() == wn.Status.CONVERGED.code
        assert data.norm.item() == pytest.approx(result.norm, rel=1e-12)

    @pytest.mark.parametrize("tolerance", [0.0, 1e-5])
    def test_a_tolerance_of_its_own(self, tolerance):
        problem = wn.GeneralizedLinear(*OVERLAP)
        steps = []
        for share in (1e-3, 1e-6, 1e-9):
            result = wn.run(
                wn.RPGD(0.05, 0.1), problem, 0.5, [1.0, 2.0], tolerance=tolerance,
                gradient_tolerance=share,
            )  # fmt: skip
            at_zero = problem.gradient(np.zeros(2))
            here = problem.gradient(result.weights)
            terms = np.linalg.norm(at_zero) + np.linalg.norm(here - at_zero)
            assert result.status == "converged"
            assert np.linalg.norm(here) <= share * terms
            assert f"within gradient_tolerance {share:g}" in result.message
            steps.append(result.num_steps)
        assert steps == sorted(steps)
        # not later than one look after it was first so small
        history = wn.run(
            wn.RPGD(0.05, 0.1), problem, 0.5, [1.0, 2.0], tolerance=0, max_steps=steps[2],
            record=1, keep=("direction",),
        ).history  # fmt: skip
        shares = problem.relative_gradient(history.direction, history.scale)
        for share, count in zip((1e-3, 1e-6, 1e-9), steps, strict=True):
            first = int(np.argmax(shares <= share))
            assert first <= count <= first + max(16, first / 32) + 1

    def test_a_sweep_stops_where_a_run_does(self):
        """Whatever the neighbours do, and where a run goes on."""
        problem = wn.GeneralizedLinear(*OVERLAP)
        methods = {"fast": wn.RPGD(0.05, 0.1), "slow": wn.GradientDescent(0.02)}
        scales, starts = [0.1, 0.5, 3.0], [[1.0, 2.0], [-1.0, 0.2]]
        options = {"gradient_tolerance": 1e-5, "tolerance": 1e-9}
        data = wn.sweep(problem, methods, scales, starts, **options)
        assert data.attrs["gradient_tolerance"] == 1e-5
        for name, method in methods.items():
            for i, w0 in enumerate(starts):
                for scale in scales:
                    run = wn.run(method, problem, scale, w0, **options)
                    entry = data.sel(algorithm=name, start=i, scale=scale)
                    assert int(entry.num_steps) == run.num_steps
                    assert int(entry.status) == run.status.code == 0
        first = wn.run(methods["slow"], problem, 0.5, starts[0], **options, max_steps=77)
        on = wn.run(methods["slow"], problem, start=first, **options)
        assert on.total_steps == int(data.num_steps.sel(algorithm="slow", start=0, scale=0.5))

    @given(power=st.integers(-6, 6), times=st.integers(-6, 6))
    @settings(max_examples=20, deadline=None)
    def test_it_does_not_depend_on_units(self, power, times):
        """Features × 10^k, and the loss of least squares × 10^l: the same run, the same stop."""
        A, y = np.array([[1.0, 0.5], [0.2, 1.0], [1.0, 1.0]]), np.array([1.0, 2.0, 0.0])
        s, t = 10.0**power, 10.0**times
        plain = wn.run(
            wn.GradientDescent(0.1), wn.LeastSquares(A, y), 0.5, [1.0, 0.0], tolerance=0,
            gradient_tolerance=1e-6,
        )  # fmt: skip
        scaled = wn.run(
            wn.GradientDescent(0.1 / s**2), wn.LeastSquares(s * A, t * y), 0.5 * t / s,
            [1.0, 0.0], tolerance=0, gradient_tolerance=1e-6,
        )  # fmt: skip
        assert plain.num_steps == scaled.num_steps
        assert plain.status == scaled.status == "converged"

    def test_a_tolerance_below_rounding_takes_nothing_away(self):
        problem = wn.GeneralizedLinear(*OVERLAP)
        for share in (0.0, 1e-300):
            result = wn.run(wn.RPGD(0.05, 0.1), problem, 0.5, [1.0, 2.0], gradient_tolerance=share)
            assert result.status == "converged"
            assert "to rounding" in result.message

    @pytest.mark.parametrize(("loss", "step"), [("poisson", 0.01), ("huber", 0.3)])
    def test_many_samples_round_more(self, loss, step):
        problem = wn.datasets.make_generalized_linear(60, 5, loss=loss, noise=0.1, seed=1)
        result = wn.run(wn.GradientDescent(step), problem, 1.0, np.ones(5))
        assert result.status == "converged"

    def test_separable_data_has_no_optimum(self):
        """The weights grow for ever; the run ends at its tolerance or its steps."""
        problem = wn.GeneralizedLinear([[1.0, 0.0], [0.0, -1.0]], [1, 0])
        result = wn.run(wn.RPGD(0.5, 0.5), problem, 1.0, [1.0, 1.0], tolerance=1e-9, max_steps=5000)
        assert result.status == "max_steps"

    def test_a_loss_that_does_not_say_it_is_convex_is_stationary(self):
        class Loss:
            def value(self, z):
                return (z - 1.0) ** 2 + 0.5

            def derivative(self, z):
                return 2.0 * (z - 1.0)

        problem = wn.GeneralizedLinear([[1.0, 0.0]], [1.0], Loss())
        result = wn.run(wn.RPGD(0.1, 0.1), problem, 0.5, [1.0, 1.0])
        assert result.status == "stationary"
        assert "a minimum if the loss is convex" in result.message
        Loss.convex = True
        convex = wn.GeneralizedLinear([[1.0, 0.0]], [1.0], Loss())
        assert wn.run(wn.RPGD(0.1, 0.1), convex, 0.5, [1.0, 1.0]).status == "converged"

    def test_standing_still_elsewhere_is_not_converged(self):
        """A frozen direction comes to rest away from the optimum: its gradient says so."""
        problem = wn.GeneralizedLinear(*OVERLAP)
        result = wn.run(wn.RPGD(0.0, 0.1), problem, 0.5, [1.0, 2.0])
        assert result.status == "stationary"
        assert np.linalg.norm(problem.gradient(result.weights)) > 1e-3
        data = wn.sweep(problem, {"m": wn.RPGD(0.0, 0.1)}, [0.5], [1.0, 2.0])
        assert data.status.item() == wn.Status.STATIONARY.code

    def test_the_last_step_is_looked_at(self):
        problem = wn.GeneralizedLinear(*OVERLAP)
        whole = wn.run(wn.RPGD(0.05, 0.1), problem, 0.5, [1.0, 2.0], gradient_tolerance=1e-6)
        short = wn.run(
            wn.RPGD(0.05, 0.1), problem, 0.5, [1.0, 2.0], gradient_tolerance=1e-6,
            max_steps=whole.num_steps - 1,
        )  # fmt: skip
        small = problem.relative_gradient(short.direction[None], np.array([short.scale]))
        assert (short.status == "converged") == bool(small[0] <= 1e-6)
        method, start = wn.GradientDescent(0.3), (0.5, [1.0, 2.0])
        there = wn.run(method, problem, *start, tolerance=0, max_steps=25)
        share = problem.relative_gradient(there.direction[None], np.array([there.scale]))[0]
        for count in range(17, 32):  # ends between two looks, at 16 and 32
            limits = {"tolerance": 0, "max_steps": count, "gradient_tolerance": 1.0001 * share}
            some = wn.run(method, problem, *start, **limits)
            assert (some.status == "converged") == (count >= 25)

    def test_a_point_of_s_is_no_optimum(self):
        problem = wn.GeneralizedLinear([[1.0, 0.0]], [3.0], "huber")
        result = wn.run(wn.RPGD(0.1, 0.1), problem, 0.0, [0.0, 1.0])
        assert result.status == "stationary"
        assert "S = {g = 0" in result.message

    def test_a_floor_of_least_squares_is_still_called_that(self):
        problem = wn.LeastSquares([[1.0, 0.0], [1.0, 0.0]], [1.0, 2.0])
        result = wn.run(wn.RPGD(0.1, 0.1), problem, 0.5, [1.0, 1.0])
        assert result.status == "stationary"
        assert "the floor of an unreachable y" in result.message
        asked = wn.run(wn.RPGD(0.1, 0.1), problem, 0.5, [1.0, 1.0], gradient_tolerance=1e-6)
        assert asked.status == "converged"

    def test_a_run_goes_on_from_a_gradient(self):
        problem = wn.GeneralizedLinear(*OVERLAP)
        method = wn.RPGD(0.05, 0.1)
        first = wn.run(method, problem, 0.5, [1.0, 2.0], gradient_tolerance=1e-3)
        on = wn.run(method, problem, start=first, gradient_tolerance=1e-6)
        whole = wn.run(method, problem, 0.5, [1.0, 2.0], tolerance=0, max_steps=on.total_steps)
        np.testing.assert_array_equal(on.weights, whole.weights)

    def test_it_is_checked(self):
        problem = wn.datasets.make_sensing(4, 1, 6, seed=0)
        start = wn.datasets.sensing_start(4)
        with pytest.raises(ValueError, match="gradient_tolerance is for problems with a vector"):
            wn.run(wn.RPGD(0.1, 0.1), problem, **start, gradient_tolerance=1e-3)
        plain = wn.datasets.make_regression(seed=0)
        with pytest.raises(ValueError, match="gradient_tolerance must be at least 0"):
            wn.run(wn.RPGD(0.1, 0.1), plain, 1.0, np.ones(50), gradient_tolerance=-1.0)


class TestSensing:
    def test_a_direction_is_a_factor(self):
        problem = wn.datasets.make_sensing(4, 1, 6, seed=0)
        for direction in (np.ones(4), np.ones((3, 4)), 1.0, np.ones((4, 0))):
            with pytest.raises(ValueError, match=r"direction must be a factor of shape \(4, r\)"):
                wn.run(wn.RPGD(0.1, 0.1), problem, 1.0, direction)

    def test_a_symmetric_matrix_cannot_fit_what_is_not(self):
        rng = np.random.default_rng(0)
        sensors, X = rng.standard_normal((9, 3, 3)), rng.standard_normal((3, 3))
        problem = wn.MatrixSensing(sensors, np.tensordot(sensors, X, axes=2))
        start = wn.datasets.sensing_start(3, 1.0, 0)
        method = wn.RPGD(0.005, 0.005, blocks="columns")
        result = wn.run(method, problem, **start, max_steps=400_000)
        assert result.status == "stationary"
        assert "always symmetric" in result.message
        assert "is not cannot be fitted" in result.message

    def test_the_dilation_of_a_rectangular_matrix_works(self):
        """As the message says: the sensors [[0, A], [Aᵀ, 0]]/2 measure X in [[P, X], [Xᵀ, Q]]."""
        rng = np.random.default_rng(0)
        sensors, X = rng.standard_normal((7, 2, 3)), rng.standard_normal((2, 3))
        y = np.tensordot(sensors, X, axes=2)
        with pytest.raises(ValueError, match=r"a rectangular X \(2 × 3\) train its dilation"):
            wn.MatrixSensing(sensors, y)
        wide = np.zeros((7, 5, 5))
        wide[:, :2, 2:], wide[:, 2:, :2] = sensors / 2, sensors.transpose(0, 2, 1) / 2
        problem = wn.MatrixSensing(wide, y)
        result = wn.run(wn.GradientDescent(0.02), problem, **wn.datasets.sensing_start(5))
        assert result.status == "converged"
        found = np.tensordot(sensors, result.weights[:2, 2:], axes=2)
        np.testing.assert_allclose(found, y, atol=0.05)


@pytest.mark.parametrize("method", ["rpgd", "wn"])
@pytest.mark.parametrize("scale", [0.3, 1.0, 2.0, 2.8])
def test_the_error_of_a_prediction_covers_all_of_it(method, scale):
    """From small starts ‖x⊥‖ and the distance are off by far more than the norm."""
    problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, 0)
    rule = {"rpgd": wn.RPGD, "wn": wn.WeightNorm}[method]
    for step in (0.01, 0.02):
        predicted = wn.theory.finite_step_limit(problem, scale, w0, method, step)
        actual = wn.run(rule(step, step), problem, scale, w0, tolerance=1e-24)
        for name in ("norm", "perp_norm", "distance"):
            off = abs(getattr(actual, name) - getattr(predicted, name))
            assert off <= predicted.error, name
        assert predicted.error < 0.1 * (1 + predicted.perp_norm)


def test_a_distance_that_is_not_there_is_explained():
    problem = wn.GeneralizedLinear(*OVERLAP)
    result = wn.run(wn.RPGD(0.05, 0.1), problem, 0.5, [1.0, 2.0])
    assert np.isnan(result.distance)
    assert "NaN where there is none to measure from" in wn.Result.__doc__


class TestTwoCycle:
    """rPGD with η = 1/(g²λmax) on orthogonal A can end in a cycle; the message says so."""

    @pytest.mark.parametrize("coordinates", ["reduced", "full"])
    @pytest.mark.parametrize("factor", [1.0, 2.0])
    def test_it_is_named_with_the_way_out(self, coordinates, factor):
        problem = wn.LeastSquares([[factor, 0.0]], [factor])
        gamma, w0 = 0.1 / factor**2, [-0.6, 0.8]
        method = wn.RPGD(wn.schedules.curvature(), gamma)
        result = wn.run(method, problem, 0.01, w0, max_steps=500, coordinates=coordinates)
        assert result.status == "max_steps"
        assert "rPGD is in the 2-cycle g = ±0.05263" in result.message
        assert f"take a scale step < {0.0099 / factor**2:.3g}" in result.message
        # both ways out lead out
        frozen = wn.RPGD(wn.schedules.curvature(), wn.schedules.two_phase(0, gamma, 1))
        assert wn.run(frozen, problem, 0.01, w0).status == "converged"
        safe = wn.RPGD(wn.schedules.curvature(), 0.0098 / factor**2)
        assert wn.run(safe, problem, 0.01, w0).status == "converged"

    def test_it_is_not_named_elsewhere(self):
        problem = wn.datasets.make_regression(6, 12, seed=0)
        w0 = wn.datasets.random_direction(12, seed=0)
        for method in (
            wn.RPGD(wn.schedules.curvature(), 0.1),
            wn.WeightNorm(wn.schedules.curvature(), 0.1),
            wn.RPGD(0.01, 0.1),
            wn.RPGD(wn.schedules.curvature(), wn.schedules.two_phase(0.0, 0.1, 50)),
            wn.GradientDescent(0.01),
        ):
            assert "2-cycle" not in wn.run(method, problem, 1.0, w0, max_steps=5).message
        other = wn.GeneralizedLinear(problem.A, problem.y > 0)
        assert "2-cycle" not in wn.run(wn.RPGD(0.1, 0.1), other, 1.0, w0, max_steps=5).message

    def test_what_is_not_plain_rpgd_is_not_judged(self):
        """Momentum, batches and label noise lead out of the cycle: nothing is said of it."""
        problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
        for options in ({"momentum": 0.7}, {"label_noise": 1.0, "seed": 0}):
            method = wn.RPGD(wn.schedules.curvature(), 0.1, **options)
            assert "2-cycle" not in wn.run(method, problem, 0.01, [-0.6, 0.8], max_steps=3).message

    def test_on_the_way_it_says_so(self):
        problem = wn.LeastSquares([[1.0, 0.0], [1.0, 0.0]], [1.0, 2.0])  # y partly out of reach
        method = wn.RPGD(wn.schedules.curvature(), 0.05)
        early = wn.run(method, problem, 0.01, [-0.6, 0.8], max_steps=1)
        assert "heading for the 2-cycle" in early.message
        late = wn.run(method, problem, 0.01, [-0.6, 0.8], max_steps=500)
        assert f"in the 2-cycle g = ±0.07895, loss {late.loss:.6g}" in late.message
        phases = wn.RPGD(wn.schedules.curvature(), wn.schedules.two_phase(0.05, 0.04, 50))
        message = wn.run(phases, problem, 0.01, [-0.6, 0.8], max_steps=500).message
        assert "start again with the first scale step frozen" in message

    def test_it_is_known_at_the_largest_step(self):
        """λmax = 1 + 2e-16 does not make a step of 1 too large."""
        Q = np.linalg.qr(np.random.default_rng(0).standard_normal((50, 20)))[0].T
        x = Q.T @ np.ones(20)
        assert wn.theory.two_cycle(wn.LeastSquares(Q, Q @ x), 0.01, -x, 1.0).trapped
