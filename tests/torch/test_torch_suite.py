"""What torch's wheel has for tests of optimisers and of weight_norm, on ours.

The wheel has no test of weight_norm: those are in torch's repository only, and of the databases in
torch.testing neither the operators' nor the modules' has an entry of it. What there is: the inputs
and the errors for SGD of the database of optimisers, which are run here on ours; and the layers and
their inputs of the database of modules, on which scale_norm has to do what weight_norm does.

torch.testing imports expecttest, which `make torch-others` fetches.
"""

import copy
import runpy
import sys
import warnings
from pathlib import Path

import pytest
import torch
from torch.nn.utils.parametrizations import weight_norm
from torch.utils._pytree import tree_leaves

from weightnorm.torch import RPGD, WeightNormSGD, from_torch_weight_norm, scale_norm

pytestmark = pytest.mark.slow  # torch.testing takes seconds to import
ROOT = Path(__file__).parents[2]
OURS = [RPGD, WeightNormSGD]
INPUTS_LEFT_OUT = {"dampening": "an option of torch's SGD that ours do not have"}
OTHER_WORDS = {  # the errors are of torch's types, but ours say more
    "Tensor lr must be 1-element": "lr must be a number or a tensor of one element",
    "momentum should be between 0 and 1": "momentum must be finite and at least 0, got -0.5",
}
LAYERS = {
    *(f"nn.{kind}{n}d" for kind in ("Conv", "ConvTranspose") for n in (1, 2, 3)),
    *("nn.Linear", "nn.Bilinear", "nn.Embedding", "nn.MultiheadAttention"),
    *("nn.LayerNorm", "nn.RMSNorm"),
    *(f"nn.{kind}{cell}" for kind in ("RNN", "GRU", "LSTM") for cell in ("", "Cell")),
}


@pytest.fixture(scope="module")
def testing():
    """torch.testing._internal, with what it imports."""
    wheel = runpy.run_path(str(ROOT / "tools" / "others.py"))["wheel"]()
    if not wheel.is_file():
        pytest.skip(f"{wheel.name} is not there: make torch-others fetches it")
    sys.path.append(str(wheel))
    try:
        from torch.testing._internal import common_modules, common_optimizers
    finally:
        sys.path.remove(str(wheel))
    return common_modules, common_optimizers


def inputs(testing, optimizer):
    """The configurations of torch's SGD, plain, with foreach and differentiable, in our names."""
    _, optimizers = testing

    def function(device, dtype=None):
        found = optimizers.optim_inputs_func_sgd(device, dtype)
        assert {each.desc for each in found} >= set(INPUTS_LEFT_OUT)
        kept = [each for each in found if each.desc not in INPUTS_LEFT_OUT]
        for each in kept:
            each.kwargs.setdefault("lr", 1e-3)  # torch's default; ours have none
            if "weight_decay" in each.kwargs:
                each.kwargs["scale_weight_decay"] = each.kwargs.pop("weight_decay")
        return kept

    info = optimizers.OptimizerInfo(
        optimizer,
        optim_inputs_func=function,
        optim_error_inputs_func=optimizers.optim_error_inputs_func_sgd,
        supports_complex=False,
    )
    found = optimizers._get_optim_inputs_including_global_cliquey_kwargs("cpu", None, info)
    options = [each.kwargs | {"foreach": False} for each in found]
    # torch leaves foreach to other devices, ours have it on all
    options += [each | {"foreach": True} for each in options if not each["differentiable"]]
    assert len(options) == 24
    return info, options


def layer(seed=0, dtype=torch.float64):
    """A layer, and inputs for it."""
    torch.manual_seed(seed)
    return torch.nn.Linear(3, 2, dtype=dtype), torch.randn(5, 3, dtype=dtype)


def train(model, optimizer, X, num_steps=5, sign=1.0, schedulers=()):
    """The losses on the way."""
    losses = []
    for _ in range(num_steps):
        optimizer.zero_grad()
        loss = sign * (model(X) - 1.0).square().mean()
        loss.backward()
        optimizer.step()
        for scheduler in schedulers:
            by_loss = isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau)
            scheduler.step(*((loss.detach(),) if by_loss else ()))
        losses.append(float(loss.detach()))
    return losses


def made(optimizer, model, options):
    """An optimiser; a tensor lr of its own."""
    return optimizer(model.parameters(), **copy.deepcopy(options))


@pytest.mark.parametrize("optimizer", OURS)
def test_the_errors_of_torch_are_ours(testing, optimizer):
    info, _ = inputs(testing, optimizer)
    errors = info.optim_error_inputs_func("cpu", torch.float64)
    assert {each.optimizer_error_input.desc for each in errors} >= set(OTHER_WORDS)
    assert len(errors) >= 7
    for each in errors:
        given = each.optimizer_error_input
        words = OTHER_WORDS.get(given.desc, each.error_regex)
        warned = issubclass(each.error_type, Warning)
        with (pytest.warns if warned else pytest.raises)(each.error_type, match=words):
            optimizer(given.params, **({"lr": 1e-3} | given.kwargs))


@pytest.mark.parametrize("optimizer", OURS)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_every_input_goes_the_right_way(testing, optimizer, dtype):
    info, found = inputs(testing, optimizer)
    for each in found:
        if each["differentiable"]:
            continue  # its parameters cannot be leaves: see the next test
        for make_schedulers in ([], *info.scheduler_inputs):
            model, X = layer(dtype=dtype)
            tuned = made(optimizer, model, each)
            schedulers = [make(tuned) for make in make_schedulers]
            losses = train(model, tuned, X, 20, schedulers=schedulers)
            up = each.get("maximize", False)
            assert (losses[-1] > losses[0]) == up, each


@pytest.mark.parametrize("optimizer", OURS)
def test_every_input_has_derivatives(testing, optimizer):
    """By the gradient and the parameter, as in torch's own test of `differentiable`."""
    _, found = inputs(testing, optimizer)
    torch.manual_seed(0)
    start, gradient = torch.randn(2, 2, 3, dtype=torch.float64).requires_grad_().unbind()
    for each in found:
        if not each["differentiable"]:
            continue

        def two_steps(x, G, options=each):
            p = x.clone()
            tuned = optimizer([p], **copy.deepcopy(options))
            for _ in range(2):
                p.grad = G.clone()
                tuned.step()
            return p

        assert torch.autograd.gradcheck(two_steps, (start, gradient)), each


@pytest.mark.parametrize("optimizer", OURS)
def test_loop_and_foreach_agree_and_states_go_on(testing, optimizer):
    _, found = inputs(testing, optimizer)
    for each in found:
        if not each["foreach"]:
            continue
        ends = []
        for foreach in (True, False):
            model, X = layer()
            tuned = made(optimizer, model, each | {"foreach": foreach})
            train(model, tuned, X)
            other = copy.deepcopy(model)
            loaded = made(optimizer, other, each | {"lr": 1.0})
            loaded.load_state_dict(copy.deepcopy(tuned.state_dict()))
            for one, its in ((model, tuned), (other, loaded)):
                train(one, its, X)
            torch.testing.assert_close(other.state_dict(), model.state_dict(), rtol=0, atol=0)
            ends.append(model.weight.detach())
        torch.testing.assert_close(*ends, rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("optimizer", OURS)
def test_maximizing_is_minimizing_the_opposite(testing, optimizer):
    _, found = inputs(testing, optimizer)
    for each in found:
        if each["differentiable"]:
            continue
        ends = []
        for maximize in (True, False):
            model, X = layer()
            tuned = made(optimizer, model, each | {"maximize": maximize})
            train(model, tuned, X, sign=-1.0 if maximize else 1.0)
            ends.append(model.weight.detach())
        torch.testing.assert_close(*ends, rtol=0, atol=0)


def test_weight_norm_sgd_is_sgd_on_weight_norm_for_every_input(testing):
    _, found = inputs(testing, WeightNormSGD)
    for each in found:
        if each["differentiable"]:
            continue
        model, X = layer()
        theirs = weight_norm(copy.deepcopy(model))
        train(model, made(WeightNormSGD, model, each), X, 20)
        options = copy.deepcopy(each)
        decay = options.pop("scale_weight_decay", 0.0)
        g, v = (getattr(theirs.parametrizations.weight, f"original{i}") for i in (0, 1))
        groups = [{"params": [g], "weight_decay": decay}, {"params": [v, theirs.bias]}]
        train(theirs, torch.optim.SGD(groups, **options), X, 20)
        torch.testing.assert_close(model.weight, theirs.weight, rtol=1e-11, atol=1e-13)


def layers(testing, dtype):
    """Every layer of torch's database with a weight of more than one axis, and its inputs."""
    modules, _ = testing
    torch.manual_seed(0)
    for info in modules.module_db:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of Transformer, about nested tensors
            found = info.module_inputs_func(
                info, device="cpu", dtype=dtype, requires_grad=True, training=True
            )
            for each in found:
                given = each.constructor_input
                module = info.module_cls(*given.args, **given.kwargs).to(dtype)
                names = [n for n, p in module.named_parameters(recurse=False) if p.ndim > 1]
                for name in names:
                    with torch.no_grad():  # a block of zeros is NaN in torch's, and 0 in ours
                        getattr(module, name).add_(0.1)
                if names:
                    yield info.name, module, names, each.forward_input


def outputs(module, given):
    """What a layer makes of its inputs, and the gradients of its parameters."""
    torch.manual_seed(0)  # for dropout
    found = [t for t in tree_leaves(module(*given.args, **given.kwargs)) if _has_graph(t)]
    loss = sum((t * torch.linspace(-1, 1, t.numel()).to(t).reshape(t.shape)).sum() for t in found)
    parameters = dict(module.named_parameters())
    gradients = torch.autograd.grad(loss, parameters.values(), allow_unused=True)
    kept = {k: g for k, g in zip(parameters, gradients, strict=True) if g is not None}
    return [t.detach() for t in found], kept


def _has_graph(leaf):
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_scale_norm_is_weight_norm_on_every_layer(testing, dim, dtype):
    seen = set()
    for kind, module, names, given in layers(testing, dtype):
        theirs, ours = copy.deepcopy(module), copy.deepcopy(module)
        for name in names:
            weight_norm(theirs, name, dim)
            scale_norm(ours, name, dim)
        assert theirs.state_dict().keys() == ours.state_dict().keys()
        ours.load_state_dict(theirs.state_dict())
        turned = from_torch_weight_norm(copy.deepcopy(theirs))
        expected, gradients = outputs(theirs, given)
        size = max(float(gradient.abs().max()) for gradient in gradients.values())
        for model in (ours, turned):
            values, found = outputs(model, given)
            torch.testing.assert_close(values, expected, msg=kind)
            assert found.keys() == gradients.keys()
            for name, gradient in gradients.items():
                difference = (found[name].reshape(gradient.shape) - gradient).abs().max()
                # what rounding does to it, since the part along v is taken off a larger gradient
                assert difference <= 100 * torch.finfo(dtype).eps * size, (kind, name)
        seen.add(kind)
    assert seen == LAYERS
