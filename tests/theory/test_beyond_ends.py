"""Ends beyond the paper: batch norm, decay, the potential, and the certificate of a result."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weightnorm as wn
from tests.theory.test_beyond import draw, flow
from weightnorm import theory


class TestBatchNorm:
    def test_runs_end_where_it_says(self):
        rng = np.random.default_rng(0)
        for _ in range(15):
            A, y, w, gstar, q = draw(rng)
            if q in (0.0, 1.0):
                continue
            problem = wn.LeastSquares(A, y)
            scale = float(rng.choice([-1, 1]) * 10 ** rng.uniform(-1, 0.5)) * gstar
            small = 1e-3 / gstar**2 * float(w @ (np.linalg.pinv(A) @ (A @ w)))
            run = wn.run(wn.BatchNorm(small, 1e-3), problem, scale, w, tolerance=1e-16 * y @ y)
            said = theory.batchnorm_limit(
                problem, scale, w, 1e-3 / small, grown=run.direction_norm**2 - 1
            )
            if run.status == "converged":
                np.testing.assert_allclose(run.weights, said.weights, atol=3e-7 * said.norm)

    def test_it_is_the_limit_of_wn_for_large_ratios(self):
        problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, 0)
        far = theory.flow_limit(problem, 1.0, w0, 1e9)
        np.testing.assert_allclose(
            theory.batchnorm_limit(problem, 1.0, w0).weights, far.weights, rtol=1e-6, atol=1e-8
        )

    def test_a_direction_that_the_data_does_not_see_is_refused(self):
        with pytest.raises(ValueError, match="direction"):
            theory.batchnorm_limit(wn.LeastSquares([[1.0, 0.0]], [1.0]), 1.0, [0.0, 1.0])


class TestDecay:
    def test_the_flow_with_decay_of_the_scale_ends_at_ridge(self):
        rng = np.random.default_rng(1)
        A, y = rng.standard_normal((3, 5)), rng.standard_normal(3)
        w = rng.standard_normal(5)

        def field(t, z):
            g, u = z[0], z[1:] / np.linalg.norm(z[1:])
            pull = A.T @ (A @ (g * u) - y)
            s = u @ pull
            return np.r_[-2.0 * (s + 0.3 * g), -g * (pull - s * u)]

        z = flow(field, np.r_[1.0, w / np.linalg.norm(w)], until=400.0)
        said = theory.weight_decay_limit(wn.LeastSquares(A, y), 0.3)
        np.testing.assert_allclose(z[0] * z[1:] / np.linalg.norm(z[1:]), said.weights, atol=1e-8)

    def test_the_edge_comes_when_it_says(self):
        problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
        w0 = wn.datasets.random_direction(50, 0)
        first = wn.run(wn.WeightNorm(0.1, 0.1), problem, 2.8, w0, tolerance=1e-22)
        said = theory.edge_time(problem, 0.1, 0.1, 1e-3, first, direction_norm=first.direction_norm)
        method = wn.WeightNorm(0.1, 0.1, direction_decay=1e-3)
        run = wn.run(
            method, problem, start=first, tolerance=0, max_steps=int(2 * said.steps), record=20
        )
        lengths = run.history.direction_norm
        # ‖w‖ falls to the edge and no further
        assert lengths.min() == pytest.approx(said.direction_norm, rel=0.1)
        reached = run.history.step[np.argmax(lengths <= 1.02 * said.direction_norm)]
        assert reached == pytest.approx(said.steps, rel=0.1)

    @pytest.mark.parametrize("decay", [0.0, -1.0, np.inf])
    def test_bad_input(self, decay):
        with pytest.raises(ValueError, match="decay"):
            theory.weight_decay_limit(wn.LeastSquares([[1.0]], [1.0]), decay)


class TestPotential:
    @settings(deadline=None, max_examples=40)
    @given(st.integers(0, 10**6))
    def test_the_flow_is_nearest_to_its_start_at_every_time(self, seed):
        rng = np.random.default_rng(seed)
        A, y = rng.standard_normal((2, 4)), 2 * rng.standard_normal(2)
        w = rng.standard_normal(4)
        w /= np.linalg.norm(w)
        c, g0 = 10 ** rng.uniform(-0.5, 1), float(rng.uniform(0.2, 2))

        def field(t, z):
            g, u = z[0], z[1:] / np.linalg.norm(z[1:])
            pull = A.T @ (A @ (g * u) - y)
            return np.r_[-c * (u @ pull), -g * (pull - (u @ pull) * u)]

        z = flow(field, np.r_[g0, w], until=float(rng.uniform(0.1, 3)))
        x = z[0] * z[1:] / np.linalg.norm(z[1:])
        free = rng.standard_normal((20, 4))
        free -= (np.linalg.pinv(A) @ (A @ free.T)).T
        x0 = g0 * w if z[0] > 0 else -g0 * w
        least = theory.bregman(x, x0, c)
        assert (theory.bregman(x + free, x0, c) > least).all()
        assert (theory.bregman(x + 1e-3 * free, x0, c) >= least * (1 - 1e-7)).all()

    def test_values_by_quadrature(self):
        from scipy.integrate import quad

        rng = np.random.default_rng(0)
        for c in (0.1, 1.0, 30.0):
            x, x0 = rng.standard_normal((2, 3))
            a, b = np.linalg.norm(x), np.linalg.norm(x0)
            psi, psi0 = (quad(lambda s, c=c: np.exp(s * s / 2 / c), 0, e)[0] for e in (a, b))
            assert theory.potential(x, c) == pytest.approx(psi, rel=1e-9)
            D = psi - psi0 - np.exp(b * b / 2 / c) * (x0 @ (x - x0)) / b
            assert theory.bregman(x, x0, c) == pytest.approx(D, rel=1e-7)

    def test_a_small_divergence_keeps_its_digits(self):
        x0 = np.array([0.6, 0.8])
        # along the ray ψ″ = (a/c)e^{a²/2c}
        assert theory.bregman((1 + 1e-7) * x0, x0, 2.0) == pytest.approx(
            0.5e-14 * 0.5 * np.exp(0.25), rel=1e-5
        )

    def test_bad_input(self):
        with pytest.raises(ValueError, match="x0 must not be zero"):
            theory.bregman([1.0, 2.0], [0.0, 0.0])
        with pytest.raises(ValueError, match="2 entries"):
            theory.bregman([1.0, 2.0], [1.0])
        assert theory.potential([1e6], 1e-3) == np.inf


class TestCertificate:
    @pytest.mark.parametrize(
        "method",
        [
            wn.RPGD(0.01, 0.01),
            wn.WeightNorm(0.01, 0.02, initial_norm=2.0),
            wn.RPGD(1e-3, 1e-3, momentum=0.5),
            wn.WeightNorm(1e-3, 1e-3, batch_size=4, seed=0),
            wn.RPGD(0.01, 0.01, clip=0.5),
        ],
    )
    def test_a_run_is_within_what_is_promised(self, method):
        problem, w0 = wn.datasets.make_regression(6, 14, 1.5, seed=3), np.arange(1.0, 15.0)
        run = wn.run(method, problem, 2.7, w0, tolerance=1e-20)
        said = wn.certificate(problem, run)
        assert said.distance <= said.predicted_error
        assert 0 <= said.bregman_excess < 1e-3
        assert abs(said.invariant_drift) < 0.1
        assert said.relative_gradient < 1e-8

    def test_smaller_steps_have_less_excess_and_drift(self):
        problem, w0 = wn.datasets.make_regression(6, 14, 1.5, seed=3), np.arange(1.0, 15.0)
        found = [
            wn.certificate(problem, wn.run(wn.RPGD(s, s), problem, 2.7, w0, tolerance=1e-22))
            for s in (0.02, 0.01)
        ]
        assert found[0].invariant_drift / found[1].invariant_drift == pytest.approx(2, rel=0.1)
        assert found[0].bregman_excess / found[1].bregman_excess == pytest.approx(4, rel=0.2)

    def test_gradient_descent_and_batch_norm_have_exact_ends(self):
        problem, w0 = wn.datasets.make_regression(6, 14, 1.5, seed=3), np.arange(1.0, 15.0)
        for method in (wn.GradientDescent(0.1), wn.BatchNorm(0.05, 0.05)):
            run = wn.run(method, problem, 2.7, w0, tolerance=1e-24)
            assert wn.certificate(problem, run).distance < 1e-9

    def test_it_goes_on_with_a_run_and_through_pickle(self):
        import pickle

        problem, w0 = wn.datasets.make_regression(6, 14, 1.5, seed=3), np.arange(1.0, 15.0)
        method = wn.RPGD(0.01, 0.01)
        whole = wn.run(method, problem, 2.7, w0, tolerance=1e-20)
        part = wn.run(method, problem, 2.7, w0, max_steps=50)
        rest = wn.run(method, problem, start=pickle.loads(pickle.dumps(part)), tolerance=1e-20)
        one, two = (wn.certificate(problem, run) for run in (whole, rest))
        assert one.distance == pytest.approx(two.distance, rel=1e-6)
        assert one.rows == two.rows

    def test_what_it_cannot_say_it_says(self):
        problem, w0 = wn.datasets.make_regression(6, 14, 1.5, seed=3), np.arange(1.0, 15.0)
        method = wn.RPGD(wn.schedules.stable(), wn.schedules.stable())
        said = wn.certificate(problem, wn.run(method, problem, 2.7, w0))
        assert said.predicted is None
        assert "ratio of the steps changes" in repr(said)
        other = wn.datasets.make_regression(6, 14, 1.5, seed=4)
        with pytest.raises(ValueError, match="not the one"):
            wn.certificate(other, wn.run(method, problem, 2.7, w0))
        with pytest.raises(TypeError, match="result"):
            wn.certificate(problem, "result")
        gone = wn.run(wn.GradientDescent(50.0), problem, 2.7, w0, max_steps=10**6)
        assert wn.certificate(problem, gone).relative_gradient > 0.1


class TestWhatAReviewFound:
    def test_the_sign_of_batch_norm_is_that_of_its_own_ratio(self):
        problem = wn.LeastSquares([[1.0, 0, 0], [0, 2.0, 0]], [1.0, 0.3])
        for method, scale in (
            (wn.BatchNorm(0.01, 0.0001), 0.5),
            (wn.BatchNorm(0.01, 0.01, initial_norm=0.2), 0.5),
            (wn.BatchNorm(0.002, 0.2), 3.0),
        ):
            run = wn.run(method, problem, scale, [-0.6, 0.2, 0.77], tolerance=1e-20)
            assert wn.certificate(problem, run).distance < 1e-6

    def test_decay_has_a_known_end_where_nothing_is_frozen(self):
        problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, 0)
        for method in (
            wn.GradientDescent(0.5, direction_decay=0.1),
            wn.RPGD(0.1, 0.1, scale_decay=0.1),
        ):
            run = wn.run(method, problem, 1.0, w0, max_steps=20_000)
            assert wn.certificate(problem, run).distance < 1e-9
        for method in (wn.RPGD(0.1, 0.0, scale_decay=0.1), wn.RPGD(0.0, 0.1, scale_decay=0.1)):
            run = wn.run(method, problem, 1.0, w0, max_steps=100)
            assert wn.certificate(problem, run).predicted is None

    def test_batches_on_an_unreachable_y_come_to_no_rest(self):
        rng = np.random.default_rng(0)
        problem = wn.LeastSquares(rng.normal(size=(6, 3)), rng.normal(size=6))
        run = wn.run(
            wn.GradientDescent(0.02, batch_size=2, seed=0), problem, 1.0, np.ones(3), max_steps=300
        )
        assert "out of reach" in repr(wn.certificate(problem, run))

    def test_a_block_in_its_own_rows_keeps_nothing(self):
        rng = np.random.default_rng(0)
        found = theory.grouped_invariant(
            rng.normal(size=(5, 4)), [1.0, 1.0], rng.normal(size=4), [2, 2]
        )
        assert np.isneginf(found).all()
        for changes, text in (({"ratio": [1.0, 2.0, 3.0]}, "ratio"), ({"blocks": 4}, "blocks")):
            given = {"blocks": [2, 2], "ratio": 1.0} | changes
            with pytest.raises((ValueError, TypeError), match=text):
                theory.grouped_invariant(np.ones((5, 4)), [1.0, 1.0], np.ones(4), **given)

    def test_noise_moves_nothing_where_there_is_one_solution(self):
        problem = wn.LeastSquares(np.diag([1.0, 2.0]), [1.0, 1.0])
        said = theory.noise_equilibrium(problem, 0.01, label_noise=0.1, method="wn")
        assert said.norm == pytest.approx(np.sqrt(1.25))
        with pytest.raises(ValueError, match="label_noise"):
            theory.noise_equilibrium(problem, 0.01, label_noise=0.0)

    def test_the_local_sign_is_not_offered_where_its_terms_cancel(self):
        problem = wn.LeastSquares([[1.0, 0, 0], [0, 2.0, 0]], [0.5, -0.3])
        said = theory.scale_sign(problem, 0.047, [0.61, 0.55, -0.57], 0.55)
        assert (said.sign, said.local) == (1.0, None)

    def test_a_layer_names_the_output_that_has_nothing_to_learn(self):
        X = np.arange(12.0).reshape(6, 2) ** 2
        X -= X.mean(axis=0)
        Y = np.column_stack([np.arange(6.0), np.ones(6)])
        with pytest.raises(ValueError, match=r"targets\[:, 1\] is constant"):
            theory.linear_layer_limit(X, Y, np.ones((2, 2)))
        for bias, text in (([1.0, 2.0, 3.0], "one per row"), (np.nan, "start_bias")):
            with pytest.raises(ValueError, match=text):
                theory.linear_layer_limit(X + 1, Y, np.ones((2, 2)), start_bias=bias)
