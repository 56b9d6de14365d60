"""Where the shards of a store come from, in a sentence: other machines, other code."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from .._support.sources import AT, ENDING, count_outdated, outdated
from .config import SweepConfig
from .environment import AGREE, differences, environment
from .plan import Shard, SweepPlan, compute_shard, shapes_of
from .store import STEM, Arrays, environment_at, read_shard, shard_path


def mixed(config: SweepConfig, folder: Path, environments: Mapping[str, Shard]) -> str:
    """That shards come from different environments, and how well they agree; "" where all come
    from one.

    The bytes of such shards differ in their last digits. So one shard of every other environment is
    computed again here, and compared.

    Parameters
    ----------
    config : SweepConfig
    folder : Path
        Of the store.
    environments : mapping of environment -> a shard that was computed there

    Returns
    -------
    str
        A sentence, or "".
    """
    if len(environments) < 2:
        return ""
    here, worst, counts = environment(), 0.0, True
    for shard in (shard for where, shard in environments.items() if where != here):
        stored = read_shard(folder, shard, shapes_of(config))
        if stored is not None:
            off, same = _difference(stored.arrays, compute_shard(config, shard))
            worst, counts = max(worst, off), counts and same
    text = (
        f"The shards come from {len(environments)} environments ({differences(environments)}): "
        "one of each other one was computed again here, and "
    )
    if worst <= AGREE and counts:
        return f"{text}agrees to {max(worst, 1e-16):.0e}."
    if not counts:
        return f"{text}DIFFERS in its statuses or numbers of steps."
    return f"{text}DIFFERS by {worst:.0e} of its largest entries."


def _difference(a: Arrays, b: Arrays) -> tuple[float, bool]:
    """The largest difference of the numbers, relative to the largest of their kind, and whether the
    whole numbers are the same.
    """
    worst, same = 0.0, True
    for name, ours in a.items():
        theirs = np.asarray(b[name])
        if ours.dtype.kind != "f":
            same &= bool(np.array_equal(ours, theirs))
            continue
        finite = np.isfinite(ours)
        same &= bool(np.array_equal(finite, np.isfinite(theirs)))
        both = finite & np.isfinite(theirs)
        size = float(np.abs(ours[both]).max(initial=0.0))
        off = float(np.abs(ours[both] - theirs[both]).max(initial=0.0))
        worst = max(worst, off / size if size > 0 else off)
    return worst, same


def replaced(folder: Path, plan: SweepPlan, path: Path, written_by: str | None) -> str:
    """That what is on disk was computed by other code, and is computed anew; "" otherwise.

    Parameters
    ----------
    folder : Path
        Of the store.
    plan : SweepPlan
        What is about to be computed.
    path : Path
        Of the finished file.
    written_by : str or None
        The code that a finished file of this sweep names, "" if it names none; None without one.

    Returns
    -------
    str
        A sentence, or "".
    """
    stems = (shard.key[:STEM] for shard in plan)
    count = count_outdated(os.listdir(folder), stems, plan.code)
    if count or written_by in (None, plan.code):
        return outdated(count, len(plan), f"shards in {folder.name}")
    return (
        f"{path.name} was computed by other code of weightnorm ({written_by or 'it names none'}) "
        "and is written anew."
    )


def strangers(folder: Path, plan: SweepPlan) -> str:
    """That the store has shards which other code, or an older format, wrote; "" otherwise.

    They are neither read nor touched.

    Parameters
    ----------
    folder : Path
        Of the store.
    plan : SweepPlan
        Whose shards are all there.

    Returns
    -------
    str
        A sentence, or "".
    """
    names = {entry.name for entry in os.scandir(folder) if entry.name.endswith(".npz")}
    if len(names) <= len(plan):
        return ""
    for shard in plan:
        names.discard(shard_path(folder, shard).name)
    found = Counter(filter(None, (_code(folder / name, plan.code) for name in names)))
    if not found:
        return ""
    each = ", ".join(f"{count} of {name}" for name, count in sorted(found.items()))
    return (
        f"The store also has shards of other code ({each}), which this one, {plan.code}, neither "
        "reads nor deletes."
    )


def _code(path: Path, ours: str) -> str | None:
    """Which code wrote a shard; None for this one, and for what is not a shard."""
    where = environment_at(path)
    if where is None:
        return None
    name = path.name.removesuffix(ENDING).partition(AT)[2]
    if name:
        return None if name == ours else name
    try:
        return str(json.loads(where)["weightnorm"])  # as shards of format 3 had it
    except (ValueError, KeyError, TypeError):
        return "0.3.0 or earlier"
