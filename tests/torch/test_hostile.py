"""States of others, options of others, types and rates that make no sense: refused, or defined."""

import copy
import warnings

import pytest
import torch

from tests.torch.cases import OPTIMIZERS, apart, images, network, same, steps
from weightnorm.torch import scale_direction_groups

every = pytest.mark.parametrize("name", OPTIMIZERS)
ways = pytest.mark.parametrize("foreach", [None, False, True])


def flat(thing):
    """A state dict as something that can be compared."""
    if isinstance(thing, torch.Tensor):
        return thing.tolist(), str(thing.dtype)
    if isinstance(thing, dict):
        return {str(key): flat(value) for key, value in thing.items()}
    return [flat(each) for each in thing] if isinstance(thing, list | tuple) else thing


def trained(name, num_steps=2, **options):
    model = network()
    optimizer = OPTIMIZERS[name](model.parameters(), 0.05, **options)
    steps(model, optimizer, images(), num_steps)
    return model, optimizer


def data_of(model):
    """The same numbers in the model's type."""
    return [each.to(model[0].weight.dtype) for each in images()]


# options of others


@every
@pytest.mark.parametrize(
    ("option", "words"), [({"weight_decay": 0.1}, "scale_weight_decay"), ({"dampening": 0.5}, "β")]
)
def test_options_that_would_be_ignored_are_refused(name, option, words):
    """transformers' Trainer puts weight_decay into every group: it trained undecayed."""
    model = network()
    groups = [{"params": [p for p in model.parameters() if p.ndim > 1], **option}]
    with pytest.raises(ValueError, match=f"{next(iter(option))}=.* is not an option .*{words}"):
        OPTIMIZERS[name](groups, 0.1)
    optimizer = OPTIMIZERS[name](model.parameters(), 0.1)
    optimizer.param_groups[0].update(option)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match=next(iter(option))):
        steps(model, optimizer, images(), 1)
    assert same(model, before)


@every
def test_groups_of_others_without_decay_are_taken(name):
    """As Trainer makes them with its default weight_decay of 0, and scale_direction_groups."""
    model = network()
    decayed = [p for p in model.parameters() if p.ndim > 1]
    rest = [p for p in model.parameters() if p.ndim == 1]
    groups = [{"params": decayed, "weight_decay": 0.0}, {"params": rest, "weight_decay": 0.0}]
    steps(model, OPTIMIZERS[name](groups, 0.1), images(), 2)
    OPTIMIZERS[name](scale_direction_groups(model), 0.1)


@every
@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"momentum": 1.5}, "momentum must be below 1, got 1.5"),
        ({"lr": -1.0}, "lr must be finite and at least 0"),
        ({"scale_ratio": float("nan")}, "scale_ratio must be finite"),
        ({"nesterov": True}, "nesterov=True needs a momentum"),
    ],
)
def test_options_set_later_are_checked_too(name, option, words):
    model, optimizer = trained(name)
    optimizer.param_groups[0].update(option)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match=words):
        steps(model, optimizer, images(), 1)
    assert same(model, before)


@every
@ways
def test_a_dim_that_is_changed_after_a_step_is_refused(name, foreach):
    p = torch.nn.Parameter(torch.randn(4, 6))
    optimizer = OPTIMIZERS[name]([p], 0.1, foreach=foreach)
    p.grad = torch.randn(4, 6)
    optimizer.step()
    for dim in (1, None):
        optimizer.param_groups[0]["dim"] = dim
        before = p.detach().clone()
        with pytest.raises(ValueError, match=rf"scale of shape \(4, 1\) where .*dim={dim}"):
            optimizer.step()
        assert torch.equal(p, before)


# types and rates


@every
@pytest.mark.parametrize(
    "dtype", [torch.int64, torch.bool, torch.float8_e4m3fn, torch.float8_e5m2, torch.complex64]
)
def test_parameters_of_other_types_are_refused(name, dtype):
    p = torch.nn.Parameter(torch.ones(2, 2).to(dtype), requires_grad=False)
    with pytest.raises(TypeError, match=f"must be real, of float16.* got {dtype}"):
        OPTIMIZERS[name]([p], 0.1)
    optimizer = OPTIMIZERS[name]([torch.nn.Parameter(torch.ones(2, 2))], 0.1)
    with pytest.raises(TypeError, match="must be real"):
        optimizer.add_param_group({"params": [p]})
    assert len(optimizer.param_groups) == 1


@every
@ways
@pytest.mark.parametrize(("before", "after"), [("float", "double"), ("double", "float")])
@pytest.mark.parametrize("momentum", [0.0, 0.5])
def test_a_model_brought_to_another_type_goes_on_in_it(name, foreach, before, after, momentum):
    """model.double() after a step: the state comes along, and the steps are those of the type."""
    models = [getattr(network(), before)() for _ in range(2)]
    options = {"foreach": foreach, "momentum": momentum}
    optimizers = [OPTIMIZERS[name](m.parameters(), 0.05, **options) for m in models]
    for model, optimizer in zip(models, optimizers, strict=True):
        steps(model, optimizer, data_of(model), 5)
    getattr(models[0], after)()
    kind = getattr(torch, after)
    for model, optimizer in zip(models, optimizers, strict=True):
        steps(model, optimizer, data_of(model), 20)
    weight = models[0][0].weight
    assert weight.dtype == kind
    assert {value.dtype for value in optimizers[0].state[weight].values()} == {kind}
    assert apart(*models) < 1e-5
    if name == "rpgd":
        lengths = optimizers[0].state[weight]["direction"].flatten(1).norm(dim=1)
        assert (lengths - 1.0).abs().max() < 8 * torch.finfo(kind).eps


@every
@ways
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("lr", [1e30, 1e25, 1e20])
def test_a_huge_rate_turns_the_direction_all_the_way(name, foreach, dtype, lr):
    """The squares of the moved direction are no float32; the unit vector along it is."""
    torch.manual_seed(0)
    start, G = torch.randn(3, 7, dtype=dtype), torch.randn(3, 7, dtype=dtype)
    p = torch.nn.Parameter(start.clone())
    optimizer = OPTIMIZERS[name]([p], lr, scale_ratio=0.0, foreach=foreach)
    p.grad = G
    optimizer.step()
    x, size = start.double(), start.double().norm(dim=1, keepdim=True)
    unit, wide = x / size, G.double()
    across = wide - unit * (wide * unit).sum(dim=1, keepdim=True)
    due = unit - lr * size * wide if name == "rpgd" else x - lr * across
    due = size * due / due.norm(dim=1, keepdim=True)
    assert torch.allclose(p.double(), due, rtol=1e-5, atol=1e-6)


@every
@ways
def test_a_rate_beyond_the_numbers_of_a_type_is_refused(name, foreach):
    model = network()
    optimizer = OPTIMIZERS[name](model.parameters(), 1e300, foreach=foreach)
    before = copy.deepcopy(model)
    with pytest.raises(ValueError, match=r"lr=1e\+300 is beyond the numbers of torch.float32"):
        steps(model, optimizer, images(), 1)
    assert same(model, before)


@every
@ways
@pytest.mark.parametrize("unit", [1e-25, 1e25])
def test_weights_whose_squares_are_no_float32(name, foreach, unit):
    """A norm of 1e-25 was taken for zero, and one of 1e25 for infinite."""
    start = torch.tensor([[0.3, -0.4, 1.2]]) * unit
    p = torch.nn.Parameter(start.clone())
    optimizer = OPTIMIZERS[name]([p], 0.1, foreach=foreach)
    p.grad = torch.zeros(1, 3)
    for _ in range(3):
        optimizer.step()
    assert torch.allclose(p, start, rtol=1e-6, atol=0)
    assert optimizer.state[p]["scale"].item() == pytest.approx(1.3 * unit, rel=1e-6)


@every
@ways
def test_weights_that_are_no_numbers_stay_so(name, foreach):
    """As with SGD: they were set to zero, in silence, by the step after that of a NaN."""
    p = torch.nn.Parameter(torch.randn(3, 4))
    optimizer = OPTIMIZERS[name]([p], 0.1, foreach=foreach, momentum=0.5)
    for gradient in (1.0, float("nan"), 1.0, 1.0):
        p.grad = torch.ones(3, 4)
        p.grad[1] = gradient
        optimizer.step()
    finite = p.isfinite().all(dim=1).tolist()
    assert finite == [True, False, True]
    q = torch.nn.Parameter(torch.full((2, 4), float("nan")))
    optimizer = OPTIMIZERS[name]([q], 0.1, foreach=foreach)
    for _ in range(3):
        q.grad = torch.ones(2, 4)
        optimizer.step()
    assert not q.isfinite().any()


# checkpoints


@every
@pytest.mark.parametrize(
    "other",
    [
        lambda p: torch.optim.SGD(p, 0.1),
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9),
        lambda p: torch.optim.AdamW(p, 0.1),
    ],
)
def test_checkpoints_of_other_optimisers_are_refused(name, other):
    model, optimizer = trained(name, momentum=0.5)
    theirs = other(model.parameters())
    steps(copy.deepcopy(model), theirs, images(), 0)
    for p in model.parameters():
        p.grad = torch.ones_like(p)
    theirs.step()
    held = flat(optimizer.state_dict())
    with pytest.raises(ValueError, match=r"is not that of .* no scale_ratio nor dim.*nothing was"):
        optimizer.load_state_dict(theirs.state_dict())
    assert flat(optimizer.state_dict()) == held


def broken(saved, how):
    """A state dict of ours with one thing wrong."""
    saved = copy.deepcopy(saved)
    state, groups = saved["state"], saved["param_groups"]
    last = max(i for i in state if "direction" in state[i])
    if how == "missing":
        del state[last]["scale"]
    elif how == "foreign":
        state[last]["exp_avg"] = torch.zeros(2)
    elif how == "shape":
        state[last]["direction"] = state[last]["direction"][:, :-1]
    elif how == "integers":
        state[last]["scale"] = state[last]["scale"].long()
    elif how == "momentum":
        groups[-1]["momentum"] = 1.5
    elif how == "decay":
        groups[-1]["weight_decay"] = 0.1
    elif how == "groups":
        groups.append(groups[0])
    elif how == "no tensor":
        state[last]["direction"] = None
    return saved


@every
@pytest.mark.parametrize(
    "how", ["missing", "foreign", "shape", "integers", "momentum", "decay", "groups", "no tensor"]
)
def test_a_state_that_is_refused_leaves_all_as_it_was(name, how):
    """The last of the parameters is wrong: nothing of the first was taken."""
    _, source = trained(name, momentum=0.5)
    model, target = trained(name, num_steps=5)
    held, before = flat(target.state_dict()), copy.deepcopy(model)
    with pytest.raises(ValueError, match=r"state.dict|momentum must be|weight_decay="):
        target.load_state_dict(broken(source.state_dict(), how))
    assert flat(target.state_dict()) == held
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # the state is still known to be that of these weights
        steps(model, target, images(), 1)
    assert not same(model, before)


@every
def test_a_state_is_loaded_in_the_working_precision_of_its_parameter(name):
    model, optimizer = trained(name, momentum=0.5)
    saved = optimizer.state_dict()
    for dtype, due in ((torch.float64, torch.float64), (torch.bfloat16, torch.float32)):
        other = copy.deepcopy(model).to(dtype)
        target = OPTIMIZERS[name](other.parameters(), 0.1)
        target.load_state_dict(saved)
        weight = other[0].weight
        assert {value.dtype for value in target.state[weight].values()} == {due}


# what a second look found
