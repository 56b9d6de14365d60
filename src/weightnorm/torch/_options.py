"""What a group of parameters may say: rates and options, checked, and as a step needs them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import torch

from ._blocks import checked_dim

# Options of other optimisers that would change the step, with what to give in their place. Beside
# them a group may hold whatever others keep there: names, roles, first learning rates.
FOREIGN = {
    "weight_decay": "weights g·w/‖w‖ decay with their scale: give scale_weight_decay",
    "dampening": "momentum is v ← βv + ∇ here: leave it out",
}

SMALLEST_MAX = 65504.0  # of float16, the type with the smallest largest number


@dataclass(frozen=True)
class StepOptions:
    """What a step needs to know besides its tensors."""

    lr: Any
    ratio: Any
    momentum: float
    nesterov: bool
    decay: float
    eps: float
    maximize: bool
    still: bool  # a learning rate of zero: only the buffers change

    @classmethod
    def of(cls, group: dict[str, Any], traced: bool) -> StepOptions:
        """The options of a group; rates as numbers unless the step is `traced`.

        Operations with numbers need no tensor made of them.
        """
        lr, ratio = group["lr"], group["scale_ratio"]
        if not traced:
            lr, ratio = float(lr), float(ratio)
        return cls(
            lr=lr,
            ratio=ratio,
            momentum=group["momentum"],
            nesterov=group["nesterov"],
            decay=group["scale_weight_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
            still=not traced and lr == 0.0,
        )

    def check_range(self, kinds: Callable[[], set[torch.dtype]]) -> None:
        """Refuse numbers that are beyond those of a type in which a parameter is moved.

        The types are asked for only where a number is beyond those of the smallest one.
        """
        numbers = {
            "lr": self.lr,
            "lr·scale_ratio": self.lr * self.ratio,
            "scale_weight_decay": self.decay,
            "eps": self.eps,
        }
        for name, value in numbers.items():
            if value > SMALLEST_MAX:
                for kind in kinds():
                    if value > torch.finfo(kind).max:
                        raise ValueError(f"{name}={float(value):g} is beyond the numbers of {kind}")


def rate(name: str, value: Any) -> Any:
    """A number that is not negative, or a tensor of one element, which stays a tensor."""
    if isinstance(value, torch.Tensor):
        if value.numel() != 1:
            raise ValueError(
                f"{name} must be a number or a tensor of one element, got shape "
                f"{tuple(value.shape)}"
            )
        number = float(value)
    elif isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
    else:
        raise TypeError(f"{name} must be a number, got {type(value).__name__}: {value!r}")
    if not 0.0 <= number < float("inf"):
        raise ValueError(f"{name} must be finite and at least 0, got {number:g}")
    return value


def check_options(options: dict[str, Any]) -> None:
    """Refuse what makes no sense, among the defaults or in a group, and put the rest in order."""
    for name in ("lr", "scale_ratio"):
        rate(name, options[name])
    for name in ("momentum", "scale_weight_decay", "eps"):
        options[name] = float(rate(name, options[name]))
    if options["momentum"] >= 1.0:
        raise ValueError(f"momentum must be below 1, got {options['momentum']:g}")
    if options["nesterov"] and not options["momentum"]:
        raise ValueError("nesterov=True needs a momentum above 0; give momentum=0.9, say")
    if options["foreach"] and options["differentiable"]:
        raise ValueError("foreach=True cannot be differentiable; leave one of them out")
    options["dim"] = checked_dim(options["dim"])
    for name, instead in FOREIGN.items():
        if options.get(name):
            raise ValueError(
                f"{name}={options[name]!r} is not an option of this optimiser: {instead}"
            )
