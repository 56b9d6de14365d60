"""Parameters, states and options that others change between steps."""

import warnings

import numpy as np
import pytest
import torch

from tests.torch.cases import OPTIMIZERS, apart, images, layer_at, network, steps
from tests.torch.test_corners import every, moved
from weightnorm.torch import RPGD, WeightNormSGD


@every
def test_a_parameter_changed_between_steps_is_followed(name):
    """By p.mul_, or by loading other weights: the next step starts from what is there."""
    layer = layer_at(np.random.default_rng(0).standard_normal((2, 5)))
    optimizer = OPTIMIZERS[name](layer.parameters(), 0.1)
    G = torch.ones(2, 5, dtype=torch.float64)
    moved(optimizer, layer.weight, G)
    old = {key: value.clone() for key, value in optimizer.state[layer.weight].items()}
    with torch.no_grad():
        layer.weight[0] *= -3.0
        layer.weight[1] = 0.0
    changed = layer.weight.detach().clone()
    optimizer.adopt_parameters()
    state = optimizer.state[layer.weight]
    n = state.get("direction_norm", torch.ones(2, 1, dtype=torch.float64))
    assert torch.allclose(state["scale"] / n * state["direction"], changed, atol=1e-15)
    assert torch.allclose(state["direction"], old["direction"], atol=1e-15)  # −3x: g turns over
    assert torch.allclose(state["scale"][:, 0], torch.tensor([-3.0, 0.0]) * old["scale"][:, 0])
    with torch.no_grad():
        layer.weight.copy_(changed + 1.0)  # and without a word to the optimiser
    after = moved(optimizer, layer.weight, 0.0 * G)
    assert torch.allclose(after, changed + 1.0, rtol=1e-14, atol=1e-14)


@every
@pytest.mark.parametrize("foreach", [None, False])
@pytest.mark.parametrize("how", ["mul_", "data", "clamp_"])
def test_changes_behind_the_back_of_the_version_are_seen(name, foreach, how):
    """p.data.clamp_ (clipping), p.data = … (loading): torch does not count them."""
    layer = layer_at(np.random.default_rng(0).standard_normal((3, 5)))
    optimizer = OPTIMIZERS[name](layer.parameters(), 0.1, foreach=foreach)
    moved(optimizer, layer.weight, torch.ones(3, 5, dtype=torch.float64))
    changed = layer.weight.detach().clone()
    if how == "mul_":
        changed[1] *= 3.0
        layer.weight.data[1].mul_(3.0)
    elif how == "data":
        changed = 0.5 * changed
        layer.weight.data = changed.clone()
    else:
        changed = changed.clamp(-0.2, 0.2)
        layer.weight.data.clamp_(-0.2, 0.2)
    after = moved(optimizer, layer.weight, torch.zeros(3, 5, dtype=torch.float64))
    assert torch.allclose(after, changed, rtol=1e-14, atol=0)


@every
@pytest.mark.parametrize("foreach", [None, False])
def test_subnormal_weights_are_not_taken_for_changes(name, foreach):
    """A frozen scale stays bit by bit: nobody has changed the row."""
    weight = torch.nn.Parameter(torch.tensor([[0.3, 0.4, 3.3e-41, -7.1e-42, 1.7e-41]]))
    optimizer = OPTIMIZERS[name]([weight], 0.1, scale_ratio=0.0, foreach=foreach)
    scales = []
    for _ in range(50):
        moved(optimizer, weight, torch.tensor([[0.01, -0.02, 0.0, 0.0, 0.0]]))
        scales.append(optimizer.state[weight]["scale"].item())
    assert len(set(scales)) == 1


@every
def test_small_changes_of_half_precision_are_seen(name):
    weight = torch.nn.Parameter(torch.randn(2, 8).bfloat16())
    optimizer = OPTIMIZERS[name]([weight], 0.1)
    zero = torch.zeros(2, 8).bfloat16()
    before = moved(optimizer, weight, zero)
    for _ in range(100):
        with torch.no_grad():
            weight.mul_(0.98)
        moved(optimizer, weight, zero)
    assert torch.allclose(
        weight.float().norm() / before.float().norm(), torch.tensor(0.98**100), rtol=0.05
    )


@every
def test_weights_that_are_loaded_again_heal_a_step_of_nan(name):
    layer = layer_at(np.random.default_rng(0).standard_normal((3, 5)))
    good = {key: value.clone() for key, value in layer.state_dict().items()}
    optimizer = OPTIMIZERS[name](layer.parameters(), 0.1, momentum=0.5)
    moved(optimizer, layer.weight, torch.full((3, 5), torch.nan, dtype=torch.float64))
    assert layer.weight.isnan().any()
    layer.load_state_dict(good)
    assert moved(optimizer, layer.weight, torch.ones(3, 5, dtype=torch.float64)).isfinite().all()


def test_a_norm_that_is_lost_is_that_of_the_row_again():
    """Whichever way the step is made: c is scale_ratio·‖v‖², so that ‖v‖ matters."""
    ends = []
    for foreach in (None, False):
        layer = layer_at(3.0 * np.random.default_rng(0).standard_normal((3, 5)))
        good = {key: value.clone() for key, value in layer.state_dict().items()}
        optimizer = WeightNormSGD(layer.parameters(), 0.1, foreach=foreach)
        moved(optimizer, layer.weight, torch.full((3, 5), torch.nan, dtype=torch.float64))
        layer.load_state_dict(good)
        for _ in range(3):
            moved(optimizer, layer.weight, torch.linspace(-1, 1, 15).double().reshape(3, 5))
        ends.append(layer.weight.detach().clone())
    assert torch.allclose(*ends, rtol=1e-12)


def test_the_state_of_the_other_optimiser_is_refused():
    layer = layer_at(np.ones((2, 3)))
    for one, other in ((RPGD, WeightNormSGD), (WeightNormSGD, RPGD)):
        optimizer = one(layer.parameters(), 0.1)
        moved(optimizer, layer.weight, torch.ones(2, 3, dtype=torch.float64))
        with pytest.raises(ValueError, match=f"is not that of {other.__name__}"):
            other(layer.parameters(), 0.1).load_state_dict(optimizer.state_dict())


@every
def test_hooks_of_others_on_loading_are_kept(name):
    a, b = (torch.nn.Parameter(t) for t in torch.randn(2, 2, 3))
    optimizer = OPTIMIZERS[name]([a, b], 0.1)
    for p in (a, b):
        p.grad = torch.ones(2, 3)
    optimizer.step()
    turned = OPTIMIZERS[name]([b, a], 0.1)

    def swap(_, given):
        return given | {"state": {0: given["state"][1], 1: given["state"][0]}}

    turned.register_load_state_dict_pre_hook(swap)
    turned.load_state_dict(optimizer.state_dict())
    assert torch.equal(turned.state[b]["direction"], optimizer.state[b]["direction"])


@every
@pytest.mark.parametrize("shape", [(0, 5), (5, 0)])
def test_empty_parameters_are_left_alone(name, shape):
    weight = torch.nn.Parameter(torch.zeros(shape))
    moved(OPTIMIZERS[name]([weight], 0.1, momentum=0.5), weight, torch.zeros(shape))


@every
def test_a_state_of_another_model_is_noticed(name):
    one, other = network(0), network(1)
    optimizer = OPTIMIZERS[name](one.parameters(), 0.01)
    steps(one, optimizer, images(), 3)
    fresh = OPTIMIZERS[name](other.parameters(), 0.01)
    fresh.load_state_dict(optimizer.state_dict())
    before = [p.detach().clone() for p in other.parameters()]
    with pytest.warns(UserWarning, match="going on from the parameter"):
        steps(other, fresh, images(), 1)
    near = max((p - q).abs().max().item() for p, q in zip(other.parameters(), before, strict=True))
    assert near < 0.05 < apart(one, other)


@every
@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"lr": -1.0}, ValueError, "lr must be finite and at least 0, got -1"),
        ({"lr": float("nan")}, ValueError, "lr must be finite"),
        ({"lr": "fast"}, TypeError, "lr must be a number, got str"),
        ({"lr": torch.ones(2)}, ValueError, r"lr must be .* one element, got shape \(2,\)"),
        ({"scale_ratio": -0.5}, ValueError, "scale_ratio must be"),
        ({"momentum": 1.0}, ValueError, "momentum must be below 1"),
        ({"nesterov": True}, ValueError, "nesterov=True needs a momentum"),
        ({"scale_weight_decay": -1e-3}, ValueError, "scale_weight_decay must be"),
        ({"eps": -1.0}, ValueError, "eps must be"),
        ({"dim": 2}, ValueError, r"dim=2 is out of range for a parameter of shape \(2, 3\)"),
        ({"dim": (0, 1)}, ValueError, "dim=.* names every axis"),
        ({"dim": "rows"}, TypeError, "dim must be an axis"),
        ({"dim": True}, TypeError, "dim must be an axis"),
        ({"foreach": True, "differentiable": True}, ValueError, "foreach=True cannot be diff"),
    ],
)
def test_bad_options_are_named(name, options, error, words):
    layer = torch.nn.Linear(3, 2)
    with pytest.raises(error, match=words):
        OPTIMIZERS[name](layer.parameters(), **({"lr": 0.1} | options))
    optimizer = OPTIMIZERS[name]([torch.nn.Parameter(torch.ones(4, 4, 4))], 0.1)
    with pytest.raises(error, match=words):
        optimizer.add_param_group({"params": list(layer.parameters()), **options})
    assert len(optimizer.param_groups) == 1


@every
def test_sparse_and_complex_are_refused(name):
    model = torch.nn.Embedding(5, 3, sparse=True)
    optimizer = OPTIMIZERS[name](model.parameters(), 0.1)
    model(torch.tensor([1])).sum().backward()
    with pytest.raises(RuntimeError, match="sparse=False"):
        optimizer.step()
    with pytest.raises(TypeError, match="must be real"):
        OPTIMIZERS[name]([torch.nn.Parameter(torch.ones(2, 2, dtype=torch.complex64))], 0.1)


def test_groups_may_differ():
    model = network()
    groups = [
        {"params": model[0].parameters(), "dim": (0, 1), "scale_ratio": 0.0},
        {"params": model[2].parameters(), "dim": None, "lr": 0.0},
        {"params": model[4].parameters()},
    ]
    optimizer = WeightNormSGD(groups, 0.05)
    before = [p.detach().clone() for p in model.parameters()]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        steps(model, optimizer, images(), 3)
    same = [torch.equal(p, q) for p, q in zip(model.parameters(), before, strict=True)]
    assert same == [False, False, True, True, False, False]
    assert optimizer.state[model[2].weight]["scale"].numel() == 1
    assert optimizer.state[model[0].weight]["scale"].shape == (3, 1, 1, 1)
