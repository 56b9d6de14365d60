"""What must always hold, on random and hostile instances."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import weightnorm as wn
from tests.support.cases import METHODS, build
from weightnorm.engine.batch import Start
from weightnorm.engine.start import start

settings.register_profile("weightnorm", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("weightnorm")

seeds = st.integers(0, 10_000)
methods = st.sampled_from(METHODS)


@st.composite
def instances(draw):
    """A stable run: problem, scale, direction, steps; m = 1, m > d, negative scales and special
    starts included.
    """
    m, d = draw(st.integers(1, 7)), draw(st.integers(1, 12))
    condition_number = draw(st.sampled_from([1.0, 2.0, 10.0]))
    problem = wn.datasets.make_regression(
        m, d, condition_number, draw(st.sampled_from([0.5, 1.0, 3.0])), seed=draw(seeds)
    )
    w0 = wn.datasets.random_direction(d, draw(seeds))
    kind = draw(st.sampled_from(["general", "general", "row space", "nearly orthogonal"]))
    if d > m and kind != "general":
        inside, rest = problem.split(w0)
        w0 = inside if kind == "row space" else rest + 1e-3 * inside
        w0 = w0 / np.linalg.norm(w0)
    scale = draw(st.sampled_from([-2.0, -0.4, 0.1, 1.0, 2.0, 3.5]))
    step, ratio = draw(st.sampled_from([0.005, 0.05])), draw(st.sampled_from([0.2, 1.0, 2.0]))
    # what rounding leaves off the row space grows by e^(g0²/2c): then nothing holds but to that
    assume(kind != "row space" or scale**2 <= 20.0 * ratio)
    return problem, scale, w0, step, ratio


def go(method, instance, **options):
    problem, scale, w0, step, ratio = instance
    options = {"tolerance": 0, "max_steps": 300} | options
    return wn.run(build(method, step, ratio * step), problem, scale, w0, **options)


def close(a, b, tolerance=1e-11, size=None):
    size = max(np.linalg.norm(b), 1e-3) if size is None else size
    assert np.linalg.norm(np.asarray(a) - np.asarray(b)) <= tolerance * size


@given(methods, instances())
def test_symmetry_of_scale_and_direction(method, instance):
    problem, scale, w0, step, ratio = instance
    a = go(method, instance)
    b = go(method, (problem, -scale, -w0, step, ratio))
    close(a.weights, b.weights, 1e-13)
    if method != "gd":
        assert b.scale == pytest.approx(-a.scale, rel=1e-12)
        close(-a.direction, b.direction, 1e-13)


@given(methods, instances(), seeds)
def test_rotating_the_features_rotates_the_run(method, instance, seed):
    problem, scale, w0, step, ratio = instance
    Q = np.linalg.qr(np.random.default_rng(seed).standard_normal((w0.size, w0.size)))[0]
    rotated = wn.LeastSquares(problem.A @ Q.T, problem.y)
    a = go(method, instance)
    b = go(method, (rotated, scale, Q @ w0, step, ratio))
    close(Q @ a.weights, b.weights)
    assert a.loss == pytest.approx(b.loss, rel=1e-8, abs=1e-20)


@given(methods, instances(), st.sampled_from([1e-3, 0.5, 2.0, 1e3]))
def test_scaling_the_targets_scales_the_run(method, instance, factor):
    """(y, g0) -> s·(y, g0) scales g by s where the steps of w shrink by s²: the gradient of w is
    quadratic in s.
    """
    problem, scale, w0, step, ratio = instance
    a = go(method, instance)
    scaled = wn.LeastSquares(problem.A, factor * problem.y)
    direction_step = step if method == "gd" else step / factor**2
    b = wn.run(
        build(method, direction_step, ratio * step),
        scaled,
        factor * scale,
        w0,
        tolerance=0,
        max_steps=300,
    )
    close(b.weights / factor, a.weights)


@given(methods, instances(), st.sampled_from([0.25, 3.0, 40.0]))
def test_scaling_the_data_rescales_the_steps(method, instance, factor):
    """(A, y) -> s·(A, y) multiplies the loss by s²; all steps divided by s² make the same run."""
    problem, scale, w0, step, ratio = instance
    a = go(method, instance)
    scaled = wn.LeastSquares(factor * problem.A, factor * problem.y)
    b = go(method, (scaled, scale, w0, step / factor**2, ratio))
    close(b.weights, a.weights)


@given(methods, instances(), st.integers(0, 299))
def test_interrupted_equals_uninterrupted(method, instance, cut):
    problem, _, _, step, ratio = instance
    whole = go(method, instance)
    part = go(method, instance, max_steps=cut)
    rest = wn.run(
        build(method, step, ratio * step), problem, start=part, tolerance=0, max_steps=300 - cut
    )
    np.testing.assert_array_equal(rest.weights, whole.weights)
    assert (rest.loss, rest.scale, rest.total_steps) == (whole.loss, whole.scale, 300)


@given(methods, instances())
def test_reduced_equals_full(method, instance):
    reduced, full = go(method, instance), go(method, instance, coordinates="full")
    close(reduced.weights, full.weights)
    assert reduced.num_steps == full.num_steps


@given(methods, instances())
def test_kernels_equal_the_rules_on_the_same_reduced_problem(method, instance):
    """The compiled path against the NumPy rule, both in the same coordinates."""
    problem, scale, w0, step, ratio = instance
    rule, space = build(method, step, ratio * step), problem.reduce()
    begun = Start(np.array([scale]), space.enter(w0[None]))
    compiled, plain = (start(rule, space.problem, begun, 0.0, compiled=c) for c in (True, False))
    assert type(compiled) is not type(plain)
    for batch in (compiled, plain):
        batch.advance(100)
    a, b = (
        space.problem.weights(batch.position().unit, batch.position().scale)
        for batch in (compiled, plain)
    )
    close(a, b, 1e-13)
    np.testing.assert_allclose(np.sqrt(compiled.loss), np.sqrt(plain.loss), rtol=1e-13, atol=1e-14)


@given(methods, instances())
def test_a_sweep_entry_equals_the_run(method, instance):
    problem, scale, w0, step, ratio = instance
    rule = build(method, step, ratio * step)
    others = np.array([w0, *(wn.datasets.random_direction(w0.size, seed) for seed in range(3))])
    data = wn.sweep(
        problem, {"m": rule}, [scale, 1.5 * scale, 0.7], others, tolerance=1e-6, max_steps=2000
    )
    entry = data.sel({"algorithm": "m", "start": 0}).isel(scale=0)
    result = wn.run(rule, problem, scale, w0, tolerance=1e-6, max_steps=2000)
    assert int(entry.num_steps) == result.num_steps
    assert int(entry.status) == result.status.code
    assert float(entry.norm) == pytest.approx(result.norm, rel=1e-12)
    assert float(entry.distance) == pytest.approx(result.distance, rel=1e-12, abs=1e-14)


@given(instances())
def test_gradient_descent_keeps_what_it_cannot_see(instance):
    problem, scale, w0, *_ = instance
    result = go("gd", instance)
    close(
        problem.split(result.weights)[1],
        problem.split(scale * w0)[1],
        1e-14,
        size=abs(scale) + result.norm,
    )


@given(st.sampled_from(["wn", "rpgd"]), instances())
def test_the_off_row_space_part_keeps_its_direction(method, instance):
    """w_t⊥ is a multiple of w0⊥, and a start in the row space stays in it exactly."""
    problem, _, w0, *_ = instance
    result = go(method, instance)
    before, after = problem.split(w0)[1], problem.split(result.weights)[1]
    if np.linalg.norm(before) < 1e-12:
        assert result.perp_norm == 0.0
    else:
        before = before / np.linalg.norm(before)
        close(after, (after @ before) * before, 1e-12, size=result.norm)


@pytest.mark.parametrize("method", ["wn", "rpgd"])
def test_the_flow_invariant_drifts_at_first_order_in_the_step(method):
    """log(‖w⊥‖/‖w‖) + g²/2c over a run of fixed time: its drift is proportional to the step."""
    problem = wn.datasets.make_regression(5, 12, condition_number=2.0, seed=1)
    w0 = wn.datasets.random_direction(12, 2)
    steps = np.array([0.02, 0.01, 0.005, 0.0025])
    drifts = []
    for step in steps:
        result = wn.run(
            build(method, step, 2 * step),
            problem,
            1.0,
            w0,
            tolerance=0,
            max_steps=round(4 / step),
            record=1,
        )
        history = result.history
        invariant = np.log(history.direction_perp_norm) + history.scale**2 / 4
        drifts.append(abs(invariant[-1] - invariant[0]))
    slope = np.polyfit(np.log(steps), np.log(drifts), 1)[0]
    assert slope == pytest.approx(1.0, abs=0.05)
