"""Every method and every problem that the engine must take, ours and a user's: adding one means
adding a row.
"""

import ast
import importlib.util
import sys
from pathlib import Path

import numpy as np

import weightnorm as wn

ROOT = Path(__file__).parents[2]


SOURCE = ROOT / "src" / "weightnorm"


def example(name):
    """The classes of an example, without running what it prints."""
    path = ROOT / "examples" / f"{name}.py"
    tree = ast.parse(path.read_text(encoding="utf-8"))
    tree.body = [
        node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom | ast.ClassDef)
    ]
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader(name, None))
    sys.modules[name] = module
    exec(compile(tree, str(path), "exec"), module.__dict__)
    return module


AdaptiveRPGD = example("own_method").AdaptiveRPGD


PhaseRetrieval = example("own_problem").PhaseRetrieval


RNG = np.random.default_rng(0)


A = RNG.standard_normal((6, 14)) / np.sqrt(14)


class Quartic(wn.Problem):
    """The two things that a problem must give, and nothing else."""

    dimension = 14

    def value_and_gradient(self, x):
        return ((x - 1.0) ** 4).sum(axis=1) / 4, (x - 1.0) ** 3


class Slowing(wn.GradientDescent):
    """Two more arrays of state, one of them of integers; full coordinates."""

    def init(self, scale, direction):
        state = super().init(scale, direction)
        return state.also(
            total=np.zeros_like(state.vector), steps=np.zeros(len(scale), dtype=np.int64)
        )

    def update(self, state, evaluation, vector_step, scale_step):
        total = state["total"] + np.abs(evaluation.vector_gradient)
        step = vector_step[:, None] / (1.0 + total)
        vector = state.vector - step * evaluation.vector_gradient
        return state.moved(vector, state.scale, total=total, steps=state["steps"] + 1)


PROBLEMS = {
    "least squares": lambda: wn.LeastSquares(A, RNG.standard_normal(6)),
    "logistic": lambda: wn.GeneralizedLinear(A, [0, 1, 1, 0, 1, 0]),
    "phase retrieval": lambda: PhaseRetrieval(A, (A @ RNG.standard_normal(14)) ** 2),
    "quartic": Quartic,
}


METHODS = {
    "gd": wn.GradientDescent(0.05),
    "gd with momentum": wn.GradientDescent(0.02, momentum=0.7),
    "wn": wn.WeightNorm(0.05, 0.05, initial_norm=2.0),
    "wn with momentum": wn.WeightNorm(0.02, 0.02, momentum=0.7, nesterov=True),
    "rpgd": wn.RPGD(0.05, 0.05),
    "rpgd with momentum": wn.RPGD(0.02, 0.02, momentum=0.7),
    "wn with decay": wn.WeightNorm(0.05, 0.05, scale_decay=0.1, direction_decay=0.01, clip=2.0),
    "own, reduced": AdaptiveRPGD(0.05, 0.05),
    "own with momentum": AdaptiveRPGD(0.05, 0.05, momentum=0.6),
    "own, full": Slowing(0.1),
}


W0 = RNG.standard_normal(14)
