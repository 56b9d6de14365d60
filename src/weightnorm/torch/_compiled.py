"""The step in machine code, for the rows of tensors that lie on the CPU in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ._rules import UNIT, Block, Options

# numbers in a parameter: beyond, torch's operations, which share the cores among them, are as fast
LARGEST = 2**18
TYPES = (torch.float32, torch.float64)


def in_rows(p: Any, w: Any, axes: tuple[int, ...]) -> bool:
    """Whether a parameter and its direction are rows in one piece: one block each, or one in all."""
    return (
        p.dtype in TYPES
        and p.numel() <= LARGEST
        and axes[-1] == p.ndim - 1
        and len(axes) >= p.ndim - 1
        and (len(axes) == p.ndim or axes[0] == 1)
        and all(t.is_cpu and t.dtype == p.dtype and t.is_contiguous() for t in (p, w))
    )


def suits(block: Block) -> bool:
    """Whether the kernel can make the step of a parameter."""
    p, G, buffer = block.parameter, block.gradient, block.direction_buffer
    return (
        in_rows(p, block.direction, block.axes)
        and G.dtype == p.dtype
        and G.is_contiguous()
        and not G.is_neg()
        and (buffer is None or buffer.is_contiguous())
    )


def differ(p: Any, state: dict[str, Any], near: float) -> bool:
    """Whether a parameter `in_rows` is not what its state makes of it."""
    from ..engine.kernels.rows import rows_differ

    rows, norm = state["scale"].numel(), state.get("direction_norm")
    scale = state["scale"].numpy().reshape(-1)
    return bool(
        rows_differ(
            p.detach().numpy().reshape(rows, -1),
            state["direction"].numpy().reshape(rows, -1),
            scale,
            scale if norm is None else norm.numpy().reshape(-1),
            scale.dtype.type(near),
            norm is None,
        )
    )


def compiled_steps(blocks: list[Block], options: Options) -> None:
    """Make the steps of several parameters of one type, one after the other."""
    from ..engine.kernels.rows import rows_step

    kind = np.float32 if blocks[0].direction.dtype == torch.float32 else np.float64
    numbers = np.array(
        [
            -1.0 if options.maximize else 1.0,
            options.lr,
            options.ratio * options.lr,
            options.momentum,
            options.decay,
            options.eps,
            UNIT * np.finfo(kind).eps,
        ],
        dtype=kind,
    )
    none, empty = np.empty(0, dtype=kind), np.empty((0, 0), dtype=kind)
    for block in blocks:
        p, w = block.parameter.detach().numpy(), block.direction.numpy()
        rows = block.scale.numel()
        projects, heavy = block.norm is None, bool(options.momentum)
        rows_step(
            p.reshape(rows, -1),
            block.gradient.numpy().reshape(rows, -1),
            w.reshape(rows, -1),
            block.scale.numpy().reshape(-1),
            none if projects else block.norm.numpy().reshape(-1),
            block.direction_buffer.numpy().reshape(rows, -1) if heavy else empty,
            block.scale_buffer.numpy().reshape(-1) if heavy else none,
            numbers,
            options.nesterov,
            projects,
        )
        torch.autograd.graph.increment_version(block.parameter)
