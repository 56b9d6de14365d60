"""The optimisers of an arm, with the rates that the theory gives a scale and a direction."""

from __future__ import annotations

from typing import Any

from .models import Ensemble
from .protocol import BASE_NORM, DECAY_FROM, MOMENTUM, SWITCH, Arm


def rates(arm: Arm, scale: float, second: float) -> dict[str, float]:
    """The rates of the last layer over η, that of the body.

    SGD moves the weights x at η. So do WN, which starts from v = x, and rPGD with a direction rate
    of η/g0², g0 the norm of a row at the start: the step at which directions stay stable goes as
    1/g². From starts below the default norm the rate is that of the default, since the scale will
    grow, unless it is frozen. The scale's own rate is η in all of them, so c = g0² from there on,
    times the factor that is tuned.

    Parameters
    ----------
    arm : Arm
    scale : float
        The start scale.
    second : float
        The arm's second number.

    Returns
    -------
    dict
        "lr" of the last layer (of the direction), and "ratio", c for rPGD and c/‖v0‖² for WN.

    Examples
    --------
    >>> from weightnorm_paper.network.arms import rates
    >>> from weightnorm_paper.network.protocol import BY_NAME
    >>> rates(BY_NAME["wn"], 10.0, 0.3)
    {'lr': 1.0, 'ratio': 0.3}
    >>> found = rates(BY_NAME["rpgd"], 10.0, 0.3)
    >>> round(found["lr"] * found["ratio"], 12)  # the scale's rate
    0.3
    """
    factor = second if arm.second == "last" else 1.0
    grows = any(arm.phases)
    norm = (max(1.0, scale) if grows else scale) * BASE_NORM if arm.rule == "rpgd" else 1.0
    ratio = norm**2 * (second if arm.second == "scale" else 1.0)
    return {"lr": factor / norm**2, "ratio": ratio if grows else 0.0}


class Optimizers:
    """All optimisers of an ensemble, as one; and the schedules of their rates.

    Parameters
    ----------
    arm : Arm
    model : Ensemble
    scale : float
        The start scale.
    seconds : list of float
        The arm's second number, one for each group of the last layer.
    steps : int
        In all.
    factors : (members,) tensor
        η of the members. Losses are multiplied by it, so all rates here are for η = 1, and weight
        decay is told separately.
    """

    def __init__(
        self,
        arm: Arm,
        model: Ensemble,
        scale: float,
        seconds: list[float],
        steps: int,
        factors: Any,
    ) -> None:
        import torch

        sgd = {"momentum": MOMENTUM, "fused": True}
        self.all: list[Any] = [torch.optim.SGD([*model.body, model.bias], 1.0, **sgd)]
        self.last: list[Any] = []
        self._thaws: list[Any] = []
        for weight, second in zip(model.last, seconds, strict=True):
            found = rates(arm, scale, second)
            if arm.rule == "sgd":
                self.last.append(torch.optim.SGD([weight], found["lr"], **sgd))
                continue
            self.last.append(_own(arm, weight, found))
            if arm.phases[0] != arm.phases[1]:
                self._thaws.append(_two_phases(arm, self.last[-1], found["ratio"], steps))
        self.all += self.last
        fall = max(1, round((1.0 - DECAY_FROM) * steps))
        self._falls = [
            torch.optim.lr_scheduler.LambdaLR(each, lambda t: min(1.0, (steps - t) / fall))
            for each in self.all
        ]
        self._decayed = _decays(model, seconds, factors) if arm.second == "decay" else []

    def step(self) -> None:
        """One step of all, from the gradients as they are; gradients are then gone."""
        for parameter, decay in self._decayed:
            parameter.grad.addcmul_(parameter.detach(), decay)
        for each in self.all:
            each.step()
            each.zero_grad()
        for each in (*self._thaws, *self._falls):
            each.step()


def _own(arm: Arm, weight: Any, found: dict[str, float]) -> Any:
    """WeightNormSGD or RPGD with a scale for each class of each member."""
    from weightnorm.torch import RPGD, WeightNormSGD

    kind = RPGD if arm.rule == "rpgd" else WeightNormSGD
    return kind([weight], found["lr"], scale_ratio=found["ratio"], dim=(0, 1), momentum=MOMENTUM)


def _two_phases(arm: Arm, optimizer: Any, ratio: float, steps: int) -> Any:
    """The scale frozen in one half of the steps and trained in the other."""
    from weightnorm.torch import FreezeThaw

    first, second = (ratio if trained else 0.0 for trained in arm.phases)
    return FreezeThaw(optimizer, round(SWITCH * steps), frozen=first, thawed=second)


def _decays(model: Ensemble, seconds: list[float], factors: Any) -> list[tuple[Any, Any]]:
    """Weights, not biases, with η·λ of their members."""
    import torch

    counts = [len(part) for part in model.last]
    each = torch.repeat_interleave(torch.tensor(seconds), torch.tensor(counts)) * factors
    decays = each.view(-1, 1, 1)
    weights = [(part, decays) for part in model.body[::2]]
    return weights + list(zip(model.last, decays.split(counts), strict=True))
