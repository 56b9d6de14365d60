"""Blocks of one number have no direction: the number is the scale."""

import pytest
import torch
from torch.nn.utils.parametrizations import weight_norm

from tests.torch.cases import OPTIMIZERS, OPTIONS, steps

every = pytest.mark.parametrize("name", OPTIMIZERS)
ways = pytest.mark.parametrize("foreach", [None, False, True])


@every
@ways
@pytest.mark.parametrize("start", [2.0, -2.0, 0.0])
def test_a_large_step_is_that_of_sgd(name, foreach, start):
    """2.0 went to −0.8 where SGD goes to 0.8: the number was turned over on its sphere."""
    p, q = (torch.nn.Parameter(torch.full((3, 1), start, dtype=torch.float64)) for _ in range(2))
    optimizer, sgd = OPTIMIZERS[name]([p], 1.2, foreach=foreach), torch.optim.SGD([q], 1.2)
    for gradient in (1.0, -3.0, 0.5):
        for each, one in ((p, optimizer), (q, sgd)):
            each.grad = torch.full((3, 1), gradient, dtype=torch.float64)
            one.step()
        assert torch.allclose(p, q, rtol=1e-14, atol=1e-15)


@every
@ways
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_the_rate_is_that_of_the_scale(name, foreach, options):
    """Momentum, Nesterov and decay too: SGD on the numbers with lr·scale_ratio."""
    torch.manual_seed(0)
    start = torch.randn(4, 1, dtype=torch.float64)
    p, q = (torch.nn.Parameter(start.clone()) for _ in range(2))
    optimizer = OPTIMIZERS[name]([p], 0.4, scale_ratio=0.25, foreach=foreach, **options)
    torchs = {"weight_decay" if k == "scale_weight_decay" else k: v for k, v in options.items()}
    sgd = torch.optim.SGD([q], 0.1, **torchs)
    for _ in range(20):
        gradient = torch.randn(4, 1, dtype=torch.float64)
        p.grad, q.grad = gradient.clone(), gradient.clone()
        optimizer.step()
        sgd.step()
    assert torch.allclose(p, q, rtol=1e-12, atol=1e-14)
    if name == "rpgd":
        assert torch.equal(optimizer.state[p]["direction"].abs(), torch.ones(4, 1).double())


@every
@ways
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_frozen_stays_frozen_bit_by_bit(name, foreach, momentum):
    layer = torch.nn.Linear(1, 5)
    before = layer.weight.detach().clone()
    options = {"scale_ratio": 0.0, "foreach": foreach, "momentum": momentum}
    optimizer = OPTIMIZERS[name]([layer.weight], 0.7, **options)
    for _ in range(5):
        optimizer.zero_grad()
        layer(torch.randn(7, 1)).square().sum().backward()
        optimizer.step()
    assert torch.equal(layer.weight, before)


@every
def test_the_scales_of_torchs_weight_norm_descend(name):
    """Its g is a column of rows of one number each."""
    torch.manual_seed(0)
    layer = weight_norm(torch.nn.Linear(5, 4))
    optimizer = OPTIMIZERS[name](layer.parameters(), 0.1)
    data = torch.randn(20, 5), torch.randn(20, 4)
    losses = []
    for _ in range(60):
        steps(layer, optimizer, data, 1)
        losses.append((layer(data[0]) - data[1]).square().mean().item())
    assert losses == sorted(losses, reverse=True)
    assert losses[-1] < 0.9 * losses[0]


@every
def test_all_ways_agree_when_the_number_is_changed_by_hand(name):
    ends = []
    for foreach in (None, False, True):
        p = torch.nn.Parameter(torch.tensor([[2.0], [-1.0]], dtype=torch.float64))
        optimizer = OPTIMIZERS[name]([p], 0.1, foreach=foreach)
        for value in (None, -3.0, 5.0):
            if value is not None:
                p.data[0] = value
            p.grad = torch.ones(2, 1, dtype=torch.float64)
            optimizer.step()
        ends.append(p.detach().clone())
    assert ends[0][0].item() == pytest.approx(4.9)
    assert torch.allclose(ends[0], ends[1], rtol=1e-15)
    assert torch.allclose(ends[0], ends[2], rtol=1e-15)


@every
@pytest.mark.parametrize("size", [2.0, 1e-38])
@pytest.mark.parametrize("formulas", [False, True])
def test_its_direction_and_the_momentum_of_that_stay(name, size, formulas, monkeypatch):
    """Also by the plain formulas, the path of compilers and distributed tensors."""
    if formulas:
        monkeypatch.setattr("weightnorm.torch._optimizer.is_distributed", lambda p: True)
        monkeypatch.setattr("weightnorm.torch._optimizer.table_row", lambda *_: None)
        monkeypatch.setattr("weightnorm.torch._optimizer.write", torch.Tensor.copy_)
    start = torch.tensor([[size], [-size]])
    p = torch.nn.Parameter(start.clone())
    optimizer = OPTIMIZERS[name]([p], 1.2, scale_ratio=0.0, momentum=0.5)
    directions = []
    for gradient in (3.0, -1.0, 2.0):
        p.grad = torch.full((2, 1), gradient)
        optimizer.step()
        state = optimizer.state[p]
        directions.append(state["direction"].clone())
        assert torch.equal(state["direction_buffer"], torch.zeros(2, 1))
    assert torch.equal(p, start)
    assert all(torch.equal(w, directions[0]) for w in directions)
