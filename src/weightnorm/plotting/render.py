"""Every kind of figure, from the data of an experiment."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Any

import numpy as np

from ..methods.registry import REGISTRY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = {
    "gd": "#0072B2",
    "wn": "#D55E00",
    "rpgd": "#009E73",
    "extra": "#CC79A7",
}  # colour-blind safe
LABELS = {row.name: row.label for row in REGISTRY}
NAMES = {"gd": LABELS["gradient_descent"], "wn": LABELS["weight_norm"], "rpgd": LABELS["rpgd"]}
STYLES = {"gd": "-", "wn": "-", "rpgd": "--"}
RC: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "weightnorm",
    "figure.dpi": 100,
}


def render(kind: str, data: dict[str, Any]) -> dict[str, bytes]:
    """Draw a figure as PNG, SVG and PDF.

    Parameters
    ----------
    kind : str
        What to draw, one of the kinds that experiments have.
    data : dict
        The experiment's data.

    Returns
    -------
    dict
        The content of each file, by suffix.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    with mpl.rc_context(RC):
        columns, width, height = _LAYOUTS.get(kind, (1, 7.0, 4.2))
        figure, axes = plt.subplots(1, columns, figsize=(width, height), layout="constrained")
        _KINDS[kind](figure, axes, data)
        pictures = {}
        for suffix in ("png", "svg", "pdf"):
            content = io.BytesIO()
            metadata = (
                {"Date": None}
                if suffix == "svg"
                else {"CreationDate": None}
                if suffix == "pdf"
                else {}
            )
            figure.savefig(content, format=suffix, dpi=170, metadata=metadata)
            pictures[suffix] = content.getvalue()
        plt.close(figure)
    return pictures


def _curves(axes: Axes, x: Any, data: dict[str, Any]) -> None:
    for method, name in NAMES.items():
        mean, spread, colour = data[f"{method}_mean"], data[f"{method}_spread"], COLOURS[method]
        axes.fill_between(x, mean - spread, mean + spread, color=colour, alpha=0.15, linewidth=0)
        axes.plot(x, mean, STYLES[method], color=colour, label=name, linewidth=1.8)
    if "gd_limit" in data:
        axes.plot(
            x,
            data["gd_limit"],
            color="0.35",
            linewidth=0.8,
            label="exact limit of gradient descent",
        )
    if "flow_limit" in data:
        axes.plot(
            x,
            data["flow_limit"],
            color="0.35",
            linewidth=0.8,
            linestyle="-.",
            label="exact limit of the WN flow",
        )
    axes.axhline(3.0, color="black", linewidth=0.8, linestyle=":")
    axes.set_ylabel("norm at the end, ‖x‖")


def _norms(figure: Figure, axes: Axes, data: dict[str, Any]) -> None:
    _curves(axes, data["g0"], data)
    axes.annotate(
        "minimum norm ‖x*‖ = 3",
        (0.03, 3.0),
        xytext=(4, -13),
        textcoords="offset points",
        fontsize=9,
    )
    axes.set(xlabel="scale of the start, g₀", xlim=(0, float(data["g0"][-1])), ylim=(2.8, 4.85))
    axes.legend(frameon=False, loc="upper left")


def _kappa(figure: Figure, axes: Axes, data: dict[str, Any]) -> None:
    x = data["condition_number"]
    _curves(axes, x, data)
    axes.set_xscale("log")
    ticks = [v for v in x if v in (1, 2, 5, 10, 20, 50)] or list(x)
    axes.set_xticks(ticks, [f"{v:g}" for v in ticks])
    axes.minorticks_off()
    axes.annotate(
        "minimum norm ‖x*‖ = 3",
        (x[0], 3.0),
        xytext=(4, -13),
        textcoords="offset points",
        fontsize=9,
    )
    axes.set(xlabel="condition number of A, κ", xlim=(x[0], x[-1]), ylim=(2.85, 4.25))
    axes.legend(frameon=False, loc="upper left", ncols=2)


def _paths(figure: Figure, axes: Axes, data: dict[str, Any]) -> None:
    x = np.linspace(-0.45, 1.6, 200)
    axes.contour(
        x,
        np.linspace(-0.25, 2.4, 50),
        np.tile(0.5 * (x - 1) ** 2, (50, 1)),
        levels=12,
        colors="0.85",
        linewidths=0.8,
    )
    axes.axvline(1.0, color="black", linewidth=1.0)
    axes.text(1.02, 2.3, "zero loss", fontsize=9)
    lines = (
        ("gd", COLOURS["gd"], "-", "gradient descent, a → d"),
        ("flow", COLOURS["wn"], "-", "WN and rPGD, a → e"),
        ("two_phase", COLOURS["extra"], "-", "two phases, a → b → c"),
        ("slow_scale", COLOURS["rpgd"], "--", "slow scale, a → c"),
        ("large_start", "0.4", "-", "start beyond ‖x*‖, f → g"),
    )
    for key, colour, style, label in lines:
        axes.plot(*data[key].T, style, color=colour, linewidth=1.8, label=label)
    corner = data["two_phase"][
        int(np.argmin(np.abs(data["two_phase"][:, 1]) + (data["two_phase"][:, 0] > 0.9)))
    ]
    points = {
        "a": data["gd"][0],
        "b": corner,
        "c": np.array([1.0, 0.0]),
        "d": data["gd"][-1],
        "e": data["flow"][-1],
        "f": data["large_start"][0],
        "g": data["large_start"][-1],
    }
    for name, point in points.items():
        axes.plot(*point, "o", color="black", markersize=4)
        axes.annotate(name, point, xytext=(6, 5), textcoords="offset points", fontweight="bold")
    axes.set(
        xlabel="x₁ (what the data sees)",
        ylabel="x₂ (what it does not)",
        xlim=(-0.45, 1.6),
        ylim=(-0.25, 2.4),
    )
    axes.set_aspect("equal")
    axes.legend(frameon=True, framealpha=0.9, edgecolor="none", loc="upper left", fontsize=9)


def _phase(figure: Figure, axes: Axes, data: dict[str, Any]) -> None:
    from matplotlib.patheffects import withStroke

    g0, c, distance = data["g0"], data["c"], data["distance"]
    shown = np.log10(np.maximum(distance, 1e-8)).T
    picture = axes.pcolormesh(
        g0, c, shown, shading="gouraud", cmap="cividis", rasterized=True, vmin=-6, vmax=np.log10(4)
    )
    bar = figure.colorbar(
        picture, ax=axes, label="distance to the minimum-norm solution, ‖x∞ − x*‖"
    )
    ticks = [-6, -4, -2, 0]
    bar.set_ticks(ticks, labels=[f"1e{tick}" if tick else "1" for tick in ticks])
    lines = (
        axes.contour(g0, c, data["lead"].T, levels=[0.0], colors="black", linewidths=1.6),
        axes.contour(
            g0,
            c,
            np.minimum(data["printed_off"], 1.0).T,
            levels=[0.01],
            colors="black",
            linewidths=1.3,
            linestyles="--",
        ),
    )
    halo = [withStroke(linewidth=3.0, foreground="white")]
    for line in lines:
        line.set(path_effects=halo)
    for x, y, text in (
        (1.0, 0.8, "WN ends closer than GD"),
        (0.25, 27.0, "GD ends closer"),
        (3.25, 0.12, "printed limit off\nby more than 1 %"),
    ):
        axes.text(x, y, text, fontsize=9, path_effects=halo)
    axes.set(
        xlabel="scale of the start, g₀ (‖x*‖ = 3, ‖w₀⊥‖² = 0.6)",
        ylabel="ratio of rates, c = γ/η",
        yscale="log",
    )


SENSING = {  # label, colour, marker
    "gd": ("GD", "#0072B2", "o"),
    "wn": ("WN", "#D55E00", "s"),
    "rpgd": ("rPGD", "#009E73", "D"),
    "wn_diag": ("WN-Diag", "#CC79A7", "^"),
    "rpgd_diag": ("rPGD-Diag", "#6A3D9A", "v"),
}
_TOP = 2.2  # of the norms that are drawn, over the minimum: what lies above is marked at the edge


def _nuclear(axes: Axes, data: dict[str, Any], prefix: str, title: str) -> None:
    x = data["alpha"]
    for name, (label, colour, marker) in SENSING.items():
        mean, spread = data[f"{prefix}{name}_mean"], data[f"{prefix}{name}_spread"]
        drawn = np.isfinite(mean)
        shown = np.minimum(mean, _TOP)[drawn]
        axes.errorbar(
            x[drawn],
            shown,
            np.where(mean < _TOP, spread, 0.0)[drawn],
            fmt=f"{marker}-",
            color=colour,
            label=label,
            markersize=4.5,
            linewidth=1.3,
            capsize=2,
            elinewidth=0.8,
        )
        for place in np.flatnonzero(mean > _TOP):
            axes.annotate(
                "▲",
                (x[place], _TOP),
                ha="center",
                va="bottom",
                color=colour,
                fontsize=8,
                annotation_clip=False,
            )
    lines = (
        ("psd_minimum", "minimum, X ⪰ 0", ":"),
        ("symmetric_minimum", "minimum, X = Xᵀ", (0, (1, 3))),
    )
    for key, label, style in (*lines, ("truth", "‖X*‖∗", "--")):
        axes.axhline(data[key][0], color="black", linewidth=0.9, linestyle=style, label=label)
    low = min(
        float(np.nanmin(data["symmetric_minimum"])),
        *(float(np.nanmin(data[f"{prefix}{n}_mean"])) for n in SENSING),
    )
    axes.set(
        xscale="log",
        xlabel="scale of the start, α",
        ylabel="nuclear norm at the end / minimum",
        ylim=(low - 0.08, _TOP + 0.02),
    )
    axes.set_title(title, fontsize=10)


def _sensing(figure: Figure, axes: Axes, data: dict[str, Any]) -> None:
    _nuclear(axes, data, "", "")
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize=9)


def _refined(figure: Figure, axes: Any, data: dict[str, Any]) -> None:
    _nuclear(axes[0], data, "equal_", "equal steps, refined")
    _nuclear(axes[1], data, "two_phase_", "two phases, refined")
    for name, (_, colour, marker) in SENSING.items():
        for phase, style in (("equal", "-"), ("two_phase", "--")):
            if (name, phase) != ("gd", "two_phase"):
                error = data[f"{phase}_{name}_error"]
                drawn = np.isfinite(error)
                x, y = data["alpha"][drawn], error[drawn]
                axes[2].plot(x, y, marker + style, color=colour, markersize=4, linewidth=1.1)
    axes[2].plot([], [], "-", color="0.3", label="equal steps")
    axes[2].plot([], [], "--", color="0.3", label="two phases")
    axes[2].set(
        xscale="log",
        yscale="log",
        xlabel="scale of the start, α",
        ylabel="recovery error ‖X − X*‖ / ‖X*‖",
    )
    axes[2].set_title("recovery", fontsize=10)
    axes[2].legend(frameon=False, loc="upper left", fontsize=9)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=8, frameon=False, fontsize=9)


_LAYOUTS = {"paths": (1, 6.4, 6.0), "refined": (3, 13.0, 4.4)}
_KINDS: dict[str, Any] = {
    "sensing": _sensing,
    "refined": _refined,
    "norms": _norms,
    "kappa": _kappa,
    "paths": _paths,
    "phase": _phase,
}
