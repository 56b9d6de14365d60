"""Calls with an answer that plain NumPy gives too, and the comparisons with it."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from tests.fuzz.values import NAMES, Values
from tests.support import reference

SHAPES = ((1, 3), (3, 7), (4, 4), (6, 3), (2, 9), (1, 1))


def _problem(v: Values) -> tuple[str, str, int]:
    """A matrix of norm about 1, targets, and the number of features; nothing hostile."""
    v.hostility = 0.0
    m, d = v.pick(SHAPES)
    A = v.bind(f"normal({int(v.rng.integers(1000))}, {m}, {d}) / {m**0.5 + d**0.5:.3f}")
    inside = f"{A} @ normal({int(v.rng.integers(1000))}, {d})"
    return A, v.bind(inside if v.chance(0.7) else f"normal({int(v.rng.integers(1000))}, {m})"), d


def _linear(v: Values, A: str, y: str) -> str:
    """The same problem in one of its forms."""
    return v.pick((
        f"wn.LeastSquares({A}, {y})", f"wn.LeastSquares({A}, {y})",
        f"wn.LeastSquares(sparse.csr_array({A}), {y})", f"wn.LeastSquares(operator({A}), {y})",
        f"wn.GeneralizedLinear({A}, {y}, 'squared')",
    ))  # fmt: skip


def _rule(v: Values) -> tuple[str, str]:
    """A method, and what the twin needs to know of it: kind, steps and the norm of w0."""
    kind, eta, gamma = (
        v.pick(("gd", "wn", "rpgd")),
        v.pick(("0.1", "0.05", "0.3")),
        v.pick(("0.1", "0.02")),
    )
    norm = v.pick(("1.0", "2.0")) if kind == "wn" else "1.0"
    text = {
        "gd": f"wn.GradientDescent({eta})",
        "wn": f"wn.WeightNorm({eta}, {gamma}, initial_norm={norm})",
        "rpgd": f"wn.RPGD({eta}, {gamma})",
    }[kind]
    return text, f"({kind!r}, {eta}, {gamma}, {norm})"


def run_twin(v: Values) -> str:
    A, y, d = _problem(v)
    rule, known = _rule(v)
    scale, w = v.pick(("1.0", "0.3", "-0.7")), v.bind(f"normal({int(v.rng.integers(1000))}, {d})")
    v.twin = f"same_run(result, {known}, {A}, {y}, {scale}, {w})"
    where = v.pick(("", ", coordinates='full'", ", record=7"))
    return f"wn.run({rule}, {_linear(v, A, y)}, {scale}, {w}, tolerance=1e-9, max_steps=40{where})"


def sweep_twin(v: Values) -> str:
    A, y, d = _problem(v)
    (rule, known), (other, also) = _rule(v), _rule(v)
    starts = v.bind(f"normal({int(v.rng.integers(1000))}, {int(v.rng.integers(1, 11))}, {d})")
    v.twin = f"same_sweep(result, [{known}, {also}], {A}, {y}, [1.0, -0.4], {starts})"
    methods = f"{{'a': {rule}, 'b': {other}}}"
    return (
        f"wn.sweep({_linear(v, A, y)}, {methods}, [1.0, -0.4], {starts}, tolerance=0, "
        "max_steps=15, threads=1)"
    )


def sensing_twin(v: Values) -> str:
    v.hostility = 0.0
    m, d = v.pick(((3, 2), (6, 3), (5, 4)))
    A, r = v.bind(f"normal({int(v.rng.integers(1000))}, {m}, {d}, {d})"), v.pick((1, 2))
    y, W = v.bind(f"normal(1, {m})"), v.bind(f"normal({int(v.rng.integers(1000))}, {d}, {r})")
    kind = v.pick(("gd", "wn", "rpgd", "wn-columns", "rpgd-columns"))
    rule = {"gd": "GradientDescent(0.01", "wn": "WeightNorm(0.01, 0.02", "rpgd": "RPGD(0.01, 0.02"}[
        kind.split("-")[0]
    ]
    blocks = ", blocks='columns'" if kind.endswith("columns") else ""
    v.twin = f"same_sensing(result, {kind!r}, {A}, {y}, 0.5, {W})"
    where = v.pick(("", ", coordinates='full'"))
    return (
        f"wn.run(wn.{rule}{blocks}), wn.MatrixSensing({A}, {y}), 0.5, {W}, tolerance=0, "
        f"max_steps=12{where})"
    )


def flow_twin(v: Values) -> str:
    A, y, d = _problem(v)
    w = v.bind(f"normal({int(v.rng.integers(1000))}, {d})")
    v.twin = f"same_gradient_flow(result, {A}, {y}, 0.7, {w}, 1.5)"
    return f"wn.gradient_flow(wn.LeastSquares({A}, {y}), 0.7, {w}, [0.0, 1.5]).final_weights"


def same(a, b, tolerance=1e-8):
    """Whether two arrays agree, relative to the larger of 1 and their size."""
    a, b = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    return a.shape == b.shape and bool(
        (np.abs(a - b) <= tolerance * (1.0 + np.abs(b).max(initial=0.0))).all()
    )


def _twin(known, A, y, scale, w, steps):
    """The twin's end; None where its steps are too large for rounding to stay small."""
    kind, eta, gamma, norm = known
    twin = reference.reference_run(
        kind, A, y, scale, w, lambda t, g, n: (eta, gamma), max_steps=steps, initial_norm=norm
    )
    curvature = max(1.0, scale**2, twin["scale"] ** 2) * float(np.linalg.norm(A, 2)) ** 2
    return twin if max(eta, gamma) * curvature < 1.0 else None


def same_run(result, known, A, y, scale, w):
    twin = _twin(known, A, y, scale, w, result.num_steps)
    return (
        None
        if twin is None
        else same(result.weights, twin["weights"]) and same(result.loss, twin["loss"])
    )


def same_sweep(data, methods, A, y, scales, starts):
    answers = []
    for i, known in enumerate(methods):
        for j, w in enumerate(starts):
            for k, scale in enumerate(scales):
                twin = _twin(known, A, y, scale, w, 15)
                if twin is not None:
                    norm = np.linalg.norm(twin["weights"])
                    answers.append(
                        same(data.norm.values[i, j, k], norm)
                        and same(data.loss.values[i, j, k], twin["loss"])
                    )
    return all(answers) if answers else None


def same_sensing(result, kind, A, y, scale, W):
    X, _ = reference.reference_sensing(kind, A, y, scale, W, lambda t, g, n: (0.01, 0.02), 12)
    return same(result.weights, X)


def same_gradient_flow(weights, A, y, scale, w, time):
    """x* + exp(−AᵀA t)(x0 − x*), which keeps what A does not see."""
    best, start = np.linalg.pinv(A) @ y, scale * w / np.linalg.norm(w)
    return same(weights, best + scipy.linalg.expm(-time * A.T @ A) @ (start - best), 1e-6)


for function in (same, same_run, same_sweep, same_sensing, same_gradient_flow):
    NAMES[function.__name__] = function
