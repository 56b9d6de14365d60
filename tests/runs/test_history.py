"""What a run or a flow passed on its way: against plain loops, as datasets and as frames."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weightnorm as wn
from tests.test_properties import instances
from weightnorm.engine import recording

KEEP = ("direction", "weights", "invariant")


@pytest.fixture(scope="module")
def problem():
    return wn.datasets.make_regression(6, 15, condition_number=2.0, seed=0)


@pytest.fixture(scope="module")
def w0():
    return wn.datasets.random_direction(15, seed=1)


def plain_rpgd(problem, scale, w, eta, gamma, steps):
    """Every iterate of rPGD in d dimensions, and nothing else."""
    w = w / np.linalg.norm(w)
    passed = [(scale, w)]
    for _ in range(steps):
        G = problem.A.T @ (problem.A @ (scale * w) - problem.y)
        v = w - eta * scale * G
        scale, w = scale - gamma * (w @ G), v / np.linalg.norm(v)
        passed.append((scale, w))
    return passed


@pytest.mark.parametrize("coordinates", ["reduced", "full"])
@pytest.mark.parametrize("options", [{}, {"momentum": 0.0, "batch_size": 6, "seed": 1}])
def test_directions_and_weights_are_those_of_a_plain_loop(problem, w0, coordinates, options):
    """Compiled, by the rule, and with the kernel of random steps (here all rows are drawn)."""
    passed = plain_rpgd(problem, 2.0, w0, 0.05, 0.1, 60)
    result = wn.run(
        wn.RPGD(0.05, 0.1, **options), problem, 2.0, w0, tolerance=0, max_steps=60, record=7,
        keep=KEEP, coordinates=coordinates,
    )  # fmt: skip
    history = result.history
    assert history.step.tolist() == list(range(0, 61, 7))
    for step, direction, weights in zip(
        history.step, history.direction, history.weights, strict=True
    ):
        g, w = passed[step]
        np.testing.assert_allclose(direction, w, atol=1e-12)
        np.testing.assert_allclose(weights, g * w, atol=1e-12)


@given(instances(), st.integers(1, 9))
@settings(max_examples=20)
def test_what_is_kept_changes_nothing_else(instance, every):
    problem, scale, w0, step, ratio = instance
    method = wn.WeightNorm(step, ratio * step, initial_norm=1.5)
    options = {"tolerance": 0, "max_steps": 40, "record": every}
    plain = wn.run(method, problem, scale, w0, **options)
    kept = wn.run(method, problem, scale, w0, **options, keep=KEEP)
    np.testing.assert_array_equal(plain.weights, kept.weights)
    for name in ("step", "loss", "scale", "direction_norm", "perp_norm", "ratio"):
        ours, theirs = getattr(plain.history, name), getattr(kept.history, name)
        np.testing.assert_allclose(ours, theirs, rtol=1e-12, atol=1e-14)
    history = kept.history
    np.testing.assert_allclose(
        history.weights, history.scale[:, None] * history.direction, atol=1e-12
    )
    for row, x in zip(history.loss, history.weights, strict=True):
        assert row == pytest.approx(float(problem.value(x)), rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("every", [1, 7, 100, 10_000])
@pytest.mark.parametrize("coordinates", ["reduced", "full"])
@pytest.mark.parametrize(
    "method",
    [
        wn.RPGD(0.05, 0.05),
        wn.GradientDescent(0.05),
        wn.WeightNorm(0.05, 0.05, momentum=0.5),
        wn.RPGD(0.02, 0.02, batch_size=4, seed=0),
        wn.RPGD(0.02, 0.02, label_noise=1e-3, seed=0),
        wn.GradientDescent(5.0),  # diverges
    ],
)
def test_no_record_lies_beyond_the_end(problem, w0, method, every, coordinates):
    """A run that ends on its way from one record to the next has no record of the next."""
    options = {"record": every, "coordinates": coordinates, "tolerance": 1e-3}
    result = wn.run(method, problem, 2.0, w0, **options, keep=("weights",))
    history = result.history
    assert history.step.tolist() == list(range(0, result.num_steps + 1, every))
    plain = wn.run(method, problem, 2.0, w0, **options).history
    assert plain.step.tolist() == history.step.tolist()
    np.testing.assert_allclose(plain.loss, history.loss, rtol=1e-9)
    finite = np.isfinite(history.weights).all(axis=1) & (history.loss < 1e30)
    np.testing.assert_allclose(
        problem.value(history.weights[finite]), history.loss[finite], rtol=1e-8, atol=1e-14
    )


@pytest.mark.parametrize("method", ["rpgd", "wn"])
def test_the_invariant_drifts_as_the_theory_says(problem, w0, method):
    """Its value is `theory.invariant`, and its drift over a run what `finite_step_limit` predicts,
    with an error that is second order in the step.
    """
    errors = []
    for step in (0.02, 0.01):
        rule = {"rpgd": wn.RPGD, "wn": wn.WeightNorm}[method](step, 2 * step)
        run = wn.run(rule, problem, 2.0, w0, tolerance=1e-22, record=1, keep="invariant")
        history = run.history
        expected = wn.theory.invariant(history.direction_perp_norm, history.scale, 2.0)
        np.testing.assert_allclose(history.invariant, expected, rtol=1e-12)
        np.testing.assert_array_equal(history.measured_invariant(), history.invariant)
        predicted = wn.theory.finite_step_limit(problem, 2.0, w0, method, step, ratio=2.0)
        errors.append(abs(history.invariant[-1] - history.invariant[0] - predicted.drift))
        assert errors[-1] < 0.2 * abs(predicted.drift)
    assert errors[1] < 0.4 * errors[0]


def test_the_ratio_of_wn_has_the_square_of_its_first_norm(problem, w0):
    """A flow from ‖w0‖ = 2 behaves like one with four times the ratio, also where a run goes on."""
    method = wn.WeightNorm(0.004, 0.001, initial_norm=2.0)
    first = wn.run(method, problem, 2.0, w0, tolerance=0, max_steps=300, record=1, keep="invariant")
    np.testing.assert_allclose(first.history.ratio, 1.0)
    assert abs(np.ptp(first.history.invariant)) < 2e-3
    more = wn.run(method, problem, start=first, tolerance=0, max_steps=300, record=1)
    np.testing.assert_allclose(more.history.ratio, 1.0)
    again = pickle.loads(pickle.dumps(first))
    other = wn.run(method, problem, start=again, tolerance=0, max_steps=300, record=1)
    np.testing.assert_array_equal(other.history.ratio, more.history.ratio)


def test_where_nothing_is_kept_the_invariant_is_nan(problem, w0):
    gd = wn.run(wn.GradientDescent(0.1), problem, 2.0, w0, record=1, keep=KEEP).history
    assert np.isnan(gd.invariant).all()
    assert np.isnan(gd.ratio).all()
    frozen = wn.RPGD(0.05, wn.schedules.two_phase(0.0, 0.05, 10))
    history = wn.run(frozen, problem, 2.0, w0, record=1, keep="invariant", max_steps=30).history
    assert np.isnan(history.invariant[:11]).all()  # the record after the tenth frozen step
    assert np.isfinite(history.invariant[11:]).all()
    sensing = wn.datasets.make_sensing(5, 1, 8, seed=0)
    start = wn.datasets.sensing_start(5, 1.0, 0)
    kept = wn.run(wn.RPGD(0.01, 0.01), sensing, **start, record=1, keep=KEEP, max_steps=4).history
    assert np.isnan(kept.invariant).all()
    assert kept.direction.shape == (5, 5, 5)
    np.testing.assert_allclose(
        kept.weights[-1], kept.scale[-1] * kept.direction[-1] @ kept.direction[-1].T, atol=1e-12
    )
    assert dict(kept.to_dataset().weights.sizes) == {"step": 5, "row": 5, "column": 5}


def test_a_callable_step_is_not_asked_beyond_the_last(problem, w0):
    asked = []

    def step(t):
        asked.append(t)
        if t >= 20:
            raise ValueError("beyond the end")
        return 0.05

    run = wn.run(
        wn.RPGD(step, 0.05), problem, 2.0, w0, tolerance=0, max_steps=20, record=1, keep="invariant"
    )
    assert np.isfinite(run.history.invariant).all()
    plain = wn.run(wn.RPGD(step, 0.05), problem, 2.0, w0, tolerance=0, max_steps=20, record=1)
    assert np.isnan(plain.history.ratio).all()


def test_blocks_have_a_column_per_scale():
    problem = wn.datasets.make_sensing(4, 1, 6, seed=0)
    start = wn.datasets.sensing_start(4, 1.0, 0)
    method = wn.RPGD(0.001, 0.001, blocks="columns")
    history = wn.run(method, problem, **start, record=1, keep=KEEP, max_steps=6).history
    assert np.isnan(history.invariant).all()
    assert history.invariant.shape == history.measured_invariant().shape == (7,)
    data = history.to_dataset()
    assert data.scale.dims == ("step", "block")
    assert data.direction.dims == ("step", "row", "factor")
    assert "scale_3" in history.to_dataframe()


def test_datasets_and_frames_say_the_same(problem, w0):
    history = wn.run(wn.RPGD(0.05, 0.05), problem, 2.0, w0, record=5, keep=KEEP).history
    data, frame = history.to_dataset(), history.to_dataframe()
    assert data.direction.dims == ("step", "feature")
    assert frame.index.name == "step"
    assert frame.shape == (len(history), 7 + 15 + 15)
    for step in history.step[::3]:
        assert data.loss.sel(step=step).item() == frame.loss[step]
        assert data.weights.sel(step=step)[4].item() == frame.weights_4[step]
    assert all("long_name" in data[name].attrs for name in data.data_vars)
    assert "every 5th step" in repr(history)
    assert "direction" not in repr(wn.run(wn.RPGD(0.1, 0.1), problem, 2.0, w0, record=1).history)


def test_memory_is_bounded_by_what_is_kept(problem, w0, monkeypatch):
    monkeypatch.setattr(recording, "MAX_NUMBERS", 15 * 50)
    options = {"tolerance": 0, "max_steps": 3_000, "record": 1}
    kept = wn.run(wn.RPGD(1e-3, 1e-3), problem, 2.0, w0, **options, keep="direction").history
    assert 25 <= len(kept) <= 50
    assert (np.diff(kept.step) == kept.every).all()
    assert len(wn.run(wn.RPGD(1e-3, 1e-3), problem, 2.0, w0, **options).history) == 3_001


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"keep": "direction"}, "keep needs record: record=1 keeps every step"),
        ({"record": 1, "keep": ("speed",)}, "keep must be one of 'direction', 'weights', 'invar"),
        ({"record": 1, "keep": 3}, "keep must be a sequence"),
    ],
)
def test_what_to_keep_is_checked(problem, w0, options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        wn.run(wn.RPGD(0.1, 0.1), problem, 1.0, w0, **options)


class TestFlowTimes:
    @pytest.mark.parametrize("ratio", [0.0, 0.5, 20.0])
    @pytest.mark.parametrize("scale", [-1.0, 4.0])
    def test_each_time_is_a_flow_that_ends_there(self, problem, w0, scale, ratio):
        times = [0.0, 0.3, 0.3, 1.7, 6.0]
        flow = wn.flow(problem, scale, w0, ratio, times=times)
        assert flow.time.tolist() == times
        for time, weights in zip(times, flow.weights, strict=True):
            alone = wn.flow(problem, scale, w0, ratio, tolerance=0, max_time=time)
            np.testing.assert_allclose(weights, alone.final_weights, atol=1e-9)

    def test_a_flow_at_rest_stays_there(self):
        problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
        flow = wn.flow(problem, 1.0, [1.0, 0.0], times=[0.0, 1e6, 1e12])
        np.testing.assert_allclose(flow.weights, [[1.0, 0.0]] * 3)
        assert flow.status == "converged"
        late = wn.flow(problem, 0.5, [1.0, 1.0], times=np.geomspace(1, 1e9, 5))
        assert late.time.size == 5
        assert late.status == "converged"

    def test_an_integration_that_gets_to_no_time_says_where_it_got(self, problem, w0, monkeypatch):
        monkeypatch.setattr("weightnorm.flows.walk.MAX_STEPS", 5)
        for times in ([100.0, 1000.0], [0.0, 100.0, 1000.0]):
            flow = wn.flow(problem, 2.0, w0, times=times)
            assert flow.status == "max_steps"
            assert flow.time.size == 1
            assert np.isfinite(flow.loss).all()

    def test_directions_are_defined_at_scale_zero(self, problem, w0):
        flow = wn.flow(problem, 0.0, w0, times=[0.0, 0.1])
        np.testing.assert_allclose(flow.direction[0], w0, atol=1e-12)
        data = flow.to_dataset()
        assert {"loss", "scale", "perp_norm", "invariant", "direction", "weights"} == set(data)
        assert data.attrs["status"] == "max_time"

    def test_times_are_checked(self, problem, w0):
        for times, message in (
            ([1.0, 0.5], "not decrease"),
            ([-1.0], "nor be negative"),
            ([], "times"),
        ):
            with pytest.raises(ValueError, match=message):
                wn.flow(problem, 1.0, w0, times=times)
        with pytest.raises(ValueError, match="either times or max_time"):
            wn.flow(problem, 1.0, w0, times=[1.0], max_time=2.0)
        with pytest.raises(ValueError, match="either times or restart_ratio"):
            wn.flow(problem, 1.0, w0, times=[1.0], restart_ratio=2.0)

    def test_a_run_follows_the_flow_at_its_times(self, problem, w0):
        """First order in the step, with the time η·t after t steps."""
        gaps = []
        for step in (0.02, 0.01):
            options = {"tolerance": 0, "max_steps": round(2.0 / step), "record": 10}
            run = wn.run(wn.RPGD(step, step), problem, 2.0, w0, **options, keep="weights")
            flow = wn.flow(problem, 2.0, w0, times=step * run.history.step)
            gaps.append(np.abs(run.history.weights - flow.weights).max())
        assert gaps[1] < 0.6 * gaps[0] < 0.1


@pytest.mark.parametrize("keep", [(), ("weights",)])
@pytest.mark.parametrize("coordinates", ["reduced", "full"])
def test_an_interruption_loses_no_record(problem, w0, monkeypatch, keep, coordinates):
    """Ctrl-C between slices, and in the middle of one: the history reaches to where the run is."""
    from weightnorm.engine.backends import diagonal, rules

    backend = diagonal.DiagonalBatch if coordinates == "reduced" else rules.RulesBatch
    original, calls = backend.advance, []

    def interrupted(self, count, every=0):
        calls.append(count)
        answer = original(self, count, every)
        if sum(calls) > 300:
            calls.clear()
            calls.append(-(10**9))  # once only
            raise KeyboardInterrupt
        return answer

    monkeypatch.setattr(backend, "advance", interrupted)
    monkeypatch.setattr("weightnorm.engine.loop.SLICE", 100)
    method = wn.RPGD(1e-3, 1e-3)
    options = {"tolerance": 0, "record": 10, "keep": keep, "coordinates": coordinates}
    with pytest.raises(wn.Interrupted) as stop:
        wn.run(method, problem, 2.0, w0, max_steps=2_000, **options)
    monkeypatch.undo()
    so_far = stop.value.result
    assert so_far.num_steps >= 100
    assert so_far.history.step.tolist() == list(range(0, so_far.num_steps + 1, 10))
    rest = wn.run(method, problem, start=so_far, max_steps=100, **options)
    whole = wn.run(method, problem, 2.0, w0, max_steps=so_far.num_steps + 100, **options)
    joined = np.concatenate(
        [so_far.history.loss, rest.history.loss[rest.history.step > so_far.num_steps]]
    )
    np.testing.assert_array_equal(joined, whole.history.loss)
