"""The keys of a sweep file, written down from the models that check it."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic_core import PydanticUndefined

from ..methods import GradientMethod
from ..methods.registry import REGISTRY, Entry
from .config import Range, Starts, SweepConfig
from .methods import SPECS, STEP_KINDS
from .problems import KINDS, START_SEEDS

# what differs from Python: a file has no functions, and names a seed
_STEP = 'a number, `"step"` or a schedule'
IN_A_FILE = {
    "step": f"η, the step: {_STEP}",
    "direction_step": f"η, the step of the direction w: {_STEP}",
    "scale_step": f"γ, the step of the scale g: {_STEP}",
    "blocks": '"all", one scale, or "columns", one for each column (matrix sensing only)',
    "seed": "needed with batch_size or label_noise; the draws depend on it and on t alone",
}
SCHEDULES = {
    "constant": "`value` at every step",
    "two_phase": "`before` for the steps t < `switch` (t counts from 0), `after` from there on",
    "piecewise": "`values[i]` from t = `switches[i − 1]` on",
    "curvature": "`factor`/(g² λmax), λmax the largest eigenvalue of AAᵀ; times ‖w‖² for wn and bn",
    "scaled": "`value` · abs(g)^`scale_power` · norm(w)^`norm_power`",
}
HEAD = f"""# The keys of a sweep file

`weightnorm sweep FILE.toml` runs every problem × seed × step × method × start × scale and writes
one labelled netCDF file; `examples/sweep.toml` is one to start from. This page is generated from
the models that check the file: `weightnorm sweep --keys` prints it, and an unknown key is an
error that names it.

- A key of `problems` that is a list becomes a dimension of that name; a single number becomes a
  coordinate. The other dimensions are `seed`, `step` (if the file has `steps`), `algorithm`,
  `start` and `scale`.
- Start i of seed s has the direction `wn.datasets.random_direction(num_features,
  {START_SEEDS} * s + i)`; the file has these numbers as `start_seed`. For matrix sensing it is
  `wn.datasets.sensing_start(size, seed=start_seed)["direction"]`.
- Runs give the variables norm, loss, num_steps, status, final_scale, perp_norm and distance; for
  matrix sensing recovery_error instead of distance.
- Work is kept in `NAME.shards`, so that an interrupted sweep goes on; shards of other code of
  weightnorm are not used. Delete that folder when the results are final. `NAME.nc` from another
  configuration is replaced only with `--overwrite`.
- On a Dask cluster, on SLURM, in several processes: the guide “On a cluster”.
- One cell again: `weightnorm.sweeps.rerun(data.sel(…))`; the attribute `recipe` of the file says
  how to do it by hand.
"""


def keys_page() -> str:
    """The page of all keys, as Markdown."""
    parts = [HEAD, _section("The file", _fields(SweepConfig))]
    for kind, model in KINDS.items():
        text = inspect.getdoc(model) or ""
        parts.append(_section(f'`[problems]` with `kind = "{kind}"`', _fields(model), text))
    parts.append(_section("`[starts]`", _fields(Starts)))
    parts.append(_section("A range of scales, `{ start = …, stop = …, num = … }`", _fields(Range)))
    for row in REGISTRY:
        title = f'`[methods.NAME]` with `kind = "{row.name}"`: {row.label}'
        parts.append(_section(title, _parameters(row)))
    rows = []
    for name, (need, optional) in STEP_KINDS.items():
        needed, extra = (", ".join(names) or "–" for names in (need, optional))
        rows.append(f"| `{name}` | {needed} | {extra} | {SCHEDULES[name]} |")
    head = "| schedule | keys | optional | the step |\n|---|---|---|---|"
    text = (
        'A step is a number, `"step"` (each of `steps` in turn, also inside a schedule), or a '
        'table, such as\n`{ schedule = "two_phase", before = 0.0, after = "step", switch = 5001 }`:'
    )
    parts.append("\n".join(["## Steps", "", text, "", head, *rows, ""]))
    return "\n".join(parts)


def _section(title: str, rows: Iterator[tuple[str, str, str]], text: str = "") -> str:
    lines = [f"## {title}", "", *([text, ""] if text else [])]
    lines += ["| key | default | meaning |", "|---|---|---|"]
    return "\n".join([*lines, *(f"| `{k}` | {d} | {m} |" for k, d, m in rows), ""])


def _fields(model: Any) -> Iterator[tuple[str, str, str]]:
    """The keys of a model: name, default, meaning."""
    for name, field in model.model_fields.items():
        default = field.default
        if default is PydanticUndefined:
            shown = "needed"
        elif default is None or not isinstance(default, int | float | str | list):
            shown = "–"
        else:
            shown = f"`{json.dumps(default)}`"
        yield name, shown, field.description or ""


def _parameters(row: Entry) -> Iterator[tuple[str, str, str]]:
    """The keys of a method, with the meaning its class gives them."""
    meanings = _documented(GradientMethod) | _documented(row.method) | IN_A_FILE
    for name, default, _ in _fields(SPECS[row.name]):
        if name != "kind":
            yield name, default, meanings.get(name, "")


def _documented(kind: type) -> dict[str, str]:
    """The parameters that a docstring describes, by name, each as one line."""
    text = inspect.getdoc(kind) or ""
    section = re.search(r"Parameters\n-+\n(.*?)(?:\n\n\w+\n-+\n|\Z)", text, re.S)
    found: dict[str, str] = {}
    names: list[str] = []
    for line in section.group(1).splitlines() if section else []:
        if line and not line.startswith(" "):
            names = [name.strip() for name in line.split(" : ")[0].split(",")]
        elif line.strip() and not line.strip().startswith("See `"):
            for name in names:
                found[name] = f"{found.get(name, '')} {line.strip()}".strip()
    return found
