"""What the optimisers share: groups and their options, the state (g, w), and steps."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch

from . import _state
from ._blocks import Layout, is_distributed, known_layout, layout, overlaps, working, write
from ._checkpoint import check_saved
from ._compiled import Table, compiled_steps, has_memory, table_row
from ._options import StepOptions, check_options
from ._rules import Block, functional, in_place, plain_step


@dataclass
class Work:
    """What a step does to a group: by the kernel, for parameters in tables, and otherwise."""

    group: dict[str, Any]
    options: StepOptions
    blocks: list[Block] = field(default_factory=list)
    tables: dict[torch.dtype, Table] = field(default_factory=dict)


class ScaleDirectionOptimizer(torch.optim.Optimizer):
    """x = g·w/‖w‖ for every block of every parameter, with (g, w) in the optimiser's state."""

    normalises: ClassVar[bool]  # rPGD: w is a unit vector after every step

    def __init__(  # noqa: PLR0913
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
        check_options(defaults)  # before the parameters are looked at, as torch's optimisers do
        self._written: dict[Any, int] = {}  # versions of the parameters as they were left here
        super().__init__(params, defaults)

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group of parameters; its options are checked like those of the optimiser.

        Parameters
        ----------
        param_group : dict
            "params", and any of the options.
        """
        super().add_param_group(param_group)
        group = self.param_groups[-1]
        try:
            check_options(group)
            for p in group["params"]:
                working(p)
                if self.in_blocks(group, p):
                    layout(p.shape, group["dim"])
        except (TypeError, ValueError):
            self.param_groups.pop()
            raise

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        self._written = {}
        for group in self.param_groups:
            for name, value in self.defaults.items():
                group.setdefault(name, value)

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load a state, in the working precision of each parameter; it is copied.

        All of it is checked first: what is not a state of this optimiser for these parameters is
        refused, and nothing is loaded.

        Parameters
        ----------
        state_dict : dict
            What `state_dict()` gave.
        """
        seen: list[dict[str, Any]] = []  # after the hooks of others

        def look(_: Any, given: dict[str, Any]) -> None:
            check_saved(self, given)
            seen.append(given)

        handle = self.register_load_state_dict_pre_hook(look)
        try:
            super().load_state_dict(state_dict)
        finally:
            handle.remove()
        self._written = {}
        saved = [i for group in seen[-1]["param_groups"] for i in group["params"]]
        own = [(group, p) for group in self.param_groups for p in group["params"]]
        for index, (group, p) in zip(saved, own, strict=True):
            kind = working(p) if self.in_blocks(group, p) else p.dtype
            for name, value in seen[-1]["state"].get(index, {}).items():
                # torch casts to the parameter's type, and else shares the tensor
                held = self.state[p][name]
                held = held if held.dtype == value.dtype else value.detach().to(p.device)
                self.state[p][name] = held.to(kind, copy=True)

    @staticmethod
    def in_blocks(group: dict[str, Any], p: Any) -> bool:
        """Whether a parameter has scales and directions; others get plain SGD.

        Parameters
        ----------
        group : dict
            Its options.
        p : torch.nn.Parameter

        Returns
        -------
        bool
        """
        return bool(p.ndim > 1 or (group["vectors"] and p.ndim == 1))

    def _block(self, group: dict[str, Any], p: Any) -> Block | None:
        """The tensors of a parameter, checked; None where there is nothing to do."""
        gradient = p.grad  # a little work each time that it is asked for
        if gradient is None or p.numel() == 0:
            return None
        if gradient.is_sparse:
            raise RuntimeError(
                f"{type(self).__name__} does not support sparse gradients: every block moves with "
                "its scale; use nn.Embedding(…, sparse=False)"
            )
        if overlaps(p):
            raise ValueError(
                f"a parameter of shape {tuple(p.shape)} is expanded, and its numbers share their "
                "memory; clone it"
            )
        if not (has_memory(p) and has_memory(gradient)):
            raise ValueError(
                f"a parameter of shape {tuple(p.shape)}, or its gradient, has no memory: it was "
                "given back after backward()"
            )
        if gradient.shape != p.shape:
            raise ValueError(
                f"the gradient of a parameter of shape {tuple(p.shape)} has shape "
                f"{tuple(gradient.shape)}: the parameter was changed after backward()"
            )
        at = layout(p.shape, group["dim"]) if self.in_blocks(group, p) else None
        state = self.state[p]
        _state.check(group, p, state, at, self.normalises)
        if at is not None and "direction" not in state:
            state |= _state.initial(group, p, gradient, at, self.normalises)
        elif at is not None and not group["differentiable"]:
            self._follow(group, p, state, at)
        if group["momentum"]:
            _state.add_buffers(p, state, at)
        held = state.get
        return Block(
            p,
            gradient,
            held("direction"),
            held("scale"),
            held("direction_norm"),
            held("direction_buffer"),
            held("scale_buffer"),
            at,
        )

    def _follow(self, group: dict[str, Any], p: Any, state: dict[str, Any], at: Layout) -> None:
        """Take over a parameter that others may have changed since the last step.

        Where comparing means waiting for a device, or for other processes, its version tells.
        """
        version = self._written.get(p)  # none of a state that was loaded
        if version != _version(p) or (p.is_cpu and not is_distributed(p)):
            _state.follow(group, p, state, at, known=version is not None)

    def _row(self, group: dict[str, Any], p: Any) -> list[int] | None:
        """What the kernel needs of a parameter, or None where it has no blocks, or no state yet.

        The kernel compares every row with its state by itself.
        """
        gradient, state = p.grad, self.state.get(p)
        known = gradient is not None and state and "direction" in state
        if not known or not self.in_blocks(group, p):
            return None
        at = known_layout(p.shape, group["dim"])
        return table_row(p, gradient, state, at, self.normalises, group["momentum"] > 0)

    def _init_group(self, group: dict[str, Any], *lists: list[Any]) -> None:
        """Fill lists with the tensors of a step, in the order of `Block`.

        torch.compile knows this method by name: it calls it once, and traces what comes after.
        """
        check_options(group)
        for p in group["params"]:
            block = self._block(group, p)
            if block is not None:
                for values, tensor in zip(lists, block[:-1], strict=True):
                    values.append(tensor)

    def adopt_parameters(self) -> None:
        """Take the parameters as they are now for the weights, and go on from there.

        Steps notice by themselves when a parameter was changed between them (by `load_state_dict`
        of the model, say), and keep ‖w‖ and the side that w is on. Only a step compiled by
        torch.compile does not notice: then call this.
        """
        for group in self.param_groups:
            for p in group["params"]:
                if "direction" in (state := self.state.get(p, {})):
                    at = layout(p.shape, group["dim"])
                    _state.check(group, p, state, at, self.normalises)
                    _state.follow(group, p, state, at, known=True)

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
            # all is looked at before anything moves
            for work in [self._prepared(group) for group in self.param_groups]:
                self._move(work)
        return loss

    def _prepared(self, group: dict[str, Any]) -> Work:
        """The work of a step on a group, with all that it needs checked."""
        if torch.compiler.is_compiling():
            work = Work(group, StepOptions.of(group, traced=True))
            lists: tuple[list[Any], ...] = ([], [], [], [], [], [], [])
            self._init_group(group, *lists)
            for p, G, w, g, n, w_buffer, g_buffer in zip(*lists, strict=True):
                at = None if w is None else layout(p.shape, group["dim"])
                work.blocks.append(Block(p, G, w, g, n, w_buffer, g_buffer, at))
            return work
        check_options(group)
        work = Work(group, StepOptions.of(group, traced=group["differentiable"]))
        work.options.check_range(lambda: self._types(group))
        tables = work.tables
        fast = group["foreach"] is None and not work.options.still and not group["differentiable"]
        for p in group["params"]:
            block = None
            row = self._row(group, p) if fast and p in self._written else None
            if row is None:  # it is new, was loaded or changed, or is not for the kernel
                block = self._block(group, p)
                row = self._row(group, p) if fast and block is not None else None
            if row is not None:
                table = tables.get(p.dtype) or tables.setdefault(p.dtype, Table())
                table.add(p, (p.grad, *self.state[p].values()), row)
            elif block is not None:
                work.blocks.append(block)
        return work

    def _types(self, group: dict[str, Any]) -> set[torch.dtype]:
        """Those in which the parameters of a group are moved."""
        params = [p for p in group["params"] if p.grad is not None]
        return {working(p) if self.in_blocks(group, p) else p.dtype for p in params}

    def _move(self, work: Work) -> None:
        """Make the step of a group."""
        group, options = work.group, work.options
        plain = [(b.parameter, b.gradient, b.direction_buffer) for b in work.blocks if not b.at]
        plain_step(plain, options)
        compiling = torch.compiler.is_compiling()
        batches: dict[Any, list[Block]] = {}
        moved = [block for block in work.blocks if block.at]
        for block in moved:
            p = block.parameter
            if compiling or group["differentiable"] or is_distributed(p):
                self._write(block, functional(block, options), group["differentiable"])
            else:
                key = block.turns, p.dtype, block.direction.device
                batches.setdefault(key, []).append(block)
        for batch in batches.values():
            in_place(batch, options, bool(group["foreach"]))
        for table in work.tables.values():
            compiled_steps(table, options, self.normalises)
        if not compiling:
            written = [block.parameter for block in moved]
            for p in itertools.chain(written, *(t.parameters for t in work.tables.values())):
                self._written[p] = _version(p)

    def _write(self, block: Block, new: dict[str, Any], differentiable: bool) -> None:
        """The outcome of the formulas into the tensors, or in place of them."""
        if "parameter" in new:
            write(block.parameter, new.pop("parameter"))
        if differentiable:
            self.state[block.parameter].update(new)
            return
        old = block.direction, block.scale, block.norm, block.direction_buffer, block.scale_buffer
        for name, tensor in zip(_state.STATE, old, strict=True):
            if name in new:
                write(tensor, new[name])


def _version(p: Any) -> int:
    """How often autograd has seen a parameter change; inference tensors are not counted."""
    return -1 if p.is_inference() else int(p._version)
