"""One style for all plots: colours, dashes, names."""

from __future__ import annotations

from itertools import cycle
from typing import TYPE_CHECKING, Any

from ..methods.registry import REGISTRY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, which the colour-blind can tell apart
BLUE, ORANGE, GREEN, PINK, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9"
PURPLE = "#6A3D9A"
THEORY = "0.35"  # grey, for exact lines

LABELS = {row.name: row.label for row in REGISTRY}
SHORT = {
    "gd": "GD",
    "wn": "WN",
    "rpgd": "rPGD",
    "bn": "BN",
    "wn_diag": "WN-Diag",
    "rpgd_diag": "rPGD-Diag",
}
LOOKS = {  # colour, dashes, marker
    "gd": (BLUE, "-", "o"),
    "wn": (ORANGE, "-", "s"),
    "rpgd": (GREEN, "--", "D"),
    "bn": (SKY, "-", "P"),
    "flow": (ORANGE, "-", "s"),
    "wn_diag": (PINK, "-", "^"),
    "rpgd_diag": (PURPLE, "-", "v"),
}
LONE = (BLUE, "-", "o")  # of a single run, which needs no telling apart
OTHERS = ((PINK, "-.", "^"), (PURPLE, ":", "v"), (SKY, "-", "P"), ("0.2", "--", "X"))
RC: dict[Any, Any] = {
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "svg.fonttype": "none",
    "svg.hashsalt": "weightnorm",
    "figure.dpi": 100,
}


def looks(names: list[str], kinds: list[str] | None = None) -> dict[str, tuple[str, str, str]]:
    """A colour, dashes and a marker for each name: its own where it is known, or that of its kind
    if no other has it.
    """
    found: dict[str, tuple[str, str, str]] = {n: LOOKS[n] for n in names if n in LOOKS}
    for name, kind in zip(names, kinds or names, strict=True):
        if name not in found and kind in LOOKS and LOOKS[kind] not in found.values():
            found[name] = LOOKS[kind]
    spare = cycle([look for look in OTHERS if look not in found.values()])
    return {name: found[name] if name in found else next(spare) for name in names}


def label_of(name: str) -> str:
    """How a legend calls an algorithm."""
    return LABELS.get(name, name)


def new_axes(axes: Any, rows: int = 1, size: tuple[float, float] = (7.0, 4.2)) -> Any:
    """The axes given, or new ones in a figure of their own."""
    if axes is not None:
        return axes
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("wn.plot needs matplotlib: install weightnorm[all]") from error
    return plt.subplots(rows, 1, figsize=size, layout="constrained", sharex=rows > 1)[1]


def clean(axes: Axes) -> None:
    """Without the upper and right edge."""
    axes.spines[["top", "right"]].set_visible(False)
