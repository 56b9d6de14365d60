"""What a third trial by fresh eyes found: signs near S, brackets, weights, files, pickles."""

import math
import os
import pickle
import warnings

import mpmath
import numpy as np
import pytest

import weightnorm as wn
from tests.support.commands import plain, run
from tests.support.sweep_cases import write
from weightnorm import sweeps, theory
from weightnorm.sweeps import plan, store

ROW = np.array([[0.3, 0.5, 0.7]])
OPPOSED = wn.LeastSquares(ROW, 3.0 * np.linalg.norm(ROW, axis=1))
FAR, RATIO = 1.2, 0.0144  # g0²/c = 100
BY_ROUNDING = "the data opposes its scale"


@pytest.mark.parametrize("coordinates", ["reduced", "full"])
def test_a_sign_that_rounding_decides_is_warned_of_by_runs(coordinates):
    """They end with opposite signs in the two coordinates."""
    with pytest.warns(RuntimeWarning, match=BY_ROUNDING):
        wn.run(wn.RPGD(0.02, 0.02 * RATIO), OPPOSED, FAR, -ROW[0], coordinates=coordinates)


def test_a_sign_that_rounding_decides_is_warned_of_before_a_run():
    with pytest.warns(RuntimeWarning, match=BY_ROUNDING):
        theory.flow_limit(OPPOSED, FAR, -ROW[0], RATIO)
    with pytest.warns(RuntimeWarning, match=BY_ROUNDING):
        found = theory.finite_step_limit(OPPOSED, FAR, -ROW[0], "rpgd", 0.02, RATIO)
    assert not found.applies
    assert math.isnan(found.probability)
    methods = {"near": wn.RPGD(0.02, 0.02), "far": wn.RPGD(0.02, 0.02 * RATIO)}
    with pytest.warns(RuntimeWarning, match=f"far: .*{BY_ROUNDING}"):
        wn.sweep(OPPOSED, methods, [0.1, FAR], -ROW, max_steps=3)


@pytest.mark.parametrize(("scale", "direction"), [(FAR, ROW[0]), (0.9, -ROW[0])])
def test_signs_that_rounding_cannot_change_are_not_warned_of(scale, direction):
    """One that the data does not oppose, and one from which rounding does not grow enough."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theory.flow_limit(OPPOSED, scale, direction, RATIO)
        wn.run(wn.RPGD(0.02, 0.02 * RATIO), OPPOSED, scale, direction, max_steps=3)


def test_a_part_that_is_taken_for_nothing_may_be_as_much():
    """Up to 64 eps of a direction count as none, and grow like any other."""
    problem, ratio = wn.LeastSquares([[1.0, 0.0]], [1.0]), 3 / (2 * np.log(0.009 / 1e-15))
    for call in (
        lambda: theory.flow_limit(problem, 2.0, [1.0, 1.3e-14], ratio),
        lambda: wn.run(wn.RPGD(0.05, 0.05 * ratio), problem, 2.0, [1.0, 1.3e-14], max_steps=3),
    ):
        with pytest.warns(RuntimeWarning, match="to rounding"):
            call()


def test_no_sign_is_claimed_that_rounding_of_the_direction_decides():
    problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    assert not theory.scale_sign(problem, -1e-20, [1e-16, 1.0]).applies
    assert not theory.scale_sign(problem, 1.5, [-1.0, 5e-15], 1.5**2 / 80).applies
    for seed in range(40):
        rng = np.random.default_rng(seed)
        A, y, c = rng.normal(size=(2, 4)), rng.normal(size=2), 10 ** rng.uniform(-1, 1)
        size = 10 ** rng.uniform(-13.5, -10)
        w0 = np.linalg.svd(A)[2][3] - size * (A.T @ y) / np.linalg.norm(A.T @ y)
        with mpmath.workdps(50):
            pull = sum(
                mpmath.mpf(float(b)) * mpmath.mpf(float(a)) * mpmath.mpf(float(w))
                for b, row in zip(y, A, strict=True)
                for a, w in zip(row, w0, strict=True)
            ) / mpmath.norm(mpmath.matrix(list(map(float, w0))))
            seen = mpmath.norm(mpmath.matrix(A.tolist()) * mpmath.matrix(w0.tolist())) ** 2
            steep = mpmath.norm(mpmath.matrix((A.T @ y).tolist()))
            mu = (-c * seen + mpmath.sqrt((c * seen) ** 2 + 4 * c * steep**2)) / 2
            g0 = float(-c * pull / mu * (1 + rng.choice([-1, 1]) * 10 ** rng.uniform(-3, -0.5)))
            sign = float(mpmath.sign(mu * g0 + c * pull))
        found = theory.scale_sign(wn.LeastSquares(A, y), g0, w0, c)
        assert found.sign == sign or not found.applies


@pytest.mark.parametrize("size", [1e-5, 1e-7, 1e-8, 1e-10, 1e-11])
@pytest.mark.parametrize("factor", [0.5, 0.99, 1.01, 2.0])
def test_one_sample_of_which_next_to_nothing_is_seen(size, factor):
    """The scale keeps its sign exactly where g0² > −c·log(1 − |w0∥|²), about c|w0∥|²."""
    problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    inside = size / math.hypot(1.0, size)
    with mpmath.workdps(60):
        edge = float(mpmath.sqrt(-mpmath.log(1 - mpmath.mpf(inside) ** 2)))
    found = theory.scale_sign(problem, factor * edge, [-size, 1.0])
    assert found.sign == (1.0 if factor > 1 else -1.0)
    assert found.applies
    assert theory.flow_limit(problem, factor * edge, [-size, 1.0]).scale * found.sign > 0


@pytest.mark.parametrize("size", [1e-5, 1e-6, 1e-8, 1e-9, 1e-10, 1e-12])
@pytest.mark.parametrize("seed", range(6))
def test_starts_next_to_s_go_where_the_linear_flow_takes_them(size, seed):
    """From an unseen direction the edge is at g0 = −√c·⟨s, w0⟩/‖s‖, s = Aᵀy, to first order."""
    rng = np.random.default_rng(seed)
    A, y, c = rng.normal(size=(2, 4)), rng.normal(size=2), 10 ** rng.uniform(-1, 1)
    steepest = A.T @ y
    w0 = np.linalg.svd(A)[2][3] - size * steepest / np.linalg.norm(steepest)
    edge = math.sqrt(c) * size / math.hypot(1.0, size)
    # so near that an integration loses the digits, and not so near that those of w0 are lost
    apart = 1e-3 if 1e-10 <= size <= 1e-8 else 0.1
    for factor in (1.0 - apart, 1.0 + apart):
        found = theory.scale_sign(wn.LeastSquares(A, y), factor * edge, w0, c)
        assert found.applies
        assert found.sign == (1.0 if factor > 1 else -1.0)


@pytest.mark.parametrize("step", [1e-8, 1e-12, 1e-18, 1e-24, 1e-100])
def test_a_bracket_over_many_decades(step):
    """One sample: ‖x‖² is at least y²·γ/2 − … → 3/2 for γ = 3, and at most (2 + …)/η."""
    low, high = theory.norm_bracket(wn.LeastSquares([[1.0, 0.0]], [1.0]), step, 3.0)
    assert low == pytest.approx(math.sqrt(1.5), rel=10 * step + 1e-12)
    assert high == pytest.approx(math.sqrt(2.0 / step), rel=10 * step + 1e-12)


def test_formulas_at_the_ends_of_the_numbers():
    with mpmath.workdps(400):
        wanted = 1 / (2 * mpmath.log(mpmath.mpf(10) ** 400))
        assert theory.ratio_for_share(1e200, 1.0, 1e-200) == pytest.approx(float(wanted), rel=1e-12)
        g0, gstar = mpmath.mpf(1.76e-188), mpmath.mpf(5.8e153)
        wanted = float(gstar**2 / (2 * mpmath.log(gstar / g0)))
    found = theory.wn_beats_gd(1.76e-188, 5.8e153, 0.99999, 263.8)
    assert found.closer
    assert found.critical_ratio == pytest.approx(wanted, rel=1e-12)
    assert theory.wn_beats_gd(2.0748, 4.844e-292, 1.0, 2.387).closer
    assert theory.wn_beats_gd(-2.07e140, 3.46e-199, 1.0, 3.16e-33).closer
    near = 1.0 - 1e-8
    exact = 1.0 / math.sqrt((1.0 - near) * (1.0 + near))
    assert theory.wn_beats_gd(1.0, 1.0, near).threshold == pytest.approx(exact, rel=1e-15)
    assert theory.perp_after(2.87e-158, 36.0, 2.2e-247, 2).value == pytest.approx(1.0, rel=1e-15)
    assert theory.perp_after(1e-170, 1e20, 1.0, 100).value == pytest.approx(1.0, rel=1e-15)


@pytest.mark.parametrize("seed", range(12))
def test_weights_over_many_decades_interpolate_or_warn(seed):
    """Also where rounding costs digits and no rank."""
    for attempt in range(20):
        rng = np.random.default_rng([889_300 + seed, attempt])
        count, span = int(rng.integers(3, 12)), rng.uniform(8, 20)
        X, y = rng.normal(size=(count, 3)), rng.normal(size=count)
        weights = 10 ** rng.uniform(-span / 2, span / 2, size=count)
        model = wn.WeightNormKernelRegressor(gamma=1.0)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model.fit(X, y, sample_weight=weights)
        missed = np.abs(model.predict(X) - y).max() / np.abs(y).max()
        assert caught or missed <= 1.01e-6
        assert missed > 1e-9 or not caught


def test_a_class_that_is_no_number_is_a_damaged_model(tmp_path):
    table = tmp_path / "data.csv"
    table.write_text("a,b,y\n1,2,0\n2,1,1\n3,5,0\n4,2,1\n5,5,1\n6,1,0\n", encoding="utf-8")
    model = tmp_path / "model.json"
    assert run("fit", table, "--target", "y", "--classify", "--out", model).exit_code == 0
    text = model.read_text(encoding="utf-8")
    for label in ("NaN", "Infinity", "1e999"):
        model.write_text(text.replace('"classes": [\n  0', f'"classes": [\n  {label}'), "utf-8")
        assert model.read_text(encoding="utf-8") != text
        result = run("predict", model, table)
        assert result.exit_code == 2
        assert "model.json is damaged" in plain(result.stderr)


@pytest.mark.parametrize("ending", ["npz", "csv"])
def test_a_name_that_the_system_refuses_is_a_file_that_is_not_there(tmp_path, ending):
    name = "x" * 300 + "." + ending
    text = f'name = "n"\n[problems]\nkind = "data"\nfile = "{name}"\n'
    text += 'target = "y"\n' if ending == "csv" else ""
    text += '[starts]\nscales = [1.0]\n[methods.gd]\nkind = "gd"\nstep = 0.1\n'
    result = run("sweep", write(tmp_path, text), "--out", tmp_path)
    assert result.exit_code == 2
    assert "does not exist" in plain(result.stderr)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no pipes here")
def test_pipes_are_not_waited_for(tmp_path):
    pipe = tmp_path / "pipe.toml"
    os.mkfifo(pipe)
    with pytest.raises(sweeps.ConfigError, match="it is not a file"):
        sweeps.load_config(pipe)
    config = sweeps.load_config(write(tmp_path))
    first = next(iter(plan.SweepPlan(config)))
    os.mkfifo(store.shard_path(tmp_path, first))
    assert store.read_arrays(store.shard_path(tmp_path, first), first.key, ["norm"]) is None
    store.shard_path(tmp_path, first).unlink()
    store.shard_path(tmp_path, first).symlink_to("/dev/zero")
    assert store.read_arrays(store.shard_path(tmp_path, first), first.key, ["norm"]) is None


@pytest.mark.parametrize("shape", [(3, 8), (8, 3)])
def test_a_problem_is_pickled_after_its_minimum_too(shape):
    A = np.random.default_rng(0).normal(size=shape)
    y = np.arange(shape[0]) % 2
    problem = wn.GeneralizedLinear(A, y, loss="huber")
    found = problem.minimum()
    again = pickle.loads(pickle.dumps(problem)).minimum()
    np.testing.assert_array_equal(again.weights, found.weights)


@pytest.mark.parametrize("model", [wn.WeightNormRegressor(), wn.WeightNormKernelRegressor()])
def test_targets_of_different_lengths_are_named(model):
    with pytest.raises(ValueError, match="y is not a rectangular array of numbers"):
        model.fit([[1.0], [2.0]], [[1.0, 2.0], [3.0]])


def test_a_power_of_the_norm_that_overflows_is_recorded_as_infinite():
    step = wn.schedules.scaled(0.01, 0.0, -1e6)
    rule = wn.WeightNorm(0.1, step, initial_norm=0.1)
    problem = wn.datasets.make_regression(3, 6, seed=0)
    result = wn.run(rule, problem, 0.5, np.ones(6), record=1, keep="invariant", max_steps=5)
    assert result.status == "diverged"
    assert np.isinf(result.history.ratio).all()


@pytest.mark.parametrize("kind", [wn.WeightNormRegressor, wn.WeightNormClassifier])
def test_a_direction_whose_squares_vanish_is_one_all_the_same(kind):
    rng = np.random.default_rng(0)
    X, y, w0 = rng.normal(size=(6, 9)), np.arange(6) % 2, rng.normal(size=9)
    options = {"max_iter": 50, "scale": 1.0, "fit_intercept": False}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found, wanted = (
            kind("gd", direction=factor * w0, **options).fit(X, y).coef_ for factor in (1e-300, 1.0)
        )
    np.testing.assert_allclose(found, wanted, rtol=1e-9)


def test_steps_so_small_that_none_are_coarse_enough():
    A, y, w0 = (
        np.random.default_rng(s).normal(size=n) for s, n in ((69, (3, 7)), (73, 3), (985, 7))
    )
    problem = wn.LeastSquares(A / 2.6458, 1e3 * y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = theory.finite_step_limit(problem, 0.0, w0, "wn", 0.1, 2e-308)
    assert not found.applies


def test_a_step_too_far_does_not_spoil_the_intercept_of_the_next():
    X, start = (1e3 * np.random.default_rng(545).normal(size=(6, 3)),
                np.random.default_rng(247).normal(size=3))  # fmt: skip
    y = (np.random.default_rng(760).normal(size=6) > 0) * 1
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = wn.WeightNormClassifier("wn", max_iter=20, coef_init=start, tol=1e-4).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert np.isfinite(model.intercept_).all()
