"""The page of the network experiment, written from its data: every number has an interval."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from typing import Any

import numpy as np

from ..experiments.network.analysis import Answer, Interval, answers, interval, over_settings
from ..experiments.network.dataset import from_dataset
from ..experiments.network.hypotheses import LEVEL, MARGIN, excess, kept_share, missed
from ..experiments.network.protocol import ARMS, BATCH, MOMENTUM
from ..experiments.network.results import Results
from ..figures.network import FLOOR, shown_setting
from .network_words import level, shown, summary

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
        "Intervals in this list are the wider, decisive ones: what other seeds would give in these "
        "settings. Settings differ more than seeds do: where the interval over settings, in the "
        "next table, has zero inside, other settings may well turn the sign.",
        "## Answers",
        _verdicts(found, answered),
        f"![The interval of every hypothesis about errors]({figures}/network-verdicts.png)",
        _reading(found, answered),
        "## Errors",
        _errors(found),
        f"![Test error against the start scale, averaged over settings, for seven ways to train "
        f"the last layer]({figures}/network-scales.png)",
        _robustness(found),
        "### Setting by setting",
        _settings(found),
        f"![The same for each setting]({figures}/network-settings.png)",
        "## What the last layer does meanwhile",
        _meanwhile(found),
        f"![Scale and angle of the last layer during training]({figures}/network-training.png)",
        "## Predicted and reached",
        _predicted(found, answered),
        _unseen_table(found),
        f"![Predicted and reached share of the unseen start, for every run that was measured: on "
        f"the line they agree; shares under 0.001 are drawn there]({figures}/network-unseen.png)",
        "## How it was done",
        *_methods(found),
        "## Limits",
        *_limits(found),
    ]
    return "\n\n".join(_wrapped(part) for part in parts) + "\n"


def _wrapped(part: str) -> str:
    if part.startswith(("#", "|", "```")):
        return part
    if part.startswith("- "):
        items = part.split("\n- ")
        return "\n".join(
            textwrap.fill(item.removeprefix("- "), 100, initial_indent="- ", subsequent_indent="  ")
            for item in items
        )
    return textwrap.fill(part, 100, break_on_hyphens=False, break_long_words=False)


def _introduction(found: Results) -> list[str]:
    size = found.size
    runs = len(size.settings) * len(ARMS) * (len(size.scales) + len(size.kept_scales)) * size.seeds
    tuning = len(size.settings) * len(ARMS) * len(size.scales) * size.budget
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
        ".venv/bin/weightnorm reproduce network --quick    # a small version, in two minutes\n```",
        "Every number below is from its data file, "
        "[benchmarks/network.nc](../../benchmarks/network.nc). Intervals in brackets are Student's "
        f"at {CHANCE}, over {size.seeds} paired seeds, unless they are said to be wider.",
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
                    f"| {source} | `{asked.id}`: {asked.statement} | "
                    f"{shown(answer.strict)} {unit} | {shown(over_settings(asked, found))} | "
                    f"**{answer.verdict}** |"
                )
    return "\n".join(rows)


def _reading(found: Results, answered: list[Answer]) -> str:
    count = len(answered)
    return (
        f"A decisive interval is wider than {CHANCE}: all {count} together are right with that "
        "probability (Bonferroni). A hypothesis of less holds if its interval lies below zero, is "
        f"reversed if it lies above, and is otherwise not shown; one of equality holds within "
        f"± {MARGIN:g} points. In the figure thick lines are the {CHANCE} intervals, thin ones "
        "the decisive ones."
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
        arm: float(np.mean([found.kept_error(s, arm, x) > FAILED for s in found.names() for x in
                            found.size.kept_scales]))
        for arm in LABELS
    }  # fmt: skip
    worst = ", ".join(f"{LABELS[a]} {100 * v:.1f} %" for a, v in failed.items() if v > 0.0)
    listed = "; ".join(
        f"{LABELS[a]} {cost(a, True)} with rates kept and {cost(a, False)} with rates tuned there"
        for a in ("sgd", "wn", "rpgd", "frozen")
    )
    return (
        "The table has test errors in per cent, means over the settings with cross-entropy, with "
        "half the width of their intervals; *best* is the start scale with the smallest error on "
        "the validation set, *kept* has the rates tuned at 1 ×. What the smallest and the largest "
        f"start cost over the default one, in points: {listed}. Of the runs with kept rates these "
        f"ended no better than guessing (an error over {FAILED:.0f} %): {worst or 'none'}."
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
            f"| {name} | {level(interval(found.error(name, 'sgd', 1.0)))} | "
            f"{gap('frozen', 'sgd')} | {shown(best)} ({scales}) | "
            f"{gap('freeze-thaw', 'rpgd')} | {gap('wn', 'sgd')} |"
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


def _unseen_table(found: Results) -> str:
    heads = " | ".join(f"{scale:g} ×" for scale in found.size.scales)
    rows = [f"| trained by | | {heads} |", "|---|---|" + "---:|" * len(found.size.scales)]
    names = [name for name in found.names() if found.has_unseen(name)]
    for arm in LABELS:
        for key in ("reached", "predicted"):
            if np.isnan(found.array(names[0], arm, f"unseen_{key}")).all():
                continue
            with np.errstate(divide="ignore"):  # what is predicted may be nothing
                logs = np.array([kept_share(found, name, arm, key) for name in names])
            logs = np.maximum(logs, np.log(FLOOR))
            cells = []
            for place in range(len(found.size.scales)):
                each = interval(np.nanmean(logs[:, place], axis=0))
                low, mean, high = (_share(np.exp(v)) for v in (each.low, each.mean, each.high))
                cells.append(f"{mean} [{low}, {high}]")
            rows.append(f"| {LABELS[arm]} | {key} | {' | '.join(cells)} |")
    return "\n".join(rows)


def _share(value: float) -> str:
    return f"{value:.2f}" if value >= 0.01 else f"{value:.3f}"


def _predicted(found: Results, answered: list[Answer]) -> str:
    names = [name for name in found.names() if found.has_unseen(name)]
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
        "kept of that part of its start which the features cannot see: all of it with SGD, less "
        "with WN and rPGD. Here the features are those at the end of training, and they have "
        "moved all the while, so nothing is promised. The table has what is there at the end over "
        f"what was there at the start (geometric means over the {len(names)} settings in which "
        f"features outnumber samples, {found.size.unseen_seeds} seeds; less than {FLOOR:g} counts "
        "as that). More than 1 means that rows have learnt from features which then moved "
        "on. Over all start scales the logarithm "
        f"for WN is {shown(by_id['wn-forgets'].interval)} from that of SGD, and for rPGD "
        f"{shown(by_id['rpgd-forgets'].interval)}. How well WN's and rPGD's are guessed, as the "
        f"mean of |guess − reached|/(start + reached): by the theory {by_theory}, by saying that "
        f"all is kept {by_start}, by saying that nothing is {by_zero}."
    )


def _methods(found: Results) -> list[str]:
    size = found.size
    steps = ", ".join(f"{n:,} steps on {s:,} of {d}" for d, s, n in size.steps)
    chosen = np.concatenate(
        [found.array(s, a, "chosen")[:, 0] for s in found.names() for a in LABELS]
    )
    edges = [
        100.0 * float(np.mean(np.isclose(chosen, rate))) for rate in (size.rates[0], size.rates[-1])
    ]
    return [
        "- **Data**: MNIST (2 × 2 pixels averaged to 14 × 14, its own test set of 10,000, 2,000 "
        "for validation) and scikit-learn's digits (8 × 8; 297 for validation, 1,000 for test). "
        "In settings called *noise* 20 % of the training labels are wrong.\n"
        "- **Networks**: an MLP with one hidden layer of 512 ReLUs, and a CNN with two "
        "convolutions (3 × 3, then 2 × 2 with stride 2) whose maps, 784 or 512 numbers, are the "
        "features of the last layer. At 1 × its rows have norm 1/√3, torch's own on average, and "
        "all the same one.\n"
        f"- **Training**: {steps}; batches of {BATCH}, momentum {MOMENTUM:g}, constant rates that "
        "fall to zero over the last fifth. The body and the biases are trained by SGD in every "
        "arm; the last layer by SGD, `WeightNormSGD` or `RPGD` with one scale per class, frozen by "
        "a ratio of 0 and by `FreezeThaw`, switched half-way. Cross-entropy; *squares* is squared "
        "error, left out of all averages.\n"
        f"- **Tuning**: for every arm, setting and start scale the same budget of {size.budget} "
        f"networks: {len(size.rates)} rates from {size.rates[0]:g} to {size.rates[-1]:g}, then "
        "three other values of one more number (the factor of the last layer's rate for SGD and "
        "the frozen scale, that of the scale's rate for WN, rPGD and the two-phase arms, the decay "
        f"for weight decay), on {size.tuning_seeds} tuning seed(s) each, by the error on the "
        f"validation set. The best rate was the smallest tried in {edges[0]:.1f} % of the cases "
        f"and the largest in {edges[1]:.1f} %.\n"
        "- **The rate of a direction** is η/g0² with g0 the start's norm (the default one for "
        "smaller starts that are not frozen), which is what WN does by itself: the largest stable "
        "step goes as 1/g². The scale's rate is η. *Kept* rates keep η and this rule.\n"
        "- **Seeds** are training sets, wrong labels, starts of the network and orders of "
        "batches, the same for all arms and start scales: differences are paired.",
    ]


def _limits(found: Results) -> list[str]:
    return [
        "- Two data sets of small digits, two small networks, one batch size, one momentum, a "
        "fixed number of steps, no normalisation layers, no augmentation, no Adam. Only the last "
        "layer has a scale and directions, and the body can make up for a scale that is frozen. "
        "Nothing here speaks of large networks.\n"
        "- Intervals over seeds are for these settings, with the rates that were tuned for them: "
        "how the tuning went, by two seeds on a coarse grid, is not in them. The intervals over "
        "settings have it, but settings are few, alike, and not a sample of anything.\n"
        "- All seeds share MNIST's test set. Those of the digits share 1,797 images, so a tuning "
        "seed may have seen another seed's test images, alike for all arms. Validation labels are "
        "clean, and on MNIST four times as many as 500 training labels: better tuning than one "
        "would have.\n"
        "- With *kept* rates WN and rPGD adapt their direction's rate to the norm of the start, by "
        "construction, and SGD does not: that is part of what is compared. Means are moved by runs "
        "that fail altogether; the table says how many did.\n"
        "- *Thaw, then freeze* trains the scale at full rates, *freeze, then thaw* while rates "
        "fall: half as many steps are not half as much training. Weight decay is on the body's "
        "weights, too.\n"
        "- Points weigh settings with large errors most; the table has them one by one.\n"
        "- Pilot runs with tuning seeds, before the hypotheses were written, chose the range of "
        "rates and the number of steps. Two definitions were mended after the run had begun and "
        "before any number they concern was there: what features see is taken from them as they "
        "are, not centred, and runs that fail are left out of both arms that are compared.",
    ]
