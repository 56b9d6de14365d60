"""Monitor: what scales and directions do while a network trains."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from .._support import validate
from ..problems import LeastSquares
from ..runs.history import invariant
from ._blocks import block_norm, is_distributed, layout, spanned
from ._optimizer import ScaleDirectionOptimizer
from .groups import pairs

if TYPE_CHECKING:
    import pandas
    import xarray

ABOUT = {
    "scale": "g, the scale of the block",
    "direction_norm": "‖v‖; 1 for rPGD",
    "angle": "angle in radians that the direction turned in this step",
    "effective_rate": "lr/‖v‖², the rate at which the unit direction moves",
    "perp_norm": "‖w⊥‖, the part of the unit direction that the features cannot see",
    "invariant": "log ‖w⊥‖ + g²/2c: a theorem for one linear layer, a diagnostic in a network",
}


@dataclass(frozen=True)
class Seen:
    """One weight at one moment: its scales and directions, and the rates they are trained with."""

    scale: Any
    direction: Any
    norm: Any  # ‖v‖ per block; None for rPGD
    axes: tuple[int, ...]
    lr: float
    ratio: float


class Monitor:
    """Record, for every block, g, ‖v‖, the angle turned per step and the effective rate lr/‖v‖².

    For a linear layer on known features it also records ‖w⊥‖, the part of the unit direction that
    the features cannot see, and log ‖w⊥‖ + g²/2c with c = scale_ratio (times ‖v0‖² for weight
    normalization). The flow of that layer on fixed features keeps this number: there its drift is
    the effect of finite steps. In a deep network, whose features move, it is a diagnostic only.

    Parameters
    ----------
    optimizer_or_model : RPGD, WeightNormSGD, or a model with `scale_norm` or torch's weight_norm
        What is watched. An optimiser is followed by itself, also inside a wrapper (accelerate's,
        say) that has it as its `optimizer`; for a model give its optimiser too, or call `step()`
        after every step.
    every : int
        Record every so many steps, and the start. Nothing is computed in between.
    optimizer : torch.optim.Optimizer, optional
        Of the model: it gives the rates, and the monitor follows its steps.
    features : mapping of weight name to (n, d) features, or one such array, optional
        The fixed inputs of linear layers with one scale per row.
    names : torch.nn.Module, optional
        The model, for the names of an optimiser's parameters ("0.0", group and place, without).
    follow : bool
        Whether to record by itself, in a hook on the optimiser. A step compiled by torch.compile
        calls the hook outside its graph; for one graph without a break give False, and call
        `step()` after it.

    Examples
    --------
    >>> import torch
    >>> from weightnorm.torch import RPGD, Monitor
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 3), torch.nn.Tanh(), torch.nn.Linear(3, 1))
    >>> optimizer = RPGD(model.parameters(), lr=0.1)
    >>> monitor = Monitor(optimizer, every=5, names=model)
    >>> for _ in range(10):
    ...     optimizer.zero_grad()
    ...     model(torch.ones(2, 4)).square().sum().backward()
    ...     optimizer.step()
    >>> data = monitor.to_dataset()
    >>> data.sizes["step"], data.parameter.values.tolist()
    (3, ['0.weight', '0.weight', '0.weight', '2.weight'])
    >>> list(monitor.to_dataframe().columns)
    ['step', 'parameter', 'block', 'scale', 'direction_norm', 'angle', 'effective_rate']
    """

    def __init__(
        self,
        optimizer_or_model: Any,
        every: int = 1,
        *,
        optimizer: Any = None,
        features: Any = None,
        names: Any = None,
        follow: bool = True,
    ) -> None:
        self.every = validate.integer("every", every, minimum=1)
        optimizer_or_model, optimizer = _inside(optimizer_or_model), _inside(optimizer)
        if isinstance(optimizer_or_model, ScaleDirectionOptimizer):
            self._looks = _of_optimizer(optimizer_or_model, names)
            optimizer = optimizer_or_model
        elif isinstance(optimizer_or_model, torch.nn.Module):
            self._looks = _of_model(optimizer_or_model, optimizer)
        else:
            raise TypeError(
                "optimizer_or_model must be RPGD, WeightNormSGD or a model, got "
                f"{type(optimizer_or_model).__name__}; for another optimiser give its model, and "
                "optimizer=…"
            )
        if not self._looks:
            raise ValueError(
                "optimizer_or_model has no weight in scale × direction coordinates; see scale_norm"
            )
        self._watched, self._groups = optimizer, len(getattr(optimizer, "param_groups", ()))
        self._spaces = _row_spaces(features, self._looks)
        self._starts: dict[str, Any] = {}
        self._before: dict[str, Any] = {}
        self._counts: dict[str, int] = {}  # blocks of each weight
        self.num_steps = 0
        self._steps: list[int] = []
        self._records: list[dict[str, Any]] = []
        self._record()
        self._prepare()
        self._handle = None
        if optimizer is not None and follow:
            # a compiled step calls it between its graphs: nothing of it is to be traced
            count = torch.compiler.disable(self.step)
            self._handle = optimizer.register_step_post_hook(lambda *_: count())

    def step(self) -> None:
        """Count a step, and record if it is due; called by itself where there is an optimiser."""
        if not self._looks:
            raise RuntimeError(
                "this Monitor was copied or loaded: it has what was recorded, and watches nothing; "
                "make a new one to go on"
            )
        self.num_steps += 1
        if self.num_steps % self.every == 0:
            self._record()
        self._prepare()

    def remove(self) -> None:
        """Stop following the optimiser; what was recorded stays."""
        if self._handle is not None:
            self._handle.remove()
            self._handle = None

    def __getstate__(self) -> dict[str, Any]:
        """What was recorded; what is watched, and the hook on it, stay where they are."""
        return self.__dict__ | {"_looks": {}, "_watched": None, "_handle": None, "_before": {}}

    def _prepare(self) -> None:
        """Keep the directions before a step that will be recorded."""
        if (self.num_steps + 1) % self.every == 0:
            self._before = {
                name: _plain(look().direction).clone() for name, look in self._looks.items()
            }

    def _record(self) -> None:
        if len(getattr(self._watched, "param_groups", ())) != self._groups:
            self._groups = len(self._watched.param_groups)
            warnings.warn(
                "groups were added to the optimiser: a Monitor made now would see them, this one "
                "does not",
                stacklevel=2,
            )
        found = {name: self._of_one(name, look()) for name, look in self._looks.items()}
        self._counts = {name: part["scale"].size for name, part in found.items()}
        parts = list(found.values())
        self._records.append({key: np.concatenate([p[key] for p in parts]) for key in parts[0]})
        self._steps.append(self.num_steps)
        self._before = {}

    def _of_one(self, name: str, seen: Seen) -> dict[str, Any]:
        w = _plain(seen.direction)
        g = _flat(seen.scale)
        n = _flat(block_norm(w, seen.axes) if seen.norm is None else seen.norm)
        first = self._starts.setdefault(name, n if seen.norm is not None else np.ones_like(n))
        angle = np.full_like(g, np.nan)
        if name in self._before:
            angle = _angle(self._before[name], w, seen.axes)
        found = {
            "scale": g,
            "direction_norm": n if seen.norm is not None else np.ones_like(n),
            "angle": angle,
            "effective_rate": seen.lr / (n * n if seen.norm is not None else np.ones_like(n)),
        }
        if self._spaces:
            perp = np.full_like(g, np.nan)
            if name in self._spaces:
                rows = w.numpy() / n[:, None]
                _, off = self._spaces[name].split(rows)
                perp = np.linalg.norm(off, axis=1)
            with np.errstate(invalid="ignore"):
                kept = invariant(perp, g, seen.ratio * first**2)
            found |= {"perp_norm": perp, "invariant": kept}
        return found

    def to_dataset(self) -> xarray.Dataset:
        """Everything recorded, over `step` and `block`, with the parameter of each block.

        Returns
        -------
        xarray.Dataset
        """
        import xarray

        counts = self._counts
        return xarray.Dataset(
            {
                key: (
                    ("step", "block"),
                    np.array([record[key] for record in self._records]),
                    {"long_name": ABOUT[key]},
                )
                for key in self._records[0]
            },
            {
                "step": np.array(self._steps),
                "parameter": ("block", np.repeat(list(counts), list(counts.values()))),
                "index": ("block", np.concatenate([np.arange(n) for n in counts.values()])),
            },
            {"every": self.every},
        )

    def to_dataframe(self) -> pandas.DataFrame:
        """The same as a frame: one row per step and block.

        Returns
        -------
        pandas.DataFrame
        """
        frame = self.to_dataset().to_dataframe().reset_index()
        columns = ["step", "parameter", "index", *self._records[0]]
        return frame[columns].rename(columns={"index": "block"})

    def plot(self, ax: Any = None) -> Any:
        """Draw every recorded number against the step: the median of a weight's blocks, and all.

        Parameters
        ----------
        ax : array of matplotlib axes, optional
            One for each number; a new figure by default.

        Returns
        -------
        array of matplotlib axes
        """
        from ..plot.style import clean, new_axes

        data = self.to_dataset()
        keys = [str(key) for key in data.data_vars]
        axes = np.asarray(new_axes(ax, rows=len(keys), size=(7.0, 2.0 * len(keys))))
        if axes.size != len(keys):
            raise ValueError(f"ax must be {len(keys)} axes, one for each number, got {axes.size}")
        names = list(dict.fromkeys(data.parameter.values.tolist()))
        for panel, key in zip(axes.flat, keys, strict=True):
            for place, name in enumerate(names):
                values = data[key].values[:, data.parameter.values == name]
                shown = np.isfinite(values).any(axis=1)
                if not shown.any():
                    continue
                x, y, colour = data.step.values[shown], values[shown], f"C{place % 10}"
                panel.plot(x, np.nanmedian(y, axis=1), color=colour, label=name)
                low, high = np.nanmin(y, axis=1), np.nanmax(y, axis=1)
                panel.fill_between(x, low, high, color=colour, alpha=0.2, linewidth=0)
            panel.set_ylabel(key.replace("_", " "))
            clean(panel)
        axes.flat[0].legend(frameon=False, fontsize=8)
        axes.flat[-1].set_xlabel("step")
        return axes


def _of_optimizer(optimizer: Any, names: Any) -> dict[str, Callable[[], Seen]]:
    """How to look at each weight of RPGD or WeightNormSGD, by name."""
    known = {} if names is None else {id(p): name for name, p in names.named_parameters()}
    looks: dict[str, Callable[[], Seen]] = {}
    for i, group in enumerate(optimizer.param_groups):
        own = group.get("param_names", [f"{i}.{j}" for j in range(len(group["params"]))])
        for p, name in zip(group["params"], own, strict=True):
            if optimizer.in_blocks(group, p):
                looks[known.get(id(p), name)] = _look(optimizer, i, p)
    return looks


def _look(optimizer: Any, index: int, p: Any) -> Callable[[], Seen]:
    def look() -> Seen:
        group, state = optimizer.param_groups[index], optimizer.state.get(p, {})
        axes = layout(p.shape, group["dim"]).axes
        lr, ratio = float(group["lr"]), float(group["scale_ratio"])
        if "direction" in state:
            norm = state.get("direction_norm")
            return Seen(state["scale"], state["direction"], norm, axes, lr, ratio)
        size = block_norm(p.detach(), axes)  # before the first step
        return Seen(size, p.detach(), None if optimizer.normalises else size, axes, lr, ratio)

    return look


def _inside(wrapper: Any) -> Any:
    """The optimiser that a wrapper steps; anything else as it is."""
    while not isinstance(wrapper, torch.nn.Module):
        if not isinstance(getattr(wrapper, "optimizer", None), torch.optim.Optimizer):
            break
        wrapper = wrapper.optimizer
    return wrapper


def _of_model(model: Any, optimizer: Any) -> dict[str, Callable[[], Seen]]:
    """How to look at each weight of a model with g and v of its own, by name."""

    def look_at(g: Any, v: Any, dim: Any) -> Callable[[], Seen]:
        def look() -> Seen:
            axes = spanned(v.shape, dim)
            rates = [_lr_of(optimizer, each) for each in (v, g)]
            ratio = rates[1] / rates[0] if rates[0] else float("nan")
            wide = _plain(v)
            return Seen(g.detach(), wide, block_norm(wide, axes), axes, rates[0], ratio)

        return look

    return {name: look_at(*found) for name, found in pairs(model).items()}


def _lr_of(optimizer: Any, p: Any) -> float:
    """The learning rate of a parameter; NaN where nobody says."""
    for group in optimizer.param_groups if optimizer is not None else ():
        if any(each is p for each in group["params"]):
            return float(group["lr"])
    return float("nan")


def _row_spaces(features: Any, looks: Mapping[str, Callable[[], Seen]]) -> dict[str, Any]:
    """The factorisation of the features of each layer that has some."""
    if features is None:
        return {}
    if not isinstance(features, Mapping):
        if len(looks) != 1:
            raise ValueError(
                f"features must be a mapping of weight name to array, for some of {list(looks)}"
            )
        features = dict.fromkeys(looks, features)
    spaces = {}
    for name, each in features.items():
        if name not in looks:
            raise ValueError(f"features has {name!r}, which is none of {list(looks)}")
        X = validate.array("features", _numpy(each), ndim=2)
        seen = looks[name]()
        if seen.direction.ndim != 2 or seen.axes != (1,) or seen.direction.shape[1] != X.shape[1]:
            raise ValueError(
                f"features[{name!r}] has shape {X.shape}, which fits no linear layer with one "
                f"scale per row and a weight of shape {tuple(seen.direction.shape)}"
            )
        spaces[name] = LeastSquares(X, np.zeros(len(X))).factorisation
    return spaces


def _angle(before: Any, now: Any, axes: tuple[int, ...]) -> Any:
    """The angle between directions, exact for small ones too."""
    one, other = (t / block_norm(t, axes).clamp(min=1e-300) for t in (before, now))
    return 2.0 * np.arctan2(
        _flat(block_norm(one - other, axes)), _flat(block_norm(one + other, axes))
    )


def _plain(tensor: Any) -> Any:
    """A float64 copy on the CPU, of all of it."""
    tensor = tensor.detach()
    return (tensor.full_tensor() if is_distributed(tensor) else tensor).to("cpu", torch.float64)


def _flat(tensor: Any) -> Any:
    return np.atleast_1d(_plain(tensor).numpy().ravel().copy())


def _numpy(value: Any) -> Any:
    """An array of a tensor or of what NumPy takes."""
    return _plain(value).numpy() if isinstance(value, torch.Tensor) else value
