"""`weightnorm reproduce network`: run it, analyse it, draw it, and write its page."""

from __future__ import annotations

import io
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ...figures.network import KINDS
from ...figures.render import render
from ...network.analysis import Answer, answers
from ...network.dataset import from_dataset, to_bytes, to_dataset
from ...network.protocol import FULL, QUICK
from ..output import Output
from .page import page

Progress = Callable[[int, int, str], None]
DATA, PAGE = "data/network.nc", "network.md"


@dataclass(frozen=True)
class ReproducedNetwork:
    """What came of it.

    Attributes
    ----------
    page : Path
    answers : list of Answer
    problem : str
        Empty, or what could not be written.
    """

    page: Path
    answers: list[Answer]
    problem: str


def reproduce_network(
    out: Path,
    mnist: Path,
    quick: bool = False,
    seeds: int | None = None,
    progress: Progress | None = None,
    workers: int | None = None,
    tell: Callable[[str], None] | None = None,
) -> ReproducedNetwork:
    """Run what is missing of the experiment, and write its data, figures and page below `out`.

    Parameters
    ----------
    out : Path
        Finished shards are kept in `out`/data/network, and not computed again by the same code.
    mnist : Path
        The folder of MNIST's idx files.
    quick : bool
        scikit-learn's digits only, three seeds: under a minute on two cores.
    seeds : int, optional
        Seeds that are reported, at least 2.
    progress : callable, optional
        Called as progress(done, total, name).
    workers : int, optional
        Processes; one per core by default.
    tell : callable, optional
        Called as tell(sentence) where finished shards are of other code, and computed anew.

    Returns
    -------
    ReproducedNetwork
    """
    import_torch()
    from ...network.execute import run

    if seeds is not None and seeds < 2:
        raise ValueError(f"--seeds must be at least 2 for an interval, got {seeds}")
    size = QUICK if quick else FULL
    if seeds is not None:
        size = replace(size, seeds=seeds, unseen_seeds=min(size.unseen_seeds, seeds))
    names = [f"figures/{kind}.{suffix}" for kind in KINDS for suffix in ("png", "svg", "pdf")]
    output = Output(out, [DATA, PAGE, *names])
    found = run(size, out / "data" / "network", mnist, progress, workers, tell)
    content = to_bytes(to_dataset(found))
    output.write(DATA, content)
    data = load(content)
    for kind in KINDS:
        for suffix, picture in render(kind, data).items():
            output.write(f"figures/{kind}.{suffix}", picture)
    place = output.write(PAGE, page(data, "figures").encode())
    return ReproducedNetwork(place, answers(from_dataset(data)), output.problem)


def load(content: bytes) -> Any:
    """The dataset of a file's bytes, wholly in memory."""
    import xarray

    return xarray.load_dataset(io.BytesIO(content), engine="h5netcdf")


def import_torch() -> None:
    """Say what is missing before anything is done."""
    try:
        import sklearn  # noqa: F401
        import torch  # noqa: F401
    except ImportError as error:
        raise ImportError(
            "the network experiment needs PyTorch and scikit-learn: `make install-torch`, or "
            'pip install "weightnorm[all,torch]" (a CPU build of torch will do)'
        ) from error
