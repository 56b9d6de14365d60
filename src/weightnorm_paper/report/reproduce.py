"""From a name to figures, data and report."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from weightnorm._support.machine import machine
from weightnorm.runs.result import Status

from ..certificate import Certificate, verify
from ..experiments import EXPERIMENTS, Experiment
from ..experiments.runs import FigureResult, Settings
from ..figures import render
from .output import Output
from .page import Section, write_report

Progress = Callable[[int, int, str], None]
KINDS = (
    ("data", ".nc"),
    ("data", ".csv"),
    ("data", "-runs.csv"),
    ("figures", ".png"),
    ("figures", ".svg"),
    ("figures", ".pdf"),
)


@dataclass(frozen=True)
class Reproduced:
    """What was made: the report, and the results by name."""

    report: Path
    results: dict[str, FigureResult]
    certificate: Certificate | None
    seconds: float
    computing_seconds: float
    problem: str  # empty, or which file could not be written, why, and where it is instead


def choose(names: Sequence[str]) -> list[Experiment]:
    """The experiments of these names; "all" is all of them, "figure-3" both of its panels,
    "beyond" those beyond the paper.
    """
    known = (
        {"all"} | {e.name for e in EXPERIMENTS} | {e.name.rsplit("-", 1)[0] for e in EXPERIMENTS}
    )
    for name in names:
        if name not in known:
            listed = ", ".join(e.name for e in EXPERIMENTS)
            raise ValueError(f"{name!r} is not a figure; choose from all, {listed}")
    wanted = [
        (e, [name in ("all", e.name) or e.name.startswith(f"{name}-") for name in names])
        for e in EXPERIMENTS
    ]
    return [experiment for experiment, matches in wanted if any(matches)]


def reproduce(
    names: Sequence[str],
    out: Path,
    seeds: int = 20,
    quick: bool = False,
    progress: Progress | None = None,
    tell: Callable[[str], None] | None = None,
) -> Reproduced:
    """Compute, store and draw figures, and write the report; with "all", the certificate as well.

    Parameters
    ----------
    names : sequence of str
        Figures as in `choose`.
    out : Path
        The folder for figures, data and the report; see `Output` for how it is written.
    seeds : int
        Seeds per point.
    quick : bool
        Fewer scales and smaller problems.
    progress : callable, optional
        Called as progress(done, total, name).
    tell : callable, optional
        Called as tell(sentence) where unfinished work on disk is of other code, and done anew.

    Returns
    -------
    Reproduced

    Raises
    ------
    UnwritableError
        Before any work, if nothing can be written to `out`.
    """
    begun = time.perf_counter()
    chosen, with_certificate = choose(names), "all" in names
    total = len(chosen) + with_certificate + 1
    output = Output(
        out,
        [f"{kind}/{e.name}{suffix}" for e in chosen for kind, suffix in KINDS] + ["report.html"],
    )
    sections, results, alt_texts, computing = [], {}, {}, 0.0
    for index, experiment in enumerate(chosen):
        if progress is not None:
            progress(index, total, experiment.name)
        start = time.perf_counter()
        said = partial(_tell, progress, index, total)
        result = experiment.compute(
            Settings(seeds, quick, said, out / "data", tell or (lambda sentence: None))
        )
        computing += time.perf_counter() - start
        results[experiment.name] = result
        output.write(f"data/{experiment.name}.nc", _netcdf(experiment, result, seeds))
        tables = tables_of(result.data)
        for suffix, table in tables.items():
            output.write(f"data/{experiment.name}{suffix}.csv", table.encode())
        pictures = render(experiment.kind, result.data)
        for suffix, content in pictures.items():
            output.write(f"figures/{experiment.name}.{suffix}", content)
        caption = alt_texts[experiment.name] = _caption(experiment, result)
        picture, findings = pictures["png"], result.findings
        sections.append(
            Section(
                experiment.name,
                experiment.title,
                caption,
                picture,
                tables[""],
                findings,
                experiment.beyond,
            )
        )
    certificate = None
    if with_certificate:
        if progress is not None:
            progress(len(chosen), total, "certificate")
        certificate = verify(instances=6 if quick else 24)
    taken = time.perf_counter() - begun
    if progress is not None:
        progress(total - 1, total, "report")
    facts = {
        "seeds": f"{seeds}; {own}" if (own := _own_seeds(results)) else str(seeds),
        "run time": f"{taken:.1f} s, of which {computing:.1f} s for the runs; "
        "the rest draws and certifies",
        **machine(),
    }
    report = output.write(
        "report.html", write_report(sections, certificate, facts, alt_texts).encode()
    )
    return Reproduced(report, results, certificate, taken, computing, output.problem)


def _caption(experiment: Experiment, result: FigureResult) -> str:
    """What the figure shows, and the numbers that its own data says of it."""
    return f"{experiment.caption} {result.remark}".strip()


def _own_seeds(results: dict[str, FigureResult]) -> str:
    """Which figures had another number of seeds than was asked for."""
    return ", ".join(
        f"{result.seeds} for {name}" for name, result in results.items() if result.seeds is not None
    )


def _tell(progress: Progress | None, done: int, total: int, text: str) -> None:
    if progress is not None:
        progress(done, total, text)


def tables_of(data: Any) -> dict[str, str]:
    """The data of a figure as CSV, by how the name of the file goes on.

    "" has one row per point of the figure, "-runs" one row per run, where the figure has seeds or
    runs beside a map.

    Parameters
    ----------
    data : xarray.Dataset

    Returns
    -------
    dict of str -> str
    """
    own = {"alpha", "time"} | set(map(str, data.dims))
    data = data.drop_vars([name for name in data.coords if name not in own])
    if "status" in data:  # in words: a CSV file has no place for what the numbers mean
        words = np.array([status.value for status in Status])
        data["status"] = (data.status.dims, words[data.status.values])
    runs = [name for name in data.data_vars if {"seed", "run"} & set(data[name].dims)]
    frames = {"": data.drop_vars([*runs, "seed", "run"], errors="ignore")}
    if runs:
        frames["-runs"] = data[runs]
    return {
        suffix: frame.to_dataframe().dropna(how="all").to_csv(float_format="%.10g")
        for suffix, frame in frames.items()
    }


def _netcdf(experiment: Experiment, result: FigureResult, seeds: int) -> bytes:
    """The dataset as a file, with how it was made."""
    about = {"title": experiment.title, "caption": _caption(experiment, result), **machine()}
    data = result.data.assign_attrs(about | {"seeds": result.seeds or seeds})
    return bytes(data.to_netcdf(engine="h5netcdf"))
