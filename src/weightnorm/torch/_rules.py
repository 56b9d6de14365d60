"""One step of WN and rPGD on tensors: as formulas, and in place for speed.

Both are x = g·w/n with n = ‖w‖, in blocks. With G = ∂loss/∂x and s = ⟨G, w⟩/n,

    ∇_g = s,    ∇_w = (g/n)(G − s·w/n) for WN, and g·G for rPGD, which has n = 1.

So ∇_w = b·G + a·w with b = g/n and a = −b·s/n (rPGD: a = 0), and all else is common: decay of g,
torch's momentum, the step; rPGD then divides w by its norm.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from ._blocks import block_dot, block_norm

UNIT = 4.0  # ulp: a norm this near to 1 counts as 1, so that a step of nothing changes nothing


@dataclass(frozen=True)
class Options:
    """What a step needs to know besides its tensors."""

    lr: Any
    ratio: Any
    momentum: float
    nesterov: bool
    decay: float
    eps: float
    maximize: bool
    still: bool  # a learning rate of zero: only the buffers change


@dataclass(frozen=True)
class Block:
    """The tensors of one parameter: x = g·w/n, their buffers and the gradient by x.

    `norm` is None for rPGD: its direction is brought back to the sphere, and n is 1.
    """

    parameter: Any
    gradient: Any
    direction: Any
    scale: Any
    norm: Any
    direction_buffer: Any
    scale_buffer: Any
    axes: tuple[int, ...]

    def slopes(self, G: Any) -> tuple[Any, Any, Any]:
        """s, and b and a of ∇_w = b·G + a·w; a is None for rPGD."""
        s = block_dot(G, self.direction, self.axes)
        if self.norm is None:
            return s, self.scale, None
        s = s / self.norm
        b = self.scale / self.norm
        return s, b, -b * s / self.norm


def functional(block: Block, options: Options) -> dict[str, Any]:
    """The state after a step, and the parameter, all as new tensors.

    The plain form: for derivatives through a step, compilers, and tensors spread over processes.
    """
    w, g, beta = block.direction, block.scale, options.momentum
    G = block.gradient.to(w.dtype)
    G = -G if options.maximize else G
    s, b, a = block.slopes(G)
    moves = [b * G if a is None else b * G + a * w, s + options.decay * g]
    new: dict[str, Any] = {}
    if beta:
        before = block.direction_buffer, block.scale_buffer
        buffers = [beta * old + move for old, move in zip(before, moves, strict=True)]
        new = {"direction_buffer": buffers[0], "scale_buffer": buffers[1]}
        moves = (
            [move + beta * buffer for move, buffer in zip(moves, buffers, strict=True)]
            if options.nesterov
            else buffers
        )
    if options.still:
        return new
    w = w - options.lr * moves[0]
    g = g - options.ratio * options.lr * moves[1]
    norm = block_norm(w, block.axes).clamp(min=options.eps)
    if block.norm is None:
        w = w / torch.where((norm - 1.0).abs() <= _few_ulp(norm), 1.0, norm)
        return new | {"direction": w, "scale": g, "parameter": g * w}
    return new | {"direction": w, "scale": g, "direction_norm": norm, "parameter": w * (g / norm)}


def in_place(blocks: list[Block], options: Options) -> None:
    """The same for several parameters, written into their tensors."""
    if not blocks:
        return
    lr, beta = options.lr, options.momentum
    W = [block.direction for block in blocks]
    G = [block.gradient.to(block.direction.dtype) for block in blocks]
    if options.maximize:
        G = torch._foreach_neg(G)
    found = [block.slopes(gradient) for block, gradient in zip(blocks, G, strict=True)]
    B = [b for _, b, _ in found]
    A = [a for _, _, a in found if a is not None]
    if beta:
        buffers = [block.direction_buffer for block in blocks]
        torch._foreach_mul_(buffers, beta)
        torch._foreach_addcmul_(buffers, G, B)
        if A:
            torch._foreach_addcmul_(buffers, W, A)
    if not options.still and (not beta or options.nesterov):
        if A:
            torch._foreach_mul_(W, [1.0 - lr * a for a in A])
        torch._foreach_addcmul_(W, G, [b * -lr for b in B])
    if beta and not options.still:
        share = -beta if options.nesterov else -1.0
        torch._foreach_addcmul_(W, buffers, [_number(lr, w) * share for w in W])
    for block, (s, _, _) in zip(blocks, found, strict=True):
        _scale_and_write(block, s, options)


def _scale_and_write(block: Block, s: Any, options: Options) -> None:
    """The step of the scale, the norm of the moved direction, and the parameter."""
    w, g, p = block.direction, block.scale, block.parameter
    slope = s + options.decay * g if options.decay else s
    if options.momentum:
        buffer = block.scale_buffer.mul_(options.momentum).add_(slope)
        slope = slope + options.momentum * buffer if options.nesterov else buffer
    if options.still:
        return
    g.sub_(slope * (options.ratio * options.lr))
    norm = block_norm(w, block.axes).clamp_(min=options.eps)
    if block.norm is None:
        w.div_(norm.masked_fill_((norm - 1.0).abs_() <= _few_ulp(norm), 1.0))
        factor = g
    else:
        block.norm.copy_(norm)
        factor = g / norm
    if p.dtype == w.dtype:
        torch.mul(w, factor, out=p)
    else:
        p.copy_(w * factor)


def _number(value: Any, like: Any) -> Any:
    """A number or a tensor of one, as a tensor that goes with another."""
    return torch.as_tensor(value, dtype=like.dtype, device=like.device)


def _few_ulp(norm: Any) -> float:
    return UNIT * float(torch.finfo(norm.dtype).eps)
