"""One step of WN and rPGD on tensors: as formulas, and in place for speed.

Both are x = g·w/n with n = ‖w‖, in blocks. With G = ∂loss/∂x and s = ⟨G, w⟩/n,

    ∇_g = s,    ∇_w = (g/n)(G − s·w/n) for WN, and g·G for rPGD, which has n = 1.

So ∇_w = b·G + a·w with b = g/n and a = −b·s/n (rPGD: a = 0), and all else is common: decay of g,
torch's momentum, the step; rPGD then divides w by its norm. A block of one number has no direction
to turn: w stays, and the number is moved by its scale.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import torch

from ._blocks import NEAR, Layout, block_dot, is_distributed, safe_norm
from ._options import StepOptions


class Block(NamedTuple):
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
    at: Layout | None  # None where there are no blocks: plain SGD

    @property
    def axes(self) -> tuple[int, ...]:
        """The axes that a block spans."""
        return () if self.at is None else self.at.axes

    @property
    def turns(self) -> bool:
        """Whether there is a direction to turn: more than one number in a block."""
        return bool(self.parameter.numel() > self.scale.numel())

    def slopes(self, G: Any) -> tuple[Any, Any, Any]:
        """s, and b and a of ∇_w = b·G + a·w; a is None for rPGD."""
        s = block_dot(G, self.direction, self.axes)
        if self.norm is None:
            return s, self.scale, None
        s = s / self.norm
        b = self.scale / self.norm
        return s, b, -b * s / self.norm


def functional(block: Block, options: StepOptions) -> dict[str, Any]:
    """The state after a step, and the parameter, all as new tensors.

    The plain form: for derivatives through a step, compilers, and tensors spread over processes.
    """
    w, g, beta = block.direction, block.scale, options.momentum
    G = block.gradient.to(w.dtype)
    G = -G if options.maximize else G
    s, b, a = block.slopes(G)
    turn = b * G if a is None else b * G + a * w
    moves = [turn if block.turns else torch.zeros_like(w), s + options.decay * g]
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
    g = g - options.ratio * options.lr * moves[1]
    if not block.turns:
        return new | {"scale": g, "parameter": w * (g if block.norm is None else g / block.norm)}
    w = w - options.lr * moves[0]
    norm = _divisor(w, block.axes, options, block.norm is None)
    if block.norm is None:
        w = w / norm
        return new | {"direction": w, "scale": g, "parameter": g * w}
    return new | {"direction": w, "scale": g, "direction_norm": norm, "parameter": w * (g / norm)}


def in_place(blocks: list[Block], options: StepOptions, together: bool) -> None:
    """The same for several parameters of one type and device, written into their tensors.

    They all turn, or none does. `together` makes each operation for all of them before the next.
    """
    W = [block.direction for block in blocks]
    G = [block.gradient.to(block.direction.dtype) for block in blocks]
    G = torch._foreach_neg(G) if options.maximize else G
    slopes = _slopes(blocks, G, together)
    B, A = [block.scale for block in blocks], []
    if blocks[0].norm is not None:
        norms = [block.norm for block in blocks]
        torch._foreach_div_(slopes, norms)
        B = torch._foreach_div(B, norms)
        A = torch._foreach_mul(torch._foreach_div(B, norms), slopes)  # −a
    if blocks[0].turns:
        _turn(blocks, (W, G, A, B), options, together)
    _move_scales(blocks, slopes, options)  # last: rPGD's B are the scales themselves
    if not options.still:
        _write(blocks, options)


def _turn(
    blocks: list[Block], lists: tuple[Any, ...], options: StepOptions, together: bool
) -> None:
    """The steps of the directions W, with ∇_w = B·G − A·W."""
    W, G, A, B = lists
    lr, beta = options.lr, options.momentum
    buffers = [block.direction_buffer for block in blocks]
    if beta:
        torch._foreach_mul_(buffers, beta)
        _add_products(buffers, G, B, 1.0, together)
        _add_products(buffers, W, A, -1.0, together)
    if not options.still and (not beta or options.nesterov):
        _add_products(W, W, A, lr, together)
        _add_products(W, G, B, -lr, together)
    if not options.still and beta:
        torch._foreach_add_(W, buffers, alpha=-lr * (beta if options.nesterov else 1.0))


def _slopes(blocks: list[Block], G: Any, together: bool) -> Any:
    """⟨G, w⟩ for each block."""
    W = [block.direction for block in blocks]
    if together:
        products = torch._foreach_mul(G, W)
    else:  # one piece of memory for all products, which stays in the cache
        most = max(w.numel() for w in W)
        scratch = torch.empty(most, dtype=W[0].dtype, device=W[0].device)
        products = (
            torch.mul(gradient, w, out=scratch[: w.numel()].view(w.shape))
            for gradient, w in zip(G, W, strict=True)
        )
    return [
        product.sum(dim=block.axes, keepdim=True)
        for block, product in zip(blocks, products, strict=True)
    ]


def _add_products(into: Any, one: Any, other: Any, factor: float, together: bool) -> None:
    """into += factor·one·other, tensor by tensor; nothing where there is no other."""
    if together and other:
        torch._foreach_addcmul_(into, one, other, value=factor)
        return
    for tensor, a, b in zip(into, one, other, strict=False):
        tensor.addcmul_(a, b, value=factor)


def _move_scales(blocks: list[Block], slopes: Any, options: StepOptions) -> None:
    scales = [block.scale for block in blocks]
    if options.decay:
        torch._foreach_add_(slopes, scales, alpha=options.decay)
    if options.momentum:
        buffers = [block.scale_buffer for block in blocks]
        torch._foreach_mul_(buffers, options.momentum)
        torch._foreach_add_(buffers, slopes)
        if options.nesterov:
            torch._foreach_add_(slopes, buffers, alpha=options.momentum)
        else:
            slopes = buffers
    if options.ratio * options.lr:  # frozen, they stay, whatever the slopes
        torch._foreach_add_(scales, slopes, alpha=-options.ratio * options.lr)


def _write(blocks: list[Block], options: StepOptions) -> None:
    """The norms of the moved directions, and the parameters."""
    for block in blocks:
        w, p = block.direction, block.parameter
        if block.turns:
            norm = _divisor(w, block.axes, options, block.norm is None)
            if block.norm is None:
                w.div_(norm)
            else:
                block.norm.copy_(norm)
        factor = block.scale if block.norm is None else block.scale / block.norm
        if p.dtype == w.dtype:
            torch.mul(w, factor, out=p)
        else:
            p.copy_(w * factor)


def plain_step(vectors: list[tuple[Any, Any, Any]], options: StepOptions) -> None:
    """A step of torch's SGD for what has no blocks: parameters, gradients and buffers."""
    lr, beta = options.lr, options.momentum
    plain = isinstance(lr, float) and not beta and not options.maximize
    traced = torch.is_grad_enabled() or any(is_distributed(p) for p, *_ in vectors)
    if vectors and plain and not traced:
        torch._foreach_add_([p for p, *_ in vectors], [G for _, G, _ in vectors], alpha=-lr)
        return
    for p, gradient, buffer in vectors:
        G = -gradient if options.maximize else gradient
        if beta:
            buffer.mul_(beta).add_(G)
            G = G + beta * buffer if options.nesterov else buffer
        if isinstance(lr, float):
            p.add_(G, alpha=-lr)
        else:
            p.sub_(lr * G)


def _divisor(w: Any, axes: tuple[int, ...], options: StepOptions, unit: bool) -> Any:
    """The norms of the moved directions, to divide by: 1 where there is nothing to normalise.

    That is a direction of zeros, and a `unit` one that has hardly moved: a step of nothing changes
    nothing, bit by bit.
    """
    norm = safe_norm(w, axes)
    still = norm <= options.eps
    if unit:
        still = still | ((norm - 1.0).abs() <= NEAR * torch.finfo(norm.dtype).eps)
    return torch.where(still, 1.0, norm)
