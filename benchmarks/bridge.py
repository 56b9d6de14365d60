"""The bridge: a last layer on fixed features, trained by PyTorch, against its predicted end.

Handwritten digits, random features, squared loss, full batch. Every row (output and start scale)
is predicted before it is trained, by `weightnorm.torch.predict_last_layer`, and then trained until
its residual is gone, by RPGD, by torch's own weight_norm with SGD, by RPGD frozen first and thawed
later, and by plain SGD.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from weightnorm.problems import LeastSquares
from weightnorm.theory import gd_limit

Array = NDArray[np.float64]
Log = Callable[[str], None]
METHODS = ("gd", "wn", "rpgd", "freeze-thaw")
STEP = 0.3  # of the largest curvature on the way: what the first order is an expansion in
FREQUENCY, MEAN = 3.0, 0.05  # of the random features: √2·cos(…) + mean


@dataclass(frozen=True)
class Size:
    """How large the experiment is, and how well it is trained."""

    samples: int = 1_000
    features: int = 2_000
    outputs: int = 10
    scales: int = 10
    frozen_steps: int = 2_000
    residual: float = 1e-4
    max_steps: int = 60_000


def digits(size: Size, centred: bool, seed: int = 0) -> tuple[Array, Array]:
    """Random features of handwritten digits, and one target per class."""
    from sklearn.datasets import load_digits

    rng = np.random.default_rng(seed)
    data = load_digits()
    X = data.data[: size.samples] / 16.0
    phase = rng.uniform(0.0, 2.0 * np.pi, size.features)
    turned = X @ (FREQUENCY * rng.standard_normal((X.shape[1], size.features))) + phase
    F = np.sqrt(2.0) * np.cos(turned) + MEAN
    Y = np.eye(10)[data.target[: size.samples]][:, : size.outputs]
    return (F - F.mean(axis=0) if centred else F), Y


def bridge(log: Log, size: Size | None = None) -> dict[str, Any]:
    """Predicted and trained norms of every row, by method and kind of features."""
    size = size or Size()
    found: dict[str, Any] = {"size": vars(size), "step": STEP, "cases": []}
    for centred in (True, False):
        X, Y = digits(size, centred)
        problem = LeastSquares(X, Y[:, 0] - Y[:, 0].mean())
        smallest = float(np.linalg.norm(problem.min_norm_solution()))
        steep = float(problem.factorisation.singular_values.max() ** 2) + len(X) * (not centred)
        shares = np.geomspace(0.3, 3.0, size.scales)
        rng = np.random.default_rng(1)
        W = rng.standard_normal((size.outputs, size.features))
        W /= np.linalg.norm(W, axis=1, keepdims=True)
        starts = [smallest * share * W for share in shares]
        for method in METHODS:
            ratio = 1.0 if method == "wn" else smallest**2
            # the largest of g²/N, c and (for the bias) 1 on the way, times the steepest direction
            bends = [_bend(method, smallest, start, ratio) for start in starts]
            rates = [STEP / (steep * bend) for bend in bends]
            log(f"the bridge: {method}, {'centred' if centred else 'not centred'}: predicting")
            ends = _predict_all(method, X, Y, starts, ratio, rates, size.frozen_steps)
            log(f"the bridge: {method}, {'centred' if centred else 'not centred'}: training")
            made = _train(method, X, Y, starts, ratio, rates, size)
            found["cases"].append(
                {
                    "method": method,
                    "centred": centred,
                    "scale_ratio": ratio,
                    "start_over_smallest": shares.tolist(),
                    "smallest": smallest,
                    "learning_rates": rates,
                    "steps": made["steps"],
                    "residual": made["residual"],
                    "trained": made["norm"].tolist(),
                    **{key: values.tolist() for key, values in ends.items()},
                }
            )
    return found


def _bend(method: str, smallest: float, start: Array, ratio: float) -> float:
    """The largest of g²/N and c that training from these rows is expected to meet."""
    g0 = float(np.linalg.norm(start[0]))
    most = 2.0 * max(g0, smallest) ** 2
    if method == "gd":
        return 1.0
    return max(most / g0**2, ratio) if method == "wn" else max(most, ratio)


def _predict_all(
    method: str, X: Array, Y: Array, starts: Any, ratio: float, rates: Any, frozen: int
) -> dict[str, Array]:
    """The ends from all start scales, (scales, outputs): for these steps, and for small ones."""
    shape = len(starts), Y.shape[1]
    if method == "gd":
        return _plain_ends(X, Y, starts)
    jobs = [
        (method, X, Y, start, ratio, lr, frozen if method == "freeze-thaw" else 0)
        for start, lr in zip(starts, rates, strict=True)
    ]
    if method != "freeze-thaw":  # without a rate the rows of all scales are one layer
        jobs.append(
            (method, X, np.tile(Y, (1, len(starts))), np.concatenate(starts), ratio, None, 0)
        )
    with ProcessPoolExecutor(2) as pool:
        found = list(pool.map(_predicted, jobs))
    made, flow = found[: len(starts)], found[-1]["predicted"]
    answer = {key: np.array([end[key] for end in made]) for key in made[0]}
    same = answer["predicted"] if method == "freeze-thaw" else np.reshape(flow, shape)
    return answer | {"flow": same}


def _predicted(job: tuple[Any, ...]) -> dict[str, Any]:
    """The ends of the rows of one layer."""
    import torch
    from threadpoolctl import threadpool_limits

    from weightnorm.torch import predict_last_layer

    method, X, Y, start, ratio, lr, frozen = job
    with threadpool_limits(1):
        end = predict_last_layer(
            X, Y, _layer(torch, start), method="wn" if method == "wn" else "rpgd",
            scale_ratio=ratio, lr=lr, frozen_steps=frozen,
        )  # fmt: skip
    return {
        "predicted": end.norm.numpy(),
        "error": end.error.numpy(),
        "min_norm": end.min_norm.numpy(),
    }


def _plain_ends(X: Array, Y: Array, starts: Any) -> dict[str, Array]:
    """Where gradient descent on weights and bias ends: the solution nearest to the start."""
    wide = LeastSquares(np.column_stack([X, np.ones(len(X))]), Y[:, 0])
    norms = np.empty((len(starts), Y.shape[1]))
    least = np.empty(Y.shape[1])
    for index, y in enumerate(Y.T):
        problem = wide.with_targets(y)
        least[index] = np.linalg.norm(problem.min_norm_solution()[:-1])
        for scale, start in enumerate(starts):
            x0 = np.append(start[index], 0.0)
            end = gd_limit(problem, float(np.linalg.norm(x0)), x0)
            norms[scale, index] = np.linalg.norm(end.weights[:-1])
    return {
        "predicted": norms,
        "error": np.zeros_like(norms),
        "min_norm": np.tile(least, (len(starts), 1)),
        "flow": norms,
    }


def _layer(torch: Any, rows: Array) -> Any:
    layer = torch.nn.Linear(rows.shape[1], rows.shape[0], dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(rows))
        layer.bias.zero_()
    return layer


def _train(
    method: str, X: Array, Y: Array, starts: Any, ratio: float, rates: Any, size: Size
) -> dict[str, Any]:
    """Train one layer per start scale until its residual is gone; norms, steps and residuals."""
    import torch

    from weightnorm.torch import RPGD, FreezeThaw

    data, targets = torch.as_tensor(X), torch.as_tensor(Y)
    count = len(starts)
    layers, optimizers, schedulers = [], [], []
    for start, lr in zip(starts, rates, strict=True):
        layer = _layer(torch, start)
        if method == "wn":
            torch.nn.utils.parametrizations.weight_norm(layer)
        if method in ("gd", "wn"):
            optimizers.append(torch.optim.SGD(layer.parameters(), lr))
        else:
            optimizers.append(RPGD(layer.parameters(), lr, scale_ratio=ratio))
            if method == "freeze-thaw":
                schedulers.append(FreezeThaw(optimizers[-1], size.frozen_steps))
        layers.append(layer)
    steps, left, active = [size.max_steps] * count, [np.inf] * count, list(range(count))
    for step in range(size.max_steps):
        # the layers side by side: one product with the data for all of them
        weight = torch.cat([layers[i].weight for i in active])
        residuals = torch.addmm(
            torch.cat([layers[i].bias for i in active]), data, weight.T
        ) - targets.tile(1, len(active))
        if step % 50 == 0:
            worst = residuals.detach().abs().amax(dim=0).reshape(len(active), -1).amax(dim=1)
            for i, value in zip(active, worst.tolist(), strict=True):
                left[i] = value
            done = [i for i in active if left[i] <= size.residual]
            for i in done:
                steps[i] = step
            if done:
                active = [i for i in active if i not in done]
                if not active:
                    break
                continue
        for i in active:
            optimizers[i].zero_grad()
        (0.5 * residuals.square().sum()).backward()
        for i in active:
            optimizers[i].step()
            if schedulers:
                schedulers[i].step()
    norms = [layer.weight.detach().norm(dim=1).numpy().copy() for layer in layers]
    return {"norm": np.array(norms), "steps": steps, "residual": left}
