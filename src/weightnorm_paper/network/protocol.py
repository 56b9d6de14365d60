"""What the network experiment does, fixed before it is run: settings, arms, rates, sizes.

The paper was moved by an observation, that training only the direction of the last layer, not its
scale, improves generalisation, and proposes to freeze the scale first and to thaw it later. The
theory itself, for least squares, predicts something else: that the end depends less on the scale of
the start. `hypotheses.py` puts both into numbers; this file says how the numbers are obtained.

- A *setting* is data, number of training samples, share of wrong labels, network and loss. All
  statements are averages over the settings with cross-entropy; those with squared error are told
  apart.
- An *arm* is a way to train the last layer. The body, and all biases, are always trained by SGD.
- Every arm has one rate η for everything, and one more number of its own (`Arm.second`): the
  tuning tries all of `Size.rates` with the default of the second, then the others of the second
  with the best rate. The budget is the same for every arm, setting and start scale; what is best is
  decided by the error on a validation set, averaged over tuning seeds that are not used again.
- The chosen pair is then run on `Size.seeds` fresh seeds. A seed is a training set, its wrong
  labels, the start of the network and the order of the batches: the same for all arms and scales,
  so that differences are paired.
- *Kept rates*: the pair that was chosen at the default start scale is also run from the smallest
  and the largest, for who does not tune again.
- A run that diverges counts as guessing.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

from weightnorm._support.sources import AT, code

from ..sources import NETWORK

PROTOCOL = 1  # of data files and shards: raise it whenever their numbers mean something else
CODE = code(NETWORK)  # now, while the sources on disk are those that are loaded
CLASSES = 10
BATCH = 50
MOMENTUM = 0.9
DECAY_FROM = 0.8  # rates fall to zero in a straight line over the last fifth of the steps
SWITCH = 0.5  # frozen scales thaw, and thawed ones freeze, half-way
BASE_NORM = 3.0**-0.5  # of a row of the last layer at 1 ×: what torch's own start has on average
TRACED = 25  # moments at which a Monitor looks
TUNING_SEED = 1_000  # seeds from here on tune; those from 0 on are reported


@dataclass(frozen=True)
class Setting:
    """Data and a network to train on it."""

    data: str  # "mnist" | "digits"
    samples: int
    noise: float  # the share of training labels that are wrong
    network: str  # "mlp" | "cnn"
    loss: str = "entropy"  # | "squares"

    @property
    def name(self) -> str:
        """Such as "mnist-500-noise-cnn"; squared error is named, cross-entropy is not."""
        parts = [self.data, str(self.samples), *(["noise"] if self.noise else []), self.network]
        return "-".join(parts + (["squares"] if self.loss == "squares" else []))


@dataclass(frozen=True)
class Arm:
    """A way to train the last layer.

    Attributes
    ----------
    name, label : str
    rule : {"sgd", "wn", "rpgd"}
        SGD on the weights, `WeightNormSGD` or `RPGD` with one scale per class.
    phases : tuple of bool
        Whether the scale is trained in the first and in the second half of the steps.
    second : {"last", "scale", "decay"}
        What is tuned besides the rate: the factor of the last layer's rate (of its direction, where
        the scale is frozen), the factor of the scale's rate, or the weight decay.
    values : tuple of float
        Its default, and what else is tried.
    """

    name: str
    label: str
    rule: str
    second: str
    phases: tuple[bool, bool] = (True, True)
    values: tuple[float, ...] = (1.0, 0.1, 0.3, 3.0)


ARMS = (
    Arm("sgd", "SGD", "sgd", "last"),
    Arm("wn", "WN", "wn", "scale"),
    Arm("rpgd", "rPGD", "rpgd", "scale"),
    Arm("frozen", "scale frozen", "rpgd", "last", (False, False)),
    Arm("freeze-thaw", "freeze, then thaw", "rpgd", "scale", (False, True)),
    Arm("thaw-freeze", "thaw, then freeze", "rpgd", "scale", (True, False)),
    Arm("sgd-decay", "SGD, weight decay", "sgd", "decay", values=(1e-3, 3e-4, 3e-3, 1e-2)),
)
BY_NAME = {arm.name: arm for arm in ARMS}
WIDE = 500  # training samples up to which features outnumber them, so that some of a row is unseen


@dataclass(frozen=True)
class Size:
    """How much is run.

    Attributes
    ----------
    settings : tuple of Setting
    scales : tuple of float
        Norms of the rows at the start, over the default one; 1 is among them.
    rates : tuple of float
        The η that are tried.
    seeds, tuning_seeds : int
    steps : dict of (data, samples) -> int
        Written as pairs.
    unseen_seeds : int
        Of how many seeds the unseen part of the last layer is measured, and predicted.
    """

    settings: tuple[Setting, ...]
    scales: tuple[float, ...] = (0.1, 0.3, 1.0, 3.0, 10.0)
    rates: tuple[float, ...] = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    seeds: int = 20
    tuning_seeds: int = 2
    steps: tuple[tuple[str, int, int], ...] = (
        ("mnist", 500, 400),
        ("mnist", 5000, 800),
        ("digits", 500, 300),
    )
    unseen_seeds: int = 5

    @property
    def budget(self) -> int:
        """Training runs that the tuning of one arm at one start scale makes."""
        return (len(self.rates) + len(ARMS[0].values) - 1) * self.tuning_seeds

    @property
    def kept_scales(self) -> tuple[float, float]:
        """The start scales at which the rates of 1 × are run, too."""
        return self.scales[0], self.scales[-1]

    def steps_of(self, setting: Setting) -> int:
        """The number of steps in a setting."""
        known = {(data, samples): steps for data, samples, steps in self.steps}
        return known[setting.data, setting.samples]


def _settings(data: str, samples: tuple[int, ...], loss: str = "entropy") -> tuple[Setting, ...]:
    return tuple(
        Setting(data, n, noise, network, loss)
        for n in samples
        for noise in (0.0, 0.2)
        for network in ("mlp", "cnn")
    )


FULL = Size(
    _settings("mnist", (500, 5_000))
    + _settings("digits", (500,))
    + _settings("mnist", (500,), "squares")[::2]  # the MLP's
)
QUICK = Size(
    (
        Setting("digits", 500, 0.0, "mlp"),
        Setting("digits", 500, 0.2, "cnn"),
        Setting("digits", 500, 0.0, "mlp", "squares"),
    ),
    scales=(0.1, 1.0, 10.0),
    rates=(0.01, 0.1, 1.0),
    seeds=3,
    tuning_seeds=1,
    steps=(("digits", 500, 100),),
    unseen_seeds=2,
)


@dataclass(frozen=True)
class NetworkShard:
    """What is computed, stored and resumed as one: an arm in a setting, at all start scales."""

    size: Size
    setting: Setting
    arm: Arm

    @property
    def key(self) -> str:
        """A hash of all that is asked for, and the code that computes it."""
        kept = asdict(self.size) | {"settings": None}  # the others do not matter to it
        asked = {
            "protocol": PROTOCOL,
            "size": kept | {"steps": self.size.steps_of(self.setting)},
            "setting": asdict(self.setting),
            "arm": asdict(self.arm),
        }
        return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest() + AT + CODE

    @property
    def name(self) -> str:
        """Such as "mnist-500-noise-cnn rpgd"."""
        return f"{self.setting.name} {self.arm.name}"


def shards(size: Size) -> list[NetworkShard]:
    """All of them, setting by setting.

    Parameters
    ----------
    size : Size

    Returns
    -------
    list of NetworkShard
    """
    return [NetworkShard(size, setting, arm) for setting in size.settings for arm in ARMS]
