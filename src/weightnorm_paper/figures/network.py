"""The figures of the network experiment: errors, verdicts, traces and what is kept of the start."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weightnorm.plot.style import BLUE, GREEN, ORANGE, PINK, PURPLE, SKY, clean

from ..network.analysis import answers, interval
from ..network.dataset import from_dataset
from ..network.protocol import ARMS, BY_NAME, SWITCH
from ..network.results import Results
from ..network.unseen import FLOOR

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LOOKS = {  # colour, dashes, marker
    "sgd": (BLUE, "-", "o"),
    "wn": (ORANGE, "-", "s"),
    "rpgd": (GREEN, "--", "D"),
    "frozen": ("0.15", "-", "X"),
    "freeze-thaw": (PINK, "-.", "^"),
    "thaw-freeze": (PURPLE, ":", "v"),
    "sgd-decay": (SKY, "--", "P"),
}
APART = 1.04  # between arms, so that their intervals do not cover each other
COLOURS = {"holds": GREEN, "reversed": ORANGE, "differs": ORANGE, "not shown": "0.45"}


def _line(ax: Any, x: Any, runs: Any, arm: str) -> None:
    """Means over seeds with their 95 % intervals; `runs` is (scales, seeds)."""
    colour, dashes, marker = LOOKS[arm]
    place = [each.name for each in ARMS].index(arm) - 3
    found = [interval(row) for row in runs]
    means = np.array([each.mean for each in found])
    bars = np.array([[m.mean - m.low, m.high - m.mean] for m in found]).T
    bars = np.where(np.isfinite(bars), bars, 0.0)
    ax.errorbar(
        np.asarray(x) * APART**place, means, bars, fmt=marker + dashes, color=colour,
        markersize=4, linewidth=1.2, elinewidth=0.9, label=BY_NAME[arm].label,
    )  # fmt: skip


def _plain_numbers(axis: Any) -> None:
    from matplotlib.ticker import LogLocator, NullFormatter, ScalarFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter(ScalarFormatter())
    axis.set_minor_formatter(NullFormatter())


def _scales(ax: Any, scales: Any) -> None:
    ax.set(xscale="log", yscale="log")
    ax.set_xticks(scales, labels=[f"{scale:g}" for scale in scales])
    ax.minorticks_off()
    _plain_numbers(ax.yaxis)
    clean(ax)


def scales(figure: Figure, axes: Any, data: Any) -> None:
    """Error against the start scale, averaged over settings: tuned at each scale, and not."""
    found = from_dataset(data)
    size = found.size
    low, high = size.kept_scales

    def mean(look: Any, arm: str, scale: float) -> Any:
        return found.average(lambda setting: look(setting, arm, scale))

    for arm in LOOKS:
        _line(axes[0], size.scales, [mean(found.error, arm, x) for x in size.scales], arm)
        kept = [mean(found.kept_error, arm, x) for x in (low, high)]
        _line(axes[1], (low, 1.0, high), [kept[0], mean(found.error, arm, 1.0), kept[1]], arm)
    titles = ("rates tuned at every start scale", "rates tuned at 1 × and kept")
    for ax, title in zip(axes, titles, strict=True):
        _scales(ax, size.scales)
        ax.set_title(title, fontsize=10)
        ax.set_xlabel("start scale of the last layer, × default")
    axes[0].set_yscale("linear")  # here all are of one size
    axes[0].set_ylabel("test error in %, mean over settings")
    _legend(figure, axes[0])


def settings(figure: Figure, axes: Any, data: Any) -> None:
    """The same, tuned, for each setting."""
    found = from_dataset(data)
    names = found.names() + found.names("squares")
    for ax, name in zip(axes.flat, names, strict=False):
        for arm in LOOKS:
            runs = [found.error(name, arm, scale) for scale in found.size.scales]
            _line(ax, found.size.scales, runs, arm)
        _scales(ax, found.size.scales)
        ax.tick_params(labelbottom=True)
        ax.set_title(name, fontsize=9)
    for ax in axes.flat[len(names) :]:
        ax.set_visible(False)
    figure.suptitle("test error in % against the start scale, × default, rates tuned", fontsize=11)
    _legend(figure, axes.flat[0])


def verdicts(figure: Figure, axes: Any, data: Any) -> None:
    """The interval of every hypothesis that is about errors, in percentage points."""
    found = [a for a in answers(from_dataset(data)) if a.hypothesis.unit == "percentage points"]
    for place, answer in enumerate(reversed(found)):
        colour = COLOURS[answer.verdict]
        axes.plot([answer.strict.low, answer.strict.high], [place, place], color=colour, lw=1.2)
        axes.plot([answer.interval.low, answer.interval.high], [place, place], color=colour, lw=4)
        axes.plot(answer.interval.mean, place, "o", color="white", mec=colour, markersize=6)
    axes.axvline(0.0, color="black", linewidth=0.8)
    axes.set_yticks(range(len(found)), labels=[a.hypothesis.id for a in reversed(found)])
    axes.set_xscale("symlog", linthresh=1.0)
    low, high = axes.get_xlim()
    marks = [mark for mark in (-30, -10, -3, -1, -0.5, 0, 0.5, 1, 3, 10, 30) if low <= mark <= high]
    axes.set_xticks(marks, labels=[f"{mark:g}".replace("-", "−") for mark in marks])
    axes.minorticks_off()
    for verdict in dict.fromkeys(answer.verdict for answer in found):
        axes.plot([], [], color=COLOURS[verdict], lw=4, label=verdict)
    axes.set_xlabel("difference in test error, percentage points (linear within ± 1)")
    axes.legend(frameon=False, fontsize=9)
    clean(axes)


def training(figure: Figure, axes: Any, data: Any) -> None:
    """Scale and angle of the last layer during training, from three starts."""
    found = from_dataset(data)
    name = shown_setting(found)
    setting = next(s for s in found.size.settings if s.name == name)
    steps = found.size.steps_of(setting)
    starts = (found.size.scales[0], 1.0, found.size.scales[-1])
    for column, scale in enumerate(starts):
        place = found.size.scales.index(scale)
        for row, key in enumerate(("trace_scale", "trace_angle")):
            ax = axes[row, column]
            for arm, (colour, dashes, _) in LOOKS.items():
                values = found.array(name, arm, key)[place]
                values = values[: np.flatnonzero(np.isfinite(values)).max(initial=0) + 1]
                every = max(1, steps // 25)
                ax.plot(
                    every * np.arange(len(values)), values, dashes, color=colour,
                    label=BY_NAME[arm].label, linewidth=1.3,
                )  # fmt: skip
            ax.axvline(SWITCH * steps, color="0.8", linewidth=0.8, zorder=0)
            ax.set_yscale("log")
            if row == 0:
                _plain_numbers(ax.yaxis)
            clean(ax)
        axes[0, column].set_title(f"from {scale:g} ×", fontsize=10)
        axes[1, column].set_xlabel("step")
    axes[0, 0].set_ylabel("scale g")
    axes[1, 0].set_ylabel("angle turned in a step")
    _legend(figure, axes[0, 0])


def shown_setting(found: Results) -> str:
    """The setting whose training is drawn: the first with wrong labels."""
    return next(s.name for s in found.size.settings if s.noise > 0.0)


def unseen(figure: Figure, axes: Any, data: Any) -> None:
    """What the last layer keeps of its unseen start: predicted on the final features, reached."""
    found = from_dataset(data)
    names = [name for name in found.names() if found.has_unseen(name)]
    scales = found.size.scales
    for ax, arm in zip(axes, ("sgd", "wn", "rpgd"), strict=True):
        for place, scale in enumerate(scales):
            start, reached, predicted = (
                np.concatenate([found.array(n, arm, f"unseen_{key}")[place] for n in names])
                for key in ("start", "reached", "predicted")
            )
            colour = 0.85 * place / max(1, len(scales) - 1)
            ax.plot(
                np.maximum(predicted / start, FLOOR), np.maximum(reached / start, FLOOR), "o",
                color=_shade(colour), markersize=4, alpha=0.7, label=f"from {scale:g} ×",
            )  # fmt: skip
        ends = (FLOOR, 100.0)
        ax.plot(ends, ends, color="black", linewidth=0.8)
        ax.set(xscale="log", yscale="log", xlabel="predicted / start", title=BY_NAME[arm].label)
        clean(ax)
    axes[0].set_ylabel("reached / start")
    _legend(figure, axes[0])


def _shade(value: float) -> Any:
    import matplotlib as mpl

    return mpl.colormaps["viridis"](value)


def _legend(figure: Figure, ax: Any) -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=7, frameon=False, fontsize=9)


LAYOUTS = {  # rows, columns, width, height
    "network-scales": (1, 2, 10.5, 4.6),
    "network-settings": (4, 4, 13.0, 12.0),
    "network-verdicts": (1, 1, 8.0, 4.6),
    "network-training": (2, 3, 11.0, 6.0),
    "network-unseen": (1, 3, 11.0, 4.4),
}
KINDS: dict[str, Any] = {
    "network-scales": scales,
    "network-settings": settings,
    "network-verdicts": verdicts,
    "network-training": training,
    "network-unseen": unseen,
}
