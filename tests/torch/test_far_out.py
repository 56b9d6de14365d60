"""Steps at the ends of number types, and on tensors that cannot be moved."""

import os
import subprocess
import sys

import pytest
import torch

from tests.torch.cases import OPTIMIZERS
from tests.torch.test_hostile import every, ways
from weightnorm.torch import WeightNormSGD


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("size", [1e-4, 1e-3, 1e-1])
def test_a_steep_gradient_along_a_small_row_keeps_the_scale(dtype, size):
    """The norm of the moved row is then a difference of terms that are much larger."""
    unit = torch.arange(1.0, 65.0, dtype=dtype).reshape(1, 64)
    unit = unit / unit.norm()
    p = torch.nn.Parameter(size * unit)
    optimizer = WeightNormSGD([p], 1.0, scale_ratio=0.0)
    for _ in range(3):
        p.grad = 100.0 * unit
        optimizer.step()
        near = 1e3 * torch.finfo(dtype).eps
        assert p.norm().item() == pytest.approx(size, rel=near)
        state = optimizer.state[p]
        assert state["direction_norm"].item() == pytest.approx(
            state["direction"].norm().item(), rel=near
        )


@every
@ways
def test_a_direction_that_lands_on_zero_can_be_left_again(name, foreach):
    p = torch.nn.Parameter(torch.full((1, 2), 1e-25))
    optimizer = OPTIMIZERS[name]([p], 0.25, foreach=foreach)
    for gradient in (1.0, 0.0, 1.0, -1.0):
        p.grad = torch.full((1, 2), gradient)
        optimizer.step()
        assert p.isfinite().all()


@every
@ways
@pytest.mark.parametrize("sizes", [(1e25, 1e-25), (1e-25, 1e25), (1e25, -1e-25), (1e-25, -1e-25)])
def test_weights_changed_by_hand_by_fifty_decades(name, foreach, sizes):
    start = torch.tensor([[0.6, -0.8]])
    p = torch.nn.Parameter(sizes[0] * start)
    optimizer = OPTIMIZERS[name]([p], 0.1, foreach=foreach)
    p.grad = torch.zeros(1, 2)
    optimizer.step()
    p.data = sizes[1] * start
    optimizer.step()
    assert torch.allclose(p, sizes[1] * start, rtol=1e-6, atol=0)
    sign = optimizer.state[p]["scale"].sign().item()
    assert sign == (1.0 if sizes[1] > 0 else -1.0)  # the side that w is on is kept


@every
@ways
@pytest.mark.parametrize("options", [{"scale_weight_decay": 1e300}, {"eps": 1e300}])
def test_every_number_is_held_to_the_type(name, foreach, options):
    p = torch.nn.Parameter(torch.ones(2, 3))
    optimizer = OPTIMIZERS[name]([p], 0.1, foreach=foreach, **options)
    p.grad = torch.ones(2, 3)
    with pytest.raises(ValueError, match=f"{next(iter(options))}=1e\\+300 is beyond"):
        optimizer.step()
    assert torch.equal(p, torch.ones(2, 3))


@every
def test_half_precision_is_moved_in_float32_rates_too(name):
    p = torch.nn.Parameter(torch.ones(2, 3).half())
    optimizer = OPTIMIZERS[name]([p], 1e5, scale_ratio=0.0)  # no float16
    p.grad = torch.zeros(2, 3).half()
    optimizer.step()
    assert torch.equal(p, torch.ones(2, 3).half())


@every
@ways
def test_expanded_and_freed_tensors_are_refused_before_anything_moves(name, foreach):
    good = torch.nn.Parameter(torch.ones(2, 3))
    bad = torch.nn.Parameter(torch.ones(1, 3).expand(2, 3))
    optimizer = OPTIMIZERS[name]([good, bad], 0.1, foreach=foreach)
    good.grad, bad.grad = torch.ones(2, 3), torch.ones(2, 3)
    with pytest.raises(ValueError, match="share their memory"):
        optimizer.step()
    bad.data = torch.ones(2, 3)
    optimizer.step()
    before = good.detach().clone()
    bad.grad.untyped_storage().resize_(0)
    with pytest.raises(ValueError, match="has no memory"):
        optimizer.step()
    assert torch.equal(good, before)


@every
@ways
def test_inference_tensors_are_moved(name, foreach):
    with torch.inference_mode():
        p = torch.nn.Parameter(torch.ones(2, 3), requires_grad=False)
        optimizer = OPTIMIZERS[name]([p], 0.1, foreach=foreach)
        for _ in range(3):
            p.grad = torch.ones(2, 3)
            optimizer.step()
    assert (p < 1.0).all()


@every
@pytest.mark.parametrize(("option", "first"), [("momentum", False), ("weight_decay", True)])
def test_a_compiled_step_checks_its_options(name, option, first):
    """When it is compiled, and compiled again because an option it uses was changed."""
    torch._dynamo.reset()
    p = torch.nn.Parameter(torch.ones(2, 3))
    optimizer = OPTIMIZERS[name]([p], torch.tensor(0.1))
    step = torch.compile(optimizer.step, backend="eager")
    p.grad = torch.ones(2, 3)
    if not first:
        step()
    before = p.detach().clone()
    optimizer.param_groups[0][option] = 1.5
    with pytest.raises(Exception, match=f"{option}( must be below 1|=1.5 is not an option)"):
        step()
    assert torch.equal(p, before)


@every
@ways
def test_a_frozen_number_stays_whatever_comes(name, foreach):
    start = torch.tensor([[1e-38], [2.0], [-3e-31]])
    p = torch.nn.Parameter(start.clone())
    optimizer = OPTIMIZERS[name]([p], 0.1, scale_ratio=0.0, foreach=foreach)
    p.grad = torch.full((3, 1), float("inf"))
    for _ in range(3):
        optimizer.step()
    assert torch.equal(p, start)


def test_a_step_without_numbas_compiler():
    code = (
        "import torch; from weightnorm.torch import RPGD\n"
        "p = torch.nn.Parameter(torch.ones(2, 3)); o = RPGD([p], 0.1)\n"
        "for _ in range(3):\n    p.grad = torch.ones(2, 3); o.step()\n"
        "assert (p < 1).all()\n"
    )
    environment = os.environ | {"NUMBA_DISABLE_JIT": "1"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True)
