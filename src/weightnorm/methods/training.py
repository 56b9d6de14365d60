"""What the built-in methods share: decay, clipping, momentum, mini-batches and label noise."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import Any

import numpy as np

from .._support import validate
from .._support.moved import by_old_names
from .._support.numeric import Array
from .contract import Method
from .draws import RandomSamples
from .schedules import Schedule, Step, as_schedule
from .state import Evaluation, State

_LARGEST_SEED = 2**63 - 1
BUFFERS = ("vector_buffer", "scale_buffer")  # what momentum keeps in a state
__getattr__ = by_old_names(__name__)


@dataclass(frozen=True, kw_only=True)
class GradientMethod(Method):
    """Options of every built-in method, by keyword: decay, clipping, momentum and random steps.

    A step takes the gradients ∇_w and ∇_g of the loss (of the batch, with the noise), clips them,
    adds the decays, and then has its momentum: torch's order, with its weight decay. Stopping and
    history see the plain loss.

    Parameters
    ----------
    momentum : float
        β in [0, 1), in torch's convention: v ← βv + ∇ for the direction w and for the scale g, from
        zero; w ← w − ηv, g ← g − γv_g.
    nesterov : bool
        Step along ∇ + βv instead of v.
    scale_decay : float
        μ ≥ 0: ∇_g + μg in place of ∇_g. Gradient descent has no scale, and refuses it.
    direction_decay : float
        λ ≥ 0: ∇_w + λw in place of ∇_w; for gradient descent ∇f(x) + λx, its weight decay.
    clip : float, optional
        The largest norm of (∇_g, ∇_w): both are multiplied by min(1, clip/norm), run by run, before
        the decays are added.
    batch_size : int, optional
        Every step sees so many samples, drawn without replacement, and their gradient times
        m/batch_size, with m the number of all samples.
    label_noise : float
        The standard deviation of fresh Gaussian noise on y at every step.
    seed : int, optional
        Seed of both. Without one it is drawn, and kept in `.seed`, so that every run can be
        repeated. The draws of step t depend on the seed and t alone: all runs of a sweep see the
        same ones, and a run that goes on makes those it would have made.

    Attributes
    ----------
    sampling : RandomSamples or None
        How samples are drawn, for random steps.
    decays : bool
        Whether there is a decay.
    features : frozenset of str
        What its steps have besides gradients and step sizes.

    Examples
    --------
    >>> import weightnorm as wn
    >>> wn.RPGD(0.01, 0.01, momentum=0.9, batch_size=8, seed=0)
    RPGD(direction_step=0.01, scale_step=0.01, momentum=0.9, batch_size=8, seed=0)
    >>> sorted(wn.WeightNorm(0.01, 0.01, scale_decay=0.1, clip=1.0).features)
    ['clip', 'decay']
    """

    momentum: float = 0.0
    nesterov: bool = False
    scale_decay: float = 0.0
    direction_decay: float = 0.0
    clip: float | None = None
    batch_size: int | None = None
    label_noise: float = 0.0
    seed: int | None = None
    sampling: RandomSamples | None = field(default=None, init=False, repr=False, compare=False)
    decays: bool = field(default=False, init=False, repr=False, compare=False)

    def _check_training(self) -> None:
        for each in fields(self):
            given = getattr(self, each.name)
            if isinstance(given, np.ndarray) and given.ndim == 0:  # a number that has no hash
                object.__setattr__(self, each.name, given.item())
        beta = validate.real("momentum", self.momentum, minimum=0.0)
        if beta >= 1.0:
            raise ValueError(
                f"momentum must be below 1, got {beta:g}: with 1 and more nothing ever comes to "
                "rest"
            )
        if not isinstance(self.nesterov, bool | np.bool_):
            raise TypeError(f"nesterov must be True or False, got {self.nesterov!r}")
        if self.nesterov and beta == 0.0:
            raise ValueError(
                "nesterov=True needs a momentum above 0, got 0; give momentum=0.9, say"
            )
        names = ("scale_decay", "direction_decay")
        decays = {name: validate.real(name, getattr(self, name), minimum=0.0) for name in names}
        clip = self.clip
        if clip is not None:
            clip = validate.real("clip", clip, minimum=0.0, strict=True)
        size = self.batch_size
        if size is not None:
            size = validate.integer("batch_size", size, minimum=1, maximum=validate.MAX_COUNT)
        noise = validate.real("label_noise", self.label_noise, minimum=0.0)
        seed = self.seed
        if seed is not None:
            seed = validate.integer("seed", seed, maximum=_LARGEST_SEED)
        random = size is not None or noise > 0
        if random and seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        decaying = any(decays.values())
        checked = {
            "momentum": beta,
            "nesterov": bool(self.nesterov),
            "clip": clip,
            "batch_size": size,
            "label_noise": noise,
            "seed": seed,
            "sampling": RandomSamples(size, noise, seed) if random and seed is not None else None,
            "decays": decaying,
        }
        for name, value in (decays | checked).items():
            object.__setattr__(self, name, value)

    def __repr__(self) -> str:
        # the steps first
        shown = sorted((f for f in fields(self) if f.init), key=lambda f: bool(f.kw_only))
        given = [
            (f.name, getattr(self, f.name))
            for f in shown
            if f.default is MISSING or getattr(self, f.name) != f.default
        ]
        parts = [f"{name}={value!r}" for name, value in given]
        return f"{type(self).__name__}({', '.join(parts)})"

    def __setstate__(self, state: dict[str, Any]) -> None:
        """What was pickled; 0.3 kept one attribute more."""
        vars(self).update({name: state[name] for name in state if name != "plain_rule"})

    @property
    def features(self) -> frozenset[str]:
        """What its steps have besides gradients and step sizes, as kernels are asked for it."""
        has = {
            "momentum": self.momentum != 0.0,
            "decay": self.decays,
            "clip": self.clip is not None,
            "random steps": self.sampling is not None,
        }
        return frozenset(name for name, there in has.items() if there)

    @property
    def buffers(self) -> tuple[str, ...]:
        """The arrays that its momentum keeps in a state."""
        return BUFFERS if self.momentum else ()

    def step_directions(
        self, state: State, evaluation: Evaluation
    ) -> tuple[Array, Array, dict[str, Array]]:
        """What to step along in place of the gradients: clipped, with the decays and momentum.

        Parameters
        ----------
        state : State
            Before the step, with the buffers of the step before.
        evaluation : Evaluation
            Loss and gradients there.

        Returns
        -------
        tuple
            The moves of vector and scale, and a dictionary of the new buffers for `State.moved`.
        """
        gradients = [evaluation.vector_gradient, evaluation.scale_gradient]
        if self.clip is not None:
            gradients = _clipped(gradients, self.clip)
        if self.direction_decay:
            gradients[0] = gradients[0] + self.direction_decay * state.vector
        if self.scale_decay:
            gradients[1] = gradients[1] + self.scale_decay * state.scale
        if not self.momentum:
            return gradients[0], gradients[1], {}
        before = [state.arrays.get(name, 0.0) for name in BUFFERS]  # zero at a start
        buffers = [
            self.momentum * b + gradient for b, gradient in zip(before, gradients, strict=True)
        ]
        moves = buffers
        if self.nesterov:
            moves = [
                gradient + self.momentum * b for b, gradient in zip(buffers, gradients, strict=True)
            ]
        return moves[0], moves[1], dict(zip(BUFFERS, buffers, strict=True))


@dataclass(frozen=True, repr=False)
class TwoSteps(GradientMethod):
    """A method with a step for its direction and one for its scale.

    Parameters
    ----------
    direction_step, scale_step : float, Schedule or callable
        η for w and γ for g.

    Examples
    --------
    >>> import weightnorm as wn
    >>> wn.RPGD(0.1, wn.schedules.two_phase(0.0, 0.2, switch=5)).schedules[1]([4, 5])
    array([0. , 0.2])
    """

    direction_step: Step
    scale_step: Step

    def __post_init__(self) -> None:
        self._check_training()
        as_schedule("direction_step", self.direction_step)
        as_schedule("scale_step", self.scale_step)

    @property
    def schedules(self) -> tuple[Schedule, Schedule]:
        """The schedules of w and of g."""
        return (
            as_schedule("direction_step", self.direction_step),
            as_schedule("scale_step", self.scale_step),
        )


def _clipped(gradients: list[Array], clip: float) -> list[Array]:
    """Gradients whose norm, run by run and of all of them together, is at most `clip`."""
    rows = np.concatenate([a.reshape(len(a), -1) for a in gradients], axis=1)
    largest = np.abs(rows).max(axis=1)  # first, so that no square over- or underflows
    largest = np.where((largest > 0) & np.isfinite(largest), largest, 1.0)
    norm = np.linalg.norm(rows / largest[:, None], axis=1)
    factor = np.minimum(1.0, clip / largest / np.where(norm > 0, norm, 1.0))
    return [factor.reshape(-1, *[1] * (a.ndim - 1)) * a for a in gradients]
