"""What is kept of the unseen start, on a logarithmic scale; none of it was registered."""

from __future__ import annotations

from typing import Any

import numpy as np

from .analysis import Interval, interval
from .hypotheses import kept_share
from .results import Results

FLOOR = 1e-3  # shares under it count as that, in logarithms and in the figure


def unseen_settings(found: Results) -> list[str]:
    """The settings with cross-entropy in which the unseen part was measured.

    Parameters
    ----------
    found : Results

    Returns
    -------
    list of str
    """
    return [name for name in found.names() if found.has_unseen(name)]


def log_share(found: Results, setting: str, arm: str, key: str = "reached") -> Any:
    """The logarithm of what is kept of the unseen start, at least that of `FLOOR`.

    Parameters
    ----------
    found : Results
    setting, arm : str
    key : {"reached", "predicted"}

    Returns
    -------
    (scales, seeds) array
    """
    with np.errstate(divide="ignore"):  # what is predicted may be nothing
        return np.maximum(kept_share(found, setting, arm, key), np.log(FLOOR))


def share_at(found: Results, arm: str, place: int, key: str = "reached") -> Interval:
    """What is kept of the unseen start from one start scale: its geometric mean over settings.

    Parameters
    ----------
    found : Results
    arm : str
    place : int
        The place of the start scale among those of the experiment.
    key : {"reached", "predicted"}

    Returns
    -------
    Interval
        Student's of the logarithms, as shares.
    """
    logs = np.array([log_share(found, name, arm, key)[place] for name in unseen_settings(found)])
    each = interval(np.nanmean(logs, axis=0))
    low, mean, high = (float(np.exp(value)) for value in (each.low, each.mean, each.high))
    return Interval(mean, low, high, each.count)


def log_miss(found: Results, arms: tuple[str, ...], by_theory: bool) -> Any:
    """The mean of |log(guess/reached)| over settings, start scales and arms.

    Parameters
    ----------
    found : Results
    arms : tuple of str
    by_theory : bool
        Whether the theory guesses; otherwise the guess is that all of the start is kept.

    Returns
    -------
    (seeds,) array
    """
    misses = []
    for name in unseen_settings(found):
        for arm in arms:
            guess = log_share(found, name, arm, "predicted") if by_theory else 0.0
            misses.append(np.abs(guess - log_share(found, name, arm)))
    return np.nanmean(np.concatenate(misses), axis=0)
