"""Groups for any optimiser, and the scheduler of scales."""

import warnings

import numpy as np
import pytest
import torch
from torch.nn.utils.parametrizations import weight_norm

from tests.torch.cases import OPTIMIZERS, network
from weightnorm.torch import RPGD, FreezeThaw, scale_direction_groups, scale_norm


class DoraLinear(torch.nn.Module):
    """The parameters of a layer of PEFT's with DoRA, under the names it gives them."""

    def __init__(self, use_dora=True):
        super().__init__()
        self.base_layer = torch.nn.Linear(4, 4)
        self.lora_A = torch.nn.ModuleDict({"default": torch.nn.Linear(4, 2, bias=False)})
        self.lora_B = torch.nn.ModuleDict({"default": torch.nn.Linear(2, 4, bias=False)})
        self.lora_magnitude_vector = torch.nn.ModuleDict()
        if use_dora:
            vector = torch.nn.Module()
            vector.weight = torch.nn.Parameter(torch.ones(4))
            self.lora_magnitude_vector["default"] = vector


def model():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        old = torch.nn.utils.weight_norm(torch.nn.Linear(3, 3))
    return torch.nn.ModuleDict(
        {
            "ours": scale_norm(torch.nn.Linear(4, 3)),
            "torch": weight_norm(torch.nn.Conv1d(2, 2, 3), dim=None),
            "old": old,
            "dora": DoraLinear(),
            "lora": DoraLinear(use_dora=False),
            "norm": torch.nn.LayerNorm(3),
        }
    )


def test_every_parameter_once_and_in_its_place():
    net = model()
    net["tied"] = net["ours"]  # shared, and still once
    groups = scale_direction_groups(net, direction_lr=0.1, scale_lr=0.01, weight_decay=1e-4)
    names = {id(p): name for name, p in net.named_parameters()}
    found = {group["role"]: {names[id(p)] for p in group["params"]} for group in groups}
    listed = [p for group in groups for p in group["params"]]
    assert len(listed) == len({id(p) for p in listed}) == len(list(net.parameters()))
    at = "parametrizations.weight.original"
    assert found["scale"] == {
        f"ours.{at}0",
        f"torch.{at}0",
        "old.weight_g",
        "dora.lora_magnitude_vector.default.weight",
    }
    assert found["direction"] == {
        f"ours.{at}1",
        f"torch.{at}1",
        "old.weight_v",
        "dora.lora_A.default.weight",
        "dora.lora_B.default.weight",
    }
    assert "lora.lora_A.default.weight" in found["rest"]  # LoRA without DoRA has no magnitude
    by_role = {group["role"]: group for group in groups}
    assert {r: g["lr"] for r, g in by_role.items()} == {
        "scale": 0.01,
        "direction": 0.1,
        "rest": 0.1,
    }
    decays = {role: group["weight_decay"] for role, group in by_role.items()}
    assert decays == {"scale": 0.0, "direction": 1e-4, "rest": 1e-4}


@pytest.mark.parametrize("kind", [torch.optim.SGD, torch.optim.AdamW])
def test_scales_are_not_decayed_unless_asked(kind):
    for asked in (0.0, 0.5):
        layer = scale_norm(torch.nn.Linear(4, 3))
        groups = scale_direction_groups(layer, 0.1, 0.1, weight_decay=0.5, scale_weight_decay=asked)
        optimizer = kind(groups)
        for p in layer.parameters():
            p.grad = torch.zeros_like(p)
        g = layer.parametrizations.weight.original0.detach().clone()
        v = layer.parametrizations.weight.original1.detach().clone()
        optimizer.step()
        assert torch.equal(layer.parametrizations.weight.original0, g) == (asked == 0.0)
        assert not torch.equal(layer.parametrizations.weight.original1, v)


def test_groups_without_rates_take_the_optimisers_and_empty_ones_are_left_out():
    plain = scale_direction_groups(torch.nn.Linear(2, 2))
    assert [(g["role"], "lr" in g) for g in plain] == [("rest", False)]
    optimizer = torch.optim.SGD(scale_direction_groups(model(), scale_lr=0.01), lr=0.3)
    assert [g["lr"] for g in optimizer.param_groups] == [0.01, 0.3, 0.3]
    with pytest.raises(TypeError, match="model must be a"):
        scale_direction_groups([torch.nn.Linear(2, 2)])
    with pytest.raises(ValueError, match="scale_lr must be"):
        scale_direction_groups(model(), scale_lr=-1.0)


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("tensor", [False, True])
def test_the_ratio_is_frozen_ramped_and_thawed(name, tensor):
    net = network()
    ratio = torch.tensor(0.8) if tensor else 0.8
    optimizer = OPTIMIZERS[name](net.parameters(), 0.1, scale_ratio=ratio)
    scheduler = FreezeThaw(optimizer, 3, frozen=0.2, ramp=3)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    ratios, rates = [], []
    for _ in range(9):
        ratios.append(float(optimizer.param_groups[0]["scale_ratio"]))
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
        cosine.step()
    assert ratios == pytest.approx([0.2] * 4 + [0.4, 0.6, 0.8, 0.8, 0.8])
    assert rates == pytest.approx([0.05 * (1.0 + np.cos(t / 10 * np.pi)) for t in range(9)])
    assert not tensor or optimizer.param_groups[0]["scale_ratio"] is ratio  # changed in place
    assert scheduler.last_epoch == 9


def test_the_learning_rate_of_the_scales_of_any_optimiser():
    layer = scale_norm(torch.nn.Linear(4, 3))
    optimizer = torch.optim.AdamW(scale_direction_groups(layer, 1e-2, 1e-3))
    scheduler = FreezeThaw(optimizer, 2, thawed=5e-3)
    rates, scales = [], []
    for _ in range(4):
        layer(torch.ones(2, 4)).square().sum().backward()
        rates.append([group["lr"] for group in optimizer.param_groups])
        scales.append(layer.parametrizations.weight.original0.detach().clone())
        optimizer.step()
        scheduler.step()
    assert rates == [[0.0, 1e-2, 1e-2]] * 2 + [[5e-3, 1e-2, 1e-2]] * 2
    assert torch.equal(scales[0], scales[2])
    assert not torch.equal(scales[2], scales[3])


def test_other_schedulers_reach_a_frozen_learning_rate():
    layer = scale_norm(torch.nn.Linear(4, 3))
    optimizer = torch.optim.SGD(scale_direction_groups(layer, 1e-2, 1e-3))
    freeze = FreezeThaw(optimizer, 2)
    cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    for t in range(8):
        scale, direction = (group["lr"] for group in optimizer.param_groups[:2])
        assert scale == pytest.approx(0.1 * direction if t >= 2 else 0.0)
        optimizer.step()
        cosine.step()
        freeze.step()


def test_a_group_that_is_added_later_is_frozen_too():
    optimizer = RPGD(network().parameters(), 0.1)
    scheduler = FreezeThaw(optimizer, 4)
    optimizer.step()
    scheduler.step()
    late = torch.nn.Linear(2, 2)
    optimizer.add_param_group({"params": late.parameters(), "scale_ratio": 0.3})
    ratios = []
    for _ in range(5):
        optimizer.step()
        scheduler.step()
        ratios.append(optimizer.param_groups[1]["scale_ratio"])
    assert ratios == [0.0, 0.0, 0.3, 0.3, 0.3]


@pytest.mark.parametrize("tensor", [False, True])
def test_a_scheduler_of_the_ratio_tells_the_ratio(tensor):
    ratio = torch.tensor(0.5) if tensor else 0.5
    optimizer = OPTIMIZERS["wn"](network().parameters(), 0.1, scale_ratio=ratio)
    scheduler, told = FreezeThaw(optimizer, 2, ramp=2), []
    for _ in range(6):
        told.append([float(value) for value in scheduler.get_last_lr()])
        optimizer.step()
        scheduler.step()
    assert told == [[0.0], [0.0], [0.0], [0.25], [0.5], [0.5]]
    layer = scale_norm(torch.nn.Linear(3, 2))
    adam = torch.optim.AdamW(scale_direction_groups(layer, 1e-2, 1e-3))
    assert FreezeThaw(adam, 2).get_last_lr() == [0.0, 1e-2, 1e-2]


def test_going_on_by_number_and_from_a_state():
    net = network()
    optimizer = RPGD(net.parameters(), 0.1)
    with pytest.raises(KeyError, match="initial_lr"):  # as every torch scheduler says
        FreezeThaw(optimizer, 5, last_epoch=7)
    scheduler = FreezeThaw(optimizer, 5)
    for _ in range(3):
        optimizer.step()
        scheduler.step()
    again = FreezeThaw(optimizer, 99)
    again.load_state_dict(scheduler.state_dict())
    assert (again.switch, again.last_epoch, again.value(9)) == (5, 3, [1.0])
    assert FreezeThaw(optimizer, 5, last_epoch=7).value(5) == [1.0]
    assert optimizer.param_groups[0]["scale_ratio"] == 1.0


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"switch": -1}, ValueError, "switch must be at least 0"),
        ({"switch": 2.5}, TypeError, "switch must be a whole number"),
        ({"ramp": -1}, ValueError, "ramp must be at least 0"),
        ({"frozen": -0.1}, ValueError, "frozen must be"),
        ({"thawed": float("nan")}, ValueError, "thawed must be"),
        ({"optimizer": torch.optim.SGD([torch.nn.Parameter(torch.ones(2))], 0.1)},
         ValueError, "optimizer has no scale to freeze"),
        ({"optimizer": "sgd"}, TypeError, "optimizer must be a torch optimiser"),
    ],
)  # fmt: skip
def test_bad_input_is_named(options, error, words):
    optimizer = RPGD(network().parameters(), 0.1)
    with pytest.raises(error, match=words):
        FreezeThaw(**({"optimizer": optimizer, "switch": 3} | options))
