"""Sweep files with extreme or foolish values: refused by key, or run; and large plans."""

import hashlib
import json

import numpy as np
import pytest

from weightnorm._support.sources import SWEEPS, code
from weightnorm.sweeps import execute, load_config, run_sweep
from weightnorm.sweeps.config import SweepConfig
from weightnorm.sweeps.load import ConfigError
from weightnorm.sweeps.plan import FORMAT, SweepPlan

TEXT = """
name = "test"
tolerance = 1e-5
max_steps = 300

[problems]
num_samples = [4]
num_features = [9]
condition_number = [3.0]
solution_norm = [3.0]
seeds = 1

[starts]
scales = [0.5, 3.0]
num_directions = 2

[methods.rpgd]
kind = "rpgd"
direction_step = { schedule = "curvature" }
scale_step = 0.1

[methods.wn]
kind = "wn"
direction_step = 0.1
scale_step = 0.1
initial_norm = 2.0
"""
HUGE = "1" + "0" * 30


def load(folder, old, new):
    assert old in TEXT
    path = folder / "sweep.toml"
    path.write_text(TEXT.replace(old, new), encoding="utf-8")
    return load_config(path)


def ranged(start, stop, num=3, spacing="geometric"):
    return f'{{ start = {start}, stop = {stop}, num = {num}, spacing = "{spacing}" }}'


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("1e-5", "inf", "tolerance: should be a finite number, got inf"),
        ("1e-5", "nan", "tolerance: should be greater than or equal to 0, got nan"),
        ("1e-5", "true", "tolerance: should be a number, not true or false, got true"),
        ("1e-5", '"1"', "tolerance: should be a number, not text, got '1'"),
        ("1e-5", "1" + "0" * 400, "tolerance: should be a number below 1e300, got 1000"),
        ("300", HUGE, f"max_steps: should be less than or equal to 1{'0' * 18}, got {HUGE}"),
        ("300", "true", "max_steps: should be a number, not true or false"),
        ("300", "1" + "0" * 5000, "not a TOML file: Exceeds the limit"),
        (
            "[4]",
            "[10_000_000_000]",
            "problems: num_samples × num_features must be at most 1,000,000,000",
        ),
        ("[4]", f"[{HUGE}]", "problems.num_samples.0: should be less than"),
        (
            "[3.0]\nsol",
            "[inf]\nsol",
            "problems.condition_number.0: should be a finite number, got inf",
        ),
        ("[3.0]\nsol", "[nan]\nsol", "problems.condition_number.0: should be"),
        (
            "[3.0]\nseeds",
            "[inf]\nseeds",
            "problems.solution_norm.0: should be a finite number, got inf",
        ),
        ("[3.0]\nseeds", "[1e160]\nseeds", "problems.solution_norm.0: should be at most 1e+140"),
        ("seeds = 1", "seeds = true", "problems.seeds: should be a number, not true or false"),
        (
            "seeds = 1",
            f"seeds = [{HUGE}]",
            "problems.seeds.0: should be less than or equal to 9223372036854775807",
        ),
        (
            "seeds = 1",
            "seeds = {}",
            "problems.seeds: should be a number of seeds or a list of them",
        ),
        ("seeds = 1", "seeds = 10_000_000_000", "runs, got 80,000,000,000; split the sweep"),
        ("[0.5, 3.0]", "[inf]", "starts.scales.0: should be a finite number, got inf"),
        (
            "[0.5, 3.0]",
            "[1e200]",
            "starts.scales.0: should be at most 1e+140 in size, or its square",
        ),
        ("[0.5, 3.0]", "[true]", "starts.scales.0: should be a number, not true or false"),
        ("[0.5, 3.0]", "3.0", "starts.scales: should be a list of numbers or a range"),
        (
            "[0.5, 3.0]",
            ranged(0.0, 1.0),
            "starts.scales: a geometric range cannot reach 0, got start = 0 and",
        ),
        (
            "[0.5, 3.0]",
            ranged(-1.0, 0.0),
            "of a geometric range must have one sign, got start = -1 and stop = 0",
        ),
        (
            "[0.5, 3.0]",
            ranged(-1.0, 1.0),
            "of a geometric range must have one sign, got start = -1 and stop = 1",
        ),
        (
            "[0.5, 3.0]",
            ranged("inf", 1.0),
            "starts.scales.start: should be a finite number, got inf",
        ),
        (
            "[0.5, 3.0]",
            ranged(1, 2, 10**10),
            "starts.scales.num: should be less than or equal to 1000000, got 1000",
        ),
        (
            "[0.5, 3.0]",
            ranged(1, 2, "true"),
            "starts.scales.num: should be a number, not true or false",
        ),
        (
            "num_directions = 2",
            f"num_directions = {10**10}",
            "starts.num_directions × problems.num_features must",
        ),
        (
            "scale_step = 0.1\n\n",
            "scale_step = true\n\n",
            "methods.rpgd.scale_step: should be a number, not true",
        ),
        (
            "scale_step = 0.1\n\n",
            "scale_step = inf\n\n",
            "methods.rpgd.scale_step: should be a finite number, got inf",
        ),
        (
            "scale_step = 0.1\n\n",
            "scale_step = []\n\n",
            "methods.rpgd.scale_step: should be a number or a schedule",
        ),
        (
            '{ schedule = "curvature" }',
            '{ schedule = "curvature", factor = inf }',
            "direction_step.factor: should be",
        ),
        (
            '{ schedule = "curvature" }',
            '{ schedule = "constant", value = true }',
            "direction_step.value: should be",
        ),
        (
            '{ schedule = "curvature" }',
            f'{{ schedule = "two_phase", before = 0.1, after = 0.1, switch = {HUGE} }}',
            "methods.rpgd.direction_step.switch: should be less than",
        ),
        (
            "initial_norm = 2.0",
            "initial_norm = inf",
            "methods.wn.initial_norm: should be a finite number",
        ),
        (
            "initial_norm = 2.0",
            "initial_norm = 1e300",
            "methods.wn: initial_norm must be between 1e-100 and 1e100",
        ),
        (
            "[methods.wn]",
            r'[methods."a\u0000b"]',
            r"methods.'a\x00b': a method's name must be printable text",
        ),
        (
            "[methods.wn]",
            '[methods.""]',
            "a method's name must be printable text, got ''; rename it",
        ),
        ('"test"', r'"te\u0000st"', "name: should have letters, digits"),
        ('"test"', '"' + "x" * 300 + '"', "name: should have at most 200 characters"),
        ("[starts]", "a = " + "[" * 50_000 + "\n[starts]", "not a TOML file"),
    ],
)
def test_a_foolish_value_is_named_by_its_key(tmp_path, old, new, message):
    with pytest.raises(ConfigError) as caught:
        load(tmp_path, old, new)
    assert message in str(caught.value)
    assert "\0" not in str(caught.value)
    if "1 problem" in str(caught.value):
        assert len(str(caught.value).splitlines()) == 2  # one thing wrong, one line about it


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1e-5", "1e308"),
        ("1e-5", "0"),
        ("300", "3e2"),
        ("[3.0]\nsol", "[1e308]\nsol"),
        ("[3.0]\nseeds", "[0]\nseeds"),
        ("seeds = 1", f"seeds = [{2**63 - 1}]"),
        ("[0.5, 3.0]", ranged(-2.0, -1.0)),
        ("[0.5, 3.0]", "[1e140, 1e-308, 0, -1]"),
        ("scale_step = 0.1\n\n", "scale_step = 1e308\n\n"),
        ("[methods.wn]", '[methods."ö × [/b]"]'),
    ],
)
def test_an_extreme_value_runs(tmp_path, old, new):
    assert run_sweep(load(tmp_path, old, new), tmp_path / "out", threads=1).path.exists()


def test_what_turns_out_impossible_is_named_by_its_values(tmp_path, monkeypatch):
    """Not every bad combination can be foreseen; a bare exception of the run still names the
    shard.
    """
    config = load(tmp_path, "1e-5", "1e-6")
    for error in (
        ValueError("no good"),
        OverflowError("no good"),
        np.linalg.LinAlgError("no good"),
        MemoryError(),
    ):

        def fail(config, shard, error=error):
            raise error

        monkeypatch.setattr(execute, "compute_shard", fail)
        with pytest.raises(
            ConfigError,
            match=r"method '(rpgd|wn)' .* num_samples = 4, .* seed = 0 cannot be run: "
            r"(no good|out of mem)",
        ):
            run_sweep(config, tmp_path / "out", threads=1)


def test_a_million_seeds_begin_at_once(tmp_path, monkeypatch):
    """Only the shards near the front of the queue are made before the first is computed."""
    config, made, shards = load(tmp_path, "seeds = 1", "seeds = 1_000_000"), [0], SweepPlan.at

    def counted(plan, places):
        for shard in shards(plan, places):
            made[0] += 1
            yield shard

    def stop(config, shard):
        raise KeyboardInterrupt

    monkeypatch.setattr(SweepPlan, "at", counted)
    monkeypatch.setattr(execute, "compute_shard", stop)
    with pytest.raises(KeyboardInterrupt):
        run_sweep(config, tmp_path / "out", threads=2)
    assert 0 < made[0] < 100
    assert len(SweepPlan(config)) == 2_000_000


def test_keys_are_hashes_of_all_that_a_shard_depends_on(tmp_path):
    """Written out here once more: stores of today must be found by later versions."""
    config = load(tmp_path, "seeds = 1", "seeds = [7, 12345678901234567]")
    assert isinstance(config, SweepConfig)
    shards = list(SweepPlan(config))
    assert [(shard.seed, shard.method) for shard in shards[:3]] == [
        (7, "rpgd"),
        (7, "wn"),
        (12345678901234567, "rpgd"),
    ]
    for shard in shards:
        content = {
            "format": FORMAT,
            "problem": shard.problem | {"loss": "squared"},
            "seed": shard.seed,
            "method": config.methods[shard.method].model_dump(mode="json"),
            "scales": [0.5, 3.0],
            "num_directions": 2,
            "tolerance": 1e-5,
            "max_steps": 300,
        }
        asked = hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
        assert shard.key == f"{asked}@{code(SWEEPS)}"
