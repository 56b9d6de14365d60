"""What the network experiment found, in sentences that follow from its verdicts."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ...network.analysis import HOLDS, NOT_SHOWN, Answer, Interval, interval, setting_means
from ...network.hypotheses import MARGIN
from ...network.protocol import ARMS
from ...network.results import Results
from ...network.unseen import log_miss


def shown(found: Interval, digits: int = 2) -> str:
    """A mean with its interval, such as "−0.12 [−0.30, +0.06]".

    Parameters
    ----------
    found : Interval
    digits : int

    Returns
    -------
    str
    """
    values = (found.mean, found.low, found.high)
    texts = [f"{value:+.{digits}f}".replace("-", "−") for value in values]
    return f"{texts[0]} [{texts[1]}, {texts[2]}]"


def level(found: Interval, digits: int = 2) -> str:
    """The same of what is no difference, such as "4.51 [4.40, 4.62]".

    Parameters
    ----------
    found : Interval
    digits : int

    Returns
    -------
    str
    """
    text = f"{found.mean:.{digits}f} [{found.low:.{digits}f}, {found.high:.{digits}f}]"
    return text.replace("-", "−")


def logarithmic(found: Results) -> str:
    """How the theory guesses the unseen part of WN and rPGD on a logarithmic scale, against saying
    that all of it is kept.

    Parameters
    ----------
    found : Results

    Returns
    -------
    str
        "worse", "better" or "not shown to be better", at 95 %.
    """
    arms = ("wn", "rpgd")
    gap = interval(log_miss(found, arms, True) - log_miss(found, arms, False))
    if gap.low > 0.0:
        return "worse"
    return "better" if gap.high < 0.0 else "not shown to be better"


def _chosen(answer: Answer, holds: str, otherwise: str, not_shown: str) -> str:
    """The sentence that fits the verdict."""
    return {HOLDS: holds, NOT_SHOWN: not_shown}.get(answer.verdict, otherwise)


def summary(found: Results, answered: Mapping[str, Answer]) -> str:
    """The findings as a list in Markdown.

    Parameters
    ----------
    found : Results
    answered : mapping of hypothesis id -> Answer

    Returns
    -------
    str
    """

    def of(name: str) -> str:
        means = setting_means(answered[name].hypothesis, found)
        below = sum(mean < 0.0 for mean in means)
        where = f"its mean below zero in {below} of {len(means)} settings"
        return f"{shown(answered[name].strict)} points, {where}"

    frozen = _chosen(
        answered["direction-only"],
        "It helps here, on average: with the scale frozen where torch starts it",
        "It hurts here, on average: with the scale frozen where torch starts it",
        "No gain is shown: with the scale frozen where torch starts it",
    )
    tuned = _chosen(
        answered["direction-only-best"],
        "where the scale it is frozen at is tuned as well, there is a gain",
        "where the scale it is frozen at is tuned as well, it still hurts",
        "where the scale it is frozen at is tuned as well, no difference is shown",
    )
    decay = _chosen(
        answered["beyond-decay"],
        "more than weight decay gives",
        "weight decay does better",
        "neither it nor weight decay is shown to do better",
    )
    first = _chosen(
        answered["freeze-first"],
        "helps here, on average, against a scale that is trained all the time",
        "hurts here, on average, against a scale that is trained all the time",
        "is not shown to help, against a scale that is trained all the time",
    )
    order = _chosen(
        answered["order"],
        "and the order matters as the paper says",
        "and freezing last does better",
        "and the order is not shown to matter",
    )
    same = {
        name: _chosen(answered[name], "the same", "not the same", "not shown to be the same")
        for name in ("wn-same-optimum", "rpgd-same-optimum")
    }
    return "\n".join(
        [
            f"- **The observation.** {frozen}, the test error differs from SGD's by "
            f"{of('direction-only')}; {tuned}: {of('direction-only-best')}; and against SGD with "
            f"tuned weight decay, {decay}: {of('beyond-decay')}. Not everywhere: the table of "
            "parts below tells the MLP from the CNN, and right labels from wrong ones.",
            f"- **The proposal.** Freezing the scale first, and thawing it half-way, {first}: "
            f"{of('freeze-first')}; {order}: {of('order')}.",
            f"- **The theory, as we read it: robustness.** {_robust(found, answered)}",
            f"- **The theory: no better optimum.** From the default start, WN's errors are "
            f"{same['wn-same-optimum']} as SGD's within {MARGIN:g} points "
            f"({of('wn-same-optimum')}), and rPGD's are {same['rpgd-same-optimum']} "
            f"({of('rpgd-same-optimum')}).",
            f"- **The theory: forgetting.** {_forgetting(found, answered)}",
            f"- **What did best.** {_ranking(found)}",
        ]
    )


def _robust(found: Results, answered: Mapping[str, Answer]) -> str:
    parts = []

    def gap(look: Callable[..., Any], name: str, scale: float) -> str:
        values = found.average(lambda s: look(s, name, scale) - look(s, "sgd", scale))
        return shown(interval(values))

    low, high = found.size.kept_scales
    for name, label in (("wn", "WN"), ("rpgd", "rPGD")):
        kept, tuned = answered[f"{name}-robust"], answered[f"{name}-robust-tuned"]
        words = [
            _chosen(each, "loses less than SGD", "loses more than SGD", "is not shown to lose less")
            for each in (kept, tuned)
        ]
        parts.append(
            f"{label} {words[0]} when the rates of the default start are kept "
            f"({shown(kept.strict)} points), and {words[1]} when they are tuned again "
            f"({shown(tuned.strict)})"
        )
    ends = "; ".join(
        f"{label} {gap(found.kept_error, name, low)} from {low:g} × and "
        f"{gap(found.kept_error, name, high)} from {high:g} × with rates kept, "
        f"{gap(found.error, name, low)} and {gap(found.error, name, high)} with rates tuned"
        for name, label in (("wn", "WN"), ("rpgd", "rPGD"))
    )
    return (
        f"What is lost is counted from each arm's own error at 1 ×. From starts at {low:g} × and "
        f"{high:g} ×, {'; '.join(parts)}. The errors there themselves, less SGD's, at 95 % and not "
        f"registered: {ends}."
    )


def _forgetting(found: Results, answered: Mapping[str, Answer]) -> str:
    parts = []
    for name, label in (("wn-forgets", "WN"), ("rpgd-forgets", "rPGD")):
        word = _chosen(
            answered[name],
            "ends with less than by SGD",
            "ends with more than by SGD",
            "is not shown to end with less than by SGD",
        )
        parts.append(f"{label} {word} ({shown(answered[name].strict)} in natural logarithms)")
    end = _chosen(
        answered["end-predicted"],
        "the theory on the final features guesses it better, on average, than saying that all is "
        "kept",
        "the theory on the final features guesses it worse than saying that all is kept",
        "the theory on the final features is not shown to guess it better than saying that all is "
        "kept",
    )
    return (
        "Of that part of its start which its final features cannot see, the last layer "
        f"trained by {' and by '.join(parts)}; {end} ({shown(answered['end-predicted'].strict)}), "
        "but single guesses are far off, and measured in logarithms it is "
        f"{logarithmic(found)} than saying so: see below."
    )


def _ranking(found: Results) -> str:
    def mean(arm: str) -> Any:
        return found.average(lambda setting: found.best_error(setting, arm))

    errors = {arm.name: mean(arm.name) for arm in ARMS}
    order = sorted(errors, key=lambda name: float(errors[name].mean()))
    labels = {arm.name: arm.label for arm in ARMS}
    listed = ", ".join(f"{labels[name]} {level(interval(errors[name]))}" for name in order)
    gap = shown(interval(errors[order[0]] - errors["sgd"]))
    return (
        "With rate, second number and start scale all chosen on the validation set, the mean test "
        f"errors in per cent, with 95 % intervals, are: {listed}. The first differs from SGD by "
        f"{gap} points; this order was not registered."
    )
