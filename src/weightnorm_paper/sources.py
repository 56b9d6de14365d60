"""Which sources compute the parts of Figure 5 and the shards of the network experiment."""

from __future__ import annotations

from weightnorm._support.sources import RUNS

FIGURE_5 = (
    *RUNS,
    "runs/contest.py",
    "runs/step_search.py",
    "weightnorm_paper:experiments/search.py",
)
NETWORK = (
    "_support/agreement.py",
    "_support/blas.py",
    "_support/extensions.py",
    "_support/interrupts.py",
    "_support/late.py",
    "_support/momentum.py",
    "_support/moved.py",
    "_support/numeric.py",
    "_support/pool.py",
    "_support/validate.py",
    "engine/kernels",
    "weightnorm_paper:network/arms.py",
    "weightnorm_paper:network/data.py",
    "weightnorm_paper:network/models.py",
    "weightnorm_paper:network/prediction.py",
    "weightnorm_paper:network/protocol.py",
    "weightnorm_paper:network/shard.py",
    "weightnorm_paper:network/training.py",
    "problems",
    "runs/history.py",
    "theory",
    "torch",
)
