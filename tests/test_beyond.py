"""Predictions beyond the paper against plain loops and flows on arrays that share no code."""

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import solve_ivp

import weightnorm as wn
from weightnorm import theory


def draw(rng, kappa=10.0, m=None):
    """A, y, the start direction with any part off the row space, and g*."""
    m = int(rng.integers(1, 7)) if m is None else m
    d = m + int(rng.integers(1, 6))
    U = np.linalg.qr(rng.standard_normal((m, m)))[0]
    V = np.linalg.qr(rng.standard_normal((d, m)))[0]
    A = (U * np.geomspace(1, 1 / 10 ** rng.uniform(0, np.log10(kappa)), m)) @ V.T
    gstar = 10 ** rng.uniform(-1, 1)
    x = rng.standard_normal(m)
    x *= gstar / np.linalg.norm(x)
    w = rng.standard_normal(d)
    inside = V @ (V.T @ w)
    q = float(rng.choice([0.0, 1e-4, 0.1, 0.5, 0.9, 1.0]))
    parts = inside / np.linalg.norm(inside), (w - inside) / np.linalg.norm(w - inside)
    w = np.sqrt(1 - q * q) * parts[0] + q * parts[1]
    return A, A @ (V @ x), w / np.linalg.norm(w), gstar, q


def loop(method, A, y, g, w, eta, c, *, beta=0.0, nesterov=False, clip=None, rows=None, steps):
    """Plain steps in d dimensions; the weights once the residual is at rounding, or None."""
    v, vg, size = 0.0 * w, 0.0, float(y @ y)
    for t in range(steps):
        n = np.linalg.norm(w)
        u = w / n
        r = A @ (g * u) - y
        if r @ r <= 1e-24 * size:
            return g * u
        if rows is None:
            pull = A.T @ r
        else:
            pick = rows(t)
            pull = len(y) / len(pick) * (A[pick].T @ r[pick])
        s = u @ pull
        dw = g * pull if method == "rpgd" else (g / n) * (pull - s * u)
        if clip is not None:
            factor = min(1.0, clip / np.sqrt(s * s + dw @ dw))
            s, dw = factor * s, factor * dw
        v, vg = beta * v + dw, beta * vg + s
        move, grow = (dw + beta * v, s + beta * vg) if nesterov else (v, vg)
        w, g = w - eta * move, g - c * eta * grow
        if method == "rpgd":
            w = w / np.linalg.norm(w)
    return None


def rho(beta, nesterov):
    return 1 + 2 * beta**2 / (1 - beta) if nesterov else (1 + beta) / (1 - beta)


def check_finite_steps(rng, instances):
    seen = 0
    for _ in range(instances):
        A, y, w, gstar, q = draw(rng)
        g0 = float(rng.choice([-1, 1]) * gstar * rng.choice([0.1, 0.5, 0.9, 1.0, 1.3, 2.0, 3.0]))
        c = float(gstar**2 * 10 ** rng.uniform(np.log10(0.03), np.log10(30)))
        if q == 0.0 and g0**2 - gstar**2 > 8 * c:  # the loop's rounding off the rows would grow
            continue
        method = str(rng.choice(["rpgd", "wn"]))
        beta = float(rng.choice([0.0, 0.0, 0.5, 0.9]))
        nesterov = bool(beta and rng.integers(2))
        norm = 1.0 if method == "rpgd" else float(rng.choice([0.6, 1.0, 2.0]))
        h = 10 ** rng.uniform(-1.4, -0.4) / (
            rho(beta, nesterov) * max(max(g0**2, gstar**2) / norm**2, c)
        )
        eta = h * (1 - beta)
        clip = 0.3 * float(np.linalg.norm(A.T @ y)) if rng.integers(4) == 0 else None
        said = theory.finite_step_limit(
            wn.LeastSquares(A, y),
            g0,
            w,
            method,
            eta,
            c,
            momentum=beta,
            nesterov=nesterov,
            clip=clip,
            direction_norm=norm,
        )
        if not said.applies:
            continue
        end = loop(
            method,
            A,
            y,
            g0,
            norm * w,
            eta,
            c,
            beta=beta,
            nesterov=nesterov,
            clip=clip,
            steps=30_000,
        )
        if end is None:
            continue
        seen += 1
        rest = end - np.linalg.pinv(A) @ y
        assert abs(np.linalg.norm(rest) - said.perp_norm) <= said.error + 1e-10 * gstar
        assert abs(np.linalg.norm(end) - said.norm) <= said.error + 1e-10 * gstar
        assert np.linalg.norm(end - said.weights) <= said.error + 1e-10 * gstar
    return seen


class TestFiniteSteps:
    @pytest.mark.long
    def test_plain_loops_end_within_the_stated_error(self):
        assert check_finite_steps(np.random.default_rng(0), 16) > 5

    @pytest.mark.slow
    def test_a_thousand_plain_loops_end_within_the_stated_error(self):
        assert check_finite_steps(np.random.default_rng(1), 2600) > 1000

    @pytest.mark.parametrize("method", ["rpgd", "wn"])
    @pytest.mark.parametrize(("beta", "nesterov"), [(0.5, False), (0.9, False), (0.9, True)])
    def test_momentum_is_second_order(self, method, beta, nesterov):
        rng = np.random.default_rng(5)
        A, y = rng.standard_normal((3, 6)) / 3, rng.standard_normal(3)
        w = rng.standard_normal(6)
        w /= np.linalg.norm(w)
        errors, flow = [], None
        for share in (1.0, 0.5):
            eta = share * 0.15 * (1 - beta) / rho(beta, nesterov)
            options = {"momentum": beta, "nesterov": nesterov}
            problem = wn.LeastSquares(A, y)
            said = theory.finite_step_limit(problem, 1.0, w, method, eta, 0.5, **options)
            rule = {"rpgd": wn.RPGD, "wn": wn.WeightNorm}[method](eta, 0.5 * eta, **options)
            end = wn.run(rule, problem, 1.0, w, tolerance=1e-24)
            errors.append(abs(end.norm - said.norm))
            flow = abs(end.norm - theory.flow_limit(problem, 1.0, w, 0.5).norm)
        assert errors[0] / errors[1] > 3
        assert errors[1] < 0.1 * flow

    @pytest.mark.parametrize("method", ["rpgd", "wn"])
    @pytest.mark.parametrize("beta", [0.0, 0.5])
    def test_batches_move_the_mean_as_predicted(self, method, beta):
        rng = np.random.default_rng(2)
        A, y = rng.standard_normal((5, 9)) / 3, rng.standard_normal(5)
        w = rng.standard_normal(9)
        problem, eta = wn.LeastSquares(A, y), 0.02 * (1 - beta)
        options = {"momentum": beta, "batch_size": 1}
        said = theory.finite_step_limit(problem, 1.2, w, method, eta, 1.0, **options)
        rule = {"rpgd": wn.RPGD, "wn": wn.WeightNorm}[method]
        ends = [
            wn.run(rule(eta, eta, seed=seed, **options), problem, 1.2, w, tolerance=1e-18).perp_norm
            for seed in range(24)
        ]
        whole = theory.finite_step_limit(problem, 1.2, w, method, eta, 1.0, momentum=beta)
        shift = np.mean(ends) - whole.perp_norm
        assert np.mean(ends) - said.perp_norm == pytest.approx(0.0, abs=0.2 * abs(shift))
        assert np.abs(np.array(ends) - said.perp_norm).max() <= said.error
        assert 0.2 < said.spread / np.std(ends) < 20

    def test_the_two_invariants_are_better_than_the_flow_at_any_length(self):
        rng, better = np.random.default_rng(4), []
        for length in (0.6, 1.0, 2.0) * 4:
            A, y = rng.standard_normal((3, 6)) / 3, rng.standard_normal(3)
            w = rng.standard_normal(6)
            w /= np.linalg.norm(w)
            problem = wn.LeastSquares(A, y)
            said = theory.finite_step_limit(problem, 1.0, w, "wn", 0.05, 1.0, direction_norm=length)
            end = np.linalg.norm(loop("wn", A, y, 1.0, length * w, 0.05, 1.0, steps=100_000))
            flow = theory.flow_limit(problem, 1.0, w, length**2).norm
            better.append(abs(end - said.norm) / abs(end - flow))
        assert np.median(better) < 0.1

    def test_it_takes_milliseconds(self):
        problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, 0)
        best = np.inf
        for _ in range(5):
            began = time.perf_counter()
            theory.finite_step_limit(problem, 2.8, w0, "wn", 1e-3, momentum=0.9)
            best = min(best, time.perf_counter() - began)
        assert best < 0.5  # some 12 ms; this is no benchmark

    def test_outside_its_range_it_promises_nothing(self):
        problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, 0)
        said = theory.finite_step_limit(problem, 2.8, w0, "wn", 0.02, momentum=0.9)
        assert said.equivalent_step > 0.4
        assert any("small enough" in text for text in said.failing)

    @settings(deadline=None, max_examples=15)
    @given(st.integers(0, 10**6), st.sampled_from([1e-6, 1e3]))
    def test_units(self, seed, unit):
        rng = np.random.default_rng(seed)
        A, y, w, gstar, _ = draw(rng)
        options = {"momentum": 0.5, "batch_size": 1}
        one = theory.finite_step_limit(
            wn.LeastSquares(A, y), gstar, w, "wn", 0.01 / gstar**2, gstar**2, **options
        )
        other = theory.finite_step_limit(
            wn.LeastSquares(A, unit * y),
            unit * gstar,
            w,
            "wn",
            0.01 / (unit * gstar) ** 2,
            (unit * gstar) ** 2,
            **options,
        )
        assert other.norm == pytest.approx(unit * one.norm, rel=1e-6)
        assert other.drift == pytest.approx(one.drift, rel=1e-4, abs=1e-9)

    @pytest.mark.parametrize(
        ("arguments", "text"),
        [
            ({"method": "adam"}, "coordinate-wise"),
            ({"momentum": 1.5}, "momentum"),
            ({"batch_size": 0}, "batch_size"),
            ({"batch_size": 99}, "batch_size"),
            ({"clip": 0.0}, "clip"),
            ({"clip": 1.0, "batch_size": 2}, "clip and batch_size"),
            ({"direction_norm": 2.0}, "direction_norm must be 1"),
        ],
    )
    def test_bad_input(self, arguments, text):
        problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, 0)
        options = {"method": "rpgd", "step": 0.01} | arguments
        with pytest.raises(ValueError, match=text):
            theory.finite_step_limit(problem, 2.8, w0, **options)


def flow(field, start, until=4000.0):
    return solve_ivp(field, (0, until), start, "LSODA", rtol=1e-11, atol=1e-13).y[:, -1]


class TestLayers:
    @pytest.mark.parametrize("method", ["rpgd", "wn"])
    @pytest.mark.parametrize("centred", [True, False])
    @pytest.mark.parametrize("tall", [True, False])
    def test_rows_and_bias_end_where_the_flow_does(self, method, centred, tall):
        rng = np.random.default_rng(8)
        n, d = (7, 4) if tall else (4, 7)
        X, Y = rng.standard_normal((n, d)) + 0.5, rng.standard_normal((n, 2))
        X = X - X.mean(axis=0) if centred else X
        W, b0 = rng.standard_normal((2, d)), np.array([0.3, -0.7])
        said = theory.linear_layer_limit(X, Y, W, 0.7, method=method, bias_ratio=2.0, start_bias=b0)
        assert said.closed_form == centred
        for k in range(2):

            def field(t, z, k=k):
                g, w, b = z[0], z[1:-1], z[-1]
                n = np.linalg.norm(w)
                u = w / n
                r = X @ (g * u) + b - Y[:, k]
                s = u @ (X.T @ r)
                return np.r_[-0.7 * s, -(g / n) * (X.T @ r - s * u), -2.0 * r.sum()]

            size = np.linalg.norm(W[k])
            z = flow(field, np.r_[size, W[k] if method == "wn" else W[k] / size, b0[k]])
            x = z[0] * z[1:-1] / np.linalg.norm(z[1:-1])
            np.testing.assert_allclose(said.weight[k], x, atol=1e-7)
            assert said.bias[k] == pytest.approx(z[-1], abs=1e-7)
            assert said.norm[k] == pytest.approx(np.linalg.norm(x), abs=1e-7)

    @settings(deadline=None, max_examples=50)
    @given(st.integers(0, 10**6))
    def test_one_learning_rate_ends_closer_than_gradient_descent(self, seed):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((3, 6))
        X -= X.mean(axis=0)
        Y, W = rng.standard_normal((3, 2)), 10 ** rng.uniform(-1, 1) * rng.standard_normal((2, 6))
        said = theory.linear_layer_limit(X, Y, W, method="wn")
        for k in range(2):
            gd = theory.gd_limit(
                wn.LeastSquares(X, Y[:, k] - Y[:, k].mean()), np.linalg.norm(W[k]), W[k]
            )
            assert said.norm[k] <= gd.norm * (1 + 1e-12)

    @pytest.mark.parametrize(
        ("changes", "text"),
        [
            ({"method": "adam"}, "coordinate-wise"),
            ({"targets": np.ones((2, 1))}, "targets must have 3 rows"),
            ({"weight": np.ones((2, 4))}, r"weight must have shape \(1, 4\)"),
            ({"weight": np.zeros((1, 4))}, "zero row"),
            ({"scale_ratio": 0.0}, "scale_ratio"),
            ({"features": np.full((3, 4), np.nan)}, "features"),
            ({"step": 0.0}, "step must be greater than 0"),
            ({"momentum": 0.5}, "momentum and frozen_steps need a step"),
            ({"frozen_steps": 5}, "momentum and frozen_steps need a step"),
            ({"step": 0.1, "frozen_steps": -1}, "frozen_steps must be at least 0"),
        ],
    )
    def test_bad_input(self, changes, text):
        rng = np.random.default_rng(0)
        given = {"features": rng.normal(size=(3, 4)), "targets": rng.normal(size=(3, 1))}
        given |= {"weight": rng.normal(size=(1, 4))}
        with pytest.raises(ValueError, match=text):
            theory.linear_layer_limit(**(given | changes))


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
            method,
            problem,
            start=first,
            tolerance=0,
            max_steps=int(2 * said.steps),
            record=20,
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

    def test_the_module_is_still_a_module(self):
        assert wn.certificate.verify is wn.verify


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
