"""Answers of the network experiment: paired intervals and verdicts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .hypotheses import HYPOTHESES, LEVEL, MARGIN, Hypothesis
from .results import Results

HOLDS, REVERSED, DIFFERS, NOT_SHOWN = "holds", "reversed", "differs", "not shown"
STRICT = 1.0 - (1.0 - LEVEL) / len(HYPOTHESES)  # the level that decides: Bonferroni's


@dataclass(frozen=True)
class Interval:
    """A mean over seeds and its interval.

    Attributes
    ----------
    mean, low, high : float
    count : int
        The number of seeds.
    """

    mean: float
    low: float
    high: float
    count: int


@dataclass(frozen=True)
class Answer:
    """What the data says to a hypothesis.

    Attributes
    ----------
    hypothesis : Hypothesis
    interval : Interval
        At 95 %.
    strict : Interval
        At the level that makes all hypotheses right together; it decides.
    verdict : {"holds", "reversed", "differs", "not shown"}
    """

    hypothesis: Hypothesis
    interval: Interval
    strict: Interval
    verdict: str


def interval(values: Any, level: float = LEVEL) -> Interval:
    """Student's interval of the mean of independent numbers, one per seed.

    Parameters
    ----------
    values : (seeds,) array
    level : float

    Returns
    -------
    Interval

    Examples
    --------
    >>> from weightnorm_paper.network.analysis import interval
    >>> found = interval([1.0, 2.0, 3.0])
    >>> round(found.low, 3), found.mean, round(found.high, 3)
    (-0.484, 2.0, 4.484)
    """
    from scipy.stats import t

    values = np.asarray(values, dtype=float)
    count, mean = len(values), float(np.mean(values))
    if count < 2:
        return Interval(mean, -np.inf, np.inf, count)
    half = float(t.ppf(0.5 + level / 2.0, count - 1) * values.std(ddof=1) / np.sqrt(count))
    return Interval(mean, mean - half, mean + half, count)


def answers(found: Results) -> list[Answer]:
    """The verdict on every hypothesis.

    Parameters
    ----------
    found : Results

    Returns
    -------
    list of Answer
    """
    answered = []
    for hypothesis in HYPOTHESES:
        values = hypothesis.compute(found)
        decisive = interval(values, STRICT)
        answered.append(
            Answer(hypothesis, interval(values), decisive, verdict(hypothesis.kind, decisive))
        )
    return answered


def over_settings(hypothesis: Hypothesis, found: Results, level: float = LEVEL) -> Interval:
    """The interval of a hypothesis' mean when settings, not seeds, are what is drawn at random.

    It is not what decides. All seeds of a setting share rates that were tuned once: how well that
    went differs from setting to setting, so it is in this interval, and not in that over seeds.

    Parameters
    ----------
    hypothesis : Hypothesis
    found : Results
    level : float

    Returns
    -------
    Interval
    """
    return interval(setting_means(hypothesis, found), level)


def setting_means(hypothesis: Hypothesis, found: Results) -> list[float]:
    """The mean over seeds in each setting that a hypothesis averages over.

    Parameters
    ----------
    hypothesis : Hypothesis
    found : Results

    Returns
    -------
    list of float
    """
    names = found.names()
    if hypothesis.unit != "percentage points":
        names = [name for name in names if found.has_unseen(name)]
    return [float(np.mean(hypothesis.compute(found.only([name])))) for name in names]


def verdict(kind: str, decisive: Interval) -> str:
    """What an interval says.

    Parameters
    ----------
    kind : {"less", "same"}
    decisive : Interval

    Returns
    -------
    str

    Examples
    --------
    >>> from weightnorm_paper.network.analysis import Interval, verdict
    >>> verdict("less", Interval(-1.0, -1.5, -0.5, 20))
    'holds'
    >>> verdict("same", Interval(0.2, 0.1, 0.4, 20))
    'not shown'
    """
    if kind == "same":
        if decisive.low > -MARGIN and decisive.high < MARGIN:
            return HOLDS
        return DIFFERS if decisive.low > MARGIN or decisive.high < -MARGIN else NOT_SHOWN
    if decisive.high < 0.0:
        return HOLDS
    return REVERSED if decisive.low > 0.0 else NOT_SHOWN
