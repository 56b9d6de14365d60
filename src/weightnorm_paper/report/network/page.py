"""The page of the network experiment, written from its data: every number has an interval."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from ...figures.network import shown_setting
from ...network.analysis import Answer, Interval, answers, interval, over_settings
from ...network.dataset import from_dataset
from ...network.hypotheses import LEVEL, MARGIN, excess
from ...network.protocol import ARMS
from ...network.results import Results
from ...network.training import GUESSING
from ...network.unseen import FLOOR
from .caveats import caveats
from .methods import limits, methods
from .unseen import predicted_and_reached, unseen_table
from .words import level, shown, summary

CHANCE = f"{100 * LEVEL:.0f} %"
LABELS = {arm.name: arm.label for arm in ARMS}
FAILED = 80.0  # per cent of test error: nothing was learnt, whether weights are finite or not
SOURCES = ("the observation", "the paper's proposal", "the theory")


def page(data: Any, figures: str) -> str:
    """The page in Markdown.

    Parameters
    ----------
    data : xarray.Dataset
    figures : str
        The folder of the figures, as the page sees it.

    Returns
    -------
    str
    """
    found = from_dataset(data)
    answered = answers(found)
    parts = [
        "# Does training only the direction of the last layer help a network?",
        *_introduction(found),
        "## In short",
        summary(found, {answer.hypothesis.id: answer for answer in answered}),
        "Intervals in this list are the wider, decisive ones unless it says 95 %: what other "
        "seeds would give in these settings. Settings differ more than seeds do: where the "
        "interval over settings, in the next table, has zero inside, other settings may well turn "
        "the sign, and the one after it has parts of them alone. All verdicts are about these "
        "settings: see [What the verdicts do not say](#what-the-verdicts-do-not-say).",
        "## Answers",
        _verdicts(found, answered),
        f"![The interval of every hypothesis about errors]({figures}/network-verdicts.png)",
        _reading(len(answered)),
        "### What the verdicts do not say",
        caveats(found, answered),
        "### On parts of the settings",
        f"Not registered, with intervals at {CHANCE}, over seeds and in points: labels that are "
        "right, labels that are wrong, each network, and the settings in which no arm's best rate "
        "at 1 × was the smallest that was tried.",
        _parts(found, answered),
        "## Errors",
        _errors(found),
        f"![Test error against the start scale, averaged over settings, for {len(ARMS)} ways to "
        f"train the last layer]({figures}/network-scales.png)",
        _robustness(found),
        "### Setting by setting",
        f"In points, at {CHANCE}; in round brackets the start scales that validation chose, "
        "for the frozen scale and for SGD.",
        _settings(found),
        f"![The same for each setting]({figures}/network-settings.png)",
        "## What the last layer does meanwhile",
        _meanwhile(found),
        f"![Scale and angle of the last layer during training]({figures}/network-training.png)",
        "## Predicted and reached",
        predicted_and_reached(found, answered),
        unseen_table(found),
        f"![Predicted and reached share of the unseen start, for every run that was measured: on "
        f"the line they agree; shares under {FLOOR:g} are drawn "
        f"there]({figures}/network-unseen.png)",
        "## How it was done",
        *methods(found),
        "## Limits",
        *limits(found),
    ]
    return "\n\n".join(_wrapped(part) for part in parts) + "\n"


def _wrapped(part: str) -> str:
    if part.startswith(("#", "|", "```")):
        return part
    if part.startswith("- "):
        items = part.removeprefix("- ").split("\n- ")
        return "\n".join(_filled(item, "- ", "  ") for item in items)
    return _filled(part)


def _filled(text: str, first: str = "", rest: str = "") -> str:
    """Lines that fit a screen, with their indents; names with hyphens stay whole."""
    return textwrap.fill(
        text,
        100,
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )


def _introduction(found: Results) -> list[str]:
    size = found.size
    runs = len(size.settings) * len(ARMS) * (len(size.scales) + len(size.kept_scales)) * size.seeds
    tuning = len(size.settings) * len(ARMS) * len(size.scales) * size.budget
    by = f", computed by {found.code}" if found.code else ""
    return [
        "The paper was moved by an observation: that training only the direction of a network's "
        "last layer, not its scale, improves generalisation. And it proposes to freeze the scale "
        "first and to thaw it later. Its theory, for least squares, says something else: that "
        "the end of training depends less on the scale of the start. This page puts all three to "
        f"the test on real networks, with hypotheses that were written down and committed before "
        f"the run: {runs:,} trained networks, after {tuning:,} for tuning.",
        "The command that repeats it, and goes on where it was interrupted, is",
        "```text\nmake install-torch mnist      # PyTorch, and MNIST's files with their checksums\n"
        ".venv/bin/weightnorm reproduce network            # more than an hour on two cores\n"
        ".venv/bin/weightnorm reproduce network --quick    # a small version, in a minute\n```",
        "Every number below is from its data file, "
        f"[benchmarks/network.nc](../../benchmarks/network.nc){by}. Intervals in brackets are "
        f"Student's at {CHANCE}, over {size.seeds} paired seeds, unless they are said to be wider "
        f"({size.unseen_seeds} seeds for what is kept of the start).",
        "Words: *WN* is [weight normalization](../guides/torch.md) and *rPGD* projected gradient "
        "descent on the sphere, plus a scale; each row of the last layer, one per class, is a "
        "scale g times a unit direction. An *arm* is a way to train the last layer. *1 ×* is the "
        "default length of its rows at the start, 10 × is ten times that. A *rate*, η, is a "
        "learning rate; the *second number* is what else an arm tunes (see Tuning). *Points* are "
        "percentage points of test error, and a difference below zero is in favour of the arm that "
        "is named first.",
    ]


def _verdicts(found: Results, answered: list[Answer]) -> str:
    rows = [
        "| whose | hypothesis | decisive interval, over seeds | 95 % over settings | verdict |",
        "|---|---|---:|---:|---|",
    ]
    for source in SOURCES:
        for answer in answered:
            asked = answer.hypothesis
            if asked.source == source:
                unit = {"percentage points": "points", "natural logarithms": "log"}.get(
                    asked.unit, asked.unit
                )
                rows.append(
                    f"| {source} | `{asked.id}`: {asked.statement} | {shown(answer.strict)} {unit} "
                    f"| {shown(over_settings(asked, found))} | **{answer.verdict}** |"
                )
    return "\n".join(rows)


def _parts(found: Results, answered: list[Answer]) -> str:
    names = found.names()
    noisy = [name for name in names if "noise" in name]
    inside = [
        name
        for name in names
        if all(found.array(name, arm, "chosen")[_default(found), 0] > found.size.rates[0]
               for arm in LABELS)
    ]  # fmt: skip
    parts = {
        "right labels": [name for name in names if name not in noisy],
        "wrong labels": noisy,
        "MLP": [name for name in names if name.endswith("mlp")],
        "CNN": [name for name in names if name.endswith("cnn")],
        "no smallest rate": inside,
    }
    parts = {title: chosen for title, chosen in parts.items() if chosen}
    heads = " | ".join(f"{title} ({len(chosen)})" for title, chosen in parts.items())
    rows = [f"| hypothesis | all ({len(names)}) | {heads} |", "|---|" + "---:|" * (len(parts) + 1)]
    for answer in answered:
        asked = answer.hypothesis
        if asked.unit == "percentage points":
            cells = [
                shown(interval(asked.compute(found.only(chosen))))
                for chosen in (names, *parts.values())
            ]
            rows.append(f"| `{asked.id}` | {' | '.join(cells)} |")
    return "\n".join(rows)


def _default(found: Results) -> int:
    """The place of the default start scale."""
    return found.size.scales.index(1.0)


def _reading(count: int) -> str:
    return (
        f"A decisive interval is wider than {CHANCE}: all {count} together are right with that "
        "probability (Bonferroni). A hypothesis of less holds if its interval lies below zero, is "
        f"reversed if it lies above, and is otherwise not shown; one of equality holds within "
        f"± {MARGIN:g} points and differs wholly outside. In the figure thick lines are the "
        f"{CHANCE} intervals, thin ones the decisive ones."
    )


def _errors(found: Results) -> str:
    size = found.size
    heads = " | ".join(f"{scale:g} ×" for scale in size.scales)
    rows = [
        f"| trained by | {heads} | best | {size.kept_scales[0]:g} × kept | "
        f"{size.kept_scales[1]:g} × kept |",
        "|---|" + "---:|" * (len(size.scales) + 3),
    ]

    def mean(look: Callable[..., Any], *arguments: Any) -> Interval:
        return interval(found.average(lambda setting: look(setting, *arguments)))

    for arm in LABELS:
        tuned = [mean(found.error, arm, scale) for scale in size.scales]
        best = mean(found.best_error, arm)
        kept = [mean(found.kept_error, arm, scale) for scale in size.kept_scales]
        cells = " | ".join(f"{each.mean:.2f} ± {each.high - each.mean:.2f}" for each in
                           (*tuned, best, *kept))  # fmt: skip
        rows.append(f"| {LABELS[arm]} | {cells} |")
    return "\n".join(rows)


def _robustness(found: Results) -> str:
    def cost(arm: str, kept: bool) -> str:
        return shown(interval(found.average(lambda s: excess(found, s, arm, kept))))

    failed = {
        arm: np.array([found.kept_error(s, arm, x) > FAILED for s in found.names() for x in
                       found.size.kept_scales])
        for arm in LABELS
    }  # fmt: skip
    worst = ", ".join(f"{LABELS[a]} {v.sum()} of {v.size}" for a, v in failed.items() if v.any())
    listed = "; ".join(
        f"{LABELS[a]} {cost(a, True)} with rates kept and {cost(a, False)} with rates tuned there"
        for a in ("sgd", "wn", "rpgd", "frozen")
    )
    return (
        "The table has test errors in per cent, means over the settings with cross-entropy, with "
        "half the width of their intervals; *best* is the start scale with the smallest error on "
        "the validation set, *kept* has the rates tuned at 1 ×. What the smallest and the largest "
        f"start cost over the default one, in points: {listed}. Of the runs with kept rates these "
        f"ended with an error over {FAILED:.0f} %, where guessing has {100 * GUESSING:.0f} %: "
        f"{worst or 'none'}."
    )


def _settings(found: Results) -> str:
    rows = [
        "| setting | SGD at 1 × | frozen − SGD | frozen − SGD, best scales | "
        "freeze-thaw − rPGD | WN − SGD |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name in found.names() + found.names("squares"):

        def gap(one: str, other: str, name: str = name) -> str:
            return shown(interval(found.error(name, one, 1.0) - found.error(name, other, 1.0)))

        best = interval(found.best_error(name, "frozen") - found.best_error(name, "sgd"))
        scales = f"{found.best_scale(name, 'frozen'):g} ×, {found.best_scale(name, 'sgd'):g} ×"
        rows.append(
            f"| {name} | {level(interval(found.error(name, 'sgd', 1.0)))} | {gap('frozen', 'sgd')} "
            f"| {shown(best)} ({scales}) | {gap('freeze-thaw', 'rpgd')} | {gap('wn', 'sgd')} |"
        )
    return "\n".join(rows)


def _meanwhile(found: Results) -> str:
    name, size = shown_setting(found), found.size

    def grown(arm: str, scale: float) -> str:
        place = size.scales.index(scale)
        norms = found.array(name, arm, "norm")[place]
        return level(interval(norms))

    listed = "; ".join(
        f"from {scale:g} × SGD ends at {grown('sgd', scale)}, WN at {grown('wn', scale)}, rPGD at "
        f"{grown('rpgd', scale)}"
        for scale in (size.scales[0], 1.0, size.scales[-1])
    )
    return (
        f"Means over seeds and classes in the setting {name}, by `Monitor` (of SGD through an "
        "`RPGD` that never moves): the scale g of a row, and the angle that it turns in one step. "
        "The grey line is where scales thaw or freeze; rates fall to zero over the last fifth. "
        f"Norms of the rows at the end, root mean square over classes: {listed}."
    )
