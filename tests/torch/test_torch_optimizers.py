"""The inputs and the errors that torch's wheel has for tests of its SGD, on our optimisers.

The tests themselves are in torch's repository only; torch.testing has a database of optimisers with
the configurations and the wrong calls to test each with.
"""

import copy

import pytest
import torch
from torch.nn.utils.parametrizations import weight_norm

from tests.torch.torch_testing import internal
from weightnorm.torch import RPGD, WeightNormSGD

pytestmark = pytest.mark.slow  # torch.testing takes seconds to import
OURS = [RPGD, WeightNormSGD]
INPUTS_LEFT_OUT = {"dampening": "an option of torch's SGD that ours do not have"}
OTHER_WORDS = {  # the errors are of torch's types, but ours say more
    "Tensor lr must be 1-element": "lr must be a number or a tensor of one element",
    "momentum should be between 0 and 1": "momentum must be finite and at least 0, got -0.5",
}


@pytest.fixture(scope="module")
def optimizers():
    """torch's database of optimisers."""
    return internal("common_optimizers")


def inputs(optimizers, optimizer):
    """The configurations of torch's SGD, plain, with foreach and differentiable, in our names."""

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
def test_the_errors_of_torch_are_ours(optimizers, optimizer):
    info, _ = inputs(optimizers, optimizer)
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
def test_every_input_goes_the_right_way(optimizers, optimizer, dtype):
    info, found = inputs(optimizers, optimizer)
    for each in found:
        if each["differentiable"]:
            continue  # its parameters cannot be leaves: see the next test
        for make_schedulers in ([], *info.scheduler_inputs):
            model, X = layer(dtype=dtype)
            model.bias.requires_grad_(False)  # it would go the right way by itself
            tuned = made(optimizer, model, each)
            schedulers = [make(tuned) for make in make_schedulers]
            losses = train(model, tuned, X, 20, schedulers=schedulers)
            up = each.get("maximize", False)
            assert (losses[-1] > losses[0]) == up, each


@pytest.mark.parametrize("optimizer", OURS)
def test_every_input_has_derivatives(optimizers, optimizer):
    """By the gradient and the parameter, as in torch's own test of `differentiable`."""
    _, found = inputs(optimizers, optimizer)
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
def test_loop_and_foreach_agree_and_states_go_on(optimizers, optimizer):
    _, found = inputs(optimizers, optimizer)
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
def test_maximizing_is_minimizing_the_opposite(optimizers, optimizer):
    _, found = inputs(optimizers, optimizer)
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


def test_weight_norm_sgd_is_sgd_on_weight_norm_for_every_input(optimizers):
    _, found = inputs(optimizers, WeightNormSGD)
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
