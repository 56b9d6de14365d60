"""Random steps: which samples, and what noise, each step sees."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._support.numeric import Array

_AHEAD = 2**16  # random numbers drawn at once, at most, but for a step that needs more
_SMALL = 256  # samples up to which it is faster to shuffle them all


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
    >>> from weightnorm.methods.draws import RandomSamples
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
    >>> from weightnorm.methods.draws import Draws, RandomSamples
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
