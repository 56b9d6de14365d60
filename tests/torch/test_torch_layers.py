"""scale_norm does what weight_norm does, on every layer that torch's wheel has for its tests.

The wheel has no test of weight_norm: those are in torch's repository only, and of the databases in
torch.testing neither the operators' nor the modules' has an entry of it (only a list of arguments
names torch._weight_norm). What there is: every layer with its inputs in the database of modules.
"""

import copy
import warnings

import pytest
import torch
from torch.nn.utils.parametrizations import weight_norm
from torch.utils._pytree import tree_leaves

from tests.torch.torch_testing import internal
from weightnorm.torch import from_torch_weight_norm, scale_norm

pytestmark = pytest.mark.slow  # torch.testing takes seconds to import
LAYERS = {
    *(f"nn.{kind}{n}d" for kind in ("Conv", "ConvTranspose") for n in (1, 2, 3)),
    *("nn.Linear", "nn.Bilinear", "nn.Embedding", "nn.MultiheadAttention"),
    *("nn.LayerNorm", "nn.RMSNorm"),
    *(f"nn.{kind}{cell}" for kind in ("RNN", "GRU", "LSTM") for cell in ("", "Cell")),
}


def layers(modules, dtype):
    """Every layer of torch's database with a weight of more than one axis, and its inputs."""
    torch.manual_seed(0)
    for info in modules.module_db:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of Transformer, about nested tensors
            found = info.module_inputs_func(
                info, device="cpu", dtype=dtype, requires_grad=True, training=True
            )
            for each in found:
                given = each.constructor_input
                module = info.module_cls(*given.args, **given.kwargs).to(dtype)
                names = [n for n, p in module.named_parameters(recurse=False) if p.ndim > 1]
                for name in names:
                    with torch.no_grad():  # a block of zeros is NaN in torch's, and 0 in ours
                        getattr(module, name).add_(0.1)
                if names:
                    yield info.name, module, names, each.forward_input


def outputs(module, given):
    """What a layer makes of its inputs, and the gradients of its parameters."""
    torch.manual_seed(0)  # for dropout
    found = [t for t in tree_leaves(module(*given.args, **given.kwargs)) if _has_graph(t)]
    loss = sum((t * torch.linspace(-1, 1, t.numel()).to(t).reshape(t.shape)).sum() for t in found)
    parameters = dict(module.named_parameters())
    gradients = torch.autograd.grad(loss, parameters.values(), allow_unused=True)
    kept = {k: g for k, g in zip(parameters, gradients, strict=True) if g is not None}
    return [t.detach() for t in found], kept


def _has_graph(leaf):
    return isinstance(leaf, torch.Tensor) and leaf.requires_grad


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32])
def test_scale_norm_is_weight_norm_on_every_layer(dim, dtype):
    modules, seen = internal("common_modules"), set()
    for kind, module, names, given in layers(modules, dtype):
        theirs, ours = copy.deepcopy(module), copy.deepcopy(module)
        for name in names:
            weight_norm(theirs, name, dim)
            scale_norm(ours, name, dim)
        assert theirs.state_dict().keys() == ours.state_dict().keys()
        ours.load_state_dict(theirs.state_dict())
        turned = from_torch_weight_norm(copy.deepcopy(theirs))
        expected, gradients = outputs(theirs, given)
        size = max(float(gradient.abs().max()) for gradient in gradients.values())
        for model in (ours, turned):
            values, found = outputs(model, given)
            torch.testing.assert_close(values, expected, msg=kind)
            assert found.keys() == gradients.keys()
            for name, gradient in gradients.items():
                difference = (found[name].reshape(gradient.shape) - gradient).abs().max()
                # what rounding does to it, since the part along v is taken off a larger gradient
                assert difference <= 100 * torch.finfo(dtype).eps * size, (kind, name)
        seen.add(kind)
    assert seen == LAYERS
