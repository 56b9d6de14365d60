"""The figures beyond the paper: maps of stability and of a cycle, ends, and a run with decay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from weightnorm.plot.style import BLUE, LOOKS, ORANGE, PURPLE, SHORT, THEORY, clean, label_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

RATES = (0.85, 0.9, 0.95, 0.98)
PALE, WARM = "#DCE9F2", "#F6D9C6"  # of regions behind markers


def _marks(axis: Any, values: tuple[float, ...]) -> None:
    """Numbers along a logarithmic axis, in plain type, without those between."""
    from matplotlib.ticker import NullFormatter

    axis.set_ticks(values, labels=[f"{value:g}".replace("e-0", "e-") for value in values])
    axis.set_minor_formatter(NullFormatter())


def stability(figure: Figure, axes: Axes, data: Any) -> None:
    """Where steps are stable, how fast they are, and runs on both sides of the edge."""
    eta, gamma = data.direction_step.values, data.scale_step.values
    rate = data.rate.values.T
    shown = np.where(data.stable.values.T, rate, np.nan)
    options: dict[str, Any] = {"cmap": "cividis", "vmin": 0.75, "vmax": 1.0, "rasterized": True}
    picture = axes.pcolormesh(eta, gamma, shown, shading="nearest", **options)
    bar = figure.colorbar(picture, ax=axes, label="factor of the residual per step")
    lines = axes.contour(eta, gamma, shown, levels=RATES, colors="white", linewidths=0.8)
    bar.add_lines(lines)
    rule = data.attrs["rule_direction_step"], data.attrs["rule_scale_step"]
    corner = [eta[0], rule[0], rule[0]], [rule[1], rule[1], gamma[0]]
    axes.plot(*corner, ":", color="black", linewidth=1.6, label="simple rule")
    axes.contour(eta, gamma, rate, levels=[1.0], colors="black", linewidths=2.0)
    place = np.unravel_index(int(np.argmin(data.rate.values)), data.rate.shape)
    fell = data.run_grown.values < 1.0
    for chosen, face, text in (
        (fell, "black", "run: residual fell"),
        (~fell, "white", "run: it grew"),
    ):
        where = data.run_direction_step.values[chosen], data.run_scale_step.values[chosen]
        axes.plot(*where, "o", mfc=face, mec=ORANGE, mew=1.2, markersize=5, label=text)
    axes.plot(
        eta[place[0]], gamma[place[1]], "*", color="white", markersize=13, mec="black",
        linestyle="none", label="fastest",
    )  # fmt: skip
    axes.plot([], [], "-", color="black", linewidth=2.0, label="edge, λmax(K) = 2")
    axes.text(0.98, 0.5, "unstable", transform=axes.transAxes, ha="right", fontsize=11)
    axes.set(
        xscale="log", yscale="log", xlim=(eta[0], eta[-1]), ylim=(gamma[0], gamma[-1]),
        xlabel="step of the direction, η", ylabel="step of the scale, γ",
    )  # fmt: skip
    _marks(axes.xaxis, (0.01, 0.1))
    _marks(axes.yaxis, (0.1, 1.0, 10.0))
    axes.legend(loc="lower left", fontsize=9, framealpha=0.95)


def norms(figure: Figure, axes: Any, data: Any) -> None:
    """Where momentum and mini-batches end: runs over predictions."""
    panels: tuple[Any, ...] = (
        (0, "momentum", "-", "full", "heavy ball"),
        (0, "nesterov", "--", "none", "Nesterov"),
        (1, "batch_size", "-", "full", ""),
    )
    for place, panel, dashes, fill, kind in panels:
        own = data.isel(point=np.flatnonzero(data.panel.values == panel))
        for name in map(str, data.algorithm.values):
            colour, _, marker = LOOKS[name]
            row = own.sel(algorithm=name)
            x = row.value.values
            axes[place].plot(x, row.predicted.values, dashes, color=colour, linewidth=1.2)
            text = f"{SHORT[name]}, {kind}" if kind else SHORT[name]
            axes[place].errorbar(
                x, row.norm_mean.values, row.norm_spread.values if not kind else None, fmt=marker,
                color=colour, fillstyle=fill, markersize=5.5, capsize=2, label=text,
            )  # fmt: skip
    for axis in axes:
        axis.axhline(data.attrs["flow_norm"], color=THEORY, linestyle=(0, (6, 3)), linewidth=1.0)
        axis.plot([], [], color=THEORY, linestyle=(0, (6, 3)), label="infinitely small steps")
        axis.plot([], [], "-", color=THEORY, linewidth=1.2, label="lines: predicted")
        axis.legend(frameon=False, fontsize=9)
        clean(axis)
    sizes = [int(v) for v in data.value.values[data.panel.values == "batch_size"]]
    axes[1].set(xscale="log", xlabel="samples per step (of 20)")
    axes[1].set_xticks(sizes, [str(size) for size in sizes])
    axes[1].minorticks_off()
    axes[0].set(xlabel="momentum, β", ylabel="norm at the end, ‖x‖")
    for axis, key, text in zip(
        axes, ("momentum_step", "batch_step"), ("momentum", "mini-batches"), strict=True
    ):
        axis.set_title(f"{text}, all steps {data.attrs[key]:g}", fontsize=10)


def methods(figure: Figure, axes: Axes, data: Any) -> None:
    """Four methods from one start: runs over exact limits."""
    scale = data.scale.values
    for name in map(str, data.algorithm.values):
        colour, _, marker = LOOKS[name]
        row = data.sel(algorithm=name)
        if name != "rpgd":  # one limit for WN and rPGD
            axes.plot(scale, row.norm_limit.values, "-", color=colour, linewidth=1.2)
        fill = "none" if name == "wn" else "full"
        size = 7.5 if name == "wn" else 4.0
        axes.plot(
            scale, row.norm.values, marker, color=colour, fillstyle=fill, markersize=size,
            label=label_of(name),
        )  # fmt: skip
    axes.axhline(data.attrs["minimum_norm"], color="black", linewidth=0.8, linestyle=":",
                 label=f"smallest norm, {data.attrs['minimum_norm']:g}")  # fmt: skip
    axes.plot([], [], "-", color=THEORY, linewidth=1.2, label="lines: exact limits")
    axes.set(xlabel="scale of the start, g₀", ylabel="norm at the end, ‖x‖")
    axes.legend(frameon=False, fontsize=9, loc="upper left", bbox_to_anchor=(0.02, 0.93))
    clean(axes)


def cycle(figure: Figure, axes: Any, data: Any) -> None:
    """The starts that end in the 2-cycle: the rule's region, and runs."""
    from matplotlib.colors import ListedColormap
    from matplotlib.patches import Patch

    for place, axis in enumerate(axes):
        row = data.isel(scale_step=place)
        x, y = row.scale.values, row.cosine.values
        colours = ListedColormap([PALE, WARM])
        inside = row.trapped.values.T
        axis.pcolormesh(x, y, inside, cmap=colours, vmin=0, vmax=1, rasterized=True)
        g0, cosine = row.run_scale.values, row.run_cosine.values
        for chosen, marker, colour in (
            (row.run_trapped.values, "x", ORANGE),
            (row.run_converged.values, ".", BLUE),
            (~row.run_trapped.values & ~row.run_converged.values, "s", "black"),
        ):
            axis.plot(g0[chosen], cosine[chosen], marker, color=colour, markersize=5, mew=1.4)
        axis.set(xscale="log", xlabel="scale of the start, g₀", xlim=(x[0], x[-1]))
        _marks(axis.xaxis, (0.1, 1.0, 10.0))
        axis.set_title(f"step of the scale, γ = {float(row.scale_step):g}", fontsize=10)
    axes[0].set_ylabel("cosine to the solution, ⟨w₀, w*⟩")
    handles = [
        axes[0].plot([], [], "x", color=ORANGE, mew=1.4, label="run: ends in the cycle")[0],
        axes[0].plot([], [], ".", color=BLUE, label="run: converges")[0],
        Patch(facecolor=WARM, label="rule: trapped"),
        Patch(facecolor=PALE, label="rule: converges"),
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, frameon=False, fontsize=9)


def decay(figure: Figure, axes: Any, data: Any) -> None:
    """‖w‖² and λmax(K), the loss, and what is left of the start, against the step."""
    step, first = data.step.values, data.isel(start_scale=0)
    edges = data.edge_step.values
    top, right = axes[0], axes[0].twinx()
    top.plot(step, first.direction_norm_squared.values, color=BLUE, linewidth=1.4)
    right.plot(step, first.largest_eigenvalue.values, color=ORANGE, linewidth=0.8)
    right.axhline(2.0, color=ORANGE, linewidth=0.9, linestyle="--")
    right.spines[["right"]].set_visible(True)
    right.set_ylim(0.0, 2.6)
    top.set_ylim(0.0, 1.3)
    top.set_ylabel("‖w‖²", color=BLUE)
    right.set_ylabel("λmax(K)", color=ORANGE)
    axes[1].plot(step, first.loss.values, color="black", linewidth=0.7)
    axes[1].set(yscale="log", ylabel="loss", ylim=(1e-16, 10.0))
    _marks(axes[1].yaxis, (1e-15, 1e-10, 1e-5, 1.0))
    axes[1].minorticks_off()
    for place, colour in enumerate((PURPLE, BLUE)):
        row = data.isel(start_scale=place)
        text = f"from g₀ = {float(row.start_scale):g}"
        axes[2].plot(step, row.direction_perp_norm.values, color=colour, linewidth=1.4, label=text)
        told = row.predicted_perp_norm.values
        axes[2].plot(step, told, "--", color="black", linewidth=1.0,
                     label="" if place == 0 else "predicted")  # fmt: skip
    late = step >= edges[1]  # the second start, which keeps much
    lost = data.attrs["step_size"] * data.attrs["direction_decay"] * (step[late] - step[late][0])
    line = told[late][0] * np.exp(-lost)
    axes[2].plot(step[late], line, ":", color="black", linewidth=1.2, label="by ηλ a step")
    axes[2].set(yscale="log", ylabel="q = ‖w⊥‖/‖w‖", xlabel="step", xlim=(0, step[-1]))
    _marks(axes[2].yaxis, (0.01, 0.1, 1.0))
    axes[2].legend(fontsize=9, ncols=2, loc="lower left", framealpha=1.0, edgecolor="none")
    for axis in axes:
        axis.axvline(edges[0], color="0.3", linewidth=0.9, linestyle=":")
    axes[1].text(edges[0] + 0.01 * step[-1], 1.0, "edge, predicted", fontsize=9, va="center")


KINDS = {
    "beyond-stability": stability,
    "beyond-norms": norms,
    "beyond-methods": methods,
    "beyond-cycle": cycle,
    "beyond-decay": decay,
}
LAYOUTS = {  # rows, columns, width, height
    "beyond-stability": (1, 1, 7.4, 5.4),
    "beyond-norms": (1, 2, 10.0, 4.4),
    "beyond-cycle": (1, 2, 10.0, 4.6),
    "beyond-decay": (3, 1, 7.4, 7.6),
}
