"""What several files of tests use: small problems, plain steps, and training loops."""

from __future__ import annotations

import numpy as np
import torch

import weightnorm as wn
from weightnorm.torch import RPGD, WeightNormSGD

OPTIMIZERS = {"rpgd": RPGD, "wn": WeightNormSGD}
OPTIONS = {
    "plain": {},
    "heavy ball": {"momentum": 0.9},
    "Nesterov": {"momentum": 0.9, "nesterov": True},
    "decay": {"scale_weight_decay": 0.1},
}


def problem(seed=0, samples=6, features=15):
    """Data and a start of norm 2 along a random direction."""
    data = wn.datasets.make_regression(samples, features, condition_number=3.0, seed=seed)
    w0 = wn.datasets.random_direction(features, seed)
    return data, w0


def layer_at(weights):
    """A linear layer without bias, at these float64 weights."""
    weights = torch.as_tensor(np.atleast_2d(weights))
    layer = torch.nn.Linear(weights.shape[1], weights.shape[0], bias=False, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(weights)
    return layer


def half_squares(layer, A, y):
    """The loss of `wn.LeastSquares`."""
    return 0.5 * (layer(A) - y).square().sum()


def train(layer, optimizer, A, y, num_steps, after=lambda: None):
    """So many full-batch steps."""
    for _ in range(num_steps):
        optimizer.zero_grad()
        half_squares(layer, A, y).backward()
        optimizer.step()
        after()


def network(seed=0, dtype=torch.float32):
    """A small network with a convolution, two linear layers and biases."""
    torch.manual_seed(seed)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 3, 3),
        torch.nn.Flatten(),
        torch.nn.Linear(27, 7),
        torch.nn.Tanh(),
        torch.nn.Linear(7, 2),
    ).to(dtype)


def images(seed=0, dtype=torch.float32):
    """Inputs and targets for it."""
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(8, 1, 5, 5, generator=generator, dtype=dtype)
    return X, torch.randn(8, 2, generator=generator, dtype=dtype)


def steps(model, optimizer, data, num_steps, after=lambda: None):
    """So many steps of mean squared error."""
    X, Y = data
    for _ in range(num_steps):
        optimizer.zero_grad()
        (model(X) - Y).square().mean().backward()
        optimizer.step()
        after()


def same(one, other):
    """Whether two models are the same, bit by bit."""
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return all(torch.equal(p, q) for p, q in pairs)


def apart(one, other):
    """The largest difference of two models' parameters."""
    pairs = zip(one.parameters(), other.parameters(), strict=True)
    return max(float((p - q).detach().abs().max()) for p, q in pairs)
