"""A saved state: looked at as a whole before any of it is taken over."""

from __future__ import annotations

from typing import Any

from ._blocks import layout
from ._options import check_options
from ._state import misfit

OURS = ("lr", "scale_ratio", "dim")  # what every group of ours has had since the first version


def check_saved(optimizer: Any, saved: dict[str, Any]) -> None:
    """Refuse what this optimiser cannot go on from; nothing of the optimiser is touched.

    How many groups and parameters there are is torch's to compare.
    """
    kind = type(optimizer).__name__
    for number, (group, own) in enumerate(zip(saved["param_groups"], optimizer.param_groups)):  # noqa: B905
        missing = [name for name in OURS if name not in group]
        if missing:
            raise ValueError(
                f"state_dict is not that of {kind}: its group {number} has no "
                f"{' nor '.join(missing)}. Another optimiser saved it; nothing was loaded"
            )
        options = {**optimizer.defaults, **group}
        check_options(options)
        for index, p in zip(group["params"], own["params"]):  # noqa: B905
            state = saved["state"].get(index, {})
            at = layout(p.shape, options["dim"]) if optimizer.in_blocks(options, p) else None
            wrong = misfit(p, state, at, optimizer.normalises, anywhere=True)
            if wrong:
                raise ValueError(
                    f"state_dict is not that of {kind}, or of another model: for a parameter of "
                    f"shape {tuple(p.shape)} in group {number} it has {wrong}; nothing was loaded"
                )
