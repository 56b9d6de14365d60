"""The stored tangent kernels of examples/kernels.py, against PyTorch's own gradients."""

import numpy as np
import pytest
import torch

from tests.support.pages import ROOT, load


@pytest.fixture(scope="module")
def kernels():
    return load(ROOT / "examples" / "kernels.py")


def test_the_stored_kernels_are_those_of_autograd(kernels):
    for digits, prior in kernels.LINES:
        K, values, norm = kernels.by_network(digits, prior)
        with np.load(kernels.STORED) as kept:
            W, v = (torch.tensor(kept[f"{digits}; {prior} {name}"]) for name in "Wv")
        first, last = torch.nn.Linear(65, 32, bias=False), torch.nn.Linear(32, 1, bias=False)
        first.weight.data, last.weight.data = W, v[None]
        network = torch.nn.Sequential(first, torch.nn.ReLU(), last)
        Z = torch.tensor(kernels.inputs(kernels.task(digits, first=False)[0]))
        weights = {name: weight.detach() for name, weight in network.named_parameters()}

        def value(weights, z, network=network):
            return torch.func.functional_call(network, weights, (z,))[0]

        slopes = torch.func.vmap(torch.func.grad(value), in_dims=(None, 0))(weights, Z)
        A = torch.cat([slope.flatten(1) for slope in slopes.values()], dim=1).numpy()
        assert np.abs(A @ A.T - K).max() <= 1e-6 * np.abs(K).max()
        theta = np.concatenate([weight.numpy().ravel() for weight in weights.values()])
        np.testing.assert_allclose(A @ theta / 2.0, values, atol=1e-10)
        assert norm == pytest.approx(np.linalg.norm(theta) / 2.0)
