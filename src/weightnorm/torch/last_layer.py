"""predict_last_layer: where training a linear layer on fixed features ends, before training it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from .._support import validate
from ..theory import linear_layer_limit
from ._blocks import is_distributed
from .groups import pairs

# what a learning rate is worth for the loss ½Σ(prediction − target)²: the factor of its gradient
LOSSES = ("half_sum", "mse_sum", "mse_mean")


@dataclass(frozen=True, eq=False)
class LastLayer:
    """Where a linear layer ends, row by row: what `predict_last_layer` returns.

    Attributes
    ----------
    weight : (k, d) tensor
        The weights at the end, of the layer's type.
    bias : (k,) tensor
        The bias at the end; zeros without one.
    norm, min_norm : (k,) tensors
        The norms of the rows, and those of the smallest rows with the same predictions.
    distance : (k,) tensor
        How far each row ends from the smallest one.
    start_norm : (k,) tensor
        The norms of the rows at the start.
    error : (k,) tensor
        With `lr`: how far training may end from the prediction, in norm and distance. Zeros for
        infinitely small steps.
    equivalent_step : (k,) tensor
        With `lr`: beyond 0.4 the error is not promised.
    closed_form : bool
        Whether the end is a formula; with a bias and features that are not centred, and with frozen
        steps, the flow was integrated.
    applies : bool
        Whether all that the prediction needs holds.
    failing : tuple of str
        What does not.

    Examples
    --------
    >>> import torch
    >>> from weightnorm.torch import predict_last_layer
    >>> features, targets = torch.eye(2, 3), torch.tensor([[1.0], [-1.0]])
    >>> end = predict_last_layer(features, targets, torch.nn.Linear(3, 1, bias=False))
    >>> bool(torch.allclose(features @ end.weight.T, targets, atol=1e-6)), end.applies
    (True, True)
    """

    weight: Any
    bias: Any
    norm: Any
    min_norm: Any
    distance: Any
    start_norm: Any
    error: Any
    equivalent_step: Any
    closed_form: bool
    applies: bool
    failing: tuple[str, ...]

    def __repr__(self) -> str:
        def span(values: Any) -> str:
            low, high = float(values.min()), float(values.max())
            return f"{low:.4g}" if low == high else f"{low:.4g} … {high:.4g}"

        told = f"{len(self.norm)} rows: norm {span(self.norm)} from {span(self.start_norm)}, "
        told += f"distance to minimum norm {span(self.distance)}"
        if bool(self.error.any()):
            told += f", error ≤ {float(self.error.max()):.2g}"
        if not self.applies:
            told += f"; not promised: {'; '.join(self.failing)}"
        return f"LastLayer({told})"


def predict_last_layer(  # noqa: PLR0913
    features: Any,
    targets: Any,
    layer: Any,
    *,
    method: str = "rpgd",
    scale_ratio: float = 1.0,
    lr: float | None = None,
    momentum: float = 0.0,
    bias_ratio: float = 1.0,
    nesterov: bool = False,
    frozen_steps: int = 0,
    loss: str = "half_sum",
) -> LastLayer:
    """Predict where a linear layer ends that is trained on fixed features with squared error.

    Every row is a problem of its own, with one scale. The end is the theory's, exact for
    infinitely small steps (`weightnorm.theory.linear_layer_limit`); with `lr` and momentum, that of
    steps of this size, to first order and with an error. Full batches; coordinate-wise optimisers
    (Adam) have no such end and are refused.

    Parameters
    ----------
    features : (n, d) tensor or array
        The layer's inputs, one row per sample.
    targets : (n,) or (n, k) tensor or array
        What it should give.
    layer : torch.nn.Linear
        As it is now: its weight, and its bias if it has one, are the start. It is not changed.
    method : {"rpgd", "wn"}
        Trained by `RPGD`, or by `WeightNormSGD` (the same as `scale_norm`, or torch's weight_norm,
        with SGD and v0 = the weight). A layer with `scale_norm` or torch's weight_norm is taken
        with the v it has. A plain layer that `WeightNormSGD` has trained has its v in the
        optimiser's state, and starts here from v = its weight.
    scale_ratio : float
        The scales' rate over the directions'.
    lr : float, optional
        The learning rate of the directions, for the loss named by `loss`.
    momentum, nesterov
        Of the optimiser, as in torch; they need `lr`.
    bias_ratio : float
        The bias's learning rate over that of the directions.
    frozen_steps : int
        Steps in which the scales are frozen at first, by `FreezeThaw(optimizer, frozen_steps)`;
        they need `lr`.
    loss : {"half_sum", "mse_sum", "mse_mean"}
        What `lr` is a rate for: ½Σ(…)² over samples and outputs, nn.MSELoss(reduction="sum"), or
        nn.MSELoss() itself. Without `lr` it does not matter.

    Returns
    -------
    LastLayer
        With `.weight`, `.bias`, `.norm`, `.distance` and `.error`.

    Examples
    --------
    >>> import torch
    >>> from weightnorm.torch import RPGD, predict_last_layer
    >>> torch.manual_seed(0)
    <torch._C.Generator ...>
    >>> X, Y = torch.randn(10, 30, dtype=torch.float64), torch.randn(10, 2, dtype=torch.float64)
    >>> layer = torch.nn.Linear(30, 2, dtype=torch.float64)
    >>> end = predict_last_layer(X, Y, layer, scale_ratio=0.5, lr=1e-3)
    >>> optimizer = RPGD(layer.parameters(), lr=1e-3, scale_ratio=0.5)
    >>> for _ in range(3000):
    ...     optimizer.zero_grad()
    ...     (0.5 * (layer(X) - Y).square().sum()).backward()
    ...     optimizer.step()
    >>> bool(((layer.weight.norm(dim=1) - end.norm).abs() < end.error).all())
    True
    """
    if not isinstance(layer, torch.nn.Linear):
        raise TypeError(f"layer must be a torch.nn.Linear, got {type(layer).__name__}")
    validate.choice("loss", loss, LOSSES)
    X, Y = _array("features", features), _array("targets", targets)
    Y = Y[:, None] if Y.ndim == 1 else Y
    W = _array("layer.weight", layer.weight)
    if X.ndim == 2 and X.shape[1] != W.shape[1]:
        raise ValueError(
            f"features must have {W.shape[1]} columns, the inputs of the layer, got {X.shape[1]}"
        )
    if Y.ndim == 2 and Y.shape[1] != len(W):
        raise ValueError(
            f"targets must have {len(W)} columns, one per output of the layer, got {Y.shape[1]}"
        )
    step = None
    if lr is not None:
        rate = validate.real("lr", lr, minimum=0.0, strict=True)
        step = rate * {"half_sum": 1.0, "mse_sum": 2.0, "mse_mean": 2.0 / Y.size}[loss]
    biased = layer.bias is not None
    end = linear_layer_limit(
        X,
        Y,
        W,
        scale_ratio,
        biased,
        method,
        bias_ratio,
        _array("layer.bias", layer.bias) if biased else 0.0,
        step=step,
        momentum=momentum,
        nesterov=nesterov,
        frozen_steps=frozen_steps,
        direction_norm=_own_norms(layer) if method == "wn" else None,
    )
    like = {"dtype": layer.weight.dtype, "device": layer.weight.device}

    def tensor(values: Any) -> Any:
        return torch.as_tensor(np.asarray(values), **like)

    return LastLayer(
        weight=tensor(end.weight),
        bias=tensor(end.bias),
        norm=tensor(end.norm),
        min_norm=tensor(end.min_norm),
        distance=tensor(end.distance),
        start_norm=tensor(np.linalg.norm(W, axis=1)),
        error=tensor(end.error),
        equivalent_step=tensor(end.equivalent_step),
        closed_form=end.closed_form,
        applies=end.applies,
        failing=end.failing,
    )


def _own_norms(layer: Any) -> Any:
    """‖v‖ of the rows of a layer that has a v of its own, or None."""
    if "weight" not in (found := pairs(layer)):
        return None
    _, v, dim = found["weight"]
    if dim not in (0, -2, (0,)):
        raise ValueError(f"layer has dim={dim}; the theory is for one scale per row, dim=0")
    return np.linalg.norm(_array("layer.weight", v), axis=1)


def _array(name: str, value: Any) -> Any:
    """A float64 array of a tensor, or of what NumPy takes."""
    if isinstance(value, torch.Tensor):
        value = value.detach()
        value = value.full_tensor() if is_distributed(value) else value
        if value.is_complex():
            raise TypeError(f"{name} must be real, got {value.dtype}")
        value = value.to("cpu", torch.float64).numpy()
    return validate.numbers(name, value)
