"""Runs on matrix sensing: from a method and a start to runs, and from their end to a Result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .. import _validate
from .._resume import Deferred, Resume
from .._validate import Matrix
from ..loops.drive import divergence_limit
from ..loops.plain import PlainRuns
from ..loops.recording import Recorder
from ..loops.sensing import SensingRuns
from ..loops.watch import Watch
from ..methods.base import Array, Method, State, block_norm, expand
from ..methods.weight_norm import WeightNorm
from ..problems import MatrixSensing
from ..problems.matrix_sensing import nuclear_norm
from ..result import Result, Status
from .check import check_scale
from .own_method import private_copy


@dataclass(eq=False)
class SensingRun:
    """A run under way, and what watches it."""

    runs: SensingRuns | PlainRuns
    problem: MatrixSensing
    watch: Watch
    clock: int
    method: Method
    floor: float | None = None

    @property
    def reference(self) -> float:
        """The loss at zero weights."""
        return self.problem.zero_loss

    @property
    def state(self) -> State:
        """The exact state, so that going on equals never having stopped."""
        return self.runs.state(0) if isinstance(self.runs, SensingRuns) else self.runs.state

    def result(self, status: Status, message: str, recorder: Recorder | None) -> Result:
        """Where the run ended."""
        position = self.runs.position()
        X = self.problem.weights(position.unit, position.scale)
        columns, ended = position.scale.ndim == 2, int(self.runs.ended_at[0])
        finite = bool(np.isfinite(X).all())
        return Result(
            weights=X[0],
            scale=position.scale[0] if columns else float(position.scale[0]),
            direction=position.unit[0],
            norm=float(nuclear_norm(X)[0]),
            loss=float(self.runs.loss[0]),
            num_steps=ended - self.clock,
            status=status,
            message=message,
            history=None if recorder is None else recorder.history(),
            direction_norm=position.direction_norm[0] if columns else float(position.direction_norm[0]),
            total_steps=ended,
            _perp_norm=float(self.problem.unseen_norm(X)[0]) if finite else np.nan,
            _distance=None if finite else np.nan,
            _measure=Deferred(_measure, self.problem, (X[0], "symmetric" if columns else "psd")),
            _resume=Resume(
                method=self.method,
                problem=self.problem,
                state=self.state,
                clock=ended,
                limit=self.runs.limit,
                watch=self.watch.copy(),
                working=None if self.runs.method is self.method else self.runs.method,
            ),
        )


def begin(
    method: Method,
    problem: MatrixSensing,
    scale: Any,
    direction: Any,
    start: Result | None,
    tolerance: float,
    compiled: bool,
) -> SensingRun:
    """A run about to start, or to go on."""
    compiled = compiled and SensingRuns.can_run(method)
    clock, watch, working = 0, Watch(), private_copy(method)
    limit: Array | None = None
    if start is None:
        state = start_state(method, problem, scale, direction)
    else:
        end = start._resume
        if start.direction.ndim == 2 and end.continues(method, problem):
            state, clock, watch, limit = end.state, end.clock, end.watch.copy(), end.limit
            working = working if end.working is None else private_copy(end.working)
        else:
            state = _converted(method, problem, start)
    check_scale(method, problem, state.scale)
    if limit is None and not compiled:
        limit = divergence_limit(method.evaluate(problem, state).loss, problem.zero_loss)
    if compiled:
        runs: SensingRuns | PlainRuns = SensingRuns(problem, [method], [state], clock, tolerance, limit)
    else:
        assert limit is not None
        runs = PlainRuns(working, problem, state, clock, tolerance, limit)
    return SensingRun(runs, problem, watch, clock, method)


def start_state(method: Method, problem: MatrixSensing, scale: Any, direction: Any, name: str = "direction") -> State:
    """The state of one run that starts at this scale and direction."""
    W = _validate.array(name, direction, ndim=2)
    if W.shape[0] != problem.shape[1]:
        raise ValueError(f"{name} must have {problem.shape[1]} rows, the size of X, got shape {W.shape}")
    columns = getattr(method, "blocks", "all") == "columns"
    if columns and not W.any(axis=0).all():
        column = int(np.argmin(W.any(axis=0)))
        raise ValueError(f"{name} has a zero column, number {column}: blocks='columns' needs a direction in each")
    if not W.any():
        raise ValueError(f"{name} is zero: a direction needs a nonzero matrix, for instance wn.datasets.sensing_start")
    if columns and _validate.numbers("scale", scale).ndim == 1:
        g = _validate.array("scale", scale, ndim=1)[None]
        if g.shape[1] != W.shape[1]:
            raise ValueError(f"scale must be a number or have {W.shape[1]} entries, one per column, got {g.shape[1]}")
    else:
        value = _validate.real("scale", scale)
        g = np.full((1, W.shape[1]), value) if columns else np.array([value])
    W = W / np.abs(W).max(axis=0 if columns else None)  # first, so that neither tiny nor huge entries lose their squares
    unit = W[None] / expand(block_norm(W[None], g), W[None])
    return method.init(_amplitude(method, g), unit)


def _amplitude(method: Method, scale: Array) -> Array:
    """Gradient descent trains U with X = U Uᵀ, so it starts at √scale·W0."""
    if method.has_scale:
        return scale
    if (scale < 0).any():
        raise ValueError(f"scale must be at least 0 for {method.name} on matrix sensing, since X = U Uᵀ, got {scale[0]:g}")
    return np.sqrt(scale)


def _converted(method: Method, problem: MatrixSensing, start: Result) -> State:
    """The state of another method at the same weights X."""
    d = problem.shape[1]
    if start.weights.shape != (d, d) or start.direction.ndim != 2:
        raise ValueError(f"start has weights of shape {start.weights.shape}, the problem has ({d}, {d})")
    if not (np.isfinite(start.weights).all() and np.isfinite(start.direction).all()):
        raise ValueError("start has weights that are not finite (it diverged); start from an earlier result")
    W, g = start.direction, np.asarray(start.scale)
    columns, has_columns = getattr(method, "blocks", "all") == "columns", g.ndim == 1
    if not columns and has_columns:  # X = Σ_j D_j w_j w_jᵀ = ± V Vᵀ with V = W |D|^½
        sign = -1.0 if (g < 0).any() else 1.0
        if (sign * g < 0).any():
            raise ValueError(
                f"start has scales of both signs, so its weights are no multiple of a W Wᵀ; {method.name} cannot go on"
            )
        W, g = W * np.sqrt(np.abs(g)) if g.any() else W, np.asarray(sign * np.abs(g).sum())
    elif columns and not has_columns:
        lengths = np.linalg.norm(W, axis=0)
        g = g * lengths**2
        W = np.where(lengths > 0, W, 1.0)
    if not W.any():
        raise ValueError("start has zero weights, so no direction to go on with; give scale and direction")
    state = start_state(method, problem, g if columns else float(g), W)
    if isinstance(method, WeightNorm) and columns == has_columns:  # WN going on from WN keeps ‖w‖
        norm = np.atleast_1d(start.direction_norm)[None] if columns else np.array([start.direction_norm])
        if (norm != 1.0).any():
            state = State(state.vector * expand(norm / method.initial_norm, state.vector), state.scale)
    return state


def _measure(problem: MatrixSensing, X: Matrix, over: str) -> tuple[float, float]:
    """‖X⊥‖_F, and the distance to the solution of smallest nuclear norm."""
    if over == "psd" and np.trace(X) < 0:  # a negative scale: the mirror image of the problem
        best = -MatrixSensing(problem.sensors, -problem.y).min_nuclear_norm(over).matrix
    else:
        best = problem.min_nuclear_norm(over).matrix
    return float(problem.unseen_norm(X[None])[0]), float(np.linalg.norm(X - best))
