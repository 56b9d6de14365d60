"""Figure 5: matrix sensing with searched steps, as in the paper, and refined ones, beyond it."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightnorm._support.numeric import Array
from weightnorm.plot.style import SHORT
from weightnorm.problems.sensing.matrix_sensing import RECOVERY, VARIABLES
from weightnorm.runs.dataset import Axis, label_runs
from weightnorm.runs.result import Status

from .runs import FigureResult, Finding, Settings
from .search import PHASES, REFERENCES, Key, Searched, search_all

CLOSE = 0.05  # within 5 % of the reference counts as close


def excess(searched: Searched, norms: dict[Key, Array], phase: str, name: str) -> Any:
    """How far the norms are from their reference, relatively: the mean over seeds, by alpha."""
    reference = searched.references[REFERENCES[name]][:, None]
    return np.abs(_of(norms, phase, name) / reference - 1.0).mean(axis=0)


def reach(searched: Searched, norms: dict[Key, Array], phase: str, name: str) -> tuple[int, int]:
    """At how many alphas a method ends close to its reference, of how many tried."""
    tried = _of(searched.tried, phase, name)[0]
    return int((excess(searched, norms, phase, name) <= CLOSE).sum()), int(tried.sum())


def _of(values: dict[Key, Any], phase: str, name: str) -> Any:
    """The values of a method; gradient descent, which has no phases, has those of equal steps."""
    return values[(phase if (phase, name) in values else "equal", name)]


def panel_data(searched: Searched, norms: dict[Key, Array], phases: tuple[str, ...]) -> Any:
    """Every search as a run over (phase, algorithm, scale, seed), with the certified minima.

    `step` is the first step that converges, `loss` the loss there and `num_steps` the steps of the
    whole search; a start that was not tried has the status "undefined".
    """

    def grid(values: dict[Key, Any]) -> Any:
        return np.array([[_of(values, p, n).T for n in REFERENCES] for p in phases])

    tried, found = grid(searched.tried), np.isfinite(grid(searched.step))
    codes = np.where(found, Status.CONVERGED.code, Status.MAX_STEPS.code)
    status = np.where(tried, codes, Status.UNDEFINED.code).astype(np.int8)
    num_steps = np.nan_to_num(grid(searched.num_steps_of)).astype(np.int64)
    arrays = {"norm": grid(norms), "loss": grid(searched.loss), "status": status}
    arrays |= {"num_steps": num_steps, "found_step": grid(searched.step)}
    arrays["recovery_error"] = grid(searched.error)
    minimum = np.array([searched.references[over] for over in REFERENCES.values()])
    about = {**VARIABLES, **RECOVERY, "found_step": "the first step that converges"}
    data = label_runs(
        arrays,
        about,
        [
            Axis("phase", list(phases)),
            Axis("algorithm", list(REFERENCES)),
            Axis("scale", searched.alphas**2),
            Axis("seed", range(searched.truth.size)),
        ],
        {
            "alpha": (("scale",), searched.alphas),
            "minimum_norm": (("algorithm", "seed"), minimum),
            "psd_minimum": (("seed",), searched.references["psd"]),
            "symmetric_minimum": (("seed",), searched.references["symmetric"]),
            "true_norm": (("seed",), searched.truth),
        },
        {"tolerance": 1e-6, "problem": searched.size},
    )
    share = data.norm / data.psd_minimum
    data["share"] = share.assign_attrs(long_name="norm over the minimum of the same seed, X ⪰ 0")
    data["share_mean"] = share.mean("seed").assign_attrs(long_name="mean of share over seeds")
    data["share_spread"] = share.std("seed").assign_attrs(
        long_name="standard deviation of share over seeds"
    )
    return data.isel(phase=0) if len(phases) == 1 else data


def figure_5_left(settings: Settings) -> FigureResult:
    """Equal steps, the first that converges."""
    searched = search_all(settings)
    counts = {name: reach(searched, searched.first, "equal", name) for name in REFERENCES}
    small = searched.alphas <= 0.1
    off = {
        name: float(excess(searched, searched.first, "equal", name)[small].max())
        for name in ("gd", "wn")
    }
    findings = (
        Finding(
            "figure-5-range",
            "WN and rPGD end close to the minimum nuclear norm for a broader range of starts than "
            "GD",
            f"{searched.size}; starts with a mean norm within {CLOSE:.0%} of the certified "
            f"minimum, of those tried, at the first step that converges: {_listed(counts)}; "
            f"{_unfound(searched)} searches found no step",
            min(_share(counts["wn"]), _share(counts["rpgd"])) > _share(counts["gd"]),
        ),
        Finding(
            "figure-5-overlap",
            "GD, WN and the minimum overlap for α < 0.1",
            f"for α ≤ 0.1 they are above it by up to {off['gd']:.0%} (GD) and {off['wn']:.0%} (WN)",
            max(off.values()) < 0.01,
        ),
    )
    return FigureResult(
        panel_data(searched, searched.first, ("equal",)), findings, searched.truth.size
    )


def figure_5_right(settings: Settings) -> FigureResult:
    """Two phases, the first step that converges."""
    searched = search_all(settings)
    names = [name for name in REFERENCES if name != "gd"]
    before = {name: reach(searched, searched.first, "equal", name) for name in names}
    after = {name: reach(searched, searched.first, "two_phase", name) for name in names}
    finding = Finding(
        "figure-5-two-phase",
        "two phases end close to the minimum for a wider range of starts",
        f"starts within {CLOSE:.0%}, equal steps → two phases: "
        + ", ".join(
            f"{SHORT[name]} {before[name][0]} → {after[name][0]} of {after[name][1]}"
            for name in names
        ),
        all(after[name] >= before[name] for name in names)
        and any(after[name] > before[name] for name in names),
    )
    return FigureResult(
        panel_data(searched, searched.first, ("two_phase",)), (finding,), searched.truth.size
    )


def figure_5_refined(settings: Settings) -> FigureResult:
    """The same with the step halved four times more, and the recovery error."""
    searched = search_all(settings)
    tried = searched.tried["equal", "rpgd"]
    below = (searched.alphas[None, :] ** 2 < searched.references["psd"][:, None]) & tried
    above = ~below & tried
    off = {
        phase: np.abs(searched.refined[(phase, "rpgd")] / searched.references["psd"][:, None] - 1)
        for phase in PHASES
    }
    # NaN if one of them did not converge
    near = float(np.max([values[below].max() for values in off.values()]))
    beyond = float(np.max([values[above].max(initial=0.0) for values in off.values()]))
    moved = {
        n: float(np.nanmax(np.abs(searched.refined["equal", n] / searched.first["equal", n] - 1)))
        for n in ("gd", "wn")
    }
    finding = Finding(
        "figure-5-refined",
        "(beyond the paper) small steps take one-scale rPGD to the minimum from every start below "
        "it",
        f"from starts with α² below the certified minimum rPGD ends within {near:.1g} of it, "
        f"relatively, at steps near {np.nanmedian(searched.step['equal', 'rpgd']):.1g}"
        + (f"; from above, up to {beyond:.0%} off" if above.any() else "")
        + f". Refining the searched step moves GD by up to {moved['gd']:.0%} "
        f"and WN by up to {moved['wn']:.0%}",
        near < 1e-3,
    )
    data = panel_data(searched, searched.refined, tuple(PHASES))
    return FigureResult(data, (finding,), searched.truth.size)


def _unfound(searched: Searched) -> str:
    tried = sum(int(values.sum()) for values in searched.tried.values())
    found = sum(int(np.isfinite(values).sum()) for values in searched.step.values())
    return f"{tried - found} of {tried}"


def _listed(counts: dict[str, tuple[int, int]]) -> str:
    return ", ".join(f"{SHORT[name]} {close} of {tried}" for name, (close, tried) in counts.items())


def _share(count: tuple[int, int]) -> float:
    return count[0] / count[1]
