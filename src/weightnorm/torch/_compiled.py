"""The step in machine code, for the rows of tensors that lie on the CPU in one piece."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ._rules import UNIT, Block, Options

# numbers in a parameter: beyond, torch's operations, which share the cores among them, are as fast
LARGEST = 2**18
TYPES = (torch.float32, torch.float64)


def suits(p: Any, gradient: Any, w: Any, buffer: Any, axes: tuple[int, ...]) -> bool:
    """Whether the kernel can make the step of a parameter: rows in one piece, one block each, or
    one in all.
    """
    kind, ndim = p.dtype, p.ndim
    if kind not in TYPES or p.numel() > LARGEST or gradient.is_neg():
        return False
    if axes[-1] != ndim - 1 or len(axes) < ndim - 1 or (len(axes) < ndim and axes[0] != 1):
        return False
    for tensor in (p, gradient, w) if buffer is None else (p, gradient, w, buffer):
        if tensor.dtype is not kind or not tensor.is_cpu or not tensor.is_contiguous():
            return False
    return True


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
            np.finfo(kind).tiny,
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
