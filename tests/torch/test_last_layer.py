"""The end of a last layer is predicted before it is trained, with torch and nothing of ours."""

import copy

import numpy as np
import pytest
import torch
from torch.nn.utils.parametrizations import weight_norm

import weightnorm as wn
from tests.torch.cases import OPTIMIZERS, train
from weightnorm.torch import FreezeThaw, predict_last_layer, scale_norm

SAMPLES, FEATURES, OUTPUTS = 6, 14, 3


def data(seed=0, centred=True):
    """Features that train fast, orthonormal but for their mean, targets, and a layer."""
    rng = np.random.default_rng(seed)
    X = np.linalg.qr(rng.standard_normal((FEATURES, SAMPLES)))[0].T
    X, Y = X - centred * X.mean(axis=0), rng.standard_normal((SAMPLES, OUTPUTS))
    torch.manual_seed(seed)
    layer = torch.nn.Linear(FEATURES, OUTPUTS, dtype=torch.float64)
    with torch.no_grad():
        layer.weight *= float(rng.uniform(1.5, 4.0))
    return torch.as_tensor(X), torch.as_tensor(Y), layer


def off(layer, end):
    """How far a trained layer is from the prediction, row by row, in norm."""
    return (layer.weight.detach().norm(dim=1) - end.norm).abs()


@pytest.mark.parametrize("method", OPTIMIZERS)
@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("options", [{}, {"momentum": 0.8}, {"momentum": 0.8, "nesterov": True}])
def test_training_ends_within_the_error(method, centred, options):
    X, Y, layer = data(centred=centred)
    beta = options.get("momentum", 0.0)
    lr = 0.01 * (1 - beta) ** 2
    end = predict_last_layer(X, Y, layer, method=method, scale_ratio=0.7, lr=lr, **options)
    small = predict_last_layer(X, Y, layer, method=method, scale_ratio=0.7)
    assert end.applies, end.failing
    assert end.closed_form == centred
    optimizer = OPTIMIZERS[method](layer.parameters(), lr, scale_ratio=0.7, **options)
    train(layer, optimizer, X, Y, int(30 * (1 - beta) / lr))
    assert (layer(X) - Y).abs().max() < 1e-5
    assert (off(layer, end) <= end.error).all()
    assert off(layer, end).max() < 0.2 * off(layer, small).max()  # the steps' effect is seen
    assert (layer.bias - end.bias).abs().max() < 1e-3
    assert (layer.weight - end.weight).detach().norm(dim=1).max() < 2e-3


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("method", OPTIMIZERS)
def test_the_error_halves_twice_when_the_step_halves(method, seed):
    """A bias, features off centre, frozen steps and momentum, all at once: of second order."""
    found = []
    for lr in (1e-2, 5e-3):
        X, Y, layer = data(seed, centred=False)
        switch = int(0.8 / lr)
        options = {"momentum": 0.5, "scale_ratio": 0.4}
        end = predict_last_layer(
            X, Y, layer, method=method, lr=lr, frozen_steps=switch, bias_ratio=1.0, **options
        )
        optimizer = OPTIMIZERS[method](layer.parameters(), lr, **options)
        train(layer, optimizer, X, Y, int(20 / lr), FreezeThaw(optimizer, switch).step)
        assert (layer(X) - Y).abs().max() < 1e-6
        away = (layer.weight.detach() - end.weight).norm(dim=1)
        assert (off(layer, end) <= end.error).all()
        found.append(float(away.max()))
    assert found[1] < 0.35 * found[0]


def test_torchs_own_weight_norm_and_sgd_end_there_too():
    """With nn.MSELoss(), and nothing of ours in the training."""
    X, Y, layer = data(3)
    start = copy.deepcopy(layer)
    lr = 0.01 * Y.numel() / 2.0  # what a mean over all entries is worth
    end = predict_last_layer(X, Y, start, method="wn", lr=lr, loss="mse_mean")
    same = predict_last_layer(X, Y, start, method="wn", lr=0.01)
    assert torch.allclose(end.weight, same.weight)
    twice = predict_last_layer(X, Y, start, method="wn", lr=0.005, loss="mse_sum")
    assert torch.allclose(twice.weight, same.weight)
    weight_norm(layer)
    optimizer, loss = torch.optim.SGD(layer.parameters(), lr), torch.nn.MSELoss()
    for _ in range(4_000):
        optimizer.zero_grad()
        loss(layer(X), Y).backward()
        optimizer.step()
    assert (off(layer, end) <= end.error).all()
    again = predict_last_layer(X, Y, scale_norm(start), method="wn", lr=0.01)
    assert torch.allclose(again.weight, same.weight)


def test_a_layer_with_a_v_of_its_own_is_taken_with_it():
    """‖v‖ is not ‖weight‖ once it was trained, or loaded from a checkpoint."""
    X, Y, layer = data(4)
    scale_norm(layer)
    with torch.no_grad():
        layer.parametrizations.weight.original1.mul_(3.0)
    lr = 0.02
    end = predict_last_layer(X, Y, layer, method="wn", lr=lr)
    optimizer = torch.optim.SGD(layer.parameters(), lr)
    train(layer, optimizer, X, Y, 20_000)
    assert (layer(X) - Y).abs().max() < 1e-5
    assert (off(layer, end) <= end.error).all()
    with pytest.raises(ValueError, match="one scale per row, dim=0"):
        predict_last_layer(X, Y, scale_norm(data(4)[2], dim=None), method="wn")


def test_what_it_says_is_the_theorys():
    X, Y, layer = data(1, centred=False)
    end = predict_last_layer(X.float(), Y.float(), layer.float(), scale_ratio=0.3, bias_ratio=2.0)
    told = wn.theory.linear_layer_limit(
        X.float().double().numpy(),
        Y.float().double().numpy(),
        layer.weight.detach().double().numpy(),
        0.3,
        True,
        "rpgd",
        2.0,
        layer.bias.detach().double().numpy(),
    )
    assert end.weight.dtype == torch.float32
    assert end.weight.numpy() == pytest.approx(told.weight, abs=1e-6)
    assert end.bias.numpy() == pytest.approx(told.bias, abs=1e-6)
    assert end.distance.numpy() == pytest.approx(told.distance, abs=1e-6)
    assert not end.error.any()
    assert "3 rows: norm" in repr(end)
    one = predict_last_layer(X, Y[:, 0], torch.nn.Linear(FEATURES, 1, bias=False).double())
    assert one.weight.shape == (1, FEATURES)
    assert not one.bias.any()


def test_steps_that_are_too_large_are_not_promised():
    X, Y, layer = data(2)
    end = predict_last_layer(X, Y, layer, lr=5.0)
    assert not end.applies
    assert "not promised" in repr(end)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"layer": torch.nn.Conv1d(1, 1, 1)}, TypeError, "layer must be a torch.nn.Linear"),
        ({"features": torch.ones(6, 5)}, ValueError, "features must have 14 columns"),
        ({"targets": torch.ones(6, 2)}, ValueError, "targets must have 3 columns"),
        ({"targets": torch.ones(5, 3)}, ValueError, "targets must have 6 rows"),
        ({"features": torch.full((6, 14), torch.nan)}, ValueError, "features"),
        ({"method": "adam"}, ValueError, "adam"),
        ({"loss": "mse"}, ValueError, "loss must be one of"),
        ({"lr": 0.0}, ValueError, "lr must be greater than 0"),
        ({"momentum": 0.9}, ValueError, "momentum and frozen_steps need a step"),
        ({"frozen_steps": 3}, ValueError, "momentum and frozen_steps need a step"),
        ({"scale_ratio": 0.0}, ValueError, "scale_ratio must be greater than 0"),
    ],
)
def test_bad_input_is_named(options, error, words):
    X, Y, layer = data()
    given = {"features": X, "targets": Y, "layer": layer} | options
    with pytest.raises(error, match=words):
        predict_last_layer(given.pop("features"), given.pop("targets"), given.pop("layer"), **given)
