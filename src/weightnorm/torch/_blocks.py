"""The blocks of a tensor: which axes one scale spans, and sums over them."""

from __future__ import annotations

from typing import Any

import torch

Dim = int | tuple[int, ...] | None
HALF = (torch.float16, torch.bfloat16)


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


def working(tensor: Any) -> torch.dtype:
    """The type in which norms and states are kept: float32 for half precision."""
    return torch.float32 if tensor.dtype in HALF else tensor.dtype


def block_norm(tensor: Any, axes: tuple[int, ...]) -> Any:
    """The norm of each block, with its axes kept as ones."""
    return whole(torch.linalg.vector_norm(tensor, dim=axes, keepdim=True))


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
