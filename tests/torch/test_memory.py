"""What is handed to compiled code fits: no step reads or writes outside its tensors."""

import copy
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from tests.torch.cases import OPTIMIZERS

every = pytest.mark.parametrize("name", OPTIMIZERS)
ways = pytest.mark.parametrize("foreach", [None, False, True])
GUARDED = Path(__file__).with_name("guarded.py")


def moved(optimizer, p, gradient=None):
    p.grad = torch.randn_like(p) if gradient is None else gradient
    optimizer.step()


def picture(optimizer, p):
    """The parameter and all of its state, copied."""
    state = {key: value.clone() for key, value in optimizer.state[p].items()}
    return {"parameter": p.detach().clone(), **state}


def same(one, other):
    return one.keys() == other.keys() and all(torch.equal(one[k], other[k]) for k in one)


@every
@ways
@pytest.mark.parametrize("options", [{}, {"momentum": 0.9}])
@pytest.mark.parametrize("shape", [(64, 2), (2, 4000), (64, 4001), (64, 4000, 1)])
def test_a_parameter_that_was_replaced_by_one_of_another_shape_is_refused(
    name, foreach, options, shape
):
    """By p.data = …: the state is that of the old one."""
    p, other = torch.nn.Parameter(torch.randn(64, 4000)), torch.nn.Parameter(torch.randn(3, 2))
    optimizer = OPTIMIZERS[name]([p, other], 0.1, foreach=foreach, **options)
    other.grad = torch.randn(3, 2)
    moved(optimizer, p)
    p.data = torch.randn(shape)
    p.grad = torch.randn(shape)
    before, neighbour = picture(optimizer, p), picture(optimizer, other)
    with pytest.raises(ValueError, match=r"has a direction of shape \(64, 4000\) where"):
        optimizer.step()
    assert same(picture(optimizer, p), before)
    assert same(picture(optimizer, other), neighbour)  # a step is made whole or not at all
    optimizer.state.pop(p)  # what the message advises
    optimizer.step()
    assert p.shape == shape


@every
@ways
def test_a_gradient_of_another_shape_is_refused(name, foreach):
    p = torch.nn.Parameter(torch.randn(8, 50))
    optimizer = OPTIMIZERS[name]([p], 0.1, foreach=foreach)
    moved(optimizer, p)
    p.data = torch.randn(8, 2)  # and the old gradient stays
    with pytest.raises(ValueError, match=r"gradient of a parameter of shape \(8, 2\) has shape"):
        optimizer.step()


@every
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_state_of_another_layer_is_refused_when_it_is_loaded(name, momentum):
    """Linear(128, 2) into Linear(128, 1): 64 numbers were written past the weight."""
    wide, narrow = torch.nn.Linear(128, 2), torch.nn.Linear(128, 1)
    source = OPTIMIZERS[name](wide.parameters(), 0.1, momentum=momentum)
    wide(torch.randn(4, 128)).square().sum().backward()
    source.step()
    target = OPTIMIZERS[name](narrow.parameters(), 0.3)
    held = copy.deepcopy(target.state_dict())
    with pytest.raises(
        ValueError, match=r"of shape \(2, 128\) where \(1, 128\) is expected; nothing"
    ):
        target.load_state_dict(source.state_dict())
    assert target.state_dict() == held
    narrow(torch.randn(4, 128)).square().sum().backward()
    target.step()


@every
@ways
@pytest.mark.parametrize("part", ["direction", "scale", "direction_buffer", "scale_buffer"])
def test_every_part_of_a_state_is_looked_at(name, foreach, part):
    p = torch.nn.Parameter(torch.randn(6, 5))
    optimizer = OPTIMIZERS[name]([p], 0.1, momentum=0.5, foreach=foreach)
    moved(optimizer, p)
    optimizer.state[p][part] = optimizer.state[p][part][:3].clone()
    before = picture(optimizer, p)
    with pytest.raises(ValueError, match=rf"has a {part} of shape \(3, "):
        optimizer.step()
    assert same(picture(optimizer, p), before)


@every
def test_tensors_that_are_laid_out_otherwise_make_the_same_step(name):
    """Not for the kernel: it falls back to torch's operations."""
    ends = []
    for turned in (False, True):
        torch.manual_seed(0)
        p = torch.nn.Parameter(torch.randn(6, 5, dtype=torch.float64))
        optimizer = OPTIMIZERS[name]([p], 0.1, momentum=0.5)
        for step in range(4):
            moved(optimizer, p)
            if turned and step == 1:
                for key, value in optimizer.state[p].items():
                    wide = torch.empty(*value.shape, 2, dtype=value.dtype)[..., 0]
                    optimizer.state[p][key] = wide.copy_(value)
        ends.append(p.detach().clone())
    assert torch.allclose(*ends, rtol=1e-13, atol=0)


@every
def test_memory_that_was_given_back_is_not_touched_by_the_kernel(name, monkeypatch):
    """As FSDP does between its units: the shape stays, the storage is empty."""
    from weightnorm.torch._blocks import layout
    from weightnorm.torch._compiled import table_row

    p = torch.nn.Parameter(torch.randn(6, 5))
    optimizer = OPTIMIZERS[name]([p], 0.1)
    moved(optimizer, p)
    state, at, unit = optimizer.state[p], layout(p.shape, 0), name == "rpgd"
    assert table_row(p, p.grad, state, at, unit, heavy=False) is not None
    assert table_row(p, p.grad, state, at, unit, heavy=True) is None  # no buffers
    p.grad.untyped_storage().resize_(0)
    assert table_row(p, p.grad, state, at, unit, heavy=False) is None


@every
def test_a_view_with_the_sign_bit_set_is_read_with_its_sign(name):
    """As parts of conjugates have, whose sign in memory is the opposite."""
    weights, gradient = torch.randn(2, 6, 5, dtype=torch.float64)
    ends = []
    for lazy in (False, True):
        p = torch.nn.Parameter(weights.clone())
        optimizer = OPTIMIZERS[name]([p], 0.1)
        G = torch._neg_view(-gradient) if lazy else gradient
        assert G.is_neg() == lazy
        assert G.is_contiguous()
        for _ in range(3):
            moved(optimizer, p, G)
        ends.append(p.detach().clone())
    assert torch.allclose(*ends, rtol=1e-14, atol=0)


def run_guarded(seed, cases):
    command = [sys.executable, str(GUARDED), str(seed), str(cases)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.skipif(sys.platform != "linux", reason="mprotect of libc")
def test_no_step_leaves_its_memory():
    """150 random parameters, states and gradients, each ending at a page that cannot be touched."""
    assert run_guarded(0, 0).returncode < 0  # the guard barks
    done = run_guarded(1, 150)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) == 150 * 6


@every
def test_a_gradient_that_becomes_sparse_is_refused(name):
    p = torch.nn.Parameter(torch.randn(6, 5))
    optimizer = OPTIMIZERS[name]([p], 0.1)
    moved(optimizer, p)
    p.grad = torch.ones(6, 5).to_sparse()
    with pytest.raises(RuntimeError, match="sparse=False"):
        optimizer.step()


@every
def test_large_parameters_are_shared_among_threads_and_counted(name, monkeypatch):
    """The same numbers whatever the parts; autograd knows of the change, also in torch 2.4."""
    import weightnorm.torch._compiled as compiled

    real, single = torch.autograd.graph.increment_version, []

    def one_at_a_time(tensor):
        if not isinstance(tensor, torch.Tensor):
            raise TypeError("increment_version expects a Tensor")
        single.append(tensor)
        real(tensor)

    monkeypatch.setattr(torch.autograd.graph, "increment_version", one_at_a_time)
    monkeypatch.setattr(torch, "get_num_threads", lambda: 3)
    ends = []
    for worth in (2**19, 100):
        monkeypatch.setattr(compiled, "WORTH_A_THREAD", worth)
        torch.manual_seed(0)
        shapes = ((7, 30), (1, 500), (200, 3), (64, 9, 2))
        parameters = [torch.nn.Parameter(torch.randn(shape)) for shape in shapes]
        optimizer = OPTIMIZERS[name](parameters, 0.1, momentum=0.5)
        for _ in range(4):
            for p in parameters:
                p.grad = torch.randn_like(p)
            versions = [p._version for p in parameters]
            optimizer.step()
            assert all(p._version > v for p, v in zip(parameters, versions, strict=True))
        ends.append([p.detach().clone() for p in parameters])
    assert all(torch.equal(a, b) for a, b in zip(*ends, strict=True))
    assert len(single) == 2 * 4 * len(shapes)
