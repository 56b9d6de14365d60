"""What the built-in methods share: momentum, mini-batches and label noise."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields

import numpy as np
from numpy.typing import NDArray

from .. import _validate
from .contract import Array, Evaluation, State

_AHEAD = 2**16  # random numbers drawn at once, at most, but for a step that needs more
_SMALL = 256  # samples up to which it is faster to shuffle them all
_LARGEST_SEED = 2**63 - 1
BUFFERS = ("vector_buffer", "scale_buffer")  # what momentum keeps in a state


@dataclass(frozen=True, kw_only=True)
class Training:
    """Options of every built-in method, by keyword: momentum, mini-batches and label noise.

    Parameters
    ----------
    momentum : float
        β in [0, 1), in torch's convention: v ← βv + ∇ for the direction w and for the scale g, from
        zero; w ← w − ηv, g ← g − γv_g.
    nesterov : bool
        Step along ∇ + βv instead of v.
    batch_size : int, optional
        Every step sees so many samples, drawn without replacement, and their gradient times
        m/batch_size, with m the number of all samples.
    label_noise : float
        The standard deviation of fresh Gaussian noise on y at every step.
    seed : int, optional
        Seed of both. Without one it is drawn, and kept in `.seed`, so that every run can be
        repeated. The draws of step t depend on the seed and t alone: all runs of a sweep see the
        same ones, and a run that goes on makes those it would have made.

    Examples
    --------
    >>> import weightnorm as wn
    >>> wn.RPGD(0.01, 0.01, momentum=0.9, batch_size=8, seed=0)
    RPGD(direction_step=0.01, scale_step=0.01, momentum=0.9, batch_size=8, seed=0)
    """

    momentum: float = 0.0
    nesterov: bool = False
    batch_size: int | None = None
    label_noise: float = 0.0
    seed: int | None = None
    sampling: RandomSamples | None = field(default=None, init=False, repr=False, compare=False)

    def _check_training(self) -> None:
        beta = _validate.real("momentum", self.momentum, minimum=0.0)
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
        size = self.batch_size
        if size is not None:
            size = _validate.integer("batch_size", size, minimum=1, maximum=_validate.MAX_COUNT)
        noise = _validate.real("label_noise", self.label_noise, minimum=0.0)
        seed = self.seed
        if seed is not None:
            seed = _validate.integer("seed", seed, maximum=_LARGEST_SEED)
        random = size is not None or noise > 0
        if random and seed is None:
            seed = int(np.random.SeedSequence().generate_state(1)[0])
        sampling = RandomSamples(size, noise, seed) if random and seed is not None else None
        values = (beta, bool(self.nesterov), size, noise, seed, sampling)
        for name, value in zip(
            ("momentum", "nesterov", "batch_size", "label_noise", "seed", "sampling"),
            values,
            strict=True,
        ):
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

    def pushed(self, state: State, evaluation: Evaluation) -> tuple[Array, Array, dict[str, Array]]:
        """What to step along in place of the gradients, with momentum if there is any.

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
        gradients = evaluation.vector_gradient, evaluation.scale_gradient
        if not self.momentum:
            return *gradients, {}
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


@dataclass(frozen=True)
class RandomSamples:
    """Which samples, and what noise, each step sees.

    Attributes
    ----------
    batch_size : int or None
        How many samples; None for all.
    label_noise : float
        The standard deviation of the noise on y.
    seed : int
        Seed of both.

    Examples
    --------
    >>> from weightnorm.methods.training import RandomSamples
    >>> rows, noise = RandomSamples(batch_size=2, label_noise=0.0, seed=0).draws(10).at(0)
    >>> rows.size, noise is None
    (2, True)
    """

    batch_size: int | None
    label_noise: float
    seed: int

    def draws(self, num_samples: int) -> Draws:
        """The draws for a problem of so many samples.

        Parameters
        ----------
        num_samples : int
            m, the number of samples; at least batch_size.

        Returns
        -------
        Draws
            Its at(t) gives the rows and the noise of step t.
        """
        if self.batch_size is not None and self.batch_size > num_samples:
            raise ValueError(
                f"batch_size must be at most the {num_samples} samples of the problem, got "
                f"{self.batch_size}"
            )
        return Draws(self, num_samples)


class Draws:
    """Rows and noise of any step, drawn many steps at a time.

    They depend on the seed and the number of the chunk of steps alone.

    Parameters
    ----------
    sampling : RandomSamples
        How many samples, how much noise, and the seed.
    num_samples : int
        m, the number of samples.

    Examples
    --------
    >>> from weightnorm.methods.training import Draws, RandomSamples
    >>> draws = Draws(RandomSamples(batch_size=None, label_noise=0.1, seed=0), num_samples=5)
    >>> draws.at(3)[1].shape
    (5,)
    """

    def __init__(self, sampling: RandomSamples, num_samples: int) -> None:
        self._sampling, self._size = sampling, num_samples
        self._length = max(1, min(256, _AHEAD // num_samples))
        self._chunk = -1

    def at(self, t: int) -> tuple[NDArray[np.intp] | None, Array | None]:
        """The rows and the noise of one step.

        Parameters
        ----------
        t : int
            The step number.

        Returns
        -------
        tuple
            The rows (b,), None where all rows count, and the noise (m,), None where there is none.
        """
        chunk, place = divmod(t, self._length)
        if chunk != self._chunk:
            self._draw(chunk)
        return None if self._rows is None else self._rows[
            place
        ], None if self._noise is None else self._noise[place]

    def _draw(self, chunk: int) -> None:
        sampling, shape = self._sampling, (self._length, self._size)
        keys, noises = (np.random.default_rng([sampling.seed, chunk, which]) for which in (0, 1))
        self._rows: NDArray[np.intp] | None = None
        self._noise: Array | None = None
        if sampling.batch_size is not None:
            if self._size <= _SMALL:
                order = keys.random(shape).argsort(axis=1)[:, : sampling.batch_size]
            else:  # a draw at a time, whose cost does not grow with the number of samples
                size, count = sampling.batch_size, self._length
                order = np.array(
                    [
                        keys.choice(self._size, size, replace=False, shuffle=False)
                        for _ in range(count)
                    ]
                )
            self._rows = np.sort(order, axis=1)
        if sampling.label_noise:
            self._noise = sampling.label_noise * noises.standard_normal(shape)
        self._chunk = chunk
