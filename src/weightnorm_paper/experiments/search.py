"""Figure 5's searches: the first step that converges, as in the paper, and refined ones."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weightnorm._support.numeric import Array
from weightnorm._support.pool import available_cores, run_all
from weightnorm._support.sources import AT, ENDING, code, count_outdated, outdated
from weightnorm.datasets import make_sensing, sensing_start
from weightnorm.methods import RPGD, GradientDescent, WeightNorm
from weightnorm.methods.contract import Method
from weightnorm.methods.schedules import scaled, two_phase
from weightnorm.runs.step_search import search_steps
from weightnorm.sweeps.store import read_arrays, write_arrays

from ..sources import FIGURE_5
from .runs import Settings

CODE = code(FIGURE_5)  # now, while the sources on disk are those that are loaded
SEEDS = 5
THAW = 1001  # the scale moves for t > 1000
REFERENCES = {
    "gd": "psd",
    "wn": "psd",
    "rpgd": "psd",
    "wn_diag": "symmetric",
    "rpgd_diag": "symmetric",
}
Rule = Callable[[float], Method]
Key = tuple[str, str]


def _rules(thawed: Callable[[float], Any] | None) -> dict[str, Rule]:
    """The five methods by their step c; `thawed` is the scale's step in two phases."""

    def wn_scale(c: float) -> Any:
        return scaled(c, norm_power=1) if thawed is None else thawed(c)

    def plain(c: float) -> Any:
        return c if thawed is None else thawed(c)

    return {
        "gd": GradientDescent,
        "wn": lambda c: WeightNorm(scaled(c, norm_power=1), wn_scale(c)),
        "rpgd": lambda c: RPGD(c, plain(c)),
        "wn_diag": lambda c: WeightNorm(c, plain(c), blocks="columns"),
        "rpgd_diag": lambda c: RPGD(c, plain(c), blocks="columns"),
    }


PHASES: dict[str, dict[str, Rule]] = {
    "equal": _rules(None),
    "two_phase": {
        name: rule
        for name, rule in _rules(lambda c: two_phase(0.0, c, THAW)).items()
        if name != "gd"
    },
}


@dataclass(frozen=True)
class SearchLayout:
    """The problem, and the alphas from which each kind of method starts."""

    size: int
    rank: int
    measurements: int
    alphas: tuple[float, ...]
    slow_alphas: tuple[float, ...]  # of one-scale rPGD, whose runs are long
    largest_diag_alpha: float = 5.0  # D0 = α² I has a trace of d·α²


FULL = SearchLayout(30, 4, 60, (0.01, 0.1, 1.0, 2.0, 5.0, 10.0), slow_alphas=(0.01, 1.0, 5.0, 10.0))
QUICK = SearchLayout(12, 2, 20, (0.1, 1.0, 5.0), slow_alphas=(0.1, 1.0, 5.0))

KEYS = tuple((phase, name) for phase, rules in PHASES.items() for name in rules)
PER_RUN = ("first", "refined", "error", "step", "loss", "num_steps")  # (key, alpha) each
PER_SEED = ("psd", "symmetric", "truth")


@dataclass(frozen=True)
class Searched:
    """All searches of the figure; arrays are (seed, alpha), by phase and method."""

    alphas: Array
    first: dict[Key, Array]
    refined: dict[Key, Array]
    error: dict[Key, Array]
    step: dict[Key, Array]
    loss: dict[Key, Array]
    num_steps_of: dict[Key, Array]
    references: dict[str, Array]
    truth: Array
    tried: dict[Key, NDArray[np.bool_]]
    size: str


def search_all(settings: Settings) -> Searched:
    """What `_searched` finds, kept for the three figures that show it."""
    return _searched(replace(settings, seeds=1 if settings.quick else min(settings.seeds, SEEDS)))


@lru_cache(maxsize=2)
def _searched(settings: Settings) -> Searched:
    """Every method, schedule, start and seed: the searched step, and the refined ones.

    A part that is done is kept on disk until all are, so that an interrupted figure goes on where
    it stopped; parts of other code are not used.
    """
    layout, seeds = QUICK if settings.quick else FULL, settings.seeds
    items = [(seed, slow) for slow in (True, False) for seed in range(seeds)]  # the long ones first
    parts: dict[tuple[int, bool], dict[str, Array]] = {}
    stop = threading.Event()

    def stem(item: tuple[int, bool]) -> str:
        return f"figure-5-seed-{item[0]}-{'slow' if item[1] else 'fast'}.partial"

    def kept(item: tuple[int, bool]) -> tuple[Path | None, str]:
        name = f"{stem(item)}{AT}{CODE}"
        path = None if settings.folder is None else settings.folder / f"{name}{ENDING}"
        return path, f"{name}: {layout}"

    def work(item: tuple[int, bool]) -> tuple[tuple[int, bool], dict[str, Array]]:
        path, key = kept(item)
        part = None if path is None else read_arrays(path, key, PER_RUN + PER_SEED)
        if part is None:
            part = _search_part(layout, *item, stop)
            if path is not None:
                with suppress(OSError):  # on a full disk the part is only not kept
                    write_arrays(path, key, part)
        return item, part

    def finished(answers: list[tuple[tuple[int, bool], dict[str, Array]]]) -> None:
        parts.update(answers)
        settings.tell(f"figure-5, {len(parts)} of {len(items)} parts")

    found = [] if settings.folder is None else _partial(settings.folder)
    count = count_outdated([path.name for path in found], map(stem, items), CODE)
    if count:
        settings.note(outdated(count, len(items), f"parts of Figure 5 in {settings.folder}"))
    settings.tell(f"figure-5, 0 of {len(items)} parts")
    # one part per thread: its runs then share full lanes
    run_all(work, items, available_cores(), stop, finished)
    for path in [] if settings.folder is None else _partial(settings.folder):
        with suppress(OSError):
            path.unlink()
    both = [(parts[seed, False], parts[seed, True]) for seed in range(seeds)]
    whole = [
        {name: np.where(np.isnan(a[name]), b[name], a[name]) for name in PER_RUN + PER_SEED}
        for a, b in both
    ]
    stacked = {name: np.array([part[name] for part in whole]) for name in PER_RUN + PER_SEED}
    by_key = {name: {key: stacked[name][:, i] for i, key in enumerate(KEYS)} for name in PER_RUN}
    text = (
        f"d = {layout.size}, r = {layout.rank}, m = {layout.measurements}, {seeds} "
        f"seed{'s' if seeds > 1 else ''}"
    )
    references = {over: stacked[over] for over in ("psd", "symmetric")}
    return Searched(
        alphas=np.array(layout.alphas),
        first=by_key["first"],
        refined=by_key["refined"],
        error=by_key["error"],
        step=by_key["step"],
        loss=by_key["loss"],
        num_steps_of=by_key["num_steps"],
        references=references,
        truth=stacked["truth"],
        tried={key: ~np.isnan(values) for key, values in by_key["num_steps"].items()},
        size=text,
    )


def _partial(folder: Path) -> list[Path]:
    """The parts that are kept in a folder, of any code."""
    return list(folder.glob(f"figure-5-seed-*.partial*{ENDING}"))


def _search_part(
    layout: SearchLayout, seed: int, slow: bool, stop: threading.Event
) -> dict[str, Array]:
    """One-scale rPGD, which needs steps a hundred times smaller and so many more of them; or all
    the others.
    """
    problem = make_sensing(layout.size, layout.rank, layout.measurements, seed)
    part: dict[str, Array] = {
        name: np.full((len(KEYS), len(layout.alphas)), np.nan) for name in PER_RUN
    }
    part |= dict.fromkeys(PER_SEED, np.array(np.nan))
    starts = [sensing_start(layout.size, alpha, seed) for alpha in layout.alphas]
    places = [(key, i) for key in KEYS for i in range(len(starts)) if (key[1] == "rpgd") == slow]
    if slow:
        wanted = [(key, i) for key, i in places if layout.alphas[i] in layout.slow_alphas]
        options = {"refinements": 0, "max_steps": 1_000_000, "num_candidates": 14}
    else:
        wanted = [
            (key, i)
            for key, i in places
            if layout.alphas[i] <= layout.largest_diag_alpha or "diag" not in key[1]
        ]
        options = {"refinements": 4, "max_steps": 40_000}
    tasks = [
        (PHASES[key[0]][key[1]], starts[i]["scale"], starts[i]["direction"]) for key, i in wanted
    ]
    found = search_steps(problem, tasks, threads=1, progress=partial(_stop_if, stop), **options)
    for (key, i), search in zip(wanted, found, strict=True):
        where = (KEYS.index(key), i)
        part["first"][where], part["refined"][where], part["step"][where] = (
            search.norm,
            search.limit,
            search.step,
        )
        part["error"][where] = (
            problem.recovery_error(search.refined[-1].weights) if search.found else np.nan
        )
        part["loss"][where] = search.refined[0].loss if search.found else np.nan
        part["num_steps"][where] = sum(candidate.num_steps for candidate in search.candidates)
    if not slow:
        assert problem.ground_truth is not None
        part |= {
            over: np.array(problem.min_nuclear_norm(over).value) for over in ("psd", "symmetric")
        }
        part["truth"] = np.array(np.linalg.norm(problem.ground_truth, "nuc"))
    return part


def _stop_if(stop: threading.Event, done: int, total: int) -> None:
    if stop.is_set():
        raise KeyboardInterrupt
