"""Train an ensemble in one setting, by one arm, from one start scale; errors and features."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from .arms import Optimizers
from .data import Draw, draw, images
from .models import Ensemble, prepared, start
from .protocol import CLASSES, TRACED, Arm, Setting

GUESSING = 1.0 - 1.0 / CLASSES  # the error of a run that diverged
CHUNK = 1_000


@dataclass(frozen=True)
class Member:
    """One network: its rate, its arm's second number, and its seed."""

    rate: float
    second: float
    seed: int


@dataclass(frozen=True, eq=False)
class TrainedNetworks:
    """Networks at their end.

    Attributes
    ----------
    model : Ensemble
    first : (members, CLASSES, d) tensor
        The last layer at the start.
    draws : list of Draw
    traces : dict of str -> (moments, members) array
        "scale" and "angle" of the last layer, means over classes, by a `Monitor`; empty unless
        asked for.
    """

    model: Ensemble
    first: Any
    draws: list[Draw]
    traces: dict[str, Any]


@dataclass(frozen=True)
class Bench:
    """Where a setting is trained: the data, ready for its network."""

    setting: Setting
    steps: int
    folder: Path

    @property
    def source(self) -> Any:
        """The images."""
        return images(self.setting.data, self.folder)

    def inputs(self, part: str) -> Any:
        """Inputs of all images of a part, "pool" or "test"."""
        return _inputs(self.setting.data, self.setting.network, part, self.folder)

    def train(
        self, arm: Arm, scale: float, members: list[Member], traced: bool = False
    ) -> TrainedNetworks:
        """Train members side by side; those with one second number must stand together.

        Parameters
        ----------
        arm : Arm
        scale : float
            The start scale.
        members : list of Member
        traced : bool
            Whether a `Monitor` looks on.

        Returns
        -------
        TrainedNetworks
        """
        import torch

        seconds = list(dict.fromkeys(member.second for member in members))
        groups = [sum(m.second == second for m in members) for second in seconds]
        draws = [draw(self.setting, self.source, m.seed, self.steps) for m in members]
        side = self.source.pool.shape[1]
        model = start(self.setting.network, side, [m.seed for m in members], groups, scale)
        first = torch.cat([part.detach() for part in model.last]).clone()
        factors = torch.tensor([m.rate for m in members])
        optimizers = Optimizers(arm, model, scale, seconds, self.steps, factors)
        monitor = _Watch(arm, optimizers, self.steps) if traced else None
        pool = self.inputs("pool")
        rows = torch.from_numpy(np.stack([d.train[d.order] for d in draws], axis=1))
        labels = torch.from_numpy(np.stack([d.labels[d.order] for d in draws], axis=1))
        for t in range(self.steps):
            batch = pool[rows[t].reshape(-1)].view(*rows[t].shape, -1)
            losses = _losses(model.outputs(batch), labels[t], self.setting.loss).mean(dim=1)
            (losses * factors).sum().backward()
            optimizers.step()
            if monitor is not None:
                monitor.follow()
            if t % 50 == 49 and not bool(losses.isfinite().any()):
                break  # all have diverged, and stay so
        return TrainedNetworks(
            model, first, draws, {} if monitor is None else monitor.traces(self.steps)
        )

    def error(self, trained: TrainedNetworks, part: str) -> Any:
        """The share of wrong answers of each member.

        Parameters
        ----------
        trained : TrainedNetworks
        part : {"train", "validation", "test"}
            The training labels are those that were trained with, wrong ones included.

        Returns
        -------
        (members,) array
        """
        return np.array(
            [self._error(trained.model.member(i), d, part) for i, d in enumerate(trained.draws)]
        )

    def _error(self, model: Ensemble, found: Draw, part: str) -> float:
        import torch

        tested = part == "test" and self.source.test is not None
        pool = self.inputs("test" if tested else "pool")
        rows = {"train": found.train, "validation": found.validation, "test": found.test}[part]
        truth = (self.source.test_labels if tested else self.source.labels)[rows]
        truth = torch.from_numpy(found.labels if part == "train" else truth)
        if not all(bool(p.isfinite().all()) for p in model.parameters):
            return GUESSING
        wrong = 0
        for chunk, answers in zip(
            torch.from_numpy(rows).split(CHUNK), truth.split(CHUNK), strict=True
        ):
            wrong += int((model.outputs(pool[chunk][None])[0].argmax(dim=1) != answers).sum())
        return wrong / len(rows)

    def features(self, trained: TrainedNetworks, index: int) -> Any:
        """What the last layer of a member sees of its training set at the end, (n, d), float64."""
        import torch

        rows = torch.from_numpy(trained.draws[index].train)
        model = trained.model.member(index)
        return model.features(self.inputs("pool")[rows][None])[0].double().numpy()


def _losses(outputs: Any, labels: Any, loss: str) -> Any:
    """The loss of each sample, (members, n)."""
    from torch.nn import functional

    if loss == "squares":
        targets = functional.one_hot(labels, CLASSES).to(outputs.dtype)
        return 0.5 * (outputs - targets).square().sum(dim=2)
    return functional.cross_entropy(outputs.transpose(1, 2), labels, reduction="none")


@cache
def _inputs(data: str, network: str, part: str, folder: Path) -> Any:
    source = images(data, folder)
    pictures = source.pool if part == "pool" else source.test
    return prepared(pictures, network)


class _Watch:
    """A `Monitor` on the last layer of an ensemble, whatever trains it.

    SGD keeps no scale and direction. There an `RPGD` that never moves takes them from the weights
    after every step, and is what the monitor watches.
    """

    def __init__(self, arm: Arm, optimizers: Optimizers, steps: int) -> None:
        from weightnorm.torch import RPGD, Monitor

        (last,) = optimizers.last
        self._weight = last.param_groups[0]["params"][0]
        self._shadow = (
            RPGD([self._weight], 0.0, dim=(0, 1), foreach=False) if arm.rule == "sgd" else None
        )
        self._monitor = Monitor(self._shadow or last, every=max(1, steps // TRACED))

    def follow(self) -> None:
        """After every step."""
        if self._shadow is not None:
            self._weight.grad = self._weight.detach().new_zeros(self._weight.shape)
            self._shadow.step()
            self._weight.grad = None

    def traces(self, steps: int) -> dict[str, Any]:
        """Means over classes, with NaN where training ended early and for members that diverged."""
        found = self._monitor.to_dataset()
        finite = self._weight.detach().flatten(1).isfinite().all(dim=1).numpy()
        moments = 1 + steps // self._monitor.every
        traces = {}
        for name in ("scale", "angle"):
            values = np.abs(found[name].values).reshape(found.sizes["step"], -1, CLASSES)
            traces[name] = np.full((moments, values.shape[1]), np.nan)
            traces[name][: len(values)] = np.where(finite, values.mean(axis=2), np.nan)
        return traces
