"""Monitor records what happens, and nothing when it is not due."""

import copy
import pickle

import numpy as np
import pytest
import torch
from torch.nn.utils.parametrizations import weight_norm

import weightnorm as wn
from tests.torch.cases import OPTIMIZERS, images, layer_at, network, problem, steps, train
from weightnorm.torch import RPGD, FreezeThaw, Monitor, scale_direction_groups, scale_norm

every = pytest.mark.parametrize("name", OPTIMIZERS)


@every
def test_records_are_those_of_a_run_of_the_library(name):
    data, w0 = problem()
    A, y = torch.as_tensor(data.A), torch.as_tensor(data.y)[:, None]
    layer = layer_at(2.0 * w0)
    optimizer = OPTIMIZERS[name](layer.parameters(), 0.02, scale_ratio=0.5)
    monitor = Monitor(optimizer, every=10, features=A, names=layer)
    train(layer, optimizer, A, y, 200)
    found = monitor.to_dataset().isel(block=0)
    method = wn.RPGD(0.02, 0.01) if name == "rpgd" else wn.WeightNorm(0.02, 0.01, initial_norm=2.0)
    run = wn.run(
        method, data, 2.0, w0, tolerance=0.0, max_steps=200, record=10, keep=("invariant",)
    )
    told = run.history
    assert found.step.values.tolist() == told.step.tolist()
    assert found.scale.values == pytest.approx(told.scale, abs=1e-12)
    assert found.direction_norm.values == pytest.approx(told.direction_norm, abs=1e-12)
    assert found.perp_norm.values == pytest.approx(told.direction_perp_norm, abs=1e-12)
    assert found.invariant.values == pytest.approx(told.invariant, abs=1e-11)
    assert found.effective_rate.values == pytest.approx(0.02 / told.direction_norm**2)


def test_the_invariant_of_a_layer_is_kept_by_small_steps_and_undefined_while_frozen():
    rng = np.random.default_rng(0)
    X, Y = (
        torch.as_tensor(rng.standard_normal((5, 12))),
        torch.as_tensor(rng.standard_normal((5, 3))),
    )
    drifts = []
    for eta in (2e-3, 1e-3):
        torch.manual_seed(0)
        layer = torch.nn.Linear(12, 3, dtype=torch.float64)  # with a bias, features not centred
        optimizer = RPGD(layer.parameters(), eta)
        monitor = Monitor(optimizer, every=100, features={"weight": X}, names=layer)
        train(layer, optimizer, X, Y, int(2 / eta))
        kept = monitor.to_dataset().invariant.values
        assert kept.shape[1] == 3
        drifts.append(np.abs(kept[-1] - kept[0]).max())
    assert drifts[1] < 0.6 * drifts[0] < 0.02  # of first order in the step
    scheduler = FreezeThaw(optimizer, 1)
    frozen = Monitor(optimizer, features={"weight": X}, names=layer)
    train(layer, optimizer, X, Y, 2, scheduler.step)
    assert np.isfinite(frozen.to_dataset().invariant.values).any(axis=1).tolist() == [
        False,
        False,
        True,
    ]


@every
def test_angles_are_those_between_directions(name):
    model = network(dtype=torch.float64)
    optimizer = OPTIMIZERS[name](model.parameters(), 0.01)
    monitor = Monitor(optimizer, every=3, names=model)
    units = []

    def look():
        w = optimizer.state[model[2].weight]["direction"]
        units.append((w / w.norm(dim=1, keepdim=True)).numpy().copy())

    steps(model, optimizer, images(dtype=torch.float64), 9, look)
    data = monitor.to_dataset()
    found = data.angle.values[:, data.parameter.values == "2.weight"]
    assert np.isnan(found[0]).all()
    for record, step in enumerate((3, 6, 9), start=1):
        expected = np.arccos(np.clip((units[step - 1] * units[step - 2]).sum(axis=1), -1, 1))
        assert found[record] == pytest.approx(expected, abs=1e-7)
        assert (found[record] > 0).all()


@pytest.mark.parametrize("make", [scale_norm, weight_norm])
def test_a_model_with_scales_of_its_own(make):
    """Followed by its optimiser, or step by step, without rates."""
    layer = make(torch.nn.Linear(4, 3).double())
    optimizer = torch.optim.SGD(scale_direction_groups(layer, 0.1, 0.05))
    X = torch.randn(2, 4, dtype=torch.float64)
    followed = Monitor(layer, optimizer=optimizer, features=X)
    alone = Monitor(layer)
    for _ in range(4):
        optimizer.zero_grad()
        layer(X).square().sum().backward()
        optimizer.step()
        alone.step()
    one, other = followed.to_dataset(), alone.to_dataset()
    g = layer.parametrizations.weight.original0.detach().numpy()[:, 0]
    v = layer.parametrizations.weight.original1.detach().norm(dim=1).numpy()
    assert one.scale.values[-1] == pytest.approx(g)
    assert one.direction_norm.values[-1] == pytest.approx(v)
    assert one.effective_rate.values[-1] == pytest.approx(0.1 / v**2)
    assert np.isnan(other.effective_rate.values).all()
    assert other.angle.values[1:] == pytest.approx(one.angle.values[1:])
    ratio = 0.5 * one.direction_norm.values[0] ** 2
    expected = np.log(one.perp_norm.values) + one.scale.values**2 / (2.0 * ratio)
    assert one.invariant.values == pytest.approx(expected)
    followed.remove()
    optimizer.step()
    assert followed.num_steps == 4


def test_nothing_is_computed_when_nothing_is_due(monkeypatch):
    model = network()
    optimizer = RPGD(model.parameters(), 0.01)
    monitor = Monitor(optimizer, every=100)
    looked = []
    monitor._looks = {name: lambda: looked.append(1) for name in monitor._looks}
    steps(model, optimizer, images(), 98)
    assert not looked
    assert monitor.num_steps == 98


def test_frames_names_and_a_picture():
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    model = network()
    optimizer = RPGD(list(model.named_parameters()), 0.01)  # torch keeps such names
    monitor = Monitor(optimizer)
    steps(model, optimizer, images(), 3)
    frame = monitor.to_dataframe()
    assert len(frame) == 4 * (3 + 7 + 2)
    assert sorted(set(frame.parameter)) == ["0.weight", "2.weight", "4.weight"]
    assert frame[frame.step == 3].scale.notna().all()
    axes = monitor.plot()
    assert [ax.get_ylabel() for ax in axes] == [
        "scale",
        "direction norm",
        "angle",
        "effective rate",
    ]
    assert all(len(ax.lines) == 3 for ax in axes)
    with pytest.raises(ValueError, match="ax must be 4 axes"):
        monitor.plot(np.array(axes[:2]))
    plt.close("all")


def test_a_monitor_follows_a_compiled_step():
    torch._dynamo.reset()
    records = []
    for compiled in (False, True):
        model = network(dtype=torch.float64)
        optimizer = RPGD(model.parameters(), torch.tensor(0.05), scale_ratio=torch.tensor(1.0))
        monitor = Monitor(optimizer, every=2, names=model)
        step = torch.compile(optimizer.step, backend="aot_eager") if compiled else optimizer.step
        X, Y = images(dtype=torch.float64)
        for _ in range(6):
            optimizer.zero_grad()
            (model(X) - Y).square().mean().backward()
            step()
        records.append(monitor.to_dataset())
    assert records[0].step.values.tolist() == records[1].step.values.tolist() == [0, 2, 4, 6]
    for key in ("scale", "angle"):
        assert records[1][key].values == pytest.approx(records[0][key].values, nan_ok=True)


class Wrapper(torch.optim.Optimizer):
    """As accelerate's: an optimiser only in name, which steps the one it has."""

    def __init__(self, optimizer):
        self.optimizer = optimizer

    @property
    def param_groups(self):
        return self.optimizer.param_groups

    def step(self, closure=None):
        self.optimizer.step(closure)


@pytest.mark.parametrize("whose", ["ours", "a model's"])
def test_a_monitor_looks_inside_wrappers(whose):
    if whose == "ours":
        model = network()
        wrapper = Wrapper(Wrapper(RPGD(model.parameters(), 0.05)))
        monitor = Monitor(wrapper, names=model)
    else:
        model = torch.nn.Sequential(scale_norm(torch.nn.Linear(25, 2)))
        wrapper = Wrapper(torch.optim.SGD(model.parameters(), 0.05))
        monitor = Monitor(model, optimizer=wrapper)
    X, Y = images()
    for _ in range(3):
        model.zero_grad()
        out = model(X) if whose == "ours" else model(X.flatten(1))
        (out - Y).square().mean().backward()
        wrapper.step()
    assert monitor.num_steps == 3
    data = monitor.to_dataset()
    assert np.isfinite(data.effective_rate.values).all()
    assert (data.angle.values[1:] > 0).all()


def test_a_model_with_an_optimizer_of_its_own_is_a_model():
    model = torch.nn.Sequential(scale_norm(torch.nn.Linear(4, 2)))
    model.optimizer = torch.optim.SGD(model.parameters(), 0.05)
    assert Monitor(model, optimizer=model.optimizer).to_dataset().sizes["block"] == 2


@pytest.mark.parametrize("how", [lambda m: pickle.loads(pickle.dumps(m)), copy.deepcopy])
def test_a_monitor_can_be_kept(how):
    model = network()
    optimizer = RPGD(model.parameters(), 0.05)
    monitor = Monitor(optimizer, every=2, names=model)
    steps(model, optimizer, images(), 5)
    kept = how(monitor)
    assert kept.to_dataset().identical(monitor.to_dataset())
    assert kept.to_dataframe().equals(monitor.to_dataframe())
    with pytest.raises(RuntimeError, match="make a new one"):
        kept.step()
    kept.remove()
    steps(model, optimizer, images(), 1)  # the first goes on
    assert (kept.num_steps, monitor.num_steps) == (5, 6)


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: Monitor(torch.nn.Linear(2, 2)), ValueError, "no weight in scale × direction"),
        (lambda: Monitor("model"), TypeError, "optimizer_or_model must be RPGD"),
        (lambda: Monitor(RPGD(network().parameters(), 0.1), every=0), ValueError, "every must be"),
        (lambda: Monitor(RPGD(network().parameters(), 0.1), features=torch.ones(2, 2)),
         ValueError, "features must be a mapping of weight name"),
        (lambda: Monitor(RPGD(network().parameters(), 0.1), features={"0": torch.ones(2, 2)}),
         ValueError, "features has '0', which is none of"),
        (lambda: Monitor(RPGD(network().parameters(), 0.1), features={"0.0": torch.ones(2, 9)}),
         ValueError, r"features\['0.0'\] has shape \(2, 9\), which fits no linear layer"),
    ],
)  # fmt: skip
def test_bad_input_is_named(call, error, words):
    with pytest.raises(error, match=words):
        call()
