"""One shard: an arm in a setting is tuned, run and measured at every start scale."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .prediction import unseen_norms
from .protocol import TRACED, TUNING_SEED, WIDE, Arm, NetworkShard, Size
from .training import Bench, Member, TrainedNetworks

MEASURED = ("test_error", "train_error", "norm", "turned", "diverged")


def compute(shard: NetworkShard, folder: Path) -> dict[str, Any]:
    """All numbers of a shard.

    Parameters
    ----------
    shard : NetworkShard
    folder : Path
        Of MNIST's files.

    Returns
    -------
    dict of str -> array
        `shapes` names them, and their axes' lengths.
    """
    size, arm = shard.size, shard.arm
    bench = Bench(shard.setting, size.steps_of(shard.setting), folder)
    found: dict[str, list[Any]] = {name: [] for name in shapes(shard)}
    for scale in size.scales:
        rate, second, errors = _tune(bench, arm, scale, size)
        found["chosen"].append((rate, second))
        found["validation_error"].append(errors)
        trained = bench.train(arm, scale, _fresh(rate, second, size), traced=True)
        _append(found, "", _measured(bench, trained))
        for name, values in trained.traces.items():
            found[f"trace_{name}"].append(values)
        if "unseen_reached" in found:
            ends = unseen_norms(bench, trained, arm, scale, second, size.unseen_seeds)
            _append(found, "", ends)
    rate, second = found["chosen"][size.scales.index(1.0)]
    for scale in size.kept_scales:
        trained = bench.train(arm, scale, _fresh(rate, second, size))
        _append(found, "kept_", _measured(bench, trained))
    return {name: np.array(values, dtype=np.float64) for name, values in found.items()}


def shapes(shard: NetworkShard) -> dict[str, tuple[int, ...]]:
    """The arrays of a shard, and their shapes.

    Parameters
    ----------
    shard : NetworkShard

    Returns
    -------
    dict of str -> tuple of int
    """
    size, scales = shard.size, len(shard.size.scales)
    steps = size.steps_of(shard.setting)
    moments = 1 + steps // max(1, steps // TRACED)
    runs, kept = (scales, size.seeds), (len(size.kept_scales), size.seeds)
    found: dict[str, tuple[int, ...]] = {
        "chosen": (scales, 2),
        "validation_error": (scales, size.budget // size.tuning_seeds, size.tuning_seeds),
        "trace_scale": (scales, moments, size.seeds),
        "trace_angle": (scales, moments, size.seeds),
    }
    found |= dict.fromkeys(MEASURED, runs) | {f"kept_{name}": kept for name in MEASURED}
    if shard.setting.samples <= WIDE:
        ends = (scales, size.unseen_seeds)
        found |= dict.fromkeys(("unseen_start", "unseen_reached", "unseen_predicted"), ends)
    return found


def _fresh(rate: float, second: float, size: Size) -> list[Member]:
    return [Member(rate, second, seed) for seed in range(size.seeds)]


def _tune(bench: Bench, arm: Arm, scale: float, size: Size) -> tuple[float, float, Any]:
    """The best rate with the default of the second number, then the best second number with it;
    and the validation errors of all that was tried, (candidates, tuning seeds).
    """
    seeds = range(TUNING_SEED, TUNING_SEED + size.tuning_seeds)
    default, *others = arm.values

    def tried(pairs: list[tuple[float, float]]) -> Any:
        members = [Member(rate, second, seed) for rate, second in pairs for seed in seeds]
        errors = bench.error(bench.train(arm, scale, members), "validation")
        return errors.reshape(len(pairs), len(seeds))

    errors = tried([(rate, default) for rate in size.rates])
    rate = size.rates[int(errors.mean(axis=1).argmin())]  # the smallest of equals
    more = tried([(rate, second) for second in others])
    best = [errors.mean(axis=1).min(), *more.mean(axis=1)]
    return rate, arm.values[int(np.argmin(best))], np.concatenate([errors, more])


def _measured(bench: Bench, trained: TrainedNetworks) -> dict[str, Any]:
    """Errors, the norm of the last layer's rows (root mean square over classes), the angle that
    they have turned since the start (mean over classes, in radians), and who diverged.
    """
    import torch

    first, last = trained.first.double(), torch.cat([p.detach() for p in trained.model.last])
    last = last.double()
    cosines = torch.nn.functional.cosine_similarity(first, last, dim=2)
    norms = last.norm(dim=2)
    finite = torch.stack(
        [part.detach().flatten(1).isfinite().all(dim=1) for part in trained.model.body]
    ).all(dim=0) & norms.isfinite().all(dim=1)
    return {
        "test_error": bench.error(trained, "test"),
        "train_error": bench.error(trained, "train"),
        "norm": norms.square().mean(dim=1).sqrt().numpy(),
        "turned": cosines.clamp(-1.0, 1.0).arccos().mean(dim=1).numpy(),
        "diverged": (~finite).numpy(),
    }


def _append(found: dict[str, list[Any]], prefix: str, numbers: dict[str, Any]) -> None:
    for name, values in numbers.items():
        found[prefix + name].append(values)
