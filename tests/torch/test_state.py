"""States: saved, loaded, copied, resumed; and steps that are compiled."""

import copy
import io

import pytest
import torch
from torch._dynamo.testing import CompileCounterWithBackend

from tests.torch.cases import OPTIMIZERS, apart, images, network, same, steps
from weightnorm.torch import FreezeThaw

every = pytest.mark.parametrize("name", OPTIMIZERS)
OPTIONS = {"scale_ratio": 0.5, "momentum": 0.9, "scale_weight_decay": 0.01, "dim": (0,)}


def through_a_file(thing):
    """Saved, and loaded without unpickling anything."""
    buffer = io.BytesIO()
    torch.save(thing, buffer)
    buffer.seek(0)
    return torch.load(buffer, weights_only=True)


@every
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("scheduler_first", [True, False])
def test_resuming_in_the_middle_of_a_frozen_phase_is_bitwise(name, dtype, scheduler_first):
    data = images(dtype=dtype)
    whole = network(dtype=dtype)
    optimizer = OPTIMIZERS[name](whole.parameters(), 0.05, **OPTIONS)
    scheduler = FreezeThaw(optimizer, 20, ramp=5)
    steps(whole, optimizer, data, 10, scheduler.step)
    saved = through_a_file(
        {
            "model": whole.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scheduler": scheduler.state_dict(),
        }
    )
    steps(whole, optimizer, data, 30, scheduler.step)

    part = network(seed=1, dtype=dtype)
    part.load_state_dict(saved["model"])
    optimizer = OPTIMIZERS[name](part.parameters(), 0.9)  # all else comes with the state
    if scheduler_first:
        scheduler = FreezeThaw(optimizer, 1)
        optimizer.load_state_dict(saved["optimizer"])
    else:  # torch advises against it, but it is often done
        optimizer.load_state_dict(saved["optimizer"])
        scheduler = FreezeThaw(optimizer, 20)
    scheduler.load_state_dict(saved["scheduler"])
    assert optimizer.param_groups[0]["scale_ratio"] == 0.0
    steps(part, optimizer, data, 30, scheduler.step)
    assert optimizer.param_groups[0]["scale_ratio"] == 0.5
    assert same(whole, part)


@every
def test_all_options_live_in_the_groups(name):
    model = network()
    optimizer = OPTIMIZERS[name](model.parameters(), torch.tensor(0.1), **OPTIONS)
    fresh = OPTIMIZERS[name](model.parameters(), 0.3)
    fresh.load_state_dict(through_a_file(optimizer.state_dict()))
    told = {k: v for k, v in fresh.param_groups[0].items() if k != "params"}
    assert told == {k: v for k, v in optimizer.param_groups[0].items() if k != "params"}
    assert set(optimizer.defaults) <= set(told)


@every
def test_copies_go_their_own_way(name):
    model = network()
    optimizer = OPTIMIZERS[name](model.parameters(), 0.05, **OPTIONS)
    data = images()
    steps(model, optimizer, data, 3)
    twin_model, twin = copy.deepcopy((model, optimizer))
    steps(twin_model, twin, data, 5)
    steps(model, optimizer, data, 5)
    assert same(model, twin_model)
    other = network()
    other.load_state_dict(model.state_dict())
    shared = OPTIMIZERS[name](other.parameters(), 0.05)
    shared.load_state_dict(optimizer.state_dict())  # torch's own optimisers share tensors here
    steps(other, shared, data, 5)
    steps(twin_model, twin, data, 5)
    assert same(other, twin_model)
    assert not same(model, other)
    steps(model, optimizer, data, 5)
    assert same(model, other)


@every
def test_momentum_may_be_turned_on_later(name):
    model = network()
    optimizer = OPTIMIZERS[name](model.parameters(), 0.05)
    steps(model, optimizer, images(), 2)
    optimizer.param_groups[0]["momentum"] = 0.9
    steps(model, optimizer, images(), 2)
    assert all("direction_buffer" in optimizer.state[p] for p in model.parameters())


@every
@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}])
def test_a_compiled_step_is_one_graph_through_the_thaw(name, options):
    torch._dynamo.reset()
    models = network(dtype=torch.float64), network(dtype=torch.float64)
    data = images(dtype=torch.float64)
    counter = CompileCounterWithBackend("aot_eager")
    for model, compiled in zip(models, (True, False), strict=True):
        optimizer = OPTIMIZERS[name](
            model.parameters(), torch.tensor(0.05), scale_ratio=torch.tensor(1.0), **options
        )
        scheduler = FreezeThaw(optimizer, 5)
        decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        # torch's schedulers wrap `step` in a function that it does not compile: around the graph
        step = torch.compile(optimizer.step, backend=counter)
        scales = []
        for _ in range(10):
            optimizer.zero_grad()
            (model(data[0]) - data[1]).square().mean().backward()
            step() if compiled else optimizer.step()
            scheduler.step()
            decay.step()
            scales.append(optimizer.state[model[0].weight]["scale"].clone())
        assert torch.equal(scales[0], scales[4])
        assert not torch.equal(scales[4], scales[5])
    assert counter.frame_count == 1
    assert apart(*models) < 1e-13


@pytest.mark.slow
@every
def test_a_step_compiled_to_machine_code(name):
    torch._dynamo.reset()
    models, data = (network(), network()), images()
    for model, compiled in zip(models, (True, False), strict=True):
        optimizer = OPTIMIZERS[name](model.parameters(), torch.tensor(0.05), momentum=0.9)
        step = torch.compile(optimizer.step) if compiled else optimizer.step
        for _ in range(10):
            optimizer.zero_grad()
            (model(data[0]) - data[1]).square().mean().backward()
            step()
    assert apart(*models) < 1e-5
