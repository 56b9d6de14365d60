"""What the verdicts of the network experiment do not say, in words that follow from its data."""

from __future__ import annotations

from ...network.analysis import NOT_SHOWN, STRICT, Answer, interval, over_settings, verdict
from ...network.results import Results
from ...network.unseen import FLOOR, log_miss, share_at
from .unseen import share_text
from .words import level, logarithmic, shown

LABELS = {"wn": "WN", "rpgd": "rPGD"}


def caveats(found: Results, answered: list[Answer]) -> str:
    """The limits of the verdicts as a list in Markdown.

    Parameters
    ----------
    found : Results
    answered : list of Answer

    Returns
    -------
    str
    """
    return "\n".join(
        f"- {each}"
        for each in (_conditional(found, answered), _reading(), _growing(found), _logarithms(found))
    )


def _conditional(found: Results, answered: list[Answer]) -> str:
    asked = [answer.hypothesis for answer in answered]
    wide = [over_settings(each, found, STRICT) for each in asked]
    clear = sum(each.low > 0.0 or each.high < 0.0 for each in wide)
    undecided = sum(
        verdict(each.kind, its) == NOT_SHOWN for each, its in zip(asked, wide, strict=True)
    )
    total = len(asked)
    count = f"all {total}" if undecided == total else f"{undecided} of the {total}"
    return (
        "**They are conditional on these settings.** A verdict in bold is about the settings that "
        "were run, with the rates that were tuned for them; only the seeds vary. With settings as "
        f"the unit, at the same level, {clear or 'none'} of the {total} intervals "
        f"{'exclude' if clear > 1 else 'excludes'} zero, and {count} verdicts would be "
        f"*{NOT_SHOWN}*."
    )


def _reading() -> str:
    return (
        "**That kept rates should show robustness is our reading.** The theory is about where "
        "training ends. That extreme starts should cost WN and rPGD less when the rates of the "
        "default start are kept (`wn-robust`, `rpgd-robust`) is what we made of it; the paper does "
        "not claim it."
    )


def _growing(found: Results) -> str:
    places = range(len(found.size.scales))
    grown = [
        f"{label} {share_text(share_at(found, arm, place))} from {found.size.scales[place]:g} × "
        f"(SGD {share_text(share_at(found, 'sgd', place))})"
        for arm, label in LABELS.items()
        for place in places
        if share_at(found, arm, place).mean > 1.0
    ]
    text = (
        "**Forgetting is measured against SGD, not against the start.** `wn-forgets` and "
        "`rpgd-forgets` ask whether less is there at the end than with SGD. "
    )
    if not grown:
        return text + "Here no mean is above the unseen start either."
    return (
        text + "It can still be more than at the start. As multiples of the unseen start the ends "
        f"above 1 are: {', '.join(grown)}. Where such an end is below SGD's, the part grows less "
        "than SGD's; it is not forgotten."
    )


def _logarithms(found: Results) -> str:
    both = tuple(LABELS)
    theory, start = (log_miss(found, both, by_theory) for by_theory in (True, False))
    alone = ", ".join(
        f"{label} alone {shown(interval(log_miss(found, (arm,), True) - miss))}"
        for arm, label in LABELS.items()
        for miss in [log_miss(found, (arm,), False)]
    )
    return (
        "**`end-predicted` depends on how a miss is measured.** On the logarithmic scale of the "
        f"*forgets* rows the theory is {logarithmic(found)} than saying that all is kept: the "
        f"mean of |log(guess/reached)| is {level(interval(theory))} against "
        f"{level(interval(start))}, a difference of {shown(interval(theory - start))} ({alone}; "
        f"not registered, and shares under {FLOOR:g} count as that)."
    )
