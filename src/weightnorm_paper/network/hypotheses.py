"""What is asked of the network experiment, written before its full run.

Every hypothesis is a number per seed, averaged over the settings with cross-entropy, in percentage
points of test error unless it says otherwise (the last three: logarithms or shares, over the
settings in which features outnumber samples, all start scales and fewer seeds). It is judged by one
interval, Student's t over seeds, at a level that leaves a chance of 5 % for *any* of them to be
wrong (Bonferroni), given the settings and the rates that were tuned for them. "Less than zero"
holds if the interval lies below zero, is reversed if it lies above, and is otherwise not shown: the
interval then says how large the effect can still be. "The same" holds if the interval lies within ±
`MARGIN`, differs if it lies outside, and is otherwise not shown.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .results import Results

LEVEL = 0.95
MARGIN = 0.3  # percentage points: what counts as no better optimum


@dataclass(frozen=True)
class Hypothesis:
    """A statement about the experiment, and the number per seed that decides it.

    Attributes
    ----------
    id : str
    source : str
        Whose it is: "the observation", "the paper's proposal" or "the theory".
    statement : str
    number : str
        What is computed for each seed, in words.
    compute : callable
        Results -> (seeds,) array.
    kind : {"less", "same"}
    unit : str
    """

    id: str
    source: str
    statement: str
    number: str
    compute: Callable[[Results], Any]
    kind: str = "less"
    unit: str = "percentage points"


def at_default(one: str, other: str) -> Callable[[Results], Any]:
    """The difference of two arms at the default start scale, each with its own rates."""
    return lambda found: found.average(
        lambda s: found.error(s, one, 1.0) - found.error(s, other, 1.0)
    )


def at_best(one: str, other: str) -> Callable[[Results], Any]:
    """The same with the start scale chosen on the validation set, too."""
    return lambda found: found.average(
        lambda s: found.best_error(s, one) - found.best_error(s, other)
    )


def excess(found: Results, setting: str, arm: str, kept: bool) -> Any:
    """The mean error from the smallest and the largest start, over that from the default one."""
    look = found.kept_error if kept else found.error
    ends = [look(setting, arm, scale) for scale in found.size.kept_scales]
    return np.mean(ends, axis=0) - found.error(setting, arm, 1.0)


def more_robust(one: str, other: str, kept: bool) -> Callable[[Results], Any]:
    """The difference of two arms in what extreme starts cost them."""
    return lambda found: found.average(
        lambda s: excess(found, s, one, kept) - excess(found, s, other, kept)
    )


def _unseen(found: Results, compute: Callable[[str], Any]) -> Any:
    """The mean over settings and start scales of a number (scales, seeds) of unseen parts; where a
    run failed it is left out, in all arms that the number compares.
    """
    settings = [name for name in found.names() if found.has_unseen(name)]
    return np.nanmean(np.concatenate([compute(name) for name in settings]), axis=0)


def kept_share(found: Results, setting: str, arm: str, key: str = "reached") -> Any:
    """The logarithm of what is there at the end of the unseen start, or is predicted."""
    start = found.array(setting, arm, "unseen_start")
    return np.log(found.array(setting, arm, f"unseen_{key}") / start)


def forgets_more(one: str, other: str) -> Callable[[Results], Any]:
    """The difference of two arms in the logarithm of what is kept of the unseen start."""
    return lambda found: _unseen(
        found, lambda s: kept_share(found, s, one) - kept_share(found, s, other)
    )


def missed(found: Results, setting: str, arm: str, guess: Any) -> Any:
    """|guess − reached| / (start + reached) of the unseen part, (scales, seeds)."""
    start, reached = (found.array(setting, arm, f"unseen_{key}") for key in ("start", "reached"))
    return np.abs(guess - reached) / (start + reached)


def nearer_than_start(found: Results) -> Any:
    """How much nearer the predicted unseen part is to the reached one than the start is."""

    def gain(setting: str) -> Any:
        gains = [
            missed(found, setting, arm, found.array(setting, arm, "unseen_predicted"))
            - missed(found, setting, arm, found.array(setting, arm, "unseen_start"))
            for arm in ("wn", "rpgd")
        ]
        return np.nanmean(gains, axis=0)

    return _unseen(found, gain)


KEPT = "mean error from 0.1 × and 10 × with the rates tuned at 1 ×, less the error at 1 ×"
TUNED = "mean error from 0.1 × and 10 × with rates tuned there, less the error at 1 ×"

HYPOTHESES = (
    Hypothesis(
        "direction-only",
        "the observation",
        "training only the direction of the last layer generalises better than SGD",
        "test error at 1 ×: scale frozen less SGD",
        at_default("frozen", "sgd"),
    ),
    Hypothesis(
        "direction-only-best",
        "the observation",
        "the same where the start scale, which a frozen scale keeps, is tuned, too",
        "test error at the start scale best on validation: scale frozen less SGD",
        at_best("frozen", "sgd"),
    ),
    Hypothesis(
        "beyond-decay",
        "the observation",
        "a frozen scale, tuned, does better than a tuned weight decay",
        "test error at the start scale best on validation: scale frozen less SGD with weight decay",
        at_best("frozen", "sgd-decay"),
    ),
    Hypothesis(
        "freeze-first",
        "the paper's proposal",
        "freezing the scale first does better than training it all the time",
        "test error at 1 ×: freeze, then thaw less rPGD",
        at_default("freeze-thaw", "rpgd"),
    ),
    Hypothesis(
        "order",
        "the paper's proposal",
        "freezing first does better than freezing last",
        "test error at 1 ×: freeze, then thaw less thaw, then freeze",
        at_default("freeze-thaw", "thaw-freeze"),
    ),
    Hypothesis(
        "wn-robust",
        "the theory",
        "WN loses less than SGD from extreme starts when nobody tunes again",
        f"{KEPT}: WN less SGD",
        more_robust("wn", "sgd", kept=True),
    ),
    Hypothesis(
        "rpgd-robust",
        "the theory",
        "rPGD loses less than SGD from extreme starts when nobody tunes again",
        f"{KEPT}: rPGD less SGD",
        more_robust("rpgd", "sgd", kept=True),
    ),
    Hypothesis(
        "wn-robust-tuned",
        "the theory",
        "WN loses less than SGD from extreme starts also with rates tuned there",
        f"{TUNED}: WN less SGD",
        more_robust("wn", "sgd", kept=False),
    ),
    Hypothesis(
        "rpgd-robust-tuned",
        "the theory",
        "rPGD loses less than SGD from extreme starts also with rates tuned there",
        f"{TUNED}: rPGD less SGD",
        more_robust("rpgd", "sgd", kept=False),
    ),
    Hypothesis(
        "wn-same-optimum",
        "the theory",
        f"from the default start WN and SGD do equally well, within {MARGIN:g} points",
        "test error at 1 ×: WN less SGD",
        at_default("wn", "sgd"),
        "same",
    ),
    Hypothesis(
        "rpgd-same-optimum",
        "the theory",
        f"from the default start rPGD and SGD do equally well, within {MARGIN:g} points",
        "test error at 1 ×: rPGD less SGD",
        at_default("rpgd", "sgd"),
        "same",
    ),
    Hypothesis(
        "wn-forgets",
        "the theory",
        "WN keeps less than SGD of that part of its start which the final features cannot see",
        "mean log(reached/start) of the unseen part of the last layer: WN less SGD",
        forgets_more("wn", "sgd"),
        unit="natural logarithms",
    ),
    Hypothesis(
        "rpgd-forgets",
        "the theory",
        "rPGD keeps less than SGD of that part",
        "mean log(reached/start) of the unseen part of the last layer: rPGD less SGD",
        forgets_more("rpgd", "sgd"),
        unit="natural logarithms",
    ),
    Hypothesis(
        "end-predicted",
        "the theory",
        "what WN and rPGD keep of it is nearer to the prediction on the final features than to all",
        "mean of (|predicted − reached| − |start − reached|)/(start + reached), WN and rPGD",
        nearer_than_start,
        unit="share",
    ),
)
