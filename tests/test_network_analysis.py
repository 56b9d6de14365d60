"""The analysis of the network experiment on made-up numbers, and its stored page; no PyTorch."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from commands import run
from pages import ROOT, load
from scipy import stats

from weightnorm.experiments.network import analysis, protocol
from weightnorm.experiments.network.analysis import Interval, interval, over_settings, verdict
from weightnorm.experiments.network.dataset import from_dataset, to_dataset
from weightnorm.experiments.network.hypotheses import HYPOTHESES
from weightnorm.experiments.network.protocol import ARMS, FULL, Shard
from weightnorm.experiments.network.results import Results
from weightnorm.experiments.network.shard import shapes

SIZE = replace(FULL, seeds=6, unseen_seeds=4)
BY_ID = {each.id: each for each in HYPOTHESES}


def made_up(seed=0, size=SIZE):
    rng = np.random.default_rng(seed)
    arrays = {}
    for setting in size.settings:
        for arm in ARMS:
            asked = shapes(Shard(size, setting, arm))
            arrays[setting.name, arm.name] = {n: rng.random(shape) for n, shape in asked.items()}
    return Results(size, arrays)


ENTROPY = [setting.name for setting in FULL.settings if setting.loss == "entropy"]
WIDE = [name for name in ENTROPY if "5000" not in name]


def error(found, setting, arm, scale):
    return 100 * found.arrays[setting, arm]["test_error"][[0.1, 0.3, 1, 3, 10].index(scale)]


def best(found, setting, arm):
    tried = found.arrays[setting, arm]["validation_error"].mean(axis=-1).min(axis=-1)
    return error(found, setting, arm, [0.1, 0.3, 1, 3, 10][tried.argmin()])


def cost(found, setting, arm, kept):
    arrays = found.arrays[setting, arm]
    ends = arrays["kept_test_error"] if kept else arrays["test_error"][[0, 4]]
    return 100 * (ends[0] + ends[1]) / 2 - error(found, setting, arm, 1)


def unseen(found, setting, arm):
    return [found.arrays[setting, arm][f"unseen_{k}"] for k in ("start", "reached", "predicted")]


def mean_over(names, compute):
    return sum(compute(name) for name in names) / len(names)


def difference(compute, one, other, names=ENTROPY):
    return lambda f: mean_over(names, lambda s: compute(f, s, one) - compute(f, s, other))


def at_1(found, setting, arm):
    return error(found, setting, arm, 1)


def forgotten(found, setting, arm):
    begun, ended, _ = unseen(found, setting, arm)
    return (np.log(ended) - np.log(begun)).mean(axis=0)


def gained(found):
    def one(setting, arm):
        begun, ended, predicted = unseen(found, setting, arm)
        return ((abs(predicted - ended) - abs(begun - ended)) / (begun + ended)).mean(axis=0)

    return mean_over(WIDE, lambda s: (one(s, "wn") + one(s, "rpgd")) / 2)


KNOWN = {
    "direction-only": difference(at_1, "frozen", "sgd"),
    "direction-only-best": difference(best, "frozen", "sgd"),
    "beyond-decay": difference(best, "frozen", "sgd-decay"),
    "freeze-first": difference(at_1, "freeze-thaw", "rpgd"),
    "order": difference(at_1, "freeze-thaw", "thaw-freeze"),
    "wn-robust": difference(lambda *a: cost(*a, True), "wn", "sgd"),
    "rpgd-robust": difference(lambda *a: cost(*a, True), "rpgd", "sgd"),
    "wn-robust-tuned": difference(lambda *a: cost(*a, False), "wn", "sgd"),
    "rpgd-robust-tuned": difference(lambda *a: cost(*a, False), "rpgd", "sgd"),
    "wn-same-optimum": difference(at_1, "wn", "sgd"),
    "rpgd-same-optimum": difference(at_1, "rpgd", "sgd"),
    "wn-forgets": difference(forgotten, "wn", "sgd", WIDE),
    "rpgd-forgets": difference(forgotten, "rpgd", "sgd", WIDE),
    "end-predicted": gained,
}


def test_every_hypothesis_computes_what_it_says():
    found = made_up()
    assert list(KNOWN) == [each.id for each in HYPOTHESES]
    for each in HYPOTHESES:
        values = each.compute(found)
        assert values.shape == ((4,) if each.unit != "percentage points" else (6,))
        assert values == pytest.approx(KNOWN[each.id](found), rel=1e-12), each.id


def test_a_failed_run_is_left_out_of_both_arms():
    found = made_up()
    for name in ("unseen_start", "unseen_reached", "unseen_predicted"):
        found.arrays["digits-500-mlp", "wn"][name][2, 1] = np.nan
    values = BY_ID["wn-forgets"].compute(found)
    assert np.isfinite(values).all()
    for arm in ("wn", "sgd"):
        found.arrays["digits-500-mlp", arm]["unseen_reached"][2, 1] = np.nan
    assert values == pytest.approx(BY_ID["wn-forgets"].compute(found))


def test_intervals_are_students():
    rng = np.random.default_rng(1)
    for count in (2, 5, 20):
        values = rng.standard_normal(count) + 0.3
        for level in (0.95, 0.99):
            known = stats.ttest_1samp(values, 0.0).confidence_interval(level)
            found = interval(values, level)
            assert (found.low, found.high) == pytest.approx((known.low, known.high))
            assert found.mean == pytest.approx(values.mean())
            assert found.count == count
    assert interval([1.0]) == Interval(1.0, -np.inf, np.inf, 1)


def test_intervals_cover_at_their_level():
    rng = np.random.default_rng(2)
    found = [interval(rng.standard_normal(20), 0.95) for _ in range(4_000)]
    inside = np.mean([each.low <= 0.0 <= each.high for each in found])
    assert inside == pytest.approx(0.95, abs=4 * np.sqrt(0.95 * 0.05 / 4_000))


@pytest.mark.parametrize(
    ("kind", "low", "high", "expected"),
    [
        ("less", -2.0, -0.1, "holds"),
        ("less", 0.1, 0.2, "reversed"),
        ("less", -1.0, 0.1, "not shown"),
        ("same", -0.29, 0.29, "holds"),
        ("same", -0.29, 0.31, "not shown"),
        ("same", 0.31, 0.5, "differs"),
        ("same", -0.5, -0.31, "differs"),
    ],
)
def test_verdicts(kind, low, high, expected):
    assert verdict(kind, Interval((low + high) / 2, low, high, 20)) == expected


def test_the_stricter_interval_decides():
    found = made_up()
    for answer in analysis.answers(found):
        known = interval(answer.hypothesis.compute(found), 1.0 - 0.05 / len(HYPOTHESES))
        assert answer.strict == known
        assert answer.verdict == verdict(answer.hypothesis.kind, known)
        assert answer.strict.low < answer.interval.low < answer.interval.high < answer.strict.high


def test_intervals_over_settings():
    found = made_up()
    means = [(error(found, s, "frozen", 1) - error(found, s, "sgd", 1)).mean() for s in ENTROPY]
    assert over_settings(BY_ID["direction-only"], found) == interval(means)
    assert over_settings(BY_ID["wn-forgets"], found).count == len(WIDE) == 8


def test_the_dataset_goes_there_and_back():
    found = made_up()
    again = from_dataset(to_dataset(found))
    assert again.size == SIZE
    for each in HYPOTHESES:
        assert each.compute(again) == pytest.approx(each.compute(found), rel=1e-4, abs=1e-4)


def test_a_key_changes_with_all_that_numbers_depend_on():
    setting, arm = FULL.settings[0], ARMS[0]
    others = [
        Shard(replace(FULL, seeds=21), setting, arm),
        Shard(replace(FULL, rates=(0.1,)), setting, arm),
        Shard(replace(FULL, steps=(("mnist", 500, 401),)), setting, arm),
        Shard(FULL, FULL.settings[1], arm),
        Shard(FULL, setting, ARMS[1]),
        Shard(FULL, setting, replace(arm, values=(1.0, 0.1, 0.3, 4.0))),
    ]
    keys = {Shard(FULL, setting, arm).key, *(each.key for each in others)}
    assert len(keys) == 7
    fewer = replace(FULL, settings=FULL.settings[:1])
    assert Shard(fewer, setting, arm).key in keys  # other settings do not matter


def test_all_arms_have_one_budget():
    assert {len(arm.values) for arm in ARMS} == {4}
    assert FULL.budget == 22
    assert len(protocol.shards(FULL)) == len(FULL.settings) * len(ARMS) == 98


def test_the_stored_page_is_what_was_measured():
    tool = load(ROOT / "tools" / "network.py")
    assert tool.written() == tool.PAGE.read_text(encoding="utf-8")
    found = from_dataset(tool.load(tool.STORED.read_bytes()))
    assert found.size == FULL
    cells = len(FULL.settings) * len(ARMS)
    count = cells * (7 * FULL.seeds + 5 * FULL.budget)  # five start scales, and two kept
    assert f"{count:,} trained\nnetworks" in (ROOT / "docs/guides/questions.md").read_text("utf-8")
    for kind in tool.KINDS:
        assert (tool.IMAGES / f"{kind}.png").exists()


def test_the_command_says_what_it_needs_and_goes_by_itself(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    out = tmp_path / "out"
    told = run("reproduce", "network", "--quick", "--out", out)
    assert told.exit_code == 2
    assert "make install-torch" in told.stderr
    for more in (["figure-1"], ["--open"]):
        told = run("reproduce", "network", *more, "--out", out)
        assert told.exit_code == 2
        assert "network goes by itself" in told.stderr
    assert not out.exists()
