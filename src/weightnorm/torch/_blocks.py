"""The blocks of a tensor: which axes one scale spans, and sums over them."""

from __future__ import annotations

import math
from functools import cache, lru_cache
from typing import Any, NamedTuple

import torch

Dim = int | tuple[int, ...] | None
NEAR = 4.0  # ulp: numbers this near are equal but for rounding
# the types that parameters may have, and that in which their norms and states are kept
WORKING = {
    torch.float16: torch.float32,
    torch.bfloat16: torch.float32,
    torch.float32: torch.float32,
    torch.float64: torch.float64,
}
NO_FLOAT64 = ("mps",)  # devices


class Layout(NamedTuple):
    """How a shape falls into blocks.

    `axes` are those that one block spans, `scales` is the shape of the scales, with ones for these,
    `blocks` says how many there are and `length` of how many numbers each, and `in_rows` whether a
    block lies in one piece in memory: its axes are the last ones.
    """

    axes: tuple[int, ...]
    scales: tuple[int, ...]
    blocks: int
    length: int
    in_rows: bool


def checked_dim(dim: Any) -> Dim:
    """`dim` as a user gives it: an axis, a tuple of axes, or None for one block."""
    if dim is None or (isinstance(dim, int) and not isinstance(dim, bool)):
        return dim
    if isinstance(dim, tuple | list) and dim and all(type(axis) is int for axis in dim):
        return tuple(dim)
    raise TypeError(
        f"dim must be an axis, a tuple of axes or None (one block), got {dim!r}; 0 gives one scale "
        "per row"
    )


def spanned(shape: torch.Size, dim: Dim) -> tuple[int, ...]:
    """The axes that one block spans: all but those in `dim`, which count the blocks."""
    if dim is None:
        return tuple(range(len(shape)))
    kept = set()
    for axis in (dim,) if isinstance(dim, int) else dim:
        if not -len(shape) <= axis < len(shape):
            raise ValueError(
                f"dim={dim} is out of range for a parameter of shape {tuple(shape)}; give it a "
                "group of its own, with a dim that it has"
            )
        kept.add(axis % len(shape))
    axes = tuple(axis for axis in range(len(shape)) if axis not in kept)
    if not axes:
        raise ValueError(
            f"dim={dim} names every axis of a parameter of shape {tuple(shape)}: each number would "
            "be a block of its own, without a direction; leave one axis out, or give None"
        )
    return axes


def layout(shape: torch.Size, dim: Dim) -> Layout:
    """How a shape falls into blocks; a vector is one."""
    axes, ndim = spanned(shape, dim if len(shape) > 1 else None), len(shape)
    scales = tuple(1 if axis in axes else size for axis, size in enumerate(shape))
    length = math.prod([shape[axis] for axis in axes])
    in_rows = axes == tuple(range(ndim - len(axes), ndim))
    return Layout(axes, scales, math.prod(scales), length, in_rows)


known_layout = lru_cache(maxsize=4096)(layout)  # asked for at every step


def working(tensor: Any) -> torch.dtype:
    """The type in which norms and states are kept: float32 for half precision."""
    if tensor.dtype not in WORKING:
        raise TypeError(
            f"parameters must be real, of float16, bfloat16, float32 or float64, got {tensor.dtype}"
        )
    return WORKING[tensor.dtype]


def block_norm(tensor: Any, axes: tuple[int, ...]) -> Any:
    """The norm of each block, with its axes kept as ones."""
    return whole(torch.linalg.vector_norm(tensor, dim=axes, keepdim=True))


def safe_norm(tensor: Any, axes: tuple[int, ...]) -> Any:
    """The same, also where its square is beyond the numbers of this type, or too small for them.

    On the CPU such a norm is measured again. Elsewhere, and in compiled and distributed steps,
    asking would cost more: there the squares of float32 are summed in float64.
    """
    if not tensor.is_cpu or is_distributed(tensor) or torch.compiler.is_compiling():
        if tensor.dtype != torch.float32 or tensor.device.type in NO_FLOAT64:
            return block_norm(tensor, axes)
        wide = torch.linalg.vector_norm(tensor, dim=axes, keepdim=True, dtype=torch.float64)
        return whole(wide).to(tensor.dtype)
    norm = block_norm(tensor, axes)
    low, high = _safe(tensor.dtype)
    if bool(((norm > low) & (norm < high)).all()):
        return norm
    peak = tensor.detach().abs().amax(dim=axes, keepdim=True)
    peak = torch.where((peak > 0) & peak.isfinite(), peak, 1.0)
    return peak * block_norm(tensor / peak, axes)


@cache
def _safe(kind: torch.dtype) -> tuple[float, float]:
    """Between what a norm has its digits: no square that counts has overflowed or lost its own."""
    limits = torch.finfo(kind)
    return limits.tiny**0.5 / limits.eps, 0.5 * limits.max**0.5


def block_dot(one: Any, other: Any, axes: tuple[int, ...]) -> Any:
    """The inner product of each block, with its axes kept as ones."""
    return whole((one * other).sum(dim=axes, keepdim=True))


def whole(tensor: Any) -> Any:
    """A sum over the shards of a distributed tensor, where it was only taken within each."""
    if not is_distributed(tensor):
        return tensor
    from torch.distributed.tensor import Replicate

    placements = [Replicate() if p.is_partial() else p for p in tensor.placements]
    return tensor.redistribute(placements=placements)


def write(into: Any, value: Any) -> None:
    """Copy a tensor into another, which keeps the way it is spread over processes."""
    if is_distributed(into):
        value = value.redistribute(placements=into.placements)
    into.copy_(value)


def is_distributed(tensor: Any) -> bool:
    """Whether it is a DTensor (FSDP2, tensor parallelism)."""
    return hasattr(type(tensor), "placements")


def overlaps(tensor: Any) -> bool:
    """Whether numbers of a tensor share their memory (an expanded one): it cannot be written."""
    if is_distributed(tensor) or tensor.is_contiguous():
        return False
    return any(step == 0 and n > 1 for step, n in zip(tensor.stride(), tensor.shape, strict=True))
