"""Scale × direction training in PyTorch: optimisers, a parametrization, and predicted ends.

The optimisers keep (g, w) in their state and leave the model plain; the scale's rate is a ratio,
which any schedule can freeze and thaw; and the end of a last layer is known before it is trained.

>>> import torch
>>> from weightnorm.torch import RPGD, FreezeThaw
>>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1))
>>> optimizer = RPGD(model.parameters(), lr=0.01, scale_ratio=1.0)
>>> scheduler = FreezeThaw(optimizer, switch=100)  # directions first, scales from step 100 on
"""

try:
    import torch as _torch  # noqa: F401  (asked for here, so that the message is ours)
except ImportError as error:
    raise ImportError(
        'weightnorm.torch needs PyTorch: pip install "weightnorm[torch]" (a CPU build will do)'
    ) from error

from .freeze_thaw import FreezeThaw
from .groups import scale_direction_groups
from .last_layer import LastLayer, predict_last_layer
from .monitor import Monitor
from .parametrization import ScaleNorm, from_torch_weight_norm, remove_scale_norm, scale_norm
from .rpgd import RPGD
from .weight_norm_sgd import WeightNormSGD

__all__ = [
    "RPGD",
    "FreezeThaw",
    "LastLayer",
    "Monitor",
    "ScaleNorm",
    "WeightNormSGD",
    "from_torch_weight_norm",
    "predict_last_layer",
    "remove_scale_norm",
    "scale_direction_groups",
    "scale_norm",
]


def __dir__() -> list[str]:
    return sorted(__all__)
