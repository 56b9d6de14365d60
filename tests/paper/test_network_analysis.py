"""The analysis of the network experiment on made-up numbers, and its stored page; no PyTorch."""

import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from tests.support.commands import run
from tests.support.pages import ROOT, load
from weightnorm_paper.network import analysis, execute, protocol
from weightnorm_paper.network.analysis import Interval, interval, over_settings, verdict
from weightnorm_paper.network.dataset import from_dataset, to_dataset
from weightnorm_paper.network.hypotheses import HYPOTHESES
from weightnorm_paper.network.protocol import ARMS, FULL, NetworkShard
from weightnorm_paper.network.results import Results
from weightnorm_paper.network.shard import shapes
from weightnorm_paper.report.network import words as network_words
from weightnorm_paper.report.network.caveats import caveats
from weightnorm_paper.report.network.page import page
from weightnorm_paper.report.network.words import logarithmic, shown

STORED = ROOT / "benchmarks" / "network.nc"
SIZE = replace(FULL, seeds=6, unseen_seeds=4)
BY_ID = {each.id: each for each in HYPOTHESES}


def made_up(seed=0, size=SIZE):
    rng = np.random.default_rng(seed)
    arrays = {}
    for setting in size.settings:
        for arm in ARMS:
            asked = shapes(NetworkShard(size, setting, arm))
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
        NetworkShard(replace(FULL, seeds=21), setting, arm),
        NetworkShard(replace(FULL, rates=(0.1,)), setting, arm),
        NetworkShard(replace(FULL, steps=(("mnist", 500, 401),)), setting, arm),
        NetworkShard(FULL, FULL.settings[1], arm),
        NetworkShard(FULL, setting, ARMS[1]),
        NetworkShard(FULL, setting, replace(arm, values=(1.0, 0.1, 0.3, 4.0))),
    ]
    keys = {NetworkShard(FULL, setting, arm).key, *(each.key for each in others)}
    assert len(keys) == 7
    fewer = replace(FULL, settings=FULL.settings[:1])
    assert NetworkShard(fewer, setting, arm).key in keys  # other settings do not matter


def test_shards_of_other_code_are_trained_anew(tmp_path, monkeypatch):
    """One is removed and the code changes: none of the others is used."""
    size, told, trained = replace(protocol.QUICK, settings=protocol.QUICK.settings[:1]), [], []

    def work(shard, folder, mnist):
        trained.append(shard.name)
        value = float(protocol.CODE == "other")
        arrays = {name: np.full(shape, value) for name, shape in shapes(shard).items()}
        execute.write_arrays(execute._path(folder, shard), shard.key, arrays)
        return shard.name

    monkeypatch.setattr(execute, "_work", work)
    monkeypatch.setattr(execute, "_pool", ThreadPoolExecutor)

    def results():
        trained.clear()
        return execute.run(size, tmp_path, tmp_path, tell=told.append)

    assert results().code == f"weightnorm {protocol.CODE}"
    assert len(trained) == 7
    results()
    assert (trained, told) == ([], [])
    sorted(tmp_path.glob("*.npz"))[3].unlink()
    for module in (protocol, execute):
        monkeypatch.setattr(module, "CODE", "other")
    found = results()
    assert len(trained) == 7
    assert told == [
        f"6 of 7 shards in {tmp_path} were computed by other code of weightnorm and are computed "
        "anew."
    ]
    assert found.code == "weightnorm other"
    for arrays in found.arrays.values():
        assert all((values == 1.0).all() for values in arrays.values())
    results()
    assert (trained, len(told)) == ([], 1)


def test_data_names_its_code_and_stays_valid_whatever_the_code():
    found = replace(made_up(), code="weightnorm 0.2.9-abc")
    data = to_dataset(found)
    assert data.attrs["code"] == "weightnorm 0.2.9-abc"
    again = from_dataset(data)
    assert again.code == again.only(ENTROPY[:2]).code == found.code
    del data.attrs["code"]
    assert from_dataset(data).code == ""
    stored = from_dataset(load(ROOT / "tools" / "network.py").load(STORED.read_bytes()))
    assert stored.code.startswith("weightnorm 0.3.0")


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
    answer = (ROOT / "docs/guides/questions.md").read_text("utf-8")
    assert f"{count:,} trained networks" in " ".join(answer.split())
    for kind in tool.KINDS:
        assert (tool.IMAGES / f"{kind}.png").exists()


@pytest.fixture(scope="module")
def stored():
    tool = load(ROOT / "tools" / "network.py")
    data = tool.load(tool.STORED.read_bytes())
    return from_dataset(data), " ".join(page(data, "figures").split())


def logs(found, setting, arm, key):
    begun, ended, predicted = unseen(found, setting, arm)
    share = (ended if key == "reached" else predicted) / begun
    return np.log(np.maximum(share, 1e-3))


def log_misses(found, arms):
    """|log(predicted/reached)| and |log(start/reached)|, a mean for each seed."""
    pairs = [(logs(found, s, a, "predicted"), logs(found, s, a, "reached")) for s in WIDE
             for a in arms]  # fmt: skip
    theory = np.nanmean([np.nanmean(abs(p - r), axis=0) for p, r in pairs], axis=0)
    return theory, np.nanmean([np.nanmean(abs(r), axis=0) for _, r in pairs], axis=0)


def test_the_page_says_that_in_logarithms_the_theory_is_worse(stored):
    found, text = stored
    theory, start = log_misses(found, ("wn", "rpgd"))
    assert interval(theory - start).low > 0
    assert "the theory is worse than saying that all is kept" in text
    means = [network_words.level(interval(each)) for each in (theory, start)]
    words = f"{' against '.join(means)}, a difference of "
    assert words + shown(interval(theory - start)) in text
    for arm, label in (("wn", "WN"), ("rpgd", "rPGD")):
        alone = np.subtract(*log_misses(found, (arm,)))
        assert f"{label} alone {shown(interval(alone))}" in text


def test_the_word_follows_from_the_data():
    found = made_up()
    for name in WIDE:
        for arm in ("wn", "rpgd"):
            arrays = found.arrays[name, arm]
            arrays["unseen_predicted"] = 1.01 * arrays["unseen_reached"]
    assert logarithmic(found) == "better"
    for name in WIDE:
        for arm in ("wn", "rpgd"):
            arrays = found.arrays[name, arm]
            arrays["unseen_predicted"] = 1e-3 * arrays["unseen_start"]
    assert logarithmic(found) == "worse"
    for sign in (1, -1):  # a difference of either sign that is within its interval
        rng = np.random.default_rng(3)
        for name in WIDE:
            for arm in ("wn", "rpgd"):
                arrays = found.arrays[name, arm]
                noise = rng.standard_normal(arrays["unseen_start"].shape)
                arrays["unseen_predicted"] = arrays["unseen_start"] * np.exp(sign * 1e-3 * noise)
        assert logarithmic(found) == "not shown to be better"


def test_the_page_says_what_is_left_with_settings_as_the_unit(stored):
    found, text = stored
    strict = 1 - 0.05 / len(HYPOTHESES)
    wide = {}
    for each in HYPOTHESES:
        names = ENTROPY if each.unit == "percentage points" else WIDE
        values = [np.mean(each.compute(found.only([name]))) for name in names]
        wide[each.id] = interval(values, strict)
    assert all(each.low < 0 < each.high for each in wide.values())
    assert "none of the 14 intervals excludes zero" in text
    verdicts = [verdict(BY_ID[name].kind, each) for name, each in wide.items()]
    assert set(verdicts) == {"not shown"}
    assert "all 14 verdicts would be *not shown*" in text
    assert "conditional on these settings" in text


def test_intervals_over_settings_that_exclude_zero_are_counted():
    found = made_up()
    for name in ENTROPY:  # frozen is better by about 50 points wherever it is
        found.arrays[name, "frozen"]["test_error"] -= 0.5 + np.random.default_rng(4).random() / 9
    found.arrays[ENTROPY[0], "frozen"]["test_error"] -= 0.01
    said = caveats(found, analysis.answers(found))
    wide = [over_settings(each, found, analysis.STRICT) for each in HYPOTHESES]
    clear = sum(each.low > 0 or each.high < 0 for each in wide)
    assert clear >= 2
    assert f"{clear} of the 14 intervals exclude zero" in said
    verdicts = [verdict(each.kind, its) for each, its in zip(HYPOTHESES, wide, strict=True)]
    assert f"and {verdicts.count('not shown')} of the 14 verdicts" in said


def test_the_page_says_where_the_unseen_part_grows(stored):
    found, text = stored
    for arm, label in (("wn", "WN"), ("rpgd", "rPGD")):
        for place, scale in enumerate(found.size.scales):
            each = np.mean([logs(found, s, arm, "reached")[place] for s in WIDE], axis=0)
            share = np.exp(each.mean())
            said = f"{label} {share:.2f} [{np.exp(interval(each).low):.2f}, "
            assert (f"{said}{np.exp(interval(each).high):.2f}] from {scale:g} × (SGD" in text) == (
                share > 1
            )
    assert "the part grows less than SGD's" in text
    assert "WN 1.77 [1.35, 2.33] from 0.1 ×" in text


def test_the_page_says_whose_reading_robustness_is(stored):
    _, text = stored
    assert "robustness is our reading" in text
    assert "the paper does not claim it" in text


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
