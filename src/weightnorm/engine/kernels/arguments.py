"""What the kernels of least squares are handed, in named groups.

A kernel takes each group apart by its order, which is the order here.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple


class Rule(NamedTuple):
    """A method: which one, and what its steps have besides their sizes."""

    method: Any
    momentum: Any
    nesterov: Any


class StepValues(NamedTuple):
    """The values of both steps, one more of each than steps are made, and their powers.

    The powers are those of the scale and of ‖w‖, of the direction's step first.
    """

    vector_values: Any
    scale_values: Any
    powers: Any


class Lanes(NamedTuple):
    """Runs as lanes, block × coordinate or field × lane, flat."""

    vectors: Any
    buffers: Any
    fields: Any


class Diagonals(NamedTuple):
    """Diagonal problems: λ, −ξ and the number of coordinates."""

    curvatures: Any
    shift: Any
    size: Any


class LaneBlocks(NamedTuple):
    """Which blocks to advance; a bit per lane that is alive; where each run ended."""

    order: Any
    alive: Any
    ended_at: Any


class SingleProblem(NamedTuple):
    """Least squares as one run after another has it: diagonal, or with its samples kept apart.

    Shapes are (n, rank), (n, rank), (n,), (m, rank) and (m,); what a problem lacks is empty.
    """

    curvatures: Any
    target: Any
    floor: Any
    matrix: Any
    y: Any


class SingleRuns(NamedTuple):
    """Where n runs stand: w (x itself for gradient descent) with p in its last column, the scale
    of the method's own, their momentum, and how they are judged.
    """

    vectors: Any
    buffers: Any
    scale: Any
    scale_buffer: Any
    alive: Any
    loss: Any
    ended_at: Any
    divergence_loss: Any


class StepExtras(NamedTuple):
    """What only the kernel of single runs has: factors of the steps (2, n), decays of w and g, the
    largest norm of the gradients (inf where they are not clipped), and the samples (count, b) and
    the noise (count, m) of each step, of no width where there are none.
    """

    factors: Any
    decays: Any
    clip: Any
    rows: Any
    noise: Any


def plain(*groups: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
    """The groups as numba gets them: what is in a named one takes it microseconds to tell."""
    return map(tuple, groups)
