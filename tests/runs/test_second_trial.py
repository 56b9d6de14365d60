"""What a second trial by fresh eyes found: going on from results, far-out formulas, files."""

import errno
import json
import os
import pickle
from pathlib import Path

import mpmath
import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import weightnorm as wn
from tests.support.commands import plain, run
from tests.support.sweep_cases import write
from weightnorm import sweeps, theory
from weightnorm._support.agreement import agree
from weightnorm.problems.losses import Poisson
from weightnorm.sweeps import execute, plan, store


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("coordinates", ["reduced", "full"])
def test_a_unit_direction_leaves_another_method_its_own_norm(seed, coordinates):
    """‖w‖ of rPGD is 1 to rounding, and no rounding is worth keeping."""
    problem = wn.datasets.make_regression(seed=seed)
    w0 = wn.datasets.random_direction(50, seed=seed)
    first = wn.run(wn.RPGD(0.01, 0.01), problem, 2.0, w0, max_steps=30, coordinates=coordinates)
    rule, limits = wn.WeightNorm(0.01, 0.01, initial_norm=3.0), {"max_steps": 50, "tolerance": 0}
    on = wn.run(rule, problem, start=first, **limits)
    anew = wn.run(rule, problem, first.scale, first.direction, **limits)
    assert on.direction_norm == pytest.approx(anew.direction_norm, rel=1e-12)
    np.testing.assert_allclose(on.weights, anew.weights, rtol=1e-9, atol=1e-12)


def test_a_pickled_result_goes_on_where_a_probe_overflows():
    rng = np.random.default_rng(0)
    A = 300.0 * rng.normal(size=(6, 20))
    problem = wn.GeneralizedLinear(A, [1.0, 0, 2, 1, 3, 1], loss="poisson")
    rule, limits = wn.GradientDescent(0.002 / 300**2, momentum=0.9), {"tolerance": 0}
    first = wn.run(rule, problem, 0.1 / 300, rng.normal(size=20), max_steps=100, **limits)
    whole = wn.run(rule, problem, start=first, max_steps=100, **limits)
    back = wn.run(rule, problem, start=pickle.loads(pickle.dumps(first)), max_steps=100, **limits)
    assert back.total_steps == whole.total_steps == 200
    np.testing.assert_array_equal(back.weights, whole.weights)


def test_numbers_that_are_not_finite_agree_with_their_like_only():
    with_inf = np.array([1.0, np.inf, np.nan])
    assert agree(with_inf, with_inf.copy())
    assert not agree(with_inf, np.array([1.0, -np.inf, np.nan]))
    assert not agree(with_inf, np.array([1.0, np.inf, 2.0]))
    assert not agree(with_inf, np.array([1.1, np.inf, np.nan]))
    assert not agree(np.array([1.0]), np.array([np.inf]))


@pytest.mark.parametrize("size", [1e-9, 1e-7, 1e-6, 1e-4, 0.3])
@pytest.mark.parametrize("steps", [0, 1, 7])
def test_what_is_left_at_a_scale_far_above_the_solution(size, steps):
    found = theory.perp_after(size, 1.0 / size, 1.0, steps).value
    with mpmath.workdps(60):
        kappa, q = mpmath.mpf(size) ** 2, mpmath.mpf(size)
        inverse = kappa**steps / q**2 + (kappa**steps - 1) / (kappa - 1)
        wanted = float(1 / mpmath.sqrt(inverse))
    assert found == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("share", [1e3, 1e4, 1e5, 1e7, 1e9])
def test_a_critical_ratio_far_below_the_solution(share):
    found = theory.wn_beats_gd(1.3, 1.3 * share, 0.04, 1.0).critical_ratio
    with mpmath.workdps(60):
        g0, gstar, q0 = mpmath.mpf(1.3), mpmath.mpf(1.3 * share), mpmath.mpf(0.04)
        D = gstar**2 - g0**2 * (1 - q0**2)
        wanted = float(D / mpmath.log(1 + D / g0**2))
    assert found == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize("command", [["fit", "LOOP", "--target", "y"], ["predict", "LOOP", "LOOP"]])
def test_a_link_to_itself_is_an_error_in_a_sentence(tmp_path, command):
    loop = tmp_path / "loop.csv"
    loop.symlink_to(loop)
    done = run(*(loop if word == "LOOP" else word for word in command))
    assert done.exit_code == 2
    assert "loop.csv" in plain(done.output)


def test_a_shard_that_another_process_has_just_finished_is_not_damaged(tmp_path, monkeypatch):
    config = sweeps.load_config(write(tmp_path))

    def finished_meanwhile(folder, shard, shapes):
        """Missing when looked at, and there a moment later."""
        store.write_shard(folder, shard, plan.compute_shard(config, shard))

    monkeypatch.setattr(execute, "read_shard", finished_meanwhile)
    assert sweeps.run(config, tmp_path / "out").damaged == 0


def test_a_shard_that_was_there_and_cannot_be_read_is_damaged(tmp_path):
    config = sweeps.load_config(write(tmp_path))
    sweeps.run(config, tmp_path)
    first = next((tmp_path / "test.shards").glob("*.npz"))
    first.write_bytes(first.read_bytes()[:-7])
    again = sweeps.run(config, tmp_path)
    assert (again.damaged, again.computed) == (1, 1)


def test_a_folder_in_place_of_a_shard_is_named(tmp_path):
    config = sweeps.load_config(write(tmp_path))
    sweeps.run(config, tmp_path)
    first = next((tmp_path / "test.shards").glob("*.npz"))
    first.unlink()
    first.mkdir()
    with pytest.raises(sweeps.StoreError, match=f"{first.name} is a folder where a shard belongs"):
        sweeps.run(config, tmp_path)


DATA = """name = "own"
[problems]
kind = "data"
file = "own.npz"
[starts]
scales = [1.0]
[methods.gd]
kind = "gd"
step = 0.1
"""


@pytest.mark.parametrize("what", ["text", "pickle", "huge", "empty"])
def test_data_that_is_no_npz_or_cannot_be_squared_is_refused_by_name(tmp_path, what):
    path, config = tmp_path / "own.npz", tmp_path / "own.toml"
    config.write_text(DATA, encoding="utf-8")
    contents = {"text": b"a,y\n1,2\n", "pickle": pickle.dumps([1]), "empty": b""}
    if what == "huge":
        np.savez(path, A=np.full((2, 3), 1e200), y=np.ones(2))
    else:
        path.write_bytes(contents[what])
    done = run("sweep", config, "--out", tmp_path / "out")
    assert done.exit_code == 2
    said = (
        "A has a largest entry of 1e+200" if what == "huge" else "not a file of np.savez or np.save"
    )
    assert "own.npz" in plain(done.output)
    assert said in plain(done.output)
    assert "pickle" not in plain(done.output)


def test_a_picture_that_cannot_be_written_is_named_and_the_model_kept(tmp_path, monkeypatch):
    rows = "\n".join(f"{i},{i * i % 7},{3 * i}" for i in range(12))
    table = tmp_path / "data.csv"
    table.write_text(f"a,b,y\n{rows}\n", encoding="utf-8")
    picture, model, replace = tmp_path / "fit.png", tmp_path / "model.json", os.replace

    def full(source, target):
        if Path(target) == picture:
            raise OSError(errno.ENOSPC, "No space left on device")
        replace(source, target)

    monkeypatch.setattr(os, "replace", full)
    done = run("fit", table, "--target", "y", "--plot", picture, "--out", model)
    assert done.exit_code == 1
    assert f"--plot: {picture} could not be written: No space left" in plain(done.output)
    assert json.loads(model.read_text(encoding="utf-8"))["target"] == "y"


def test_a_solution_too_small_to_square_has_no_first_order():
    rng = np.random.default_rng(0)
    problem = wn.LeastSquares(rng.standard_normal((2, 9)), 1e-300 * rng.standard_normal(2))
    with pytest.raises(ValueError, match=r"x\* has a largest entry of .*rescale y and the scale"):
        theory.finite_step_limit(problem, 1.0, rng.standard_normal(9), "wn", 0.1)


@pytest.mark.parametrize("count", [5e-324, 1e-310, 1e-30])
def test_counts_whose_loss_would_overflow_are_refused(count):
    with pytest.raises(ValueError, match="y must be 0 or at least 1e-25"):
        wn.GeneralizedLinear(np.eye(2), [count, 1.0], "poisson")


@pytest.mark.parametrize("z", [-500.0, 0.0, 600.0, 650.0])
def test_the_smallest_counts_have_a_finite_loss(z):
    loss = Poisson.of(np.array([1e-25, 0.0]))
    np.testing.assert_allclose(loss.derivative(np.array([z, z])), np.exp(z), atol=2e-25)
    assert np.isfinite(loss.value(np.array([z, z]))).all()


@pytest.mark.parametrize("method", ["wn", "rpgd"])
def test_an_estimator_starts_in_the_datas_own_direction_without_a_warning(method):
    """x⊥ is 0 there and stays so; the limit says the same without a warning."""
    rng = np.random.default_rng(0)
    X, y = 1e-3 * rng.standard_normal((4, 8)), 1e-6 * rng.standard_normal(4)
    model = wn.WeightNormRegressor(method, scale=1.0, ratio=0.1, max_iter=100)
    with pytest.warns(ConvergenceWarning) as said:
        model.fit(X, y)
    assert len(said) == 1
    assert model.perp_norm_ == 0.0


@pytest.mark.parametrize("first_step", [0.0, 1e-9, 1e-5])
@pytest.mark.parametrize("rule", [wn.WeightNorm, wn.BatchNorm])
def test_a_norm_that_has_hardly_moved_is_kept_all_the_same(first_step, rule):
    problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, seed=0)
    frozen = wn.schedules.two_phase(first_step, 0.01, 50)
    first = wn.run(rule(frozen, 0.01), problem, 1.0, w0, max_steps=20)
    on = wn.run(wn.WeightNorm(0.01, 0.01, initial_norm=3.0), problem, start=first, max_steps=0)
    assert on.direction_norm == pytest.approx(first.direction_norm, rel=1e-12)
    assert on.direction_norm < 1.1
