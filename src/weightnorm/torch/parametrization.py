"""scale_norm: a weight as g·v/‖v‖ inside the model, with the keys of torch's weight_norm."""

from __future__ import annotations

import weakref
from typing import Any

import torch
from torch.nn.utils import parametrize
from torch.nn.utils.parametrizations import _WeightNorm as TorchWeightNorm
from torch.nn.utils.spectral_norm import SpectralNorm as OldSpectralNorm
from torch.nn.utils.weight_norm import WeightNorm as OldWeightNorm

from ._blocks import WORKING, Dim, block_dot, block_norm, checked_dim, spanned, working


class ScaleNorm(torch.nn.Module):
    """The map (g, v) ↦ g·v/‖v‖ of `scale_norm`, block by block.

    Norms are taken in float32 for half precision. A v of zeros has no direction: there the weight
    is zero, and its gradients are ∂v = sign(g)·G (G for g = 0) and ∂g = 0, with G the gradient by
    the weight; the first step gives it the direction of steepest descent.

    Parameters
    ----------
    dim : int, tuple of ints, or None
        The axes that count the blocks; see `scale_norm`.

    Examples
    --------
    >>> import torch
    >>> from weightnorm.torch import ScaleNorm
    >>> ScaleNorm()(torch.tensor([[5.0]]), torch.tensor([[0.6, 0.8]]))
    tensor([[3., 4.]])
    >>> ScaleNorm()(torch.tensor([[5.0]]), torch.zeros(1, 2))
    tensor([[0., 0.]])
    """

    def __init__(self, dim: Dim = 0) -> None:
        super().__init__()
        self.dim = checked_dim(dim)
        self._last: tuple[Any, ...] = ()

    def forward(self, g: Any, v: Any) -> Any:
        """The weight.

        Parameters
        ----------
        g, v : tensors
            The scales, and a tensor of the weight's shape.

        Returns
        -------
        tensor
        """
        if not torch.compiler.is_compiling():
            self._last = weakref.ref(g), weakref.ref(v)
        wide = v.to(working(v))
        n = block_norm(wide, spanned(v.shape, self.dim))
        scale = g.to(wide.dtype).reshape(n.shape)
        none = n == 0
        sign = torch.where(scale < 0, -1.0, 1.0).to(wide.dtype)
        factor = torch.where(none, sign.detach(), scale / torch.where(none, 1.0, n))
        return (wide * factor).to(v.dtype)

    def right_inverse(self, weight: Any) -> tuple[Any, Any]:
        """A (g, v) for a weight: v = weight and g = ‖weight‖, or both negative.

        A block keeps the sign that its g has now, unless the weight is on the other side of v.

        Parameters
        ----------
        weight : tensor

        Returns
        -------
        tuple of tensors
        """
        axes = spanned(weight.shape, self.dim)
        wide = weight.to(working(weight))
        sign = self._signs(wide, axes)
        g = (sign * block_norm(wide, axes)).to(weight.dtype)
        return g.reshape(1) if self.dim is None else g, weight * sign.to(weight.dtype)

    def _signs(self, weight: Any, axes: tuple[int, ...]) -> Any:
        last = [reference() for reference in self._last]
        if len(last) == 2 and all(t is not None for t in last):
            g, v = last
            if v.shape == weight.shape and v.device == weight.device:
                side = block_dot(weight, v.detach().to(weight.dtype), axes)
                negative = (g.detach().reshape(side.shape) < 0) & (side < 0)
                return torch.where(negative, -1.0, 1.0).to(weight.dtype)
        return torch.ones_like(block_norm(weight, axes))

    def extra_repr(self) -> str:
        """What print shows.

        Returns
        -------
        str
        """
        return f"dim={self.dim}"

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_last": ()}  # references cannot be copied


class _ReadOtherKeys:
    """Read the keys of torch's old weight_norm, and its g without an axis."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, module: Any, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        if self.name not in getattr(module, "parametrizations", {}):
            return  # plain again
        new = f"{prefix}parametrizations.{self.name}.original"
        for old, index in ((f"{prefix}{self.name}_g", 0), (f"{prefix}{self.name}_v", 1)):
            if old in state_dict:
                state_dict[f"{new}{index}"] = state_dict.pop(old)
        own = getattr(module.parametrizations[self.name], "original0", None)
        g = state_dict.get(f"{new}0")
        if own is not None and g is not None and g.numel() == own.numel() == 1:
            state_dict[f"{new}0"] = g.reshape(own.shape)


def _read_other_keys(module: Any, name: str) -> None:
    hook = _ReadOtherKeys(name)
    if hasattr(module, "register_load_state_dict_pre_hook"):
        module.register_load_state_dict_pre_hook(hook)
    else:  # torch 2.4 has it under its old name
        module._register_load_state_dict_pre_hook(hook, with_module=True)


def scale_norm(module: Any, name: str = "weight", dim: Any = 0) -> Any:
    """Give a module's weight scale × direction coordinates: weight = g·v/‖v‖, g and v trained.

    It starts as torch.nn.utils.parametrizations.weight_norm does, v = the weight and g = its block
    norms, and has its state-dict keys (`parametrizations.weight.original0` is g, `original1` v), so
    that checkpoints load both ways; those of the old `weight_g` and `weight_v` can be read. What it
    does otherwise: a zero row stays finite (see `ScaleNorm`), dim=-1 is the last axis, dim=None
    gives a g of one element with an axis, a negative g stays negative when the weight is assigned
    anew, and norms of half-precision weights are taken in float32.

    Parameters
    ----------
    module : torch.nn.Module
        The layer; changed in place.
    name : str
        The parameter.
    dim : int, tuple of ints, or None
        The axes that count the blocks: 0 for one scale per row, None for one in all.

    Returns
    -------
    torch.nn.Module
        The same module.

    Examples
    --------
    >>> import torch
    >>> from weightnorm.torch import scale_norm
    >>> layer = scale_norm(torch.nn.Linear(3, 2))
    >>> [name for name, _ in layer.named_parameters()][1:]
    ['parametrizations.weight.original0', 'parametrizations.weight.original1']
    """
    weight, kind = getattr(module, name, None), type(module).__name__
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"name={name!r} is not a parameter of this {kind}; its weight, say")
    if other := _made_by(module, name):
        raise ValueError(
            f"name={name!r} of this {kind} is already made by {other}, and a weight has one scale: "
            "remove that first (remove_scale_norm, torch's remove_parametrizations, "
            "remove_weight_norm or remove_spectral_norm), or convert torch's weight_norm by "
            "from_torch_weight_norm"
        )
    if weight.dtype not in WORKING:
        raise TypeError(f"name={name!r} must be of a real floating-point type, got {weight.dtype}")
    spanned(weight.shape, checked_dim(dim))
    _own_class(module)
    parametrize.register_parametrization(module, name, ScaleNorm(dim), unsafe=True)
    _read_other_keys(module, name)
    return module


def _made_by(module: Any, name: str) -> str:
    """What computes a module's weight from other parameters, or "" for a plain one."""
    if parametrize.is_parametrized(module, name):
        return type(module.parametrizations[name][0]).__name__.lstrip("_")
    for hook in module._forward_pre_hooks.values():
        if isinstance(hook, OldWeightNorm | OldSpectralNorm) and hook.name == name:
            return f"torch.nn.utils' old {type(hook).__name__}"
    return "" if name in module._parameters or name in module._buffers else "other code"


def _own_class(module: Any) -> None:
    """Give a parametrized module a class that no other has.

    torch keeps the property that computes a weight in a class made for the module, which copies of
    the module share: to add or remove one there would change them all.
    """
    if not parametrize.is_parametrized(module):
        return
    shared = type(module)
    own = {k: v for k, v in vars(shared).items() if k not in ("__dict__", "__weakref__")}
    module.__class__ = type(shared.__name__, shared.__bases__, own)


def remove_scale_norm(module: Any, name: str = "weight") -> Any:
    """Make a weight plain again, with the value it has.

    Parameters
    ----------
    module : torch.nn.Module
        A layer with `scale_norm`; changed in place.
    name : str
        The parameter.

    Returns
    -------
    torch.nn.Module
        The same module.

    Examples
    --------
    >>> import torch
    >>> from weightnorm.torch import remove_scale_norm, scale_norm
    >>> layer = remove_scale_norm(scale_norm(torch.nn.Linear(3, 2)))
    >>> type(layer.weight).__name__
    'Parameter'
    """
    found = getattr(module, "parametrizations", {})
    if name not in found or not any(isinstance(part, ScaleNorm) for part in found[name]):
        raise ValueError(f"name={name!r} has no scale_norm in this {type(module).__name__}")
    _own_class(module)
    return parametrize.remove_parametrizations(module, name, leave_parametrized=True)


def from_torch_weight_norm(model: Any) -> Any:
    """Turn every weight_norm of torch in a model, old or new, into `scale_norm`.

    g and v keep their values, and are the same parameters (an optimiser goes on with them), but
    for a g without an axis (dim=None), which becomes a new one of one element.

    Parameters
    ----------
    model : torch.nn.Module
        Changed in place.

    Returns
    -------
    torch.nn.Module
        The same model.

    Examples
    --------
    >>> import torch
    >>> from weightnorm.torch import from_torch_weight_norm
    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(3, 2))
    >>> from_torch_weight_norm(layer).parametrizations.weight[0]
    ScaleNorm(dim=0)
    """
    for module in model.modules():
        for name, parts in dict(getattr(module, "parametrizations", {})).items():
            if isinstance(parts[0], TorchWeightNorm):
                parts[0] = ScaleNorm(_torch_dim(parts[0].dim))
                if parts.original0.ndim == 0:
                    parts.original0 = torch.nn.Parameter(parts.original0.detach().reshape(1))
                _read_other_keys(module, name)
        for key, hook in list(module._forward_pre_hooks.items()):
            if isinstance(hook, OldWeightNorm):
                _convert_old(module, key, hook)
    return model


def _torch_dim(dim: int) -> int | None:
    """torch's -1 is one block for all."""
    return None if dim == -1 else dim


def _convert_old(module: Any, key: int, hook: Any) -> None:
    """The hook of torch.nn.utils.weight_norm, with parameters weight_g and weight_v."""
    name = hook.name
    g, v = (module._parameters.pop(f"{name}_{part}") for part in "gv")
    del module._forward_pre_hooks[key]
    if name in module.__dict__:
        delattr(module, name)
    module.register_parameter(name, torch.nn.Parameter(hook_weight(g, v, hook.dim)))
    scale_norm(module, name, _torch_dim(hook.dim))
    parts = module.parametrizations[name]
    parts.original1 = v
    parts.original0 = g if g.ndim else torch.nn.Parameter(g.detach().reshape(1))


def hook_weight(g: Any, v: Any, dim: int) -> Any:
    """The weight that torch computes of g and v."""
    return torch._weight_norm(v.detach(), g.detach(), dim)
