"""All shards of the network experiment as one, with the questions that are asked of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .protocol import Size


@dataclass(frozen=True, eq=False)
class Results:
    """The numbers of the experiment.

    Attributes
    ----------
    size : Size
    arrays : mapping of (setting name, arm name) -> dict of arrays
        As `shard.shapes` names them.
    code : str
        The code that computed them.
    """

    size: Size
    arrays: Mapping[tuple[str, str], Mapping[str, Any]]
    code: str = ""

    def names(self, loss: str = "entropy") -> list[str]:
        """The settings with a loss."""
        return [setting.name for setting in self.size.settings if setting.loss == loss]

    def only(self, names: list[str]) -> Results:
        """The same with some of the settings only."""
        kept = tuple(setting for setting in self.size.settings if setting.name in names)
        arrays = {key: value for key, value in self.arrays.items() if key[0] in names}
        return replace(self, size=replace(self.size, settings=kept), arrays=arrays)

    def array(self, setting: str, arm: str, name: str) -> Any:
        """An array of a shard."""
        return np.asarray(self.arrays[setting, arm][name])

    def error(self, setting: str, arm: str, scale: float) -> Any:
        """Test errors in per cent at a start scale, with rates tuned there, (seeds,)."""
        return 100.0 * self.array(setting, arm, "test_error")[self.size.scales.index(scale)]

    def kept_error(self, setting: str, arm: str, scale: float) -> Any:
        """Test errors in per cent at a start scale, with the rates tuned at 1 ×, (seeds,)."""
        place = self.size.kept_scales.index(scale)
        return 100.0 * self.array(setting, arm, "kept_test_error")[place]

    def best_scale(self, setting: str, arm: str) -> float:
        """The start scale with the smallest validation error of the tuning."""
        errors = self.array(setting, arm, "validation_error").mean(axis=2).min(axis=1)
        return self.size.scales[int(np.argmin(errors))]

    def best_error(self, setting: str, arm: str) -> Any:
        """Test errors in per cent at that start scale, (seeds,)."""
        return self.error(setting, arm, self.best_scale(setting, arm))

    def has_unseen(self, setting: str) -> bool:
        """Whether the unseen part of the last layer was measured in a setting."""
        return "unseen_reached" in next(v for k, v in self.arrays.items() if k[0] == setting)

    def average(self, compute: Callable[[str], Any], loss: str = "entropy") -> Any:
        """The mean over the settings with a loss of a number per seed."""
        return np.mean([compute(name) for name in self.names(loss)], axis=0)
