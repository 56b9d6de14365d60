"""What the last layer keeps of its start where its features cannot see it, and what theory says.

On fixed features, and for every loss, the flow of a row is known at every moment from the outputs
it has reached: of all rows with these outputs it is the one nearest to the start, in the sense of
the method's own potential. So SGD keeps the part of its start that the features cannot see, and WN
and rPGD shrink it to a known size. In a network the features have moved all the while: here the
features are those that training ended with, and whether the statement still helps is a question to
the experiment, not a theorem.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from weightnorm.problems import LeastSquares
from weightnorm.theory import flow_limit

from .arms import rates
from .protocol import Arm
from .training import Bench, TrainedNetworks

RANK = 1e-6  # of the largest singular value: features are computed in single precision


def unseen_norms(
    bench: Bench, trained: TrainedNetworks, arm: Arm, scale: float, second: float, count: int
) -> dict[str, Any]:
    """Norms of what the final features cannot see of the last layer, in the first members.

    Parameters
    ----------
    bench : Bench
    trained : TrainedNetworks
    arm : Arm
    scale, second : float
        The start scale, and the arm's second number.
    count : int
        How many members.

    Returns
    -------
    dict
        "unseen_start", "unseen_reached" and "unseen_predicted", each (count,): root mean squares
        over classes. NaN where training diverged or all features died, and where the theory says
        nothing of the arm.
    """
    import torch

    last = torch.cat([part.detach() for part in trained.model.last]).double()
    found = np.full((3, count), np.nan)
    for index in range(count):
        features = bench.features(trained, index)
        reached, start = last[index].numpy(), trained.first[index].double().numpy()
        if np.isfinite(features).all() and np.isfinite(reached).all():
            found[:, index] = _norms(arm, features, start, reached, rates(arm, scale, second))
    return dict(zip(("unseen_start", "unseen_reached", "unseen_predicted"), found, strict=True))


def _norms(arm: Arm, X: Any, start: Any, reached: Any, found: dict[str, float]) -> list[float]:
    """The three norms of a member."""
    _, sizes, seen = np.linalg.svd(X, full_matrices=False)  # not centred: gradients are in its rows
    seen = seen[sizes > RANK * sizes[0]]
    if not len(seen):  # all features are dead
        return [np.nan] * 3
    parts = [rows - (rows @ seen.T) @ seen for rows in (start, reached)]
    norms = [float(np.sqrt(np.mean(np.sum(part**2, axis=1)))) for part in parts]
    if arm.rule == "sgd" and arm.second != "decay":
        return [*norms, norms[0]]
    if not all(arm.phases) or arm.rule == "sgd":
        return [*norms, np.nan]
    unseen = np.linalg.norm(parts[0], axis=1)
    ends = [
        _unseen_end(float(np.linalg.norm(row)), float(off), float(np.linalg.norm(end)), arm, found)
        for row, off, end in zip(start, unseen, reached @ seen.T, strict=True)
    ]
    return [*norms, float(np.sqrt(np.mean(np.square(ends))))]


def _unseen_end(g0: float, off: float, fit: float, arm: Arm, found: dict[str, float]) -> float:
    """‖x⊥‖ where a row ends of norm g0 and unseen part `off`, when what is seen has norm `fit`.

    The limit depends on these three numbers and c alone, so one equation in two unknowns will do.
    """
    ratio = found["ratio"] * (g0**2 if arm.rule == "wn" else 1.0)
    along = np.sqrt(max(g0**2 - off**2, 0.0))
    problem = LeastSquares([[1.0, 0.0]], [fit])
    return float(flow_limit(problem, g0, np.array([along, off]) / g0, ratio).distance)
