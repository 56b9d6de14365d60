"""Zero rows, missing gradients, other shapes, half precision, edits from outside, bad input."""

import numpy as np
import pytest
import torch

from tests.torch.cases import OPTIMIZERS, images, layer_at, network, train
from weightnorm.torch import RPGD

every = pytest.mark.parametrize("name", OPTIMIZERS)


def moved(optimizer, parameter, gradient):
    parameter.grad = gradient.clone()
    optimizer.step()
    return parameter.detach().clone()


@every
def test_a_row_of_zeros_takes_the_direction_of_steepest_descent(name):
    layer = layer_at([[0.0, 0.0, 0.0], [1.0, 2.0, 2.0]])
    optimizer = OPTIMIZERS[name](layer.parameters(), 0.1, scale_ratio=0.5)
    G = torch.tensor([[3.0, 0.0, 4.0], [1.0, 0.0, 0.0]], dtype=torch.float64)
    row = moved(optimizer, layer.weight, G)[0]
    assert torch.allclose(row, -0.05 * G[0])  # the step of SGD with the scale's rate
    for _ in range(5):
        assert (
            moved(optimizer, layer.weight, torch.randn(2, 3, dtype=torch.float64)).isfinite().all()
        )
    assert layer.weight[0].abs().sum() > 0


@every
def test_a_row_of_zeros_without_a_gradient_stays_zero_until_one_comes(name):
    """As in nn.Embedding(padding_idx=…)."""
    layer = layer_at(np.zeros((1, 4)))
    optimizer = OPTIMIZERS[name](layer.parameters(), 0.1, momentum=0.5)
    zero = torch.zeros(1, 4, dtype=torch.float64)
    for _ in range(3):
        assert torch.equal(moved(optimizer, layer.weight, zero), zero)
    for _ in range(3):
        found = moved(optimizer, layer.weight, torch.tensor([[1.0, 2.0, 3.0, 4.0]]).double())
    assert found.isfinite().all()
    assert (found * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum() < 0  # downhill


@every
def test_a_zero_gradient_changes_nothing_and_a_missing_one_makes_no_state(name):
    layer = layer_at(np.random.default_rng(0).standard_normal((3, 50)))
    optimizer = OPTIMIZERS[name](layer.parameters(), 0.1)
    before = layer.weight.detach().clone()
    optimizer.step()
    assert not optimizer.state
    assert torch.equal(layer.weight, before)
    zero = torch.zeros_like(before)
    first = moved(optimizer, layer.weight, zero)
    assert torch.allclose(first, before, rtol=4e-16, atol=0)  # g·w in place of x: a rounding
    assert torch.equal(moved(optimizer, layer.weight, zero), first)


@every
@pytest.mark.parametrize("lr", [0.0, torch.tensor(0.0)])
def test_a_learning_rate_of_zero_changes_nothing(name, lr):
    """Distributed checkpoints make such a step to see what a state looks like."""
    layer = layer_at(np.random.default_rng(0).standard_normal((3, 50)))
    optimizer = OPTIMIZERS[name](layer.parameters(), lr, momentum=0.5)
    before = layer.weight.detach().clone()
    assert torch.equal(moved(optimizer, layer.weight, torch.randn_like(before)), before)
    assert optimizer.state[layer.weight]["direction_buffer"].abs().sum() > 0


@every
def test_the_scale_may_cross_zero(name):
    """One feature, one sample: x = 1 from x = −1, with the direction held by its one axis."""
    layer = layer_at([[-1.0, 0.0]])
    A, y = torch.tensor([[1.0, 0.0]], dtype=torch.float64), torch.ones(1, 1, dtype=torch.float64)
    optimizer = OPTIMIZERS[name](layer.parameters(), 0.05)
    scales = []
    train(
        layer, optimizer, A, y, 400,
        lambda: scales.append(float(optimizer.state[layer.weight]["scale"])),
    )  # fmt: skip
    assert scales[0] > 0 > scales[-1]
    assert layer.weight[0, 0].item() == pytest.approx(1.0, abs=1e-6)
    assert float(optimizer.state[layer.weight]["scale"]) == pytest.approx(-1.0, abs=1e-6)


def test_a_step_that_lands_on_zero_stays_finite():
    layer = layer_at([[1.0]])
    optimizer = RPGD(layer.parameters(), 1.0)
    moved(optimizer, layer.weight, torch.ones(1, 1, dtype=torch.float64))  # w − 1·1·1 = 0
    assert layer.weight.isfinite().all()
    for _ in range(3):
        assert (
            moved(optimizer, layer.weight, torch.ones(1, 1, dtype=torch.float64)).isfinite().all()
        )


@every
@pytest.mark.parametrize(
    ("module", "shape", "dim"),
    [
        (lambda: torch.nn.Conv2d(2, 3, 3), (2, 2, 5, 5), 0),
        (lambda: torch.nn.ConvTranspose2d(2, 3, 3), (2, 2, 5, 5), 1),
        (lambda: torch.nn.Conv1d(2, 3, 3), (2, 2, 5), (0, 1)),
        (lambda: torch.nn.Linear(4, 3), (2, 4), None),
    ],
)
def test_blocks_of_other_shapes(name, module, shape, dim):
    """The parameter is g·w with one g for each index along `dim`, and the loss falls."""
    torch.manual_seed(0)
    model, X = module().double(), torch.randn(shape, dtype=torch.float64)
    optimizer = OPTIMIZERS[name](model.parameters(), 0.01, dim=dim)
    losses = []
    for _ in range(10):
        optimizer.zero_grad()
        loss = model(X).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses == sorted(losses, reverse=True)
    state, weight = optimizer.state[model.weight], model.weight.detach()
    kept = () if dim is None else (dim,) if isinstance(dim, int) else dim
    spanned = [a for a in range(weight.ndim) if a not in kept]
    assert state["scale"].shape == tuple(n if a in kept else 1 for a, n in enumerate(weight.shape))
    assert torch.allclose(
        torch.linalg.vector_norm(weight, dim=spanned, keepdim=True), state["scale"]
    )


@every
def test_an_embedding_moves_only_the_rows_it_was_asked_for(name):
    model = torch.nn.Embedding(10, 4)
    optimizer = OPTIMIZERS[name](model.parameters(), 0.1)
    model(torch.arange(10)).square().sum().backward()
    optimizer.step()
    before = model.weight.detach().clone()
    optimizer.zero_grad()
    model(torch.tensor([2, 5])).square().sum().backward()
    optimizer.step()
    changed = (model.weight != before).any(dim=1)
    assert changed.nonzero()[:, 0].tolist() == [2, 5]


@every
def test_memory_may_be_laid_out_in_any_way(name):
    rng = np.random.default_rng(0)
    start, G = torch.as_tensor(rng.standard_normal((2, 5, 4)))
    plain, turned = layer_at(start), layer_at(start)
    turned.weight = torch.nn.Parameter(start.T.contiguous().T)
    assert not turned.weight.is_contiguous()
    for layer in (plain, turned):
        optimizer = OPTIMIZERS[name](layer.parameters(), 0.1)
        for _ in range(5):
            moved(optimizer, layer.weight, G)
    assert torch.allclose(plain.weight, turned.weight, rtol=0, atol=1e-15)
    assert not turned.weight.is_contiguous()


@every
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_half_precision_keeps_its_state_in_float32(name, dtype):
    """A parameter is the rounded g·w: small steps are not lost, as they are by SGD."""
    start = torch.linspace(1, 2, 300).reshape(3, 100).to(dtype)
    weight, wide = torch.nn.Parameter(start.clone()), torch.nn.Parameter(start.float())
    optimizers = [OPTIMIZERS[name]([p], 1e-4, foreach=False) for p in (weight, wide)]
    plain = torch.nn.Parameter(start.clone())
    sgd = torch.optim.SGD([plain], 1e-4)
    G = torch.linspace(-1, 1, 300).reshape(3, 100).to(dtype)
    for _ in range(200):
        moved(optimizers[0], weight, G)
        moved(optimizers[1], wide, G.float())
        moved(sgd, plain, G)
    state = optimizers[0].state[weight]
    assert state["direction"].dtype == state["scale"].dtype == torch.float32
    assert torch.equal(weight, wide.to(dtype))
    assert torch.equal(plain, start) or (plain - wide).abs().max() > (weight - wide).abs().max()
    assert not torch.equal(weight, start)


@every
def test_a_grad_scaler_that_finds_infinities_leaves_all_as_it_is(name):
    model = network()
    optimizer = OPTIMIZERS[name](model.parameters(), 0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    data = images()
    for poisoned in (False, True):
        optimizer.zero_grad()
        scaler.scale((model(data[0]) - data[1]).square().mean()).backward()
        if poisoned:
            model[0].weight.grad[0] = float("inf")
        before = [p.detach().clone() for p in model.parameters()]
        state = optimizer.state_dict()["state"]
        held = {i: {k: v.clone() for k, v in s.items()} for i, s in state.items()}
        scaler.step(optimizer)
        scaler.update()
        changed = [not torch.equal(p, q) for p, q in zip(model.parameters(), before, strict=True)]
        assert any(changed) != poisoned
        if poisoned:
            now = optimizer.state_dict()["state"]
            assert all(torch.equal(now[i][k], v) for i, s in held.items() for k, v in s.items())


@every
@pytest.mark.parametrize("options", [{}, {"momentum": 0.9, "nesterov": True}])
def test_derivatives_run_through_a_step(name, options):
    torch.manual_seed(0)
    p, G = (torch.randn(3, 4, dtype=torch.float64, requires_grad=True) for _ in range(2))

    def two_steps(p, G):
        p = p.clone()
        optimizer = OPTIMIZERS[name]([p], 0.3, scale_ratio=0.7, differentiable=True, **options)
        for turn in (1.0, -0.5):
            p.grad = turn * G
            optimizer.step()
        return p, *(v for v in optimizer.state[p].values())

    assert torch.autograd.gradcheck(two_steps, (p, G))
