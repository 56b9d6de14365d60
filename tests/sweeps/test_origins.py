"""Shards and the environments they come from: bits, versions, other machines."""

import json
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import weightnorm as wn
from weightnorm._support.blas import controller, one_thread
from weightnorm.sweeps import run, store
from weightnorm.sweeps.config import SweepConfig
from weightnorm.sweeps.environment import environment
from weightnorm.sweeps.plan import FORMAT, SweepPlan, compute_shard, shapes_of

METHODS = {"rpgd": {"kind": "rpgd", "direction_step": 0.1, "scale_step": 0.1}}


def config(**problems):
    return SweepConfig(
        name="a",
        starts={"scales": [1.0, 2.0]},
        methods=METHODS,
        problems={"seeds": 3} | problems,
        max_steps=500,
    )


def test_a_shard_does_not_depend_on_the_threads_of_blas():
    """This one does, without a limit: on two threads its factorisation rounds otherwise."""
    large = config(num_samples=200, num_features=1000, condition_number=100.0)
    shard, found = next(iter(SweepPlan(large))), []
    for threads in (1, 2):
        with threadpool_limits(limits=threads, user_api="blas"):
            found.append(compute_shard(large, shard))
    for name, values in found[0].items():
        assert values.tobytes() == found[1][name].tobytes(), name


def test_the_limit_is_kept_while_anyone_is_inside():
    def now():
        return {each["num_threads"] for each in controller().info()}

    with threadpool_limits(limits=2, user_api="blas"):
        before = now()  # a library that another test has loaded may have no second thread
        first, second = one_thread(), one_thread()
        with first:
            second.__enter__()
            assert now() == {1}
        assert now() == {1}  # the first has left, the second has not
        second.__exit__(None, None, None)
        assert now() == before
        assert 2 in before


def test_the_limit_holds_whoever_set_one_before():
    """threadpoolctl itself ignores all threads but the one that set a limit first."""
    found = []

    def look():
        with one_thread():
            found.append({each["num_threads"] for each in controller().info()})

    with threadpool_limits(limits=2, user_api="blas"):
        before = {each["num_threads"] for each in controller().info()}
        for _ in range(2):
            thread = threading.Thread(target=look)
            thread.start()
            thread.join()
        found.append({each["num_threads"] for each in controller().info()})
    assert found == [{1}, {1}, before]
    assert 2 in before


def test_a_shard_says_where_it_was_computed(tmp_path):
    small = config()
    outcome = run(small, tmp_path)
    shard = next(iter(SweepPlan(small)))
    stored = store.read_shard(tmp_path / "a.shards", shard, shapes_of(small))
    assert stored.environment == environment()
    content = json.loads(environment())
    assert content["weightnorm"] == wn.__version__
    assert content["numpy"] == np.__version__
    assert content["blas"]
    assert content["cpu"]
    assert outcome.note == ""


def rewrite(folder, config, change, where):
    shard = next(iter(SweepPlan(config)))
    arrays = dict(store.read_shard(folder, shard, shapes_of(config)).arrays)
    arrays["norm"] = arrays["norm"] * (1.0 + change)
    store.write_shard(folder, shard, arrays, where)


@pytest.mark.parametrize(
    ("change", "words"),
    [(0.0, "agrees to"), (1e-14, "agrees to 1e-14"), (1e-9, "DIFFERS by 1e-09")],
)
def test_shards_of_two_environments_are_compared(tmp_path, change, words):
    small = config()
    run(small, tmp_path)
    other = json.dumps(json.loads(environment()) | {"numpy": "1.99"}, sort_keys=True)
    rewrite(tmp_path / "a.shards", small, change, other)
    note = run(small, tmp_path).note
    assert "2 environments (numpy 1.99 or " in note
    assert words in note


def test_old_shards_are_named_and_left_alone(tmp_path):
    """Stores of the formats before: keys without code, files without an environment."""
    small = config()
    folder = tmp_path / "a.shards"
    folder.mkdir()
    arrays = compute_shard(small, next(iter(SweepPlan(small))))
    old = folder / ("f" * 32 + ".npz")
    np.savez(old, key=np.array("f" * 64), digest=np.array("d"), **arrays)
    newer = json.dumps({"weightnorm": "9.1"})
    store.write_arrays(folder / ("e" * 32 + ".npz"), "e" * 64, arrays, newer)
    (folder / "note.npz").write_bytes(b"no shard at all")
    outcome = run(small, tmp_path)
    assert outcome.computed == 3
    assert "(1 of 0.3.0 or earlier, 1 of 9.1)" in outcome.note
    assert old.exists()
    assert FORMAT == 4


def test_a_changed_configuration_is_no_stranger(tmp_path):
    run(config(), tmp_path)
    outcome = run(config(seeds=2), tmp_path, overwrite=True)
    assert (outcome.reused, outcome.note) == (2, "")
