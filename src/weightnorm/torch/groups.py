"""Parameter groups for any optimiser: scales apart from directions and from the rest."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn.utils.parametrizations import _WeightNorm as TorchWeightNorm
from torch.nn.utils.weight_norm import WeightNorm as OldWeightNorm

from ._options import rate
from .parametrization import ScaleNorm

DORA_MAGNITUDE = "lora_magnitude_vector"  # how PEFT names them, and the factors of the direction
DORA_DIRECTIONS = ("lora_A", "lora_B", "lora_embedding_A", "lora_embedding_B")


def scale_direction_groups(
    model: Any,
    direction_lr: Any = None,
    scale_lr: Any = None,
    weight_decay: float = 0.0,
    scale_weight_decay: float = 0.0,
    rest_lr: Any = None,
    rest_weight_decay: float | None = None,
) -> list[dict[str, Any]]:
    """Sort the parameters of a model into groups for any torch optimiser: each exactly once.

    Scales are the g of `scale_norm` and of torch's weight_norm (new and old), and the magnitudes of
    PEFT's DoRA; directions are their v, and DoRA's two factors; the rest is the rest. Scales are
    never decayed unless asked for: a decay of g is ridge regression towards zero, and one that a
    rule like "decay what has two axes" makes by accident.

    Parameters
    ----------
    model : torch.nn.Module
        The model.
    direction_lr, scale_lr : float, optional
        Learning rates of directions and scales; the optimiser's own by default.
    weight_decay : float
        Of directions, and of the rest unless `rest_weight_decay` is given.
    scale_weight_decay : float
        Of scales.
    rest_lr : float, optional
        Learning rate of the rest; `direction_lr` by default.
    rest_weight_decay : float, optional
        Weight decay of the rest; `weight_decay` by default.

    Returns
    -------
    list of dict
        Groups with "params", "weight_decay", "lr" where one is given, and "role", one of "scale",
        "direction" and "rest"; those without a parameter are left out.

    Examples
    --------
    >>> import torch
    >>> from weightnorm.torch import scale_direction_groups, scale_norm
    >>> model = torch.nn.Sequential(scale_norm(torch.nn.Linear(4, 3)), torch.nn.LayerNorm(3))
    >>> groups = scale_direction_groups(model, 1e-3, scale_lr=1e-4, weight_decay=0.01)
    >>> [(group["role"], len(group["params"]), group["weight_decay"]) for group in groups]
    [('scale', 1, 0.0), ('direction', 1, 0.01), ('rest', 3, 0.01)]
    >>> optimizer = torch.optim.AdamW(groups)
    """
    if not isinstance(model, torch.nn.Module):
        raise TypeError(f"model must be a torch.nn.Module, got {type(model).__name__}")
    rest_lr = direction_lr if rest_lr is None else rest_lr
    rest_decay = weight_decay if rest_weight_decay is None else rest_weight_decay
    options = {
        "scale": (scale_lr, "scale_lr", scale_weight_decay, "scale_weight_decay"),
        "direction": (direction_lr, "direction_lr", weight_decay, "weight_decay"),
        "rest": (rest_lr, "rest_lr", rest_decay, "rest_weight_decay"),
    }
    roles = _roles(model)
    members: dict[str, list[Any]] = {role: [] for role in options}
    for p in model.parameters():  # each once, however many modules share it
        members[roles.get(id(p), "rest")].append(p)
    groups = []
    for role, (lr, lr_name, decay, decay_name) in options.items():
        group = {"params": members[role], "role": role, "weight_decay": rate(decay_name, decay)}
        if lr is not None:
            group["lr"] = rate(lr_name, lr)
        if members[role]:
            groups.append(group)
    return groups


def pairs(model: Any) -> dict[str, tuple[Any, Any, Any]]:
    """The scale and the direction of every weight that has them, and the axes that count blocks.

    Parameters
    ----------
    model : torch.nn.Module

    Returns
    -------
    dict of str to tuple
        g, v and dim, by the weight's full name.
    """
    found = {}
    for path, module in model.named_modules():
        prefix = f"{path}." if path else ""
        for name, parts in dict(getattr(module, "parametrizations", {})).items():
            if isinstance(parts[0], ScaleNorm | TorchWeightNorm):
                old = isinstance(parts[0], TorchWeightNorm) and parts[0].dim == -1
                dim = None if old else parts[0].dim
                found[prefix + name] = parts.original0, parts.original1, dim
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, OldWeightNorm):
                g, v = (getattr(module, f"{hook.name}_{part}") for part in "gv")
                found[prefix + hook.name] = g, v, None if hook.dim == -1 else hook.dim
    return found


def _roles(model: Any) -> dict[int, str]:
    """The role of each parameter that has one, by its identity; a scale stays a scale."""
    roles: dict[int, str] = {}
    for g, v, _ in pairs(model).values():
        roles[id(v)] = "direction"
        roles[id(g)] = "scale"
    named = list(model.named_parameters(remove_duplicate=False))
    magnitudes = {_place(path, (DORA_MAGNITUDE,)) for path, _ in named} - {None}
    for path, p in named:
        if DORA_MAGNITUDE in path.split("."):
            roles[id(p)] = "scale"
        elif _place(path, DORA_DIRECTIONS) in magnitudes:
            roles.setdefault(id(p), "direction")
    return roles


def _place(path: str, names: tuple[str, ...]) -> tuple[str, str] | None:
    """The layer and the adapter of a parameter of PEFT's, e.g. ("layers.0.q_proj", "default")."""
    parts = path.split(".")
    for at, part in enumerate(parts):
        if part in names:
            return ".".join(parts[:at]), parts[at + 1] if at + 1 < len(parts) else ""
    return None
