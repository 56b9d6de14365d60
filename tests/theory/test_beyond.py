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
    @pytest.mark.parametrize("step", [0.01, 0.03, 0.3, 10.0])
    def test_steps_far_too_large_are_not_promised_and_leak_no_warning(self, step):
        rng = np.random.default_rng(0)
        X, Y, W = (rng.standard_normal(shape) for shape in ((30, 6), (30, 3), (3, 6)))
        said = theory.linear_layer_limit(X, Y, W, 0.7, step=step, momentum=0.9, frozen_steps=20)
        assert not said.applies
        assert np.isfinite(said.weight).all()
        assert np.isinf(said.error).any()

    def test_steps_so_large_that_nothing_can_be_followed(self):
        """Not even the flow, over so long a time of the frozen steps: the start is the answer."""
        rng = np.random.default_rng(1)
        X, Y, W = (rng.standard_normal(shape) for shape in ((30, 6), (30, 3), (3, 6)))
        X = X - X.mean(axis=0)
        said = theory.linear_layer_limit(X, Y, W, 0.7, step=10.0, momentum=0.5, frozen_steps=20)
        assert not said.applies
        assert np.isfinite(said.weight).all()

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
