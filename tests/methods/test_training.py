"""Momentum, mini-batches and label noise: each against a plain d-dimensional loop, however it is
run.
"""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import weightnorm as wn
from tests.support.cases import METHODS, build
from tests.support.training_twin import train
from weightnorm import schedules
from weightnorm.engine.batch import Start
from weightnorm.engine.start import start
from weightnorm.methods.state import Evaluation, State

STEPS, ETA, GAMMA = 1_000, 0.02, 0.01
MOMENTA = {"heavy ball": {"momentum": 0.8}, "Nesterov": {"momentum": 0.8, "nesterov": True}}
RANDOM = {
    "batches": {"batch_size": 3, "seed": 5},
    "noise": {"label_noise": 0.3, "seed": 5},
    "all": {"batch_size": 3, "label_noise": 0.3, "seed": 5, "momentum": 0.6},
}
OPTIONS = MOMENTA | RANDOM


@pytest.fixture(scope="module", params=[1.0, 3.0], ids=["orthonormal rows", "general"])
def problem(request):
    return wn.datasets.make_regression(6, 20, condition_number=request.param, seed=0)


W0 = wn.datasets.random_direction(20, seed=0)


def method_of(kind, options, eta=ETA, gamma=GAMMA):
    return replace(build(kind, eta, gamma), **options)


def twin(
    kind, problem, options, steps=STEPS, scale=1.4, w0=W0, eta=lambda t: ETA, gamma=lambda t: GAMMA
):
    sampling = method_of(kind, options).sampling
    draws = None if sampling is None else sampling.draws(len(problem.y))
    own = {name: options[name] for name in ("momentum", "nesterov") if name in options}
    return train(
        kind, np.asarray(problem.A), problem.y, scale, w0, eta, gamma, steps, draws=draws, **own
    )


def close(a, b, tolerance=1e-10):
    assert np.linalg.norm(np.asarray(a) - np.asarray(b)) <= tolerance * max(np.linalg.norm(b), 1.0)


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
class TestAgainstThePlainLoop:
    @pytest.mark.parametrize("coordinates", ["reduced", "full"])
    def test_run(self, problem, kind, options, coordinates):
        path = twin(kind, problem, options)
        result = wn.run(
            method_of(kind, options),
            problem,
            1.4,
            W0,
            tolerance=0,
            max_steps=STEPS,
            coordinates=coordinates,
        )
        x, g, w = path[-1]
        close(result.weights, x)
        if kind != "gd":
            assert result.scale == pytest.approx(g, rel=1e-10)
        if kind == "wn":
            assert result.direction_norm == pytest.approx(np.linalg.norm(w), rel=1e-10)
        # of all samples, without noise
        assert result.loss == pytest.approx(problem.value(x), rel=1e-9, abs=1e-15)

    def test_recorded(self, problem, kind, options):
        path = twin(kind, problem, options)
        result = wn.run(
            method_of(kind, options), problem, 1.4, W0, tolerance=0, max_steps=STEPS, record=7
        )
        history = result.history
        assert history.step.tolist() == list(range(0, STEPS + 1, 7))
        x = np.array([path[t][0] for t in history.step])
        np.testing.assert_allclose(history.weights_norm, np.linalg.norm(x, axis=1), rtol=1e-10)
        np.testing.assert_allclose(history.loss, problem.value(x), rtol=1e-8, atol=1e-15)
        rests = [np.linalg.norm(problem.split(row)[1]) for row in x]
        np.testing.assert_allclose(history.perp_norm, rests, rtol=1e-8, atol=1e-12)

    @pytest.mark.parametrize(
        "trip", [lambda r: r, copy.deepcopy, lambda r: pickle.loads(pickle.dumps(r))]
    )
    def test_resumed(self, problem, kind, options, trip):
        path = twin(kind, problem, options)
        method = method_of(kind, options)
        part = wn.run(method, problem, 1.4, W0, tolerance=0, max_steps=333)
        rest = wn.run(
            copy.deepcopy(method), problem, start=trip(part), tolerance=0, max_steps=STEPS - 333
        )
        whole = wn.run(method, problem, 1.4, W0, tolerance=0, max_steps=STEPS)
        np.testing.assert_array_equal(rest.weights, whole.weights)  # to the last bit
        assert (rest.loss, rest.total_steps) == (whole.loss, STEPS)
        close(rest.weights, path[-1][0])

    def test_sweep(self, problem, kind, options):
        scales, starts = (
            [-0.7, 0.5, 1.4],
            np.array([wn.datasets.random_direction(20, s) for s in range(5)]),
        )
        method = method_of(kind, options)
        data = wn.sweep(problem, {"m": method}, scales, starts, tolerance=0, max_steps=STEPS)
        for i, j in ((0, 2), (3, 0), (4, 1)):
            x = twin(kind, problem, options, scale=scales[j], w0=starts[i])[-1][0]
            assert float(data.norm[0, i, j]) == pytest.approx(np.linalg.norm(x), rel=1e-10)
            assert float(data.loss[0, i, j]) == pytest.approx(problem.value(x), rel=1e-8, abs=1e-15)
            run = wn.run(method, problem, scales[j], starts[i], tolerance=0, max_steps=STEPS)
            assert float(data.distance[0, i, j]) == pytest.approx(run.distance, rel=1e-10)

    def test_stops_by_the_full_loss(self, problem, kind, options):
        """At the first iterate whose loss, of all samples and without noise, is within the
        tolerance.
        """
        path = twin(kind, problem, options, 4_000)
        losses = np.array([problem.value(x) for x, _, _ in path])
        tolerance = max(1e-9, float(np.sort(losses)[len(losses) // 20]) * 1.0000001)
        result = wn.run(
            method_of(kind, options), problem, 1.4, W0, tolerance=tolerance, max_steps=4_000
        )
        assert result.status == "converged"
        assert result.num_steps == int(np.argmax(losses <= tolerance))


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("options", MOMENTA.values(), ids=MOMENTA)
def test_buffers_accumulate_while_a_step_is_zero(problem, kind, options):
    freeze = schedules.two_phase(0.0, 0.01, switch=50)
    method = method_of(kind, options, schedules.two_phase(0.0, ETA, switch=30), freeze)
    result = wn.run(method, problem, 1.4, W0, tolerance=0, max_steps=60)
    thaw = twin(
        kind,
        problem,
        options,
        60,
        eta=lambda t: ETA if t >= 30 else 0.0,
        gamma=lambda t: 0.01 if t >= 50 else 0.0,
    )
    close(result.weights, thaw[-1][0])
    # a loop that starts when the step does has other buffers
    late = twin(kind, problem, options, 30)
    assert np.linalg.norm(late[-1][0] - thaw[-1][0]) > 1e-3


def norms_of_wn(options, slopes, steps):
    """‖w‖ along steps of WN in three dimensions whose gradients, orthogonal to w, are given:
    nothing else decides it.
    """
    method = wn.WeightNorm(0.1, 0.1, **options)
    state = method.init(np.ones(1), np.array([[1.0, 0.0, 0.0]]))
    norms = [1.0]
    for slope, step in zip(slopes, steps, strict=True):
        unit = state.vector[0] / np.linalg.norm(state.vector)
        gradient = slope - (slope @ unit) * unit
        state = method.update(
            state, Evaluation(np.ones(1), gradient[None], np.zeros(1)), np.array([step]), np.ones(1)
        )
        norms.append(float(np.linalg.norm(state.vector)))
    return np.array(norms)


@given(st.integers(0, 10**6), st.floats(0.05, 0.99), st.booleans())
def test_the_norm_of_wn_grows_with_momentum_too(seed, momentum, nesterov):
    """Heavy ball: whatever the steps. Nesterov: while the step does not grow."""
    rng = np.random.default_rng(seed)
    slopes = rng.standard_normal((8, 3)) * 10 ** rng.uniform(-2, 2, (8, 1))
    steps = 10 ** rng.uniform(-3, 1, 8) * (rng.random(8) < 0.8)
    if nesterov:
        steps = np.sort(steps)[::-1]
    norms = norms_of_wn({"momentum": momentum, "nesterov": nesterov}, slopes, steps)
    assert (np.diff(norms) >= -1e-12 * norms[1:]).all()


def test_nesterov_with_a_growing_step_can_shrink_the_norm_of_wn():
    slopes = np.array([[0.0, 9.7, 0.0], [0.0, -3.3, 0.0], [0.0, -0.1, 0.0]])
    steps = [3e-4, 5.6, 3.8]
    nesterov = norms_of_wn({"momentum": 0.67, "nesterov": True}, slopes, steps)
    assert nesterov.min() < 0.5 * nesterov.max()
    assert nesterov[-1] < nesterov[-2]
    heavy = norms_of_wn({"momentum": 0.67}, slopes, steps)
    assert (np.diff(heavy) >= 0).all()


@pytest.mark.parametrize("coordinates", ["reduced", "full"])
def test_zero_norm_policy_of_wn_with_momentum(coordinates):
    """A step that leads to w = 0 exactly is not made: w stays, the buffers and the scale go on.

    In one dimension the gradient of w is zero, so only momentum moves w; with exact numbers it can
    be led to zero: two dimensions, A = I, w0 = e1, and a buffer that after some steps points back
    at w exactly.
    """
    method = wn.WeightNorm(1.0, 0.0, momentum=0.5)
    buffers = {"vector_buffer": np.array([[2.0, 0.0]]), "scale_buffer": np.zeros(1)}
    state = State(np.array([[1.0, 0.0]]), np.ones(1), buffers)
    # at x = (1, 0) the gradient is zero: v = β·2 = 1 = w
    problem = wn.LeastSquares(np.eye(2), [1.0, 0.0])
    after = method.update(state, method.evaluate(problem, state), np.ones(1), np.zeros(1))
    assert after.vector.tolist() == [[1.0, 0.0]]
    assert after["vector_buffer"].tolist() == [[1.0, 0.0]]
    again = method.update(after, method.evaluate(problem, after), np.ones(1), np.zeros(1))
    assert again.vector.tolist() == [[0.5, 0.0]]
    if coordinates == "reduced":
        assert _kernel_step(problem).tolist() == [[1.0, 0.0], [0.5, 0.0]]


def _kernel_step(problem):
    """The same two steps by the compiled kernel, from a state with the same buffers."""
    from weightnorm.engine.backends.diagonal import DiagonalBatch
    from weightnorm.engine.batch import Start

    space = problem.reduce()
    unit = space.enter(np.array([[1.0, 0.0]]))
    start = Start(np.ones(1), unit, divergence_loss=np.full(1, np.inf))
    method = wn.WeightNorm(1.0, 0.0, momentum=0.5)
    batch = DiagonalBatch(
        method, space.problem, replace(start, state=method.init(start.scale, unit)), -np.inf
    )
    state = batch.states()
    begun = state.also(vector_buffer=2.0 * state.vector)
    batch = DiagonalBatch(method, space.problem, replace(start, state=begun), -np.inf)
    rows = []
    for _ in range(2):
        batch.advance(1)
        now = batch.states().vector[0]
        rows.append([float(np.abs(now[:-1]).sum()), float(now[-1])])
    return np.array(rows)


@pytest.mark.parametrize("kind", ["rpgd", "wn"])
def test_momentum_with_one_scale_per_column(kind):
    """Against a plain loop on the columns, whole and in two parts."""
    problem, start = (
        wn.datasets.make_sensing(5, 1, 12, seed=0),
        wn.datasets.sensing_start(5, seed=0),
    )
    method = {"rpgd": wn.RPGD, "wn": wn.WeightNorm}[kind](
        1e-3, 2e-3, blocks="columns", momentum=0.5
    )
    whole = wn.run(method, problem, **start, tolerance=0, max_steps=100)
    part = wn.run(method, problem, **start, tolerance=0, max_steps=40)
    rest = wn.run(method, problem, start=part, tolerance=0, max_steps=60)
    np.testing.assert_array_equal(rest.weights, whole.weights)
    A, y, W = problem.sensors, problem.y, np.asarray(start["direction"])
    W, D = W / np.linalg.norm(W, axis=0), np.full(W.shape[1], float(start["scale"]))
    buffer, scale_buffer = np.zeros_like(W), np.zeros_like(D)
    for _ in range(100):
        n = np.linalg.norm(W, axis=0)
        U = W / n
        M = np.tensordot(np.tensordot(A, U @ np.diag(D) @ U.T, axes=2) - y, A, axes=1) / len(y)
        M = (M + M.T) / 2
        G, slope = 2 * M @ U * D, np.sum(U * (M @ U), axis=0)
        own = G if kind == "rpgd" else (G - np.sum(U * G, axis=0) * U) / n
        buffer, scale_buffer = 0.5 * buffer + own, 0.5 * scale_buffer + slope
        W, D = W - 1e-3 * buffer, D - 2e-3 * scale_buffer
        if kind == "rpgd":
            W = W / np.linalg.norm(W, axis=0)
    U = W / np.linalg.norm(W, axis=0)
    close(whole.weights, U @ np.diag(D) @ U.T)


def test_a_run_of_another_method_begins_with_empty_buffers():
    problem = wn.datasets.make_regression(6, 20, seed=0)
    first = wn.run(wn.RPGD(ETA, GAMMA, momentum=0.8), problem, 1.4, W0, tolerance=0, max_steps=50)
    second = wn.run(
        wn.RPGD(ETA, GAMMA, momentum=0.5), problem, start=first, tolerance=0, max_steps=1
    )
    plain = wn.run(wn.RPGD(ETA, GAMMA), problem, start=first, tolerance=0, max_steps=1)
    close(second.weights, plain.weights, 1e-14)


@pytest.mark.parametrize("momentum", [{}, {"momentum": 0.9}])
@pytest.mark.parametrize("kind", METHODS)
def test_reduced_is_full_and_signs_do_not_matter(kind, momentum):
    problem = wn.datasets.make_regression(5, 12, condition_number=2.0, seed=3)
    w0, method = wn.datasets.random_direction(12, 3), method_of(kind, momentum)
    a = wn.run(method, problem, 1.1, w0, tolerance=0, max_steps=300)
    b = wn.run(method, problem, -1.1, -w0, tolerance=0, max_steps=300)
    c = wn.run(method, problem, 1.1, w0, tolerance=0, max_steps=300, coordinates="full")
    close(a.weights, b.weights, 1e-12)
    close(a.weights, c.weights, 1e-11)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: wn.RPGD(0.1, 0.1, momentum=1.0), "momentum must be below 1, got 1"),
        (lambda: wn.RPGD(0.1, 0.1, momentum=-0.1), "momentum must be at least 0"),
        (lambda: wn.GradientDescent(0.1, nesterov=True), "nesterov=True needs a momentum above 0"),
        (
            lambda: wn.GradientDescent(0.1, momentum=0.9, nesterov=1),
            "nesterov must be True or False, got 1",
        ),
        (lambda: wn.WeightNorm(0.1, 0.1, batch_size=0), "batch_size must be at least 1"),
        (lambda: wn.WeightNorm(0.1, 0.1, batch_size=2.5), "batch_size must be"),
        (lambda: wn.WeightNorm(0.1, 0.1, label_noise=-1.0), "label_noise must be at least 0"),
        (lambda: wn.WeightNorm(0.1, 0.1, label_noise=1.0, seed=-1), "seed must be at least 0"),
        (
            lambda: wn.run(
                wn.RPGD(0.1, 0.1, batch_size=7), wn.datasets.make_regression(6, 20), 1.0, W0
            ),
            "batch_size must be at most the 6 samples of the problem, got 7",
        ),
        (
            lambda: wn.run(
                wn.RPGD(0.1, 0.1, label_noise=1.0),
                wn.GeneralizedLinear(np.eye(3), [0, 1, 1]),
                1.0,
                [1.0, 1, 1],
            ),
            "label_noise=1.* adds noise to y",
        ),
    ],
)
def test_bad_options_are_refused_by_name(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()


def test_a_search_refuses_what_it_cannot_compile():
    problem, start = (
        wn.datasets.make_sensing(5, 1, 12, seed=0),
        wn.datasets.sensing_start(5, seed=0),
    )
    with pytest.raises(TypeError, match="neither momentum nor random steps"):
        wn.search_step(problem, lambda c: wn.RPGD(c, c, momentum=0.5), **start)


@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("options", RANDOM.values(), ids=RANDOM)
@pytest.mark.parametrize(
    "schedule", [0.03, schedules.curvature(0.05), schedules.scaled(0.01, 1, 1)]
)
def test_the_kernel_with_random_steps_is_the_rule(problem, kind, options, schedule):
    """On the same coordinates, with powers and curvature in the steps, where runs end at
    different steps.
    """
    if kind == "gd" and getattr(schedule, "norm_power", 0):
        schedule = 0.03
    method = method_of(kind, options, schedule, schedules.scaled(0.02, 0.5, 0.5))
    space = problem.reduce(samples=True)
    units = space.enter(np.array([wn.datasets.random_direction(20, s) for s in range(6)]))
    begun = Start(np.linspace(0.3, 2.0, 6), units, perp_units=space.perp_units(units, True))
    batches = [start(method, space.problem, begun, 0.5, compiled=c) for c in (True, False)]
    assert [type(batch).__name__ for batch in batches] == ["SingleBatch", "RulesBatch"]
    for batch in batches:
        batch.advance(70)
        batch.advance(55)
    a, b = (batch.position() for batch in batches)
    np.testing.assert_allclose(a.unit, b.unit, atol=1e-12)
    np.testing.assert_allclose(a.scale, b.scale, rtol=1e-12)
    np.testing.assert_allclose(a.direction_norm, b.direction_norm, rtol=1e-12)
    np.testing.assert_allclose(batches[0].loss, batches[1].loss, rtol=1e-11)
    np.testing.assert_array_equal(batches[0].ended_at, batches[1].ended_at)
    np.testing.assert_array_equal(batches[0].alive, batches[1].alive)


@pytest.mark.parametrize("options", [{}, *OPTIONS.values()], ids=["plain", *OPTIONS])
@pytest.mark.parametrize("kind", METHODS)
@pytest.mark.parametrize("factor", [1e-6, 1e6])
def test_units_of_the_features_do_not_matter(kind, options, factor):
    """(A, y) -> s·(A, y) multiplies the loss by s²: all steps divided by s², and the noise times
    s, make the same run.
    """
    problem = wn.datasets.make_regression(6, 20, condition_number=3.0, seed=0)
    scaled = wn.LeastSquares(factor * problem.A, factor * problem.y)
    rescaled = options | (
        {"label_noise": factor * options["label_noise"]} if "label_noise" in options else {}
    )
    steps = {"tolerance": 0, "max_steps": 300}
    a = wn.run(method_of(kind, options), problem, 1.4, W0, **steps)
    b = wn.run(
        method_of(kind, rescaled, ETA / factor**2, GAMMA / factor**2), scaled, 1.4, W0, **steps
    )
    close(b.weights, a.weights, 1e-11)


@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("kind", METHODS)
def test_targets_far_from_zero(kind, options):
    """y + 1e9: weights of 1e9, and still the plain loop."""
    base = wn.datasets.make_regression(6, 20, condition_number=3.0, seed=0)
    problem, scale = wn.LeastSquares(base.A, base.y + 1e9), 1e9
    eta = ETA if kind == "gd" else ETA / scale**2
    result = wn.run(method_of(kind, options, eta), problem, scale, W0, tolerance=0, max_steps=200)
    x = twin(kind, problem, options, 200, scale=scale, eta=lambda t: eta)[-1][0]
    close(result.weights, x)
