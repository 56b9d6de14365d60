"""Figure 5: its numbers against a plain loop, its findings, and going on after an interruption."""

from dataclasses import replace

import numpy as np
import pytest

import weightnorm as wn
from tests.support.reference import sensing_gradients, sensing_weights
from weightnorm.sweeps.store import write_arrays
from weightnorm_paper.experiments import EXPERIMENTS, search, sensing
from weightnorm_paper.experiments.runs import Settings

QUICK = Settings(quick=True)


@pytest.fixture(scope="module")
def searched():
    return sensing.search_all(QUICK)


def twin_norm(kind, problem, scale, W, step):
    """The nuclear norm at loss <= 1e-6 by a plain loop."""
    vector = W / np.linalg.norm(W)
    if kind == "gd":
        vector = np.sqrt(scale) * vector
    while True:
        X = sensing_weights(kind, vector, scale)
        if np.mean((np.tensordot(problem.sensors, X, axes=2) - problem.y) ** 2) <= 2e-6:
            return np.linalg.norm(X, "nuc")
        gradient, slope = sensing_gradients(kind, problem.sensors, problem.y, vector, scale)
        vector, scale = vector - step * gradient, scale - step * slope
        if kind == "rpgd":
            vector = vector / np.linalg.norm(vector)


@pytest.mark.long
@pytest.mark.parametrize(
    ("kind", "halvings"), [("gd", 4), pytest.param("rpgd", 0, marks=pytest.mark.slow)]
)
def test_refined_numbers_agree_with_a_plain_loop(searched, kind, halvings):
    problem, start = (
        wn.datasets.make_sensing(12, 2, 20, seed=0),
        wn.datasets.sensing_start(12, 1.0, 0),
    )
    step = searched.step["equal", kind][0, 1] / 2**halvings
    twin = twin_norm(kind, problem, start["scale"], start["direction"], step)
    assert searched.refined["equal", kind][0, 1] == pytest.approx(twin, rel=1e-6)


@pytest.mark.long
def test_one_scale_rpgd_ends_at_the_certified_minimum(searched):
    """From starts below it, at any alpha and in both schedules; and halving its step changes
    nothing.
    """
    below = searched.alphas**2 < searched.references["psd"][0]
    for phase in sensing.PHASES:
        np.testing.assert_allclose(
            searched.first[phase, "rpgd"][0, below], searched.references["psd"][0], rtol=1e-3
        )
    problem, start = (
        wn.datasets.make_sensing(12, 2, 20, seed=0),
        wn.datasets.sensing_start(12, 1.0, 0),
    )
    step = searched.step["equal", "rpgd"][0, 1] / 2
    halved = wn.run(wn.RPGD(step, step), problem, **start, tolerance=1e-6)
    assert halved.norm == pytest.approx(searched.first["equal", "rpgd"][0, 1], rel=1e-5)


@pytest.mark.long
def test_every_statement_has_its_line(searched):
    named = {e.name: e for e in EXPERIMENTS}
    ids = {
        f.id
        for name in ("left", "right", "refined")
        for f in named[f"figure-5-{name}"].compute(QUICK).findings
    }
    assert ids == {"figure-5-range", "figure-5-overlap", "figure-5-two-phase", "figure-5-refined"}


@pytest.mark.long
def test_findings_follow_the_data(searched):
    """A verdict is computed: data that says otherwise turns it."""
    off = {key: values.copy() for key, values in searched.first.items()}
    minimum = searched.references[sensing.REFERENCES["rpgd"]]
    off["equal", "rpgd"][:] = minimum[:, None] * (1.0 + sensing.CLOSE * np.array([0.9, -0.9, 1.1]))
    assert sensing.reach(searched, off, "equal", "rpgd") == (2, 3)
    off["equal", "rpgd"][:, 0] = np.nan  # one that did not converge is not close
    assert sensing.reach(searched, off, "equal", "rpgd") == (1, 3)
    perfect = {
        key: np.broadcast_to(searched.references[sensing.REFERENCES[key[1]]][:, None], v.shape)
        for key, v in searched.first.items()
    }
    assert all(
        sensing.reach(searched, perfect, "two_phase", name)[0] == searched.alphas.size
        for name in sensing.REFERENCES
    )


@pytest.mark.long
@pytest.mark.parametrize(("phase", "name"), [("two_phase", "rpgd"), ("equal", "rpgd")])
def test_a_run_that_did_not_converge_turns_the_verdict(searched, monkeypatch, phase, name):
    refined = {key: values.copy() for key, values in searched.refined.items()}
    refined[phase, name][0, 0] = np.nan
    monkeypatch.setattr(sensing, "search_all", lambda settings: replace(searched, refined=refined))
    assert sensing.figure_5_refined(QUICK).findings[0].holds is False
    monkeypatch.setattr(sensing, "search_all", lambda settings: searched)
    assert sensing.figure_5_refined(QUICK).findings[0].holds is True


def part_of(searched):
    """The numbers of a part, of the right shapes."""
    part = {
        name: np.array([getattr(searched, name)[key][0] for key in search.KEYS])
        for name in ("first", "refined", "error", "step", "loss")
    }
    part["num_steps"] = np.ones_like(part["first"])
    part |= {over: np.array(searched.references[over][0]) for over in ("psd", "symmetric")}
    return part | {"truth": np.array(searched.truth[0])}


@pytest.mark.long
def test_an_interrupted_figure_goes_on(searched, tmp_path, monkeypatch):
    part, kept, calls = part_of(searched), {}, []

    def remember(path, key, arrays):
        kept[path.name] = key
        write_arrays(path, key, arrays)

    def search_part(layout, seed, slow, stop):
        calls.append(slow)
        return part

    monkeypatch.setattr(search, "_search_part", search_part)
    monkeypatch.setattr(search, "write_arrays", remember)
    settings = Settings(seeds=1, quick=True, folder=tmp_path)
    again = search._searched.__wrapped__(settings)
    assert sorted(calls) == [False, True]
    assert not list(tmp_path.iterdir())  # complete: nothing is left behind
    for name, key in kept.items():
        write_arrays(tmp_path / name, key, part)  # as if it had been interrupted here
    resumed = search._searched.__wrapped__(settings)
    assert len(calls) == 2
    np.testing.assert_array_equal(resumed.first["equal", "wn"], again.first["equal", "wn"])
    for name, key in kept.items():
        path = tmp_path / name
        write_arrays(path, key, part)
    path.write_bytes(path.read_bytes()[:-100])  # truncated: computed again
    search._searched.__wrapped__(settings)
    assert len(calls) == 3


def test_parts_of_other_code_are_searched_anew(tmp_path, monkeypatch):
    """Interrupted, the code changed, and started again: no part of before is in the figure."""
    shape, calls, told = (len(search.KEYS), len(search.QUICK.alphas)), [], []

    def search_part(layout, seed, slow, stop):
        calls.append(search.CODE)
        if search.CODE != "other" and not slow:
            raise KeyboardInterrupt  # after the slow part, which is kept
        value = float(search.CODE == "other")
        each = {name: np.full(shape, value) for name in search.PER_RUN}
        return each | dict.fromkeys(search.PER_SEED, np.array(value))

    monkeypatch.setattr(search, "_search_part", search_part)
    monkeypatch.setattr(search, "available_cores", lambda: 1)
    settings = Settings(seeds=1, quick=True, folder=tmp_path, note=told.append)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            search._searched.__wrapped__(settings)
        assert len(list(tmp_path.iterdir())) == 1
    assert len(calls) == 3  # its own code's part is used
    assert told == []
    monkeypatch.setattr(search, "CODE", "other")
    found = search._searched.__wrapped__(settings)
    assert calls[3:] == ["other", "other"]
    assert told == [
        f"1 of 2 parts of Figure 5 in {tmp_path} was computed by other code of weightnorm and is "
        "computed anew."
    ]
    assert all((values == 1.0).all() for values in found.first.values())
    assert not list(tmp_path.iterdir())  # complete: nothing is left behind, of any code
