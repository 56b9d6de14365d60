"""The step in machine code, for the rows of tensors that lie on the CPU in one piece.

The kernel gets addresses: it is entered here only, by tensors whose type, shape, device and layout
in memory have been looked at in this step.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
import torch

from .._support.pool import share
from ._blocks import NEAR, Layout
from ._options import StepOptions

TYPES = {torch.float32: np.float32, torch.float64: np.float64}
PLAIN = (torch.Tensor, torch.nn.Parameter)  # a subclass may keep its numbers elsewhere
DENSE = torch.strided
WORTH_A_THREAD = 2**19  # numbers: fewer are moved sooner than a thread starts


@dataclass
class Table:
    """Parameters of one type as the kernel reads them, each with its row from `table_row`."""

    parameters: list[Any] = field(default_factory=list)
    rows: list[list[int]] = field(default_factory=list)
    held: list[tuple[Any, ...]] = field(default_factory=list)  # what the addresses are those of

    def add(self, p: Any, held: tuple[Any, ...], row: list[int]) -> None:
        """Add a parameter, its gradient and its state."""
        self.parameters.append(p)
        self.held.append(held)
        self.rows.append(row)


def table_row(
    p: Any, gradient: Any, state: Mapping[str, Any], at: Layout, unit: bool, heavy: bool
) -> list[int] | None:
    """A parameter as the kernel reads it: rows, columns and addresses, 0 for what it has not.

    A `unit` direction has no norm, and buffers belong to a `heavy` ball. None where the kernel must
    not touch it: other types and devices, blocks that are not in one piece, tensors that are
    missing, not laid out plainly, or whose shapes do not fit together.
    """
    kind, shape, scales = p.dtype, p.shape, at.scales
    if kind not in TYPES or not at.in_rows or p.layout is not DENSE or gradient.layout is not DENSE:
        return None
    if p.is_neg() or gradient.is_neg():  # their signs are not in memory
        return None
    needed = [
        _address(p, kind, shape),
        _address(gradient, kind, shape),
        _address(state.get("direction"), kind, shape),
        _address(state.get("scale"), kind, scales),
    ]
    norm, buffers = 0, [0, 0]
    if not unit:
        norm = _address(state.get("direction_norm"), kind, scales)
        needed.append(norm)
    if heavy:
        buffers = [
            _address(state.get("direction_buffer"), kind, shape),
            _address(state.get("scale_buffer"), kind, scales),
        ]
        needed += buffers
    if 0 in needed or not _can_compile():
        return None
    return [at.blocks, at.length, *needed[:4], norm, *buffers]


@cache
def _can_compile() -> bool:
    """Whether numba compiles here; it is imported only where a tensor could use it."""
    from ..engine.kernels.compiling import enabled

    return enabled()


def _address(tensor: Any, kind: torch.dtype, shape: tuple[int, ...]) -> int:
    """Where the numbers of a tensor begin, if it is of this type and shape and lies in one piece
    on the CPU; else 0, as for one whose memory was given back.
    """
    if (
        type(tensor) in PLAIN
        and tensor.dtype is kind
        and tensor.shape == shape
        and tensor.is_cpu
        and tensor.is_contiguous()
    ):
        return int(tensor.data_ptr())
    return 0


def has_memory(tensor: Any) -> bool:
    """Whether a plain tensor on the CPU still has its numbers; others are not looked at."""
    if type(tensor) not in PLAIN or not tensor.is_cpu or tensor.layout is not DENSE:
        return True
    try:
        return bool(tensor.untyped_storage().nbytes())
    except (NotImplementedError, RuntimeError):  # a wrapper of torch.func has no storage at all
        return True


def compiled_steps(table: Table, options: StepOptions, projects: bool) -> None:
    """Make the steps of parameters of one type, whose table was made just now."""
    from ..engine.kernels.rows import rows_step

    kind = TYPES[table.parameters[0].dtype]
    numbers = _numbers(options, kind)
    like, rows = np.empty(0, dtype=kind), np.array(table.rows, dtype=np.int64)
    nesterov = options.nesterov
    parts = int(rows[:, 0] @ rows[:, 1]) // WORTH_A_THREAD
    parts = max(1, min(parts, torch.get_num_threads()))

    def work(part: int) -> None:
        rows_step(rows, like, numbers, nesterov, projects, part, parts)

    if parts == 1:
        work(0)
    else:
        share(work, range(parts), parts)
    _increment_versions(table.parameters)


def _increment_versions(parameters: list[Any]) -> None:
    """Tell autograd that they were written; inference tensors are none of its business."""
    try:
        torch.autograd.graph.increment_version(parameters)
    except (TypeError, RuntimeError):  # torch 2.4 takes one at a time
        for p in parameters:
            if not p.is_inference():
                torch.autograd.graph.increment_version(p)


def _numbers(options: StepOptions, kind: Any) -> Any:
    """What the kernel's docstring names, in the type of the arrays."""
    limits = np.finfo(kind)
    return np.array(
        [
            -1.0 if options.maximize else 1.0,
            options.lr,
            options.ratio * options.lr,
            options.momentum,
            options.decay,
            max(options.eps, limits.tiny),
            NEAR * limits.eps,
            limits.tiny,
            limits.tiny / limits.eps**2,
            limits.max,
        ],
        dtype=kind,
    )
