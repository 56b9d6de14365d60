"""The methods by name: one entry per method.

An entry is all that another part of the house knows of a method: sweep files find it by `name` and
offer its parameters, figures and tables show its `label`, and the compiled kernels have it under
`kernel`. A method without a kernel runs by its NumPy rule in the same loop, and its entry may
leave `kernel` out.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from .batchnorm import BatchNorm
from .gradient_descent import GradientDescent
from .rpgd import RPGD
from .weight_norm import WeightNorm


@dataclass(frozen=True)
class Entry:
    """One method of the registry: its name, class, label and parameters.

    Attributes
    ----------
    name : str
        Its short name wherever a method is named by text: kind = "rpgd" in a sweep file.
    method : type
        Its class, a frozen dataclass.
    label : str
        What figures and tables call it.
    parameters : tuple of str
        The fields of the class that a sweep file may set.
    kernel : str or None
        The name of its code in `engine/kernels`, if it is compiled.

    Examples
    --------
    >>> from weightnorm.methods.registry import REGISTRY
    >>> REGISTRY[0].label
    'gradient descent'
    """

    name: str
    method: Any
    label: str
    parameters: tuple[str, ...]
    kernel: str | None = None

    def __post_init__(self) -> None:
        known = [f.name for f in fields(self.method) if f.init] if is_dataclass(self.method) else []
        if unknown := [name for name in self.parameters if name not in known]:
            raise TypeError(
                f"the entry {self.name!r} has parameters {', '.join(unknown)}, which "
                f"{self.method.__name__} lacks: its class must be a dataclass with these fields, "
                f"and has {', '.join(known) or 'none'}"
            )


_RANDOM = ("batch_size", "label_noise", "seed")
_TRAINING = ("momentum", "nesterov", "scale_decay", "direction_decay", "clip", *_RANDOM)

REGISTRY: tuple[Entry, ...] = (
    Entry(
        "gd",
        GradientDescent,
        "gradient descent",
        ("step", *(name for name in _TRAINING if name != "scale_decay")),
        "GRADIENT_DESCENT",
    ),
    Entry("rpgd", RPGD, "rPGD", ("direction_step", "scale_step", "blocks", *_TRAINING), "RPGD"),
    Entry(
        "wn",
        WeightNorm,
        "weight normalization",
        ("direction_step", "scale_step", "blocks", "initial_norm", *_TRAINING),
        "WEIGHT_NORM",
    ),
    Entry(
        "bn",
        BatchNorm,
        "batch norm",
        ("direction_step", "scale_step", "initial_norm", *_TRAINING),
        "BATCHNORM",
    ),
)


def with_kernel(rows: tuple[Entry, ...]) -> dict[type, Entry]:
    """The rows of methods that are compiled, by class."""
    return {row.method: row for row in rows if row.kernel is not None}


COMPILED = with_kernel(REGISTRY)
