"""FreezeThaw: hold the scale first, and let it go later."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler

from .._support import validate
from ._options import rate


class FreezeThaw(LRScheduler):
    """A scheduler of the scale: frozen until a step, then thawed, at once or along a ramp.

    It sets the `scale_ratio` of `RPGD` and `WeightNormSGD`, in every group that has one; for other
    optimisers the learning rate of the groups with role "scale" (`scale_direction_groups`). It is
    the paper's two phases: directions first, both later. Call `step()` after every step of the
    optimiser, as with any torch scheduler; others may move the learning rate beside it (side by
    side, or in ChainedScheduler; SequentialLR would begin it too early). Where it is a learning
    rate that is frozen, it follows what others do to the first of the other groups. `get_last_lr`
    gives the ratios, which are what this scheduler sets; those of others give the learning rates.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        With groups as above.
    switch : int
        The number of frozen steps: step number t, from 0, is frozen while t < switch.
    frozen : float
        The value before; 0 leaves the scale bit by bit as it is.
    thawed : float, optional
        The value after; what a group has now by default, or had before an earlier FreezeThaw.
    ramp : int
        The number of steps in which the value then rises in a straight line, reaching `thawed` at
        step number switch + ramp.
    last_epoch : int
        As in torch: the number of the last step made, to go on without a saved state; -1 to begin.

    Examples
    --------
    >>> import torch
    >>> from weightnorm.torch import RPGD, FreezeThaw
    >>> layer = torch.nn.Linear(3, 2)
    >>> optimizer = RPGD(layer.parameters(), lr=0.1)
    >>> scheduler, ratios = FreezeThaw(optimizer, switch=2, ramp=2), []
    >>> for _ in range(6):
    ...     ratios.append(optimizer.param_groups[0]["scale_ratio"])
    ...     optimizer.step()
    ...     scheduler.step()
    >>> ratios
    [0.0, 0.0, 0.0, 0.5, 1.0, 1.0]
    """

    def __init__(
        self,
        optimizer: Any,
        switch: int,
        *,
        frozen: float = 0.0,
        thawed: float | None = None,
        ramp: int = 0,
        last_epoch: int = -1,
    ) -> None:
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise TypeError(f"optimizer must be a torch optimiser, got {type(optimizer).__name__}")
        self.switch = validate.integer("switch", switch)
        self.ramp = validate.integer("ramp", ramp)
        self.frozen = float(rate("frozen", frozen))
        self.key, _ = _what(optimizer)
        self.thawed = None if thawed is None else float(rate("thawed", thawed))
        for group in self._groups(optimizer):
            if thawed is not None:
                group[f"initial_{self.key}"] = self.thawed
        super().__init__(optimizer, last_epoch)

    def _groups(self, optimizer: Any) -> list[Any]:
        """The groups it sets now; one that was added later, too, keeps what it shall thaw to."""
        groups = [optimizer.param_groups[i] for i in _what(optimizer)[1]]
        for group in groups:
            now = group[self.key] if self.thawed is None else self.thawed
            group.setdefault(f"initial_{self.key}", float(now))
        return groups

    def value(self, step: int) -> list[float]:
        """The values at a step number, one for each group that has one.

        Parameters
        ----------
        step : int
            From 0.

        Returns
        -------
        list of float
        """
        if step < self.switch:
            share = 0.0
        else:
            share = min(1.0, (step - self.switch) / self.ramp) if self.ramp else 1.0
        ends = [float(g[f"initial_{self.key}"]) for g in self._groups(self.optimizer)]
        return [end if share == 1.0 else self.frozen + share * (end - self.frozen) for end in ends]

    def get_lr(self) -> list[Any]:
        """The learning rates after the next step; it sets the scale's value on the way.

        Returns
        -------
        list
            As they are, unless it is they that are frozen.
        """
        chosen = self._groups(self.optimizer)
        values = dict(zip(map(id, chosen), self.value(self.last_epoch), strict=True))
        if self.key == "lr":
            others = self._others(chosen)
            return [
                values[id(group)] * others if id(group) in values else group["lr"]
                for group in self.optimizer.param_groups
            ]
        for group in chosen:
            if isinstance(group[self.key], torch.Tensor):
                group[self.key].fill_(values[id(group)])  # in place: a compiled step sees it
            else:
                group[self.key] = values[id(group)]
        return [group["lr"] for group in self.optimizer.param_groups]

    def get_last_lr(self) -> list[Any]:
        """What it schedules, for each group as it is now: the ratio, or the learning rate.

        Returns
        -------
        list
            Numbers, or copies of the groups' tensors.
        """
        if self.key == "lr":
            return list(super().get_last_lr())
        values = [group.get(self.key, group["lr"]) for group in self.optimizer.param_groups]
        return [v.clone() if isinstance(v, torch.Tensor) else v for v in values]

    def _others(self, chosen: list[Any]) -> float:
        """What other schedulers made of the learning rate of the first group that is not ours."""
        for group in self.optimizer.param_groups:
            if not any(group is each for each in chosen) and float(group.get("initial_lr", 0.0)):
                return float(group["lr"]) / float(group["initial_lr"])
        return 1.0


def _what(optimizer: Any) -> tuple[str, list[int]]:
    """The key to set, and the numbers of the groups that have it."""
    groups = list(enumerate(optimizer.param_groups))
    found = [index for index, group in groups if "scale_ratio" in group]
    if found:
        return "scale_ratio", found
    found = [index for index, group in groups if group.get("role") == "scale"]
    if found:
        return "lr", found
    raise ValueError(
        "optimizer has no scale to freeze: use RPGD or WeightNormSGD of weightnorm.torch, or give "
        "any optimiser the groups of scale_direction_groups(model)"
    )
