"""What the last layer keeps of the part of its start that its features cannot see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ...network.analysis import Answer, Interval, interval
from ...network.hypotheses import missed
from ...network.protocol import ARMS
from ...network.results import Results
from ...network.unseen import FLOOR, share_at, unseen_settings
from .words import level, shown


def share_text(found: Interval) -> str:
    """A share with its interval, such as "1.77 [1.35, 2.33]".

    Parameters
    ----------
    found : Interval

    Returns
    -------
    str
    """
    mean, low, high = (
        f"{value:.2f}" if value >= 0.01 else f"{value:.3f}"
        for value in (found.mean, found.low, found.high)
    )
    return f"{mean} [{low}, {high}]"


def unseen_table(found: Results) -> str:
    """What is kept of the unseen start, by arm and start scale: predicted and reached.

    Parameters
    ----------
    found : Results

    Returns
    -------
    str
    """
    heads = " | ".join(f"{scale:g} ×" for scale in found.size.scales)
    rows = [f"| trained by | | {heads} |", "|---|---|" + "---:|" * len(found.size.scales)]
    for arm in ARMS:
        for key in ("reached", "predicted"):
            if np.isnan(found.array(unseen_settings(found)[0], arm.name, f"unseen_{key}")).all():
                continue
            places = range(len(found.size.scales))
            cells = [share_text(share_at(found, arm.name, place, key)) for place in places]
            rows.append(f"| {arm.label} | {key} | {' | '.join(cells)} |")
    return "\n".join(rows)


def predicted_and_reached(found: Results, answered: list[Answer]) -> str:
    """What the theory says about the unseen part, and how well it does.

    Parameters
    ----------
    found : Results
    answered : list of Answer

    Returns
    -------
    str
    """
    names = unseen_settings(found)
    by_id = {answer.hypothesis.id: answer for answer in answered}

    def miss(guess: Callable[[str, str], Any]) -> str:
        each = [missed(found, name, arm, guess(name, arm)) for name in names for arm in
                ("wn", "rpgd")]  # fmt: skip
        return level(interval(np.nanmean(np.concatenate(each), axis=0)))

    by_theory = miss(lambda name, arm: found.array(name, arm, "unseen_predicted"))
    by_start = miss(lambda name, arm: found.array(name, arm, "unseen_start"))
    by_zero = miss(lambda name, arm: 0.0)
    return (
        "On fixed features the theory knows, for every loss and at every moment, what a row has "
        "kept of that part of its start which the features cannot see: all of it with SGD; with WN "
        "and rPGD (g/g0)·e^((g0² − g²)/2c) of it, with g0 and g the scale then and now and c the "
        "ratio of the two rates (times g0² for WN): [a law](limit.md) by which the unseen part "
        "shrinks where c is small, and grows with the scale where c is large. Here the features "
        "are those at the end of training, and they have moved all the while, so nothing is "
        "promised. The table has what is there at the end over what was there at the start "
        f"(geometric means over the {len(names)} settings in which features outnumber samples, "
        f"{found.size.unseen_seeds} seeds; less than {FLOOR:g} counts as that). With SGD more than "
        "1 means that rows have learnt from features which then moved on. Over all start scales "
        f"the logarithm for WN is {shown(by_id['wn-forgets'].interval)} from that of SGD, and for "
        f"rPGD {shown(by_id['rpgd-forgets'].interval)}. How well WN's and rPGD's are guessed, as "
        f"the mean of |guess − reached|/(start + reached): by the theory {by_theory}, by saying "
        f"that all is kept {by_start}, by saying that nothing is {by_zero}. On a logarithmic scale "
        "the theory does differently: see [What the verdicts do not "
        "say](#what-the-verdicts-do-not-say)."
    )
