"""What the optimisers share: groups and their options, the state (g, w), and steps."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Real
from typing import Any, ClassVar

import torch

from ._blocks import (
    block_dot,
    block_norm,
    checked_dim,
    is_distributed,
    spanned,
    whole,
    working,
    write,
)
from ._compiled import compiled_steps, suits
from ._rules import Block, Options, functional, in_place, plain_step

STATE = ("direction", "scale", "direction_norm", "direction_buffer", "scale_buffer")
NEAR = 4.0  # ulp of a parameter's type within which it is still what the state says


def rate(name: str, value: Any) -> Any:
    """A number that is not negative, or a tensor of one element, which stays a tensor."""
    if isinstance(value, torch.Tensor):
        if value.numel() != 1:
            raise ValueError(
                f"{name} must be a number or a tensor of one element, got shape "
                f"{tuple(value.shape)}"
            )
        number = float(value)
    elif isinstance(value, Real) and not isinstance(value, bool):
        number = float(value)
    else:
        raise TypeError(f"{name} must be a number, got {type(value).__name__}: {value!r}")
    if not 0.0 <= number < float("inf"):
        raise ValueError(f"{name} must be finite and at least 0, got {number:g}")
    return value


def _check_options(options: dict[str, Any]) -> None:
    """Refuse what makes no sense, among the defaults or in a group."""
    for name in ("lr", "scale_ratio"):
        rate(name, options[name])
    for name in ("momentum", "scale_weight_decay", "eps"):
        options[name] = float(rate(name, options[name]))
    if options["momentum"] >= 1.0:
        raise ValueError(f"momentum must be below 1, got {options['momentum']:g}")
    if options["nesterov"] and not options["momentum"]:
        raise ValueError("nesterov=True needs a momentum above 0; give momentum=0.9, say")
    if options["foreach"] and options["differentiable"]:
        raise ValueError("foreach=True cannot be differentiable; leave one of them out")
    options["dim"] = checked_dim(options["dim"])


class ScaleDirectionOptimizer(torch.optim.Optimizer):
    """x = g·w/‖w‖ for every block of every parameter, with (g, w) in the optimiser's state."""

    normalises: ClassVar[bool]  # rPGD: w is a unit vector after every step

    def __init__(
        self,
        params: Any,
        lr: Any,
        *,
        scale_ratio: Any = 1.0,
        dim: Any = 0,
        momentum: float = 0.0,
        nesterov: bool = False,
        scale_weight_decay: float = 0.0,
        eps: float = 1e-30,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        vectors: bool = False,
    ) -> None:
        defaults = {
            "lr": lr,
            "scale_ratio": scale_ratio,
            "dim": dim,
            "momentum": momentum,
            "nesterov": nesterov,
            "scale_weight_decay": scale_weight_decay,
            "eps": eps,
            "maximize": maximize,
            "foreach": foreach,
            "differentiable": differentiable,
            "vectors": vectors,
        }
        _check_options(defaults)  # before the parameters are looked at, as torch's optimisers do
        self._written: dict[Any, int] = {}
        self._fast: dict[Any, bool] = {}  # within a step
        self._spans: dict[Any, tuple[int, ...]] = {}
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters; its options are checked like those of the optimiser.

        Parameters
        ----------
        param_group : dict
            "params", and any of the options.
        """
        super().add_param_group(param_group)
        try:
            self._check(self.param_groups[-1])
        except (TypeError, ValueError):
            self.param_groups.pop()
            raise

    def _check(self, group: dict[str, Any]) -> None:
        _check_options(group)
        for p in group["params"]:
            if p.is_complex():
                raise TypeError(f"parameters must be real, got {p.dtype}")
            if self._in_blocks(group, p):
                self._axes(group, p)

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._written, self._fast, self._spans = {}, {}, {}
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state, in the precision it was saved in; it is copied.

        Parameters
        ----------
        state_dict : dict
            What `state_dict()` gave.
        """
        seen: list[dict[str, Any]] = []  # after the hooks of others
        handle = self.register_load_state_dict_pre_hook(lambda _, given: seen.append(given))
        try:
            super().load_state_dict(state_dict)
        finally:
            handle.remove()
        self._written = {}
        saved = [i for group in seen[-1]["param_groups"] for i in group["params"]]
        own = [p for group in self.param_groups for p in group["params"]]
        for index, p in zip(saved, own, strict=True):
            for name, value in seen[-1]["state"].get(index, {}).items():
                held = self.state[p][name]
                if isinstance(value, torch.Tensor):
                    # torch casts to the parameter's type, and else shares the tensor
                    held = held if held.dtype == value.dtype else value.detach().to(p.device)
                    self.state[p][name] = held.clone()
            state = self.state.get(p, {})
            if "direction" in state and ("direction_norm" in state) == self.normalises:
                self.state.clear()
                raise ValueError(
                    f"state_dict is not that of {type(self).__name__}: RPGD and WeightNormSGD keep "
                    "different directions; load it into the optimiser that saved it"
                )

    @staticmethod
    def _in_blocks(group: dict[str, Any], p: Any) -> bool:
        """Whether a parameter has scales and directions; others get plain SGD."""
        return bool(p.ndim > 1 or (group["vectors"] and p.ndim == 1))

    def _axes(self, group: dict[str, Any], p: Any) -> tuple[int, ...]:
        dim, ndim = group["dim"], p.ndim
        dim = dim if ndim > 1 else None
        if torch.compiler.is_compiling():
            return spanned(p.shape, dim)
        if (ndim, dim) not in self._spans:  # asked for at every step
            self._spans[ndim, dim] = spanned(p.shape, dim)
        return self._spans[ndim, dim]

    def _init_group(
        self,
        group: dict[str, Any],
        params: list[Any],
        grads: list[Any],
        directions: list[Any],
        scales: list[Any],
        norms: list[Any],
        direction_buffers: list[Any],
        scale_buffers: list[Any],
    ) -> None:
        """Fill the lists with the tensors of a step; torch.compile knows this method by name."""
        for p in group["params"]:
            gradient = p.grad  # a little work each time that it is asked for
            if gradient is None or p.numel() == 0:
                continue
            if gradient.is_sparse:
                raise RuntimeError(
                    f"{type(self).__name__} does not support sparse gradients: every block moves "
                    "with its scale; use nn.Embedding(…, sparse=False)"
                )
            state, blocks = self.state[p], self._in_blocks(group, p)
            if not blocks:
                if group["momentum"] and "direction_buffer" not in state:
                    state["direction_buffer"] = torch.zeros_like(p, requires_grad=False)
            elif "direction" not in state:
                self._start(group, p, gradient)
            else:
                self._follow(group, p, self._written.pop(p, None))
            params.append(p)
            grads.append(gradient)
            held = state.get
            directions.append(held("direction") if blocks else None)
            scales.append(held("scale") if blocks else None)
            norms.append(held("direction_norm") if blocks else None)
            direction_buffers.append(held("direction_buffer"))
            scale_buffers.append(held("scale_buffer") if blocks else None)

    def _start(self, group: dict[str, Any], p: Any, gradient: Any) -> None:
        """The first state: g = ‖p‖, w along p."""
        axes, state = self._axes(group, p), self.state[p]
        x = p.to(working(p), copy=True) if group["differentiable"] else p.detach().to(working(p))
        g = block_norm(x, axes)
        known = g > group["eps"]
        unit = torch.where(known, g, 1.0)
        G = gradient.to(x.dtype) * (-1.0 if group["maximize"] else 1.0)
        size = block_norm(G, axes)
        # a block of zeros has no direction: that of the steepest descent, or, where there is none,
        # any other
        count = x.numel() // g.numel()
        down = torch.where(size > group["eps"], -G / size.clamp(min=group["eps"]), count**-0.5)
        state["direction"] = torch.where(known, x / unit if self.normalises else x, down)
        state["scale"] = torch.where(known, g, 0.0)
        if not self.normalises:
            state["direction_norm"] = unit
        if group["momentum"]:
            state["direction_buffer"] = torch.zeros_like(x)
            state["scale_buffer"] = torch.zeros_like(g)

    def _follow(self, group: dict[str, Any], p: Any, written: int | None) -> None:
        """Take over a parameter that others may have changed since the last step."""
        state, eps = self.state[p], group["eps"]
        if group["momentum"] and "direction_buffer" not in state:
            state["direction_buffer"] = torch.zeros_like(state["direction"])
            state["scale_buffer"] = torch.zeros_like(state["scale"])
        if group["differentiable"] or (
            written is not None and self._looks_itself(group, p, written)
        ):
            return
        axes, w = self._axes(group, p), state["direction"]
        x = p.detach().to(w.dtype)
        n = state.get("direction_norm", torch.ones_like(state["scale"]))
        here = w * (state["scale"] / n)
        if p.dtype == w.dtype:
            kind = torch.finfo(p.dtype)  # subnormal numbers round by too much to tell
            off = ~((x - here).abs() <= NEAR * kind.eps * here.abs() + kind.tiny)
        else:  # the parameter is the rounded one
            off = here.to(p.dtype) != p.detach()
        changed = whole(off.to(w.dtype).sum(dim=axes, keepdim=True)) > 0
        if not bool(changed.any()):
            return
        if written is None:
            warnings.warn(
                f"a parameter of shape {tuple(p.shape)} is not what the optimiser's state makes of "
                "it: another model or another state was loaded; going on from the parameter",
                stacklevel=2,
            )
        size = block_norm(x, axes)
        known = size > eps
        n = torch.where(n.isfinite() & (n > eps), n, torch.where(known, size, 1.0))
        sign = torch.where(block_dot(x, w, axes) < 0, -1.0, 1.0).to(x.dtype)
        turned = x * (sign * n / torch.where(known, size, 1.0))
        kept = torch.where(w.isfinite(), w, n * (size.numel() / x.numel()) ** 0.5)
        write(w, torch.where(changed, torch.where(known, turned, kept), w))
        moved = torch.where(known, sign * size, 0.0)
        write(state["scale"], torch.where(changed, moved, state["scale"]))
        if "direction_norm" in state:
            write(state["direction_norm"], block_norm(w, axes).clamp(min=eps))
        for name in ("direction_buffer", "scale_buffer"):
            if name in state:  # what is not a number would stay so for ever
                write(state[name], torch.where(state[name].isfinite(), state[name], 0.0))

    def _looks_itself(self, group: dict[str, Any], p: Any, written: int) -> bool:
        """Whether nothing needs to be compared here: the kernel compares every row by itself, and
        elsewhere (not on the CPU, where waiting is dear) the version tells.
        """
        if is_distributed(p) or not p.is_cpu:
            return bool(p._version == written)
        return written >= 0 and self._by_kernel(group, p)

    def _by_kernel(self, group: dict[str, Any], p: Any) -> bool:
        """Whether a step of this parameter is made by the compiled kernel."""
        if group["foreach"] is not None or p.grad is None:
            return False
        if p not in self._fast:
            state = self.state[p]
            buffer = state.get("direction_buffer") if group["momentum"] else None
            axes = self._axes(group, p)
            self._fast[p] = suits(p, p.grad, state["direction"], buffer, axes)
        return self._fast[p]

    def adopt_parameters(self) -> None:
        """Take the parameters as they are now for the weights, and go on from there.

        Steps notice by themselves when a parameter was changed between them (by `load_state_dict`
        of the model, say), and keep ‖w‖ and the side that w is on. Only a step compiled by
        torch.compile does not notice: then call this.
        """
        for group in self.param_groups:
            for p in group["params"]:
                if "direction" in self.state.get(p, {}):
                    self._follow(group, p, -1)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Make one step.

        Parameters
        ----------
        closure : callable, optional
            Evaluates the model again and returns the loss.

        Returns
        -------
        The closure's loss, or None.
        """
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            for group in self.param_groups:
                self._step_group(group)
        return loss

    def _step_group(self, group: dict[str, Any]) -> None:
        lists: tuple[list[Any], ...] = ([], [], [], [], [], [], [])
        compiling = torch.compiler.is_compiling()
        if not compiling:
            self._fast.clear()  # also of a step that an error ended
        self._init_group(group, *lists)
        formulas = compiling or group["differentiable"]
        # numbers where nothing is traced: operations with numbers need no tensor made of them
        lr, ratio = (v if formulas else float(v) for v in (group["lr"], group["scale_ratio"]))
        options = Options(
            lr=lr,
            ratio=ratio,
            momentum=group["momentum"],
            nesterov=group["nesterov"],
            decay=group["scale_weight_decay"],
            eps=group["eps"],
            maximize=group["maximize"],
            still=not formulas and lr == 0.0,
        )
        vectors: list[tuple[Any, Any, Any]] = []
        batches: dict[Any, list[Block]] = {}
        written: list[Any] = []
        for p, G, w, g, n, direction_buffer, scale_buffer in zip(*lists, strict=True):
            if w is None:
                vectors.append((p, G, direction_buffer))
                continue
            written.append(p)
            block = Block(p, G, w, g, n, direction_buffer, scale_buffer, self._axes(group, p))
            if formulas or is_distributed(p):
                self._write(block, functional(block, options), group["differentiable"])
            else:
                fast = not options.still and self._by_kernel(group, p)
                batches.setdefault((fast, w.dtype, w.device), []).append(block)
        plain_step(vectors, options)
        for (fast, *_), batch in batches.items():
            if fast:
                compiled_steps(batch, options)
            else:
                in_place(batch, options, bool(group["foreach"]))
        if not compiling:
            self._written |= {p: p._version for p in written}

    def _write(self, block: Block, new: dict[str, Any], differentiable: bool) -> None:
        """The outcome of the formulas into the tensors, or in place of them."""
        if "parameter" in new:
            write(block.parameter, new.pop("parameter"))
        if differentiable:
            self.state[block.parameter].update(new)
            return
        old = block.direction, block.scale, block.norm, block.direction_buffer, block.scale_buffer
        for name, tensor in zip(STATE, old, strict=True):
            if name in new:
                write(tensor, new[name])
