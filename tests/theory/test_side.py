"""On which side finite steps and mini-batches end: against plain loops that share no code."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm as gaussian

import weightnorm as wn
from weightnorm import theory
from weightnorm.theory import finite_step
from weightnorm.theory._drift import TrainingSteps
from weightnorm.theory._samples import Samples
from weightnorm.theory.setup import set_up


def ends(problem, g0, w0, eta, c, method="rpgd", **how):
    """The scale and ‖x⊥‖ at the end of a run, which the theory does not know."""
    rule = (wn.RPGD if method == "rpgd" else wn.WeightNorm)(eta, c * eta, **how)
    run = wn.run(rule, problem, g0, w0, tolerance=1e-16 * float(problem.y @ problem.y))
    assert run.status == "converged"
    return run.scale, run.perp_norm


def batch_ends(
    problem, g0, w0, eta, c, b, runs, *, method="rpgd", beta=0.0, length=1.0, to=1e-4, watch=None
):
    """The scales and ‖x⊥‖ of runs with mini-batches side by side, plain NumPy; ended at a loss of
    `to` of that at zero.
    """
    A, y, rng = problem.A, problem.y, np.random.default_rng(0)
    m = len(y)
    w = np.tile(length * w0 / np.linalg.norm(w0), (runs, 1))
    g, v, vg = np.full(runs, float(g0)), np.zeros_like(w), np.zeros(runs)
    for t in range(100_000):
        n = np.linalg.norm(w, axis=1)
        u = w / n[:, None]
        seen = u @ A.T
        r = g[:, None] * seen - y
        if t % 64 == 0 and (np.sum(r**2, axis=1) <= to * (y @ y)).all():
            x = g[:, None] * u
            return g, np.linalg.norm(x - x @ np.linalg.pinv(A) @ A, axis=1)
        if watch is not None:
            watch(g, seen, r)
        r = np.where(rng.permuted(np.tile(np.arange(m), (runs, 1)), axis=1) < b, r * (m / b), 0.0)
        s, pull = np.sum(r * seen, axis=1), r @ A
        dw = g[:, None] * pull
        if method == "wn":
            dw = (dw - (g * s)[:, None] * u) / n[:, None]
        v, vg = beta * v + dw, beta * vg + s
        w, g = w - eta * v, g - c * eta * vg
        if method == "rpgd":
            w = w / np.linalg.norm(w, axis=1)[:, None]
    raise AssertionError("the loop did not converge")


def plain_scale(problem, g, w, eta, c, steps):
    """The scale of rPGD after some steps, in d dimensions, plain NumPy."""
    for _ in range(steps):
        pull = problem.A.T @ (problem.A @ (g * w) - problem.y)
        g, w = g - c * eta * (w @ pull), w - eta * g * pull
        w = w / np.linalg.norm(w)
    return g


def edge(problem, w0, c):
    """A scale at which the flow changes its side, opposed to the data; None where there is none."""
    away = -np.sign(problem.y @ problem.A @ w0)
    gstar = float(np.linalg.norm(problem.min_norm_solution()))

    def sign(size):
        return theory.scale_sign(problem, away * size, w0, c).sign

    low, high = 1e-6 * gstar, 6.0 * gstar
    if sign(low) == sign(high):
        return None
    for _ in range(16):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if sign(middle) == sign(1e-6 * gstar) else (low, middle)
    return away * low


def draw(rng):
    m = int(rng.integers(2, 6))
    d, seed = m + int(rng.integers(1, 5)), int(rng.integers(10**6))
    kappa = float(10 ** rng.uniform(0, 1))
    problem = wn.datasets.make_regression(m, d, condition_number=kappa, seed=seed)
    return problem, wn.datasets.random_direction(d, seed=seed + 1), 9.0 * 10 ** rng.uniform(-1, 1)


TRAININGS = [
    (method, *momentum)
    for method in ("rpgd", "wn")
    for momentum in ((0.0, False), (0.9, False), (0.9, True))
]
SHORT = wn.datasets.make_regression(4, 8, condition_number=2.0, seed=19)
SHORT_START = wn.datasets.random_direction(8, seed=19)
SKEW = wn.LeastSquares([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0]], [0.3, 0.45])
SKEW_START = np.array([-0.8, 0.6, 0.1])


class TestFullBatches:
    def test_steps_that_end_opposite_to_the_flow_are_told_from_it(self):
        said = theory.finite_step_limit(SKEW, 1.442, SKEW_START, "rpgd", 0.05, 5.0)
        unit = SKEW_START / np.linalg.norm(SKEW_START)
        g = plain_scale(SKEW, 1.442, unit, 0.05, 5.0, 20_000)
        assert theory.scale_sign(SKEW, 1.442, SKEW_START, 5.0).sign == -1.0
        assert np.sign(said.scale) == np.sign(g) == said.probability == 1.0
        assert not said.applies
        assert said.failing == ("finite steps end on the side of the flow",)
        assert said.weights[2] == pytest.approx(said.perp_norm)  # on the side of w0, as g > 0

    @pytest.mark.long
    def test_near_the_edge_no_sign_is_wrong(self):
        rng = np.random.default_rng(3)
        flow_is_wrong = dict.fromkeys(TRAININGS, 0)
        for _ in range(3):
            problem, w0, c = draw(rng)
            critical = edge(problem, w0, c)
            for away, training in product((-0.02, -0.003, 0.003, 0.02), TRAININGS):
                method, beta, nesterov = training
                g0 = critical * (1 + away)
                rho = 1 + 2 * beta**2 / (1 - beta) if nesterov else (1 + beta) / (1 - beta)
                eta = 0.25 * (1 - beta) / (rho * max(g0**2, 9.0, c))
                said = theory.finite_step_limit(
                    problem, g0, w0, method, eta, c, momentum=beta, nesterov=nesterov
                )
                how = {"momentum": beta, "nesterov": nesterov, "method": method}
                g, x = ends(problem, g0, w0, eta, c, **how)
                assert np.sign(said.scale) == np.sign(g)
                if said.applies:
                    assert abs(x - said.perp_norm) <= said.error
                flow_is_wrong[training] += theory.scale_sign(problem, g0, w0, c).sign != np.sign(g)
        assert all(flow_is_wrong.values())  # so that agreeing with the steps says something

    @pytest.mark.long
    @pytest.mark.parametrize(
        ("rows", "targets", "start", "scale", "step", "ratio"),
        [
            ([[-0.5, -3, -1.4], [-0.1, -0.2, 0.2]], [-2.1, 0.9], [-1.7, -0.4, 1], 0.6, 3e-7, 70.0),
            ([[-0.4, 1.7, -1.3], [0, -0.1, -0.1]], [0, -0.6], [-1.9, -1.2, -0.8], 1.13, 3e-6, 10.0),
        ],
    )
    def test_with_momentum_larger_steps_do_not_answer_for_smaller_ones(
        self, rows, targets, start, scale, step, ratio
    ):
        """Runs that end on the flow's side, past S so closely that larger steps do not."""
        problem = wn.LeastSquares(rows, targets)
        said = theory.finite_step_limit(problem, scale, start, "rpgd", step, ratio, momentum=0.9)
        rule = wn.RPGD(step, ratio * step, momentum=0.9)
        run = wn.run(rule, problem, scale, start, tolerance=1e-3, max_steps=3 * 10**7)
        assert run.status == "converged"
        assert np.sign(said.scale) == np.sign(run.scale)
        assert np.isnan(said.probability) or said.probability == (run.scale > 0)

    def test_a_clipped_run_passes_on_its_own_side(self):
        said = theory.finite_step_limit(SKEW, 1.442, SKEW_START, "rpgd", 0.05, 5.0, clip=1e-3)
        run = wn.run(wn.RPGD(0.05, 0.25, clip=1e-3), SKEW, 1.442, SKEW_START, max_steps=3_000_000)
        assert np.sign(said.scale) == np.sign(run.scale)

    def test_more_steps_than_are_followed_are_followed_in_larger_ones(self):
        said = theory.finite_step_limit(SKEW, 1.3, SKEW_START, "rpgd", 1e-7, 5.0)
        assert said.applies
        assert np.sign(said.scale) == theory.scale_sign(SKEW, 1.3, SKEW_START, 5.0).sign

    @settings(max_examples=15, deadline=None)
    @given(st.integers(-6, 6), st.integers(-6, 6), st.booleans())
    def test_units_and_mirrors_change_nothing(self, rows, targets, mirror):
        """Features × 10^rows, y × 10^targets, and (g, w) → (−g, −w)."""
        a, b = 10.0**rows, 10.0**targets
        problem, size = wn.LeastSquares(a * SKEW.A, b * SKEW.y), b / a
        way = -1.0 if mirror else 1.0
        said = theory.finite_step_limit(
            problem, way * 1.442 * size, way * SKEW_START, "rpgd", 0.05 / b**2, 5.0 * size**2
        )
        assert np.sign(said.scale) == way
        assert not said.applies

    @pytest.mark.parametrize("bias", [False, True])
    def test_a_layer_has_the_side_of_its_steps(self, bias):
        """Between the sizes at which the flow and the steps change their sides, and beyond both."""
        rng = np.random.default_rng(0)
        features, targets, unit = np.array(SKEW.A), SKEW.y, SKEW_START / np.linalg.norm(SKEW_START)
        if bias:
            features, targets = rng.normal(size=(3, 5)) / 2 + 0.2, rng.normal(size=3)
            unit = rng.normal(size=5)
            unit = unit / np.linalg.norm(unit)
        off = unit - np.linalg.pinv(features) @ (features @ unit)

        eta = 0.02 if bias else 0.05

        def predicted(size, step=eta):
            row = size * unit
            return theory.linear_layer_limit(features, targets, row, 5.0, bias=bias, step=step)

        def reached(size):
            return layer_end(features, targets, size * unit, eta, 5.0, float(bias))

        def turns(side):
            low, high = 0.3, 2.5
            assert side(low) * side(high) < 0
            for _ in range(12):
                middle = 0.5 * (low + high)
                low, high = (middle, high) if side(middle) * side(low) > 0 else (low, middle)
            return low

        edges = (
            turns(lambda size: predicted(size, None).weight[0] @ off),
            turns(lambda size: reached(size) @ off),
        )
        assert abs(edges[0] - edges[1]) > 1e-3
        between = np.mean(edges)
        assert (predicted(between).weight[0] @ off) * (reached(between) @ off) > 0
        assert bias or "finite steps end on the side of the flow" in predicted(between).failing
        for size in (0.97 * min(edges), 1.03 * max(edges)):
            said = predicted(size)
            assert said.applies
            assert np.linalg.norm(reached(size) - said.weight[0]) <= max(said.error[0], 1e-6)


def layer_end(X, y, row, eta, c, kappa):
    """A row of rPGD with a bias, plain steps."""
    g, w, b = float(np.linalg.norm(row)), row / np.linalg.norm(row), 0.0
    for _ in range(20_000):
        r = X @ (g * w) + b - y
        pull = X.T @ r
        if r @ r < 1e-24:
            break
        g, w, b = g - c * eta * (w @ pull), w - eta * g * pull, b - kappa * eta * r.sum()
        w = w / np.linalg.norm(w)
    return g * w


class TestMiniBatches:
    def test_noise_that_chooses_the_side_is_told_with_its_probability(self):
        said = theory.finite_step_limit(
            SHORT, 0.6, SHORT_START, "rpgd", 0.03 / 9, 9.0, batch_size=1
        )
        g, _ = batch_ends(SHORT, 0.6, SHORT_START, 0.03 / 9, 9.0, 1, 400)
        assert not said.applies
        assert "mini-batches leave no doubt about the sign of the scale" in said.failing
        assert 0.05 < said.probability < 0.5
        assert said.probability == pytest.approx(np.mean(g > 0), abs=0.08)
        assert said.scale < 0

    def test_the_spread_has_what_batches_do_by_moving_the_way(self):
        """Σ η²D over the steps of runs, D the drift of rPGD's invariant where they are."""
        g0, eta, c, b = 1.5 * edge(SHORT, SHORT_START, 9.0), 0.003 / 9, 9.0, 2
        A, m = SHORT.A, len(SHORT.y)
        share, sizes = (m - b) / ((m - 1) * b), np.sum(A**2, axis=1)
        gathered = np.zeros(200)

        def watch(g, seen, r):
            s = np.sum(r * seen, axis=1)
            p = np.sum((r @ A) ** 2, axis=1) - s**2
            v_s = share * (m * np.sum(r**2 * seen**2, axis=1) - s**2)
            v_p = share * (m * np.sum(r**2 * (sizes - seen**2), axis=1) - p)
            gathered[:] += 0.5 * eta**2 * ((c + g**2) * (s**2 + v_s) - g**2 * (p + v_p))

        batch_ends(SHORT, g0, SHORT_START, eta, c, b, 200, to=1e-8, watch=watch)
        setup = set_up(SHORT, g0, SHORT_START)
        training = TrainingSteps("rpgd", eta, c, 0.0, False, None, 1.0)
        samples = finite_step._samples(SHORT, setup, training, SHORT_START, None, b)
        wanted = finite_step._moved_by_noise(setup, training, samples, 3.0)
        assert np.std(gathered) == pytest.approx(wanted, rel=0.2)

    @pytest.mark.parametrize(("method", "length", "beta"), [("rpgd", 1.0, 0.0), ("wn", 1.5, 0.5)])
    def test_the_probability_is_that_of_runs(self, method, length, beta):
        """Three starts about the edge: one on it, and one to either side."""
        critical, eta = edge(SHORT, SHORT_START, 9.0 * length**2), 0.01 / 9 * length**2 * (1 - beta)
        for g0 in critical * np.array([0.93, 1.0, 1.07]):
            said = theory.finite_step_limit(
                SHORT, g0, SHORT_START, method, eta, 9.0,
                batch_size=2, momentum=beta, direction_norm=length,
            )  # fmt: skip
            how = {"method": method, "beta": beta, "length": length}
            g, _ = batch_ends(SHORT, g0, SHORT_START, eta, 9.0, 2, 200, to=0.5, **how)
            assert 0.01 < said.probability < 0.99
            assert said.probability == pytest.approx(np.mean(g > 0), abs=0.12)

    def test_a_longer_direction_is_a_smaller_step_and_a_larger_ratio(self):
        """WN with ‖w0‖ = 2, 4η and c/4 makes the steps of ‖w0‖ = 1, η and c, batch by batch."""
        g0, eta = 1.05 * edge(SHORT, SHORT_START, 9.0), 0.01 / 9
        one, two = (
            theory.finite_step_limit(
                SHORT, g0, SHORT_START, "wn", length**2 * eta, 9.0 / length**2,
                batch_size=2, direction_norm=length,
            )
            for length in (1.0, 2.0)
        )  # fmt: skip
        assert 0.01 < one.probability < 0.99
        assert two.probability == pytest.approx(one.probability, rel=1e-6)
        assert two.spread == pytest.approx(one.spread, rel=1e-4)

    def test_on_s_it_is_the_closed_form(self):
        """P(g∞ > 0) = Φ(u0/(c√(ημV_s/2))) next to S, u0 = μg0 + c·yᵀAw0."""
        A, y, c, eta, b = SHORT.A, SHORT.y, 4.0, 1e-5, 1
        towards = A.T @ y
        w0 = SHORT_START - (SHORT_START @ towards) / (towards @ towards) * towards
        w0 = w0 / np.linalg.norm(w0) + 2e-4 * towards / np.linalg.norm(towards)
        w0, g0, m = w0 / np.linalg.norm(w0), -1e-3, len(y)
        seen = A @ w0
        a, square = c * (seen @ seen), c * (towards @ towards)
        mu = 0.5 * (-a + np.sqrt(a * a + 4 * square))
        share = (m - b) / ((m - 1) * b)
        V = share * (m * np.sum((y * seen) ** 2) - (y @ seen) ** 2)
        wanted = gaussian.cdf((mu * g0 + c * (y @ seen)) / (c * np.sqrt(eta * mu * V / 2)))
        said = theory.finite_step_limit(SHORT, g0, w0, "rpgd", eta, c, batch_size=b)
        assert 0.01 < wanted < 0.99
        assert said.probability == pytest.approx(wanted, abs=0.01)

    def test_the_spread_bounds_that_of_runs_near_the_edge(self):
        critical, eta = edge(SHORT, SHORT_START, 9.0), 0.01 / 9
        for away in (2.0, 3.0):
            said = theory.finite_step_limit(
                SHORT, away * critical, SHORT_START, "rpgd", eta, 9.0, batch_size=2
            )
            g0 = away * critical
            _, x = batch_ends(SHORT, g0, SHORT_START, eta, 9.0, 2, 100, to=1e-14)
            assert said.applies
            assert 0.1 * said.spread < np.std(x) < 1.2 * said.spread
            assert np.abs(x - said.perp_norm).max() <= said.error

    def test_a_sure_side_is_sure(self):
        said = theory.finite_step_limit(SHORT, 3.0, SHORT_START, "rpgd", 1e-4, 9.0, batch_size=2)
        assert said.applies
        assert said.probability in (0.0, 1.0)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 6), st.integers(1, 4))
def test_the_adjoint_and_the_gradient_of_the_drift_are_derivatives(seed, m, rank):
    """Central differences, of F and of D with any coefficients."""
    rng = np.random.default_rng(seed)
    samples = Samples(rng.normal(size=(m, rank)), rng.normal(size=m), 0.3, 0.7, np.zeros(rank))
    theta, ell = rng.normal(size=(2, rank + 1))
    kappa = rng.normal(size=(4, 3))

    def drift(at):
        g, z = at[0], at[1:]
        seen = samples.rows @ z
        r = g * seen - samples.targets
        pull = samples.rows.T @ r
        s = z @ pull
        p = pull @ pull - s * s
        off = np.sum(samples.rows**2, axis=1) - seen**2
        v_s = 0.3 * (m * np.sum(r**2 * seen**2) - s * s)
        v_p = 0.3 * (m * np.sum(r**2 * off) - p)
        return 0.5 * (kappa @ [1.0, g**2, g**4]) @ [s * s, p, v_s, v_p]

    step = 1e-5
    axes = step * np.eye(rank + 1)
    slopes = np.array([samples.field(theta + e) - samples.field(theta - e) for e in axes])
    rises = np.array([drift(theta + e) - drift(theta - e) for e in axes])
    size = 1.0 + np.abs(rises).max() / step
    np.testing.assert_allclose(
        samples.back(theta, ell), slopes @ ell / (2 * step), atol=1e-6 * size
    )
    np.testing.assert_allclose(
        samples.drift_gradient(theta, kappa), rises / (2 * step), atol=1e-6 * size
    )
