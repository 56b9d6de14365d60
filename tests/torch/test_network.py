"""The network experiment: its data, its ensembles against networks trained alone by torch's own
modules, its tuning, its intervals, and the whole of it in its quick size.
"""

import gzip
import hashlib
import json
import os
import signal
import struct
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from weightnorm.experiments.network import data, execute, protocol, shard
from weightnorm.experiments.network.arms import rates
from weightnorm.experiments.network.data import DataError, draw, images, read_idx
from weightnorm.experiments.network.models import prepared, start
from weightnorm.experiments.network.protocol import ARMS, BASE_NORM, BY_NAME, QUICK, Setting
from weightnorm.experiments.network.training import GUESSING, Bench, Member
from weightnorm.torch import RPGD, WeightNormSGD

NOWHERE = Path("no/such/folder")
MLP = Setting("digits", 500, 0.2, "mlp")
CNN = Setting("digits", 500, 0.0, "cnn")


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
        for layer, shape, weight, bias in zip(body, shapes, *[first.body[i::2] for i in (0, 1)]):
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
    X, y = torch.from_numpy(source.pool[found.train]), torch.from_numpy(found.labels)
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
def test_an_ensemble_trains_every_member_as_it_would_be_alone(setting, arm):
    steps, scale = 20, 3.0 if arm == "rpgd" else 0.3
    values = BY_NAME[arm].values
    members = [
        Member(0.01, values[0], 3),
        Member(0.03, values[0], 4),
        Member(0.02, values[3], 3),
    ]
    bench = Bench(setting, steps, NOWHERE)
    trained = bench.train(BY_NAME[arm], scale, members)
    weights = torch.cat([part.detach() for part in trained.model.last])
    for index, member in enumerate(members):
        weight, bias = alone(setting, arm, scale, member, steps)
        torch.testing.assert_close(weights[index], weight, rtol=1e-3, atol=1e-5)
        torch.testing.assert_close(
            trained.model.bias[index, 0].detach(), bias, rtol=1e-3, atol=1e-5
        )
        moved = (weight - trained.first[index]).norm() / trained.first[index].norm()
        assert moved > 0.01  # or the comparison says nothing
