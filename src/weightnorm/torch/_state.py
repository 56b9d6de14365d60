"""The state of one parameter: g, w and their buffers, begun, checked, and taken from the weights.

A state holds "direction" (the parameter's shape), "scale" (one number per block), for weight
normalization "direction_norm", and with momentum "direction_buffer" and "scale_buffer", all of the
working type and on the parameter's device. A parameter without blocks has a buffer only.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import torch

from ._blocks import (
    NEAR,
    Layout,
    block_dot,
    is_distributed,
    overlaps,
    safe_norm,
    whole,
    working,
    write,
)

STATE = ("direction", "scale", "direction_norm", "direction_buffer", "scale_buffer")
LIKE_PARAMETER = ("direction", "direction_buffer")
BUFFERS = ("direction_buffer", "scale_buffer")


def initial(group: dict[str, Any], p: Any, gradient: Any, at: Layout, unit: bool) -> dict[str, Any]:
    """The first state: g = ‖p‖ and w along p, of norm 1 if `unit`.

    A block of zeros has no direction: it gets that of the steepest descent, or, without a gradient,
    any other. A block that is not finite has a scale that is not: nothing is made of it in silence.
    """
    wide, eps = working(p), group["eps"]
    x = p.to(wide, copy=True) if group["differentiable"] else p.detach().to(wide)
    g = safe_norm(x, at.axes)
    known = g > (eps if at.length > 1 else 0.0)  # one number is its own scale
    length = torch.where(known, g, 1.0)
    G = gradient.to(wide) * (-1.0 if group["maximize"] else 1.0)
    size = safe_norm(G, at.axes)
    flat = (g.numel() / x.numel()) ** 0.5
    down = torch.where(size > eps, -G / size.clamp(min=max(eps, torch.finfo(wide).tiny)), flat)
    state = {"direction": torch.where(known, x / length if unit else x, down)}
    state["scale"] = torch.where(known | ~g.isfinite(), g, 0.0)
    if not unit:
        state["direction_norm"] = length
    return state


def required(unit: bool) -> tuple[str, ...]:
    """What every state of a parameter with blocks has: that of a `unit` direction, or of any."""
    return ("direction", "scale") if unit else ("direction", "scale", "direction_norm")


def misfit(
    p: Any, state: Mapping[str, Any], at: Layout | None, unit: bool, anywhere: bool = False
) -> str:
    """What in a state is not as a parameter needs it, in words, or "".

    Its tensors may be `anywhere` while they are only looked at.
    """
    known = BUFFERS[:1] if at is None else required(unit) + BUFFERS
    for name, tensor in state.items():
        if name not in known or not isinstance(tensor, torch.Tensor):
            return f"{name}, which is not of this optimiser"
        due = p.shape if at is None or name in LIKE_PARAMETER else at.scales
        if tensor.shape != due:
            return f"a {name} of shape {tuple(tensor.shape)} where {tuple(due)} is expected"
        if not tensor.is_floating_point() or tensor.layout is not torch.strided:
            return f"a {name} of {tensor.dtype}, {tensor.layout}"
        if overlaps(tensor):
            return f"a {name} whose numbers share their memory"
        if not anywhere and tensor.device != p.device:
            return f"a {name} on {tensor.device} where {p.device} is expected"
    missing = [name for name in required(unit) if name not in state]
    return f"no {' nor '.join(missing)}" if at is not None and state and missing else ""


def check(
    group: dict[str, Any], p: Any, state: dict[str, Any], at: Layout | None, unit: bool
) -> None:
    """Refuse a state of another parameter; of another type, it is brought to that of this one."""
    if wrong := misfit(p, state, at, unit):
        raise ValueError(
            f"the state of a parameter of shape {tuple(p.shape)} has {wrong} (dim={group['dim']}): "
            "the parameter, its device or dim was changed after a step, or the state is another's; "
            "no parameter was moved. optimizer.state.pop(parameter) lets it start afresh"
        )
    kind = working(p) if at is not None else p.dtype
    for name, tensor in state.items():
        if tensor.dtype is not kind:  # the model was brought to another type
            state[name] = tensor.to(kind)


def add_buffers(p: Any, state: dict[str, Any], at: Layout | None) -> None:
    """Zeros for the momentum, where there are none yet."""
    if "direction_buffer" not in state:
        like = p if at is None else state["direction"]
        state["direction_buffer"] = torch.zeros_like(like, requires_grad=False)
    if at is not None and "scale_buffer" not in state:
        state["scale_buffer"] = torch.zeros_like(state["scale"], requires_grad=False)


def follow(group: dict[str, Any], p: Any, state: dict[str, Any], at: Layout, known: bool) -> None:
    """Take over a parameter that others may have changed since the last step.

    ‖w‖ and the side that w is on are kept. `known` says whether it was written here before: if not,
    a difference is worth a warning.
    """
    axes, w, g = at.axes, state["direction"], state["scale"]
    n = state.get("direction_norm")
    here = w * (g if n is None else g / n)
    if not is_distributed(p) and torch.equal(here.to(p.dtype), p.detach()):
        return
    n = torch.ones_like(g) if n is None else n
    x = p.detach().to(w.dtype)
    if p.dtype == w.dtype:
        kind = torch.finfo(p.dtype)  # subnormal numbers round by too much to tell
        off = ~((x - here).abs() <= NEAR * kind.eps * here.abs() + kind.tiny)
    else:  # the parameter is the rounded one
        off = here.to(p.dtype) != p.detach()
    changed = whole(off.to(w.dtype).sum(dim=axes, keepdim=True)) > 0
    if not bool(changed.any()):
        return
    if not known:
        warnings.warn(
            f"a parameter of shape {tuple(p.shape)} is not what the optimiser's state makes of it: "
            "another model or another state was loaded; going on from the parameter",
            stacklevel=2,
        )
    _adopt(x, state, n, changed, at, group["eps"])


def _adopt(x: Any, state: dict[str, Any], n: Any, changed: Any, at: Layout, eps: float) -> None:
    """Bring the blocks that were changed to the weights x."""
    w, g = state["direction"], state["scale"]
    size = safe_norm(x, at.axes)
    known = size > (eps if at.length > 1 else 0.0)
    # a norm that is lost, or with which g/n is not a number, is that of the weights
    limits = torch.finfo(n.dtype)
    lost = ~(n.isfinite() & (n > eps)) | (known & (size <= limits.tiny * n))
    lost |= known & (size >= limits.max * n)
    n = torch.where(lost, torch.where(known, size, 1.0), n)
    unit = x / torch.where(known, size, 1.0)
    sign = torch.where(block_dot(unit, w, at.axes) < 0, -1.0, 1.0).to(x.dtype)
    kept = torch.where(w.isfinite(), w, n * at.length**-0.5)
    write(w, torch.where(changed, torch.where(known, unit * (sign * n), kept), w))
    # weights that are not numbers have a scale that is none: they stay so until others come
    moved = torch.where(known | ~size.isfinite(), sign * size, 0.0)
    write(g, torch.where(changed, moved, g))
    if "direction_norm" in state:
        write(state["direction_norm"], torch.where(changed, n, state["direction_norm"]))
    for name in BUFFERS:
        if name in state:  # what is not a number would stay so for ever
            lost = changed & ~state[name].isfinite()
            write(state[name], torch.where(lost, 0.0, state[name]))
