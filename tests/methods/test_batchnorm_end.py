"""The end of batch norm: what a certificate promises, and when."""

import numpy as np
import pytest

import weightnorm as wn
from weightnorm import theory


def edge(problem, w, ratio):
    """The scale, opposed to the data, at which the flow of batch norm changes its side."""
    away = -np.sign(problem.y @ problem.A @ w)
    low, high = 1e-6, 50.0
    last = theory.batchnorm_limit(problem, away * high, w, ratio).scale
    for _ in range(30):
        middle = np.sqrt(low * high)
        same = theory.batchnorm_limit(problem, away * middle, w, ratio).scale * last > 0
        low, high = (low, middle) if same else (middle, high)
    return away * low


def test_a_certificate_has_the_side_of_the_run():
    """Near the edge finite steps end on either side; the end is exact on both."""
    opposed = 0
    for seed in range(8):
        problem = wn.datasets.make_regression(3, 6, condition_number=3.0, seed=seed)
        w = wn.datasets.random_direction(6, seed=seed)
        critical = edge(problem, w, 1.0)
        for away in (-0.02, -1e-3, 1e-3, 0.02):
            rule = wn.BatchNorm(0.05, 0.05)
            result = wn.run(rule, problem, critical * (1 + away), w, tolerance=1e-22)
            assert result.status == "converged"
            flow = theory.batchnorm_limit(problem, critical * (1 + away), w, 1.0)
            opposed += bool(flow.scale * result.scale < 0)
            found = wn.certificate(problem, result)
            assert found.distance <= found.predicted_error <= 1e-8
    assert opposed >= 4


def test_a_certificate_promises_no_end_while_the_norm_grows():
    """What it promises of a run that goes on is where that run ends."""
    promised = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        m = int(rng.integers(1, 6))
        problem = wn.LeastSquares(rng.normal(size=(m, m + 3)), rng.normal(size=m))
        w, rule = rng.normal(size=m + 3), wn.BatchNorm(10 ** rng.uniform(-2, 0), 0.1)
        end = wn.run(rule, problem, 1.0, w, tolerance=1e-24, max_steps=200_000)
        if end.status != "converged":
            continue
        for steps in (5, 50, end.num_steps // 2, end.num_steps - 5):
            early = wn.run(rule, problem, 1.0, w, tolerance=1e-26, max_steps=max(0, steps))
            found = wn.certificate(problem, early)
            promised.append(not np.isnan(found.predicted_error))
            if promised[-1]:
                gap = np.linalg.norm(end.weights - found.predicted.weights)
                assert gap <= found.predicted_error
            else:
                assert any("still grows" in note or "sign" in note for note in found.notes)
    assert 10 <= sum(promised) <= len(promised) - 10


def test_a_certificate_promises_no_end_with_momentum():
    """Its buffer moves w after the gradient has vanished."""
    problem = wn.datasets.make_regression(3, 6, seed=0)
    w, rule = wn.datasets.random_direction(6, seed=0), wn.BatchNorm(0.05, 0.05, momentum=0.5)
    found = wn.certificate(problem, wn.run(rule, problem, 1.0, w, tolerance=1e-22))
    assert np.isnan(found.predicted_error)
    assert any("momentum moves w on" in note for note in found.notes)


def test_a_certificate_promises_no_side_before_it_is_settled():
    problem = wn.datasets.make_regression(3, 6, condition_number=3.0, seed=0)
    w = wn.datasets.random_direction(6, seed=0)
    result = wn.run(wn.BatchNorm(1e-3, 1e-3), problem, edge(problem, w, 1.0), w, max_steps=5)
    found = wn.certificate(problem, result)
    assert np.isnan(found.predicted_error)
    assert any("may still end with either sign" in note for note in found.notes)


def test_a_sign_is_one_or_minus_one():
    problem = wn.datasets.make_regression(seed=0)
    w = wn.datasets.random_direction(50, seed=0)
    for sign in (1, -1):
        assert theory.batchnorm_limit(problem, 2.0, w, sign=sign).scale * sign > 0
    with pytest.raises(ValueError, match="sign must be 1, -1 or None, got 0"):
        theory.batchnorm_limit(problem, 2.0, w, sign=0)
