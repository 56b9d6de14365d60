"""Training a classifier: the one loop, with steps that follow the scale at a fixed ratio."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.numeric import TINY, Array
from ..engine.batch import Start
from ..engine.loop import Policy, loop, quietly
from ..engine.start import check_scale, start
from ..engine.stopping import StationarityTest
from ..methods import Method
from ..methods.state import State
from ..problems.linear.logits import Logits
from ..runs.result import Status
from .base import SMALLER, FitOptions
from .rules import make_rule

SAFETY = 1.5  # over the curvature where a slice of steps starts
SLICE = 50  # steps after which progress is judged and the steps are chosen anew
SMALLEST_DAMPING = 1e-12  # steps this much smaller than what should be stable will not help either


@dataclass(frozen=True)
class Trained:
    """Where training ended: weights (rank + 1, K) in reduced coordinates, scales (K,)."""

    weights: Array
    scale: Array
    num_steps: int
    status: str
    message: str


@quietly
def train(
    problem: Logits,
    scale: Array,
    directions: Array,
    natural: float,
    options: FitOptions,
    direction_step: Any,
    scale_step: Any,
) -> Trained:
    """Train from x_k = scale_k·direction_k until the gradient is `tol` of its terms, or the mean
    loss at most `tol`; c = ratio·max(g², natural), anew every SLICE steps.
    """
    norms = np.linalg.norm(directions, axis=0)
    unit = (directions / np.where(norms > 0, norms, 1.0))[None]
    chosen = (direction_step, scale_step)
    under_way = ClassifierTraining(problem, scale, unit, natural, options, chosen)
    while under_way.goes_on:
        under_way.make_slice()
    return under_way.end()


class ClassifierTraining:
    """A training under way: where it is, and how small its steps must be.

    Parameters
    ----------
    problem : Logits
    scale : (K,) array
    unit : (1, rank + 1, K) array
        The unit directions of the start.
    natural : float
        A squared scale that stands for small ones in c.
    options : FitOptions
    steps : pair
        direction_step and scale_step, or None for each that is to be stable.
    """

    def __init__(
        self,
        problem: Logits,
        scale: Array,
        unit: Array,
        natural: float,
        options: FitOptions,
        steps: tuple[Any, Any],
    ) -> None:
        self.problem, self.options, self.natural, self.steps = problem, options, natural, steps
        self.first_scale, self.unit = scale, unit
        self.chosen = any(step is not None for step in steps)
        self.stop_loss = max(options.tol * problem.total_weight, TINY)
        self.state: State | None = None  # None until a step has been made
        self.divergence_loss: Array | None = None
        self.done, self.loss, self.damping = 0, np.inf, 1.0
        self.status = Status.MAX_STEPS
        self._look()  # a start that no step leaves is not a minimum unless its gradient vanishes

    @property
    def goes_on(self) -> bool:
        """Whether there is more to do."""
        more = self.done < self.options.max_iter and self.damping > SMALLEST_DAMPING
        return more and self.status is Status.MAX_STEPS

    @property
    def weights(self) -> Array:
        """The weights (rank + 1, K)."""
        if self.state is None:
            return np.asarray(self.first_scale * self.unit[0])
        vector = self.state.vector[0]
        if self.options.method == "gd":
            return np.asarray(vector)
        return np.asarray(self.state.scale[0] * vector / np.linalg.norm(vector, axis=0))

    @property
    def scale(self) -> Array:
        """The scale of every class (K,)."""
        if self.state is None:
            return self.first_scale
        if self.options.method == "gd":
            return np.asarray(np.linalg.norm(self.state.vector[0], axis=0))
        return np.asarray(self.state.scale[0])

    def make_slice(self) -> None:
        """Make some steps, or none if they raise the loss: then the next are smaller."""
        rule, problem = self._rule(), self.problem
        if self.state is None:
            state = rule.init(self.first_scale[None].copy(), self.unit)
            check_scale(rule, problem, state.scale)
        else:
            state = self.state
        clock = self.done if self.chosen else 0
        runs = start(
            rule,
            problem,
            Start(state.scale, self.unit, clock, state, self.divergence_loss),
            self.stop_loss,
        )
        self.divergence_loss, before = runs.divergence_loss, float(runs.loss[0])
        # short slices first: from a small scale a few steps change everything
        count = min(SLICE, max(1, self.done), self.options.max_iter - self.done)
        code = loop(runs, Policy(self.stop_loss, count, StationarityTest()))[0]
        self.done += int(runs.ended_at[0]) - clock
        loss = float(runs.loss[0])
        if not self.chosen and not loss <= before:
            # too far: from the same place again, with smaller steps
            self.state, self.loss, self.damping = state, before, 0.25 * self.damping
            return
        self.status = list(Status)[int(code)]
        self.state, self.loss, self.damping = runs.state(), loss, min(1.0, 2.0 * self.damping)
        if not np.isfinite(loss):
            self.status = Status.DIVERGED
        if self.status is not Status.DIVERGED:
            self._look()

    def _rule(self) -> Method:
        """The method with the steps of the next slice: as the loss falls so does the curvature,
        and the steps may grow.
        """
        kind, ratio, _, _ = self.options
        largest = float(np.abs(self.scale).max())
        local = SAFETY * self.problem.local_curvature(self.weights)
        curvature = min(self.problem.smoothness, local) / self.damping
        c = ratio * max(largest**2, self.natural)
        return make_rule(kind, curvature, c, largest, self.steps, blocks="columns")

    def _look(self) -> None:
        """Look whether the gradient is small enough."""
        self.optimality = self.problem.optimality(self.weights)
        if self.optimality <= self.options.tol:
            self.status = Status.CONVERGED

    def end(self) -> Trained:
        """Where it has got to, and what there is to say of that."""
        weights, scale = self.weights, self.scale
        finite = np.isfinite(weights).all() and np.isfinite(scale).all()
        if not finite or self.status is Status.DIVERGED:
            raise ValueError(f"training diverged after {self.done} steps; {SMALLER}")
        total = self.problem.zero_loss if self.state is None else self.loss
        mean = total / self.problem.total_weight
        text = f"made {self.done} steps; the mean loss is {mean:.6g}, "
        text += f"the relative gradient {self.optimality:.2g}"
        if self.damping <= SMALLEST_DAMPING:
            text += "; no step lowers the loss any more, however small"
        if self.status is not Status.CONVERGED:
            asked = f"tol = {self.options.tol:g} was asked for"
            text += f"; {asked}: raise max_iter, or use method='limit'"
        return Trained(weights, scale, self.done, self.status.value, text)
