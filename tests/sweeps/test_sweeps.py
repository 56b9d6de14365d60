"""Sweeps on disk: files that are wrong, kills, corruption, full disks, two writers."""

import numpy as np
import pytest

import weightnorm as wn
from tests.support.sweep_cases import TEXT, data_of, same_numbers, write
from weightnorm._support.files import UnwritableError
from weightnorm.sweeps import load_config, run_sweep, store
from weightnorm.sweeps.plan import SweepPlan, compute_shard, shapes_of


def test_the_file_is_a_labelled_grid_that_equals_direct_runs(config, tmp_path):
    outcome = run_sweep(config, tmp_path / "out")
    assert (outcome.computed, outcome.reused) == (20, 0)
    data = data_of(outcome.path)
    assert dict(data.sizes) == {
        "condition_number": 2,
        "seed": 5,
        "algorithm": 2,
        "start": 2,
        "scale": 4,
    }
    assert data.condition_number.values.tolist() == [1.0, 3.0]
    assert {"configuration", "versions", "command"} <= set(data.attrs)
    problem = wn.datasets.make_regression(4, 9, 3.0, 3.0, seed=2)
    w0 = wn.datasets.random_direction(9, 2 * 1_000_003 + 1)
    method = wn.RPGD(wn.schedules.curvature(), wn.schedules.two_phase(0.0, 0.1, 50))
    result = wn.run(method, problem, 3.0, w0, max_steps=3000)
    entry = data.isel(scale=3).sel(condition_number=3.0, seed=2, start=1, algorithm="two-phase")
    assert float(entry.norm) == pytest.approx(result.norm, rel=1e-12)
    assert int(entry.num_steps) == result.num_steps


def test_a_second_time_nothing_is_computed(config, tmp_path):
    first = run_sweep(config, tmp_path / "out")
    again = run_sweep(config, tmp_path / "out")
    assert (again.computed, again.reused) == (0, 20)
    assert data_of(first.path).identical(data_of(again.path))


def test_a_changed_file_computes_only_what_changed(config, tmp_path):
    run_sweep(config, tmp_path / "out")
    other = load_config(write(tmp_path, TEXT.replace("step = 0.1\n", "step = 0.2\n")))
    with pytest.raises(UnwritableError, match=r"methods\.gd\.step was 0\.1 there and is 0\.2 now"):
        run_sweep(other, tmp_path / "out")
    again = run_sweep(other, tmp_path / "out", overwrite=True)
    assert again.computed == 10  # gradient descent only


@pytest.mark.parametrize("damage", ["truncate", "flip", "foreign", "empty", "text"])
def test_a_damaged_or_foreign_shard_is_computed_again(config, tmp_path, damage):
    clean = data_of(run_sweep(config, tmp_path / "clean").path)
    run_sweep(config, tmp_path / "out")
    folder = tmp_path / "out" / "test.shards"
    victim, donor = sorted(folder.glob("*.npz"))[:2]
    content = bytearray(victim.read_bytes())
    if damage == "truncate":
        victim.write_bytes(content[: len(content) // 2])
    elif damage == "flip":
        content[content.index(b"norm.npy") + 170] ^= 0xFF  # a number, not a header's padding
        victim.write_bytes(content)
    elif damage == "foreign":
        victim.write_bytes(donor.read_bytes())
    else:
        victim.write_bytes(b"" if damage == "empty" else b"not a shard")
    outcome = run_sweep(config, tmp_path / "out")
    assert (outcome.computed, outcome.damaged) == (1, 1)
    assert same_numbers(data_of(outcome.path), clean)


def test_a_shard_with_other_numbers_under_the_right_name_is_found_out(config, tmp_path):
    """Not damaged in transit but wrong: its arrays do not match its digest."""
    run_sweep(config, tmp_path / "out")
    folder, shard = tmp_path / "out" / "test.shards", next(iter(SweepPlan(config)))
    path = store.shard_path(folder, shard)
    with np.load(path) as file:
        content = dict(file)
    content["norm"] = content["norm"] + 1.0
    np.savez(path, **content)
    assert store.read_shard(folder, shard, shapes_of(config)) is None


def test_a_shard_of_another_shape_is_computed_again(config, tmp_path):
    shard = next(iter(SweepPlan(config)))
    arrays = compute_shard(config, shard)
    store.write_shard(tmp_path, shard, arrays)
    assert store.read_shard(tmp_path, shard, shapes_of(config)) is not None
    store.write_shard(tmp_path, shard, {name: values[:1] for name, values in arrays.items()})
    assert store.read_shard(tmp_path, shard, shapes_of(config)) is None


def test_pickles_are_never_loaded(config, tmp_path):
    folder, shard = tmp_path, next(iter(SweepPlan(config)))
    np.savez(store.shard_path(folder, shard), key=np.array(shard.key), norm=np.array([object()]))
    assert store.read_shard(folder, shard, shapes_of(config)) is None
