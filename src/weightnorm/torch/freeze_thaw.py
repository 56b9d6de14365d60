"""FreezeThaw: hold the scale first, and let it go later."""

from __future__ import annotations

from typing import Any

import torch
from torch.optim.lr_scheduler import LRScheduler

from .. import _validate
from ._optimizer import rate


class FreezeThaw(LRScheduler):
    """A scheduler of the scale: frozen until a step, then thawed, at once or along a ramp.

    It sets the `scale_ratio` of `RPGD` and `WeightNormSGD`, in every group that has one; for other
    optimisers the learning rate of the groups with role "scale" (`scale_direction_groups`). It is
    the paper's two phases: directions first, both later. Call `step()` after every step of the
    optimiser, as with any torch scheduler; others may move the learning rate beside it.

    Parameters
    ----------
    optimizer : torch.optim.Optimizer
        With groups as above.
    switch : int
        The number of frozen steps: step number t, from 0, is frozen while t < switch.
    frozen : float
        The value before; 0 leaves the scale bit by bit as it is.
    thawed : float, optional
        The value after; what a group has now by default.
    ramp : int
        The number of steps in which the value then rises in a straight line, reaching `thawed` at
        step number switch + ramp.
    last_epoch : int
        The number of steps made, to go on without a saved state; -1 to begin.

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
        self.switch = _validate.integer("switch", switch)
        self.ramp = _validate.integer("ramp", ramp)
        self.frozen = float(rate("frozen", frozen))
        self.key, self.indices = _what(optimizer)
        begun = f"initial_{self.key}"
        for index in self.indices:
            group = optimizer.param_groups[index]
            now = float(rate("thawed", group[self.key] if thawed is None else thawed))
            if thawed is None:
                group.setdefault(begun, now)  # so that a group loaded while frozen knows it
            else:
                group[begun] = now
        self.thawed = [float(optimizer.param_groups[i][begun]) for i in self.indices]
        super().__init__(optimizer, last_epoch)

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
        return [
            end if share == 1.0 else self.frozen + share * (end - self.frozen)
            for end in self.thawed
        ]

    def get_lr(self) -> list[Any]:
        """The learning rates after the next step; it sets the scale's value on the way.

        Returns
        -------
        list
            As they are, unless it is they that are frozen.
        """
        groups = self.optimizer.param_groups
        rates = [group["lr"] for group in groups]
        for index, value in zip(self.indices, self.value(self.last_epoch), strict=True):
            if self.key == "lr":
                rates[index] = value
            elif isinstance(groups[index][self.key], torch.Tensor):
                groups[index][self.key].fill_(value)  # in place: a compiled step sees it
            else:
                groups[index][self.key] = value
        return rates


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
