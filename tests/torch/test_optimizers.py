"""RPGD and WeightNormSGD make the steps they say, on one block and on many."""

import copy

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import weightnorm as wn
from tests.torch.cases import (
    OPTIMIZERS,
    OPTIONS,
    apart,
    half_squares,
    images,
    layer_at,
    network,
    problem,
    steps,
    train,
)
from weightnorm.torch import RPGD, FreezeThaw, WeightNormSGD, scale_norm

every = pytest.mark.parametrize("name", OPTIMIZERS)


def house(name, eta, gamma, norm, options):
    """The method of the library that an optimiser is."""
    told = {"scale_decay" if k == "scale_weight_decay" else k: v for k, v in options.items()}
    if name == "rpgd":
        return wn.RPGD(eta, gamma, **told)
    return wn.WeightNorm(eta, gamma, initial_norm=norm, **told)


@every
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("two_phase", [False, True])
@pytest.mark.parametrize("foreach", [None, False, True])
def test_a_thousand_steps_are_those_of_the_library(name, options, two_phase, foreach):
    data, w0 = problem()
    A, y = torch.as_tensor(data.A), torch.as_tensor(data.y)[:, None]
    eta, ratio, scale = 0.02 * (1.0 - options.get("momentum", 0.0)), 0.5, 2.0
    layer = layer_at(scale * w0)
    optimizer = OPTIMIZERS[name](
        layer.parameters(), eta, scale_ratio=ratio, foreach=foreach, **options
    )
    gamma, after = eta * ratio, lambda: None
    if two_phase:
        gamma = wn.schedules.two_phase(0.0, eta * ratio, switch=300)
        after = FreezeThaw(optimizer, 300).step
    train(layer, optimizer, A, y, 1000, after)
    method = house(name, eta, gamma, scale, options)
    run = wn.run(method, data, scale, w0, tolerance=0.0, max_steps=1000)
    assert layer.weight.detach().numpy()[0] == pytest.approx(run.weights, abs=1e-12)
    state = optimizer.state[layer.weight]
    assert float(state["scale"]) == pytest.approx(run.scale, abs=1e-12)
    w = state["direction"] / state["direction"].norm()
    assert w.numpy()[0] == pytest.approx(run.direction / np.linalg.norm(run.direction), abs=1e-12)


@every
def test_rows_do_not_see_each_other(name):
    """A layer of three rows is three layers of one."""
    data, _ = problem()
    A = torch.as_tensor(data.A)
    rng = np.random.default_rng(1)
    W, Y = rng.standard_normal((3, 15)), torch.as_tensor(rng.standard_normal((6, 3)))
    layer = layer_at(W)
    train(layer, OPTIMIZERS[name](layer.parameters(), 0.01, momentum=0.5), A, Y, 50)
    for row in range(3):
        alone = layer_at(W[row])
        optimizer = OPTIMIZERS[name](alone.parameters(), 0.01, momentum=0.5)
        train(alone, optimizer, A, Y[:, row : row + 1], 50)
        assert torch.allclose(alone.weight[0], layer.weight[row], rtol=0, atol=1e-14)


@pytest.mark.parametrize("options", [OPTIONS["plain"], OPTIONS["Nesterov"]])
@pytest.mark.parametrize("dim", [0, 1, None, -1, (0, 1)])
def test_scale_norm_with_sgd_is_weight_norm_sgd(options, dim):
    kind = torch.nn.Conv2d if dim == (0, 1) else torch.nn.Linear
    shape = (3, 4, 2) if dim == (0, 1) else (3, 4)
    torch.manual_seed(0)
    plain = kind(*shape).double()
    inside = scale_norm(copy.deepcopy(plain), dim=dim)
    X = torch.randn(5, 3, *(4, 4) * (dim == (0, 1)), dtype=torch.float64)
    ours = WeightNormSGD(plain.parameters(), 0.05, dim=dim, **options)
    theirs = torch.optim.SGD(inside.parameters(), 0.05, **options)
    for _ in range(100):
        for model, optimizer in ((plain, ours), (inside, theirs)):
            optimizer.zero_grad()
            (model(X) - 1.0).square().mean().backward()
            optimizer.step()
    assert torch.allclose(plain.weight, inside.weight, rtol=0, atol=1e-13)
    assert torch.allclose(plain.bias, inside.bias, rtol=0, atol=1e-13)
    g = inside.parametrizations.weight.original0
    assert torch.allclose(ours.state[plain.weight]["scale"].reshape(g.shape), g, atol=1e-13)


@every
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("foreach", [None, False, True])
def test_a_ratio_of_zero_leaves_the_scale_bit_by_bit(name, options, foreach):
    model = network()
    optimizer = OPTIMIZERS[name](
        model.parameters(), 0.05, scale_ratio=0.0, foreach=foreach, **options
    )
    data = images()
    steps(model, optimizer, data, 1)
    weights = [p for p in model.parameters() if p.ndim > 1]
    before = [optimizer.state[p]["scale"].clone() for p in weights]
    where = [p.detach().clone() for p in weights]
    steps(model, optimizer, data, 50)
    assert all(
        torch.equal(optimizer.state[p]["scale"], g) for p, g in zip(weights, before, strict=True)
    )
    assert all((p - x).abs().max() > 1e-4 for p, x in zip(weights, where, strict=True))


@every
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
@pytest.mark.parametrize("tensor_rates", [False, True])
@pytest.mark.parametrize("dim", [0, None, 1])
@pytest.mark.parametrize("maximize", [False, True])
def test_every_way_to_make_a_step_makes_the_same(name, options, tensor_rates, dim, maximize):
    """Machine code, torch's operations one by one and together, and the plain formulas."""
    rates = 0.002 if maximize else 0.05, 0.7  # uphill small differences grow
    lr, ratio = (torch.tensor(each) for each in rates) if tensor_rates else rates
    made = {}
    for how, foreach in {"code": None, "loop": False, "foreach": True, "formulas": None}.items():
        model = network(dtype=torch.float64)
        optimizer = OPTIMIZERS[name](
            model.parameters(), lr, scale_ratio=ratio, dim=dim, foreach=foreach, maximize=maximize,
            **options,
        )  # fmt: skip
        with pytest.MonkeyPatch.context() as patch:
            if how == "formulas":  # the path of compilers and distributed tensors
                patch.setattr("weightnorm.torch._optimizer.is_distributed", lambda p: True)
                patch.setattr("weightnorm.torch._optimizer.table_row", lambda *_: None)
                patch.setattr("weightnorm.torch._optimizer.write", torch.Tensor.copy_)
            if how == "code" and dim != 1:
                patch.setattr("weightnorm.torch._optimizer.in_place", None)
            steps(model, optimizer, images(dtype=torch.float64), 20)
        made[how] = model
    assert apart(made["loop"], made["foreach"]) < 1e-14
    assert apart(made["loop"], made["formulas"]) < 1e-13
    assert apart(made["loop"], made["code"]) < 1e-13


@pytest.mark.parametrize("foreach", [None, False])
def test_directions_stay_on_the_sphere_for_a_hundred_thousand_steps(foreach):
    layer = layer_at(np.random.default_rng(0).standard_normal((4, 9)))
    optimizer = RPGD(layer.parameters(), 0.01, foreach=foreach)
    layer.weight.grad = torch.empty(4, 9, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    for _ in range(100_000):
        layer.weight.grad.normal_(generator=generator)
        optimizer.step()
    norms = optimizer.state[layer.weight]["direction"].norm(dim=1)
    assert (norms - 1.0).abs().max() < 8 * torch.finfo(torch.float64).eps


def test_the_norm_of_v_grows_by_the_step():
    """‖v‖² grows exactly by η²‖∇_v‖², the gradient being across v."""
    layer = layer_at(np.random.default_rng(0).standard_normal((3, 8)))
    optimizer, eta = WeightNormSGD(layer.parameters(), 0.3), 0.3
    generator = torch.Generator().manual_seed(0)
    layer.weight.grad = torch.zeros(3, 8, dtype=torch.float64)
    optimizer.step()
    state = optimizer.state[layer.weight]
    for _ in range(20):
        v, g = state["direction"].clone(), state["scale"].clone()
        layer.weight.grad = torch.randn(3, 8, generator=generator, dtype=torch.float64)
        n = v.norm(dim=1, keepdim=True)
        G, unit = layer.weight.grad, v / n
        slope = g / n * (G - unit * (G * unit).sum(dim=1, keepdim=True))
        optimizer.step()
        expected = v.square().sum(dim=1) + eta**2 * slope.square().sum(dim=1)
        assert torch.allclose(state["direction"].square().sum(dim=1), expected, rtol=1e-14, atol=0)
        assert torch.allclose(state["direction_norm"][:, 0].square(), expected, rtol=1e-14, atol=0)


@every
@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6), power=st.integers(-6, 6))
def test_turns_units_and_signs(name, seed, power):
    """A turned problem has turned steps, and data in another unit steps in another unit."""
    rng = np.random.default_rng(seed)
    A, y, x = rng.standard_normal((4, 7)), rng.standard_normal((4, 1)), rng.standard_normal(7)
    Q = np.linalg.qr(rng.standard_normal((7, 7)))[0]
    unit = 10.0**power
    ends = []
    # features × unit: weights / unit, and η·g²·λ, c/g² stay: η and c of the unit as it is due
    wn_case = name == "wn"
    for data, start, eta, ratio in (
        (A, x, 0.01, 0.8),
        (A @ Q.T, Q @ x, 0.01, 0.8),
        (
            A * unit,
            x / unit,
            0.01 / unit**2 if wn_case else 0.01,
            0.8 if wn_case else 0.8 / unit**2,
        ),
    ):
        layer = layer_at(start)
        optimizer = OPTIMIZERS[name](layer.parameters(), eta, scale_ratio=ratio)
        train(layer, optimizer, torch.as_tensor(data), torch.as_tensor(y), 40)
        ends.append(layer.weight.detach().numpy()[0])
    size = np.abs(ends[0]).max()
    assert Q.T @ ends[1] == pytest.approx(ends[0], abs=1e-11 * size)
    assert unit * ends[2] == pytest.approx(ends[0], abs=1e-11 * size)


@every
def test_both_signs_turned_over_change_nothing(name):
    """(g, w) → (−g, −w), put into the state."""
    data, w0 = problem()
    A, y = torch.as_tensor(data.A), torch.as_tensor(data.y)[:, None]
    ends = []
    for sign in (1.0, -1.0):
        layer = layer_at(2.0 * w0)
        optimizer = OPTIMIZERS[name](layer.parameters(), 0.01)
        train(layer, optimizer, A, y, 1)
        for key in ("scale", "direction"):
            optimizer.state[layer.weight][key].mul_(sign)
        train(layer, optimizer, A, y, 30)
        ends.append(layer.weight.detach().clone())
    assert torch.equal(*ends)


@every
@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}, {"momentum": 0.9, "nesterov": True}])
@pytest.mark.parametrize("maximize", [False, True])
def test_parameters_with_one_axis_get_plain_sgd(name, options, maximize):
    ours, theirs = (torch.nn.LayerNorm(5), torch.nn.LayerNorm(5))
    mine = OPTIMIZERS[name](ours.parameters(), 0.1, maximize=maximize, **options)
    sgd = torch.optim.SGD(theirs.parameters(), 0.1, maximize=maximize, **options)
    X = torch.arange(15.0).reshape(3, 5).square()
    for _ in range(10):
        for model, optimizer in ((ours, mine), (theirs, sgd)):
            optimizer.zero_grad()
            (model(X) * X).mean().backward()
            optimizer.step()
    assert apart(ours, theirs) < 1e-5 * max(p.abs().max().item() for p in theirs.parameters())


@every
def test_a_vector_can_be_a_block(name):
    data, w0 = problem()
    A, y = torch.as_tensor(data.A), torch.as_tensor(data.y)
    x = torch.nn.Parameter(torch.as_tensor(2.0 * w0))
    optimizer = OPTIMIZERS[name]([x], 0.01, vectors=True)
    layer = layer_at(2.0 * w0)
    rows = OPTIMIZERS[name](layer.parameters(), 0.01)
    for _ in range(20):
        optimizer.zero_grad()
        (0.5 * (A @ x - y).square().sum()).backward()
        optimizer.step()
    train(layer, rows, A, y[:, None], 20)
    assert torch.allclose(x, layer.weight[0], rtol=0, atol=1e-14)


@every
def test_maximize_is_minimizing_the_negative(name):
    data, w0 = problem()
    A, y = torch.as_tensor(data.A), torch.as_tensor(data.y)[:, None]
    ends = []
    for maximize in (False, True):
        layer = layer_at(2.0 * w0)
        optimizer = OPTIMIZERS[name](layer.parameters(), 0.01, momentum=0.5, maximize=maximize)
        for _ in range(20):
            optimizer.zero_grad()
            loss = half_squares(layer, A, y)
            (-loss if maximize else loss).backward()
            optimizer.step()
        ends.append(layer.weight.detach().clone())
    assert torch.equal(*ends)


@every
def test_a_closure_is_evaluated_and_its_loss_returned(name):
    data, w0 = problem()
    A, y = torch.as_tensor(data.A), torch.as_tensor(data.y)[:, None]
    layer, other = layer_at(w0), layer_at(w0)
    optimizer = OPTIMIZERS[name](layer.parameters(), 0.01)

    def closure():
        optimizer.zero_grad()
        loss = half_squares(layer, A, y)
        loss.backward()
        return loss

    losses = [optimizer.step(closure).item() for _ in range(5)]
    assert losses == sorted(losses, reverse=True)
    train(other, OPTIMIZERS[name](other.parameters(), 0.01), A, y, 5)
    assert torch.equal(layer.weight, other.weight)
