"""scale_norm, against torch's weight_norm where that is right and for what it gets wrong."""

import copy
import io
import warnings

import pytest
import torch
from torch.nn.utils.parametrizations import orthogonal, spectral_norm, weight_norm

from weightnorm.torch import ScaleNorm, from_torch_weight_norm, remove_scale_norm, scale_norm

G, V = "parametrizations.weight.original0", "parametrizations.weight.original1"


def old_weight_norm(module, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls it deprecated
        return torch.nn.utils.weight_norm(module, **options)


def linear(seed=0):
    torch.manual_seed(seed)
    return torch.nn.Linear(4, 3).double()


X = torch.arange(8.0, dtype=torch.float64).reshape(2, 4).cos()


@pytest.mark.parametrize("dim", [0, 1, None])
def test_values_and_gradients_are_torchs(dim):
    ours, theirs = scale_norm(linear(), dim=dim), weight_norm(linear(), dim=dim)
    for layer in (ours, theirs):
        layer(X).square().sum().backward()
    assert torch.allclose(ours.weight, theirs.weight, rtol=1e-14)
    for key in (G, V):
        one, other = (dict(m.named_parameters())[key] for m in (ours, theirs))
        assert torch.allclose(one.grad.flatten(), other.grad.flatten(), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("dim", [0, 1, -1, None, (0, 1)])
def test_derivatives_are_right(dim):
    shape = (2, 3, 4) if isinstance(dim, tuple) else (2, 3)
    torch.manual_seed(0)
    part = ScaleNorm(dim)
    g, v = part.right_inverse(torch.randn(shape, dtype=torch.float64))
    arguments = [(t * 1.5).detach().requires_grad_() for t in (g, v)]
    assert torch.autograd.gradcheck(part, arguments)


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("old", [False, True])
def test_checkpoints_load_both_ways(dim, old):
    make = old_weight_norm if old else weight_norm
    theirs, ours = make(linear(1), dim=dim), scale_norm(linear(2), dim=dim)
    ours.load_state_dict(theirs.state_dict())
    assert torch.allclose(ours(X), theirs(X), rtol=1e-14)
    back = weight_norm(linear(3), dim=dim)
    back.load_state_dict(ours.state_dict())
    assert torch.allclose(back(X), theirs(X), rtol=1e-14)


def test_a_checkpoint_survives_a_file():
    layer, buffer = scale_norm(linear()), io.BytesIO()
    torch.save(layer.state_dict(), buffer)
    buffer.seek(0)
    other = scale_norm(linear(1))
    other.load_state_dict(torch.load(buffer, weights_only=True))
    assert torch.equal(layer.weight, other.weight)


def test_a_layer_made_plain_again_loads_plain_weights():
    layer = remove_scale_norm(scale_norm(linear()))
    layer.load_state_dict(linear(1).state_dict())
    assert torch.equal(layer.weight, linear(1).weight)


@pytest.mark.parametrize(("g", "sign"), [(0.0, 1.0), (2.0, 1.0), (-2.0, -1.0)])
def test_a_zero_row_is_finite_with_the_gradient_it_says(g, sign):
    part = ScaleNorm()
    scale = torch.tensor([[g], [1.0]], requires_grad=True)
    v = torch.tensor([[0.0, 0.0], [3.0, 4.0]], requires_grad=True)
    out = torch.tensor([[1.0, -2.0], [1.0, 1.0]])
    weight = part(scale, v)
    assert torch.equal(weight[0].detach().abs(), torch.zeros(2))
    (weight * out).sum().backward()
    assert torch.equal(v.grad[0], sign * out[0])
    assert scale.grad[0] == 0.0
    assert torch.allclose(v.grad[1], torch.tensor([0.032, -0.024]), atol=1e-7)
    # the first step leads downhill: the row now points where the loss falls
    with torch.no_grad():
        v -= 0.1 * v.grad
        scale[0] = g or 1.0
    assert float((part(scale, v)[0] * out[0]).detach().sum()) < 0


def test_a_layer_with_a_zero_row_trains():
    layer = linear()
    with torch.no_grad():
        layer.weight[1] = 0.0
    assert weight_norm(copy.deepcopy(layer)).weight.isnan().any()  # torch's does not
    scale_norm(layer)
    optimizer = torch.optim.SGD(layer.parameters(), 0.05)
    losses = []
    for _ in range(200):
        optimizer.zero_grad()
        loss = (layer(X) - 1.0).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 1e-3 * losses[0]
    assert layer.weight.detach()[1].norm() > 0


def test_dim_minus_one_is_the_last_axis_and_none_has_an_axis():
    assert scale_norm(linear(), dim=-1).parametrizations.weight.original0.shape == (1, 4)
    assert scale_norm(linear(), dim=None).parametrizations.weight.original0.shape == (1,)


def test_a_negative_scale_survives_a_round_trip():
    layer = scale_norm(linear())
    with torch.no_grad():
        layer.parametrizations.weight.original0[1] *= -1.0
    weight = layer.weight.detach().clone()
    for each in (layer, copy.deepcopy(layer)):
        each.weight  # noqa: B018  (looked at, as a forward pass does)
        each.weight = weight
        signs = each.parametrizations.weight.original0.detach().flatten().sign()
        assert signs.tolist() == [1.0, -1.0, 1.0]
        assert torch.equal(each.weight, weight)
    assert torch.equal(remove_scale_norm(layer).weight, weight)
    layer = scale_norm(layer)  # plain in between: nobody knows of a sign
    assert (layer.parametrizations.weight.original0 > 0).all()
    part = ScaleNorm()
    g, v = torch.tensor([[-2.0], [3.0]]), torch.tensor([[3.0, 4.0], [1.0, 0.0]])
    again = part.right_inverse(part(g, v))[0]
    assert torch.allclose(again, g)


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_norms_of_half_precision_are_taken_in_float32(dtype):
    """In half precision a sum of squares stops growing, or overflows."""
    weight = torch.full((2, 5000), 200.0, dtype=dtype)
    layer = torch.nn.Linear(5000, 2, bias=False, dtype=dtype)
    with torch.no_grad():
        layer.weight.copy_(weight)
    scale_norm(layer)
    assert layer.weight.dtype == dtype
    assert torch.allclose(layer.weight.float(), weight.float(), rtol=1e-2)
    g = layer.parametrizations.weight.original0.float()
    assert torch.allclose(g, torch.full_like(g, 200.0 * 5000**0.5), rtol=1e-2)


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("old", [False, True])
def test_models_of_torchs_weight_norm_are_converted(dim, old):
    make = old_weight_norm if old else weight_norm
    model = torch.nn.Sequential(make(linear(), dim=dim), torch.nn.Tanh(), torch.nn.Linear(3, 2))
    model = model.double()
    before = model(X)
    parameters = {id(p) for p in model.parameters()}
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    assert from_torch_weight_norm(model) is model
    assert torch.allclose(model(X), before, rtol=1e-14)
    assert model[0].parametrizations.weight[0].dim == dim
    assert set(model[0].state_dict()) == {"bias", G, V}
    if dim is not None:  # an optimiser goes on with the same parameters
        assert {id(p) for p in model.parameters()} == parameters
        model(X).square().sum().backward()
        optimizer.step()
        assert not torch.allclose(model(X), before)
    assert remove_scale_norm(model[0]).weight.shape == (3, 4)


def test_a_compiled_model_has_no_graph_break():
    torch._dynamo.reset()
    layer = scale_norm(linear())
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    assert torch.allclose(compiled(X), layer(X), rtol=1e-14)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: scale_norm(torch.nn.Linear(3, 3)), "ScaleNorm"),
        (lambda: weight_norm(torch.nn.Linear(3, 3)), "WeightNorm"),
        (lambda: spectral_norm(torch.nn.Linear(3, 3)), "SpectralNorm"),
        (lambda: orthogonal(torch.nn.Linear(3, 3)), "Orthogonal"),
        (lambda: old_weight_norm(torch.nn.Linear(3, 3)), "old WeightNorm"),
        (lambda: torch.nn.utils.spectral_norm(torch.nn.Linear(3, 3)), "old SpectralNorm"),
    ],
)
def test_scale_norm_over_another_is_refused(make, words):
    layer, X = make(), torch.randn(2, 3)
    layer.eval()  # spectral norms move at every forward pass of training
    before, keys = layer(X).detach(), set(layer.state_dict())
    with pytest.raises(ValueError, match=f"already made by .*{words}"):
        scale_norm(layer)
    assert set(layer.state_dict()) == keys
    assert torch.equal(layer(X), before)


def test_other_parameters_of_such_a_layer_may_still_have_one():
    layer = scale_norm(torch.nn.Linear(3, 3))
    layer.other = torch.nn.Parameter(torch.randn(2, 3))
    assert scale_norm(layer, "other").parametrizations.keys() == {"weight", "other"}


@pytest.mark.parametrize("copied_first", [True, False])
def test_copies_do_not_share_what_is_removed_or_added(copied_first):
    """deepcopy keeps the class, and torch keeps the property that makes the weight in the class."""
    layer = scale_norm(torch.nn.Linear(4, 3))
    twin, X = copy.deepcopy(layer), torch.randn(2, 4)
    before = layer(X).detach()
    removed, kept = (twin, layer) if copied_first else (layer, twin)
    remove_scale_norm(removed)
    assert torch.allclose(removed(X), before, rtol=1e-6)
    assert torch.equal(kept(X), before)
    assert type(removed) is torch.nn.Linear
    kept.other = torch.nn.Parameter(torch.randn(2, 3))
    third = copy.deepcopy(kept)
    scale_norm(third, "other")
    assert "other" in kept._parameters
    assert torch.equal(kept(X), third(X))
    assert isinstance(kept.other, torch.nn.Parameter)
    kept.weight.square().sum().backward()
    assert kept.parametrizations.weight.original1.grad is not None


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: scale_norm(torch.nn.Linear(2, 2), "wieght"), ValueError, "name='wieght' is not"),
        (lambda: scale_norm(torch.nn.Linear(2, 2), dim=2), ValueError, "dim=2 is out of range"),
        (lambda: scale_norm(torch.nn.Linear(2, 2), dim=0.0), TypeError, "dim must be an axis"),
        (lambda: remove_scale_norm(torch.nn.Linear(2, 2)), ValueError, "has no scale_norm"),
        (
            lambda: remove_scale_norm(weight_norm(torch.nn.Linear(2, 2))),
            ValueError,
            "no scale_norm",
        ),
    ],
)
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
