"""The estimators against scikit-learn and SciPy: processor time to the same answer."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

NEAR = 1e-6  # of the best log-loss: the same answer
SMALL = 1e-4  # the mean log-loss on separable classes
TOLERANCES = (1e-4, 1e-5, 1e-6, 1e-7, 1e-8)
MAX_ITER = 1_000
PAUSE = 0.4  # idle BLAS threads spin for a third of a second, and processor time would count them


def estimator_cases(log: Callable[[str], None], repeats: int = 5) -> dict[str, Any]:
    """All cases, each in a process of its own, so that none finds the others' memory."""
    answers = {}
    for name in CASES:
        log(name)
        code = f"from benchmarks.estimators import one; print(one({name!r}, {repeats}))"
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        answers[name] = json.loads(done.stdout)
    return answers


def one(name: str, repeats: int) -> str:
    """One case, as JSON."""
    warnings.simplefilter("ignore")
    return json.dumps(CASES[name](repeats))


def processor(function: Callable[[], Any]) -> float:
    """Processor time of one call, all threads together."""
    time.sleep(PAUSE)
    start = time.process_time()
    function()
    return time.process_time() - start


def compare(ours: Callable[[], Any], theirs: Callable[[], Any], repeats: int) -> dict[str, Any]:
    """The medians of both, in turns, and our time over theirs."""
    ours()
    theirs()
    times = [(processor(ours), processor(theirs)) for _ in range(repeats)]
    us, them = (statistics.median(column) for column in zip(*times, strict=True))
    return {"weightnorm_seconds": us, "peer_seconds": them, "ratio": us / them}


def _log_loss(model: Any, X: Any, y: Any) -> float:
    logits = model.decision_function(X)
    return float(np.logaddexp(0.0, np.where(y, -logits, logits)).mean())


def _classifier(X: Any, y: Any, goal: float | None, repeats: int) -> dict[str, Any]:
    """Against LogisticRegression without a penalty, with the largest tolerance that gets there."""
    from sklearn.linear_model import LogisticRegression

    from weightnorm.estimators import WeightNormClassifier

    ours = WeightNormClassifier(tol=SMALL)
    reached = _log_loss(ours.fit(X, y), X, y)
    wanted = reached + NEAR if goal is None else goal
    answer: dict[str, Any] = {"status": ours.status_, "log_loss": reached}
    for tol in TOLERANCES:
        peer = LogisticRegression(C=np.inf, tol=tol, max_iter=MAX_ITER)
        loss = _log_loss(peer.fit(X, y), X, y)
        if loss <= wanted * (1.0 + 1e-9) or int(np.max(peer.n_iter_)) >= MAX_ITER:
            break
    answer |= {"peer_log_loss": loss, "peer_reached": bool(loss <= wanted * (1.0 + 1e-9))}
    return answer | compare(lambda: ours.fit(X, y), lambda: peer.fit(X, y), repeats)


def _noisy(repeats: int, units: bool) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((10_000, 200))
    truth = rng.standard_normal(200) * 2.0 / np.sqrt(200)
    y = rng.random(10_000) < 1.0 / (1.0 + np.exp(-X @ truth))
    X = X * 10.0 ** rng.uniform(-3, 3, 200) if units else X
    return _classifier(X, y, None, 3 if units else repeats)


def _diabetes(repeats: int) -> dict[str, Any]:
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return _classifier(X, y > np.median(y), None, repeats)


def _cancer(repeats: int, standard: bool) -> dict[str, Any]:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    X = (X - X.mean(axis=0)) / X.std(axis=0) if standard else X
    return _classifier(X, y > 0, SMALL, repeats)


def _digits(repeats: int) -> dict[str, Any]:
    """The eight digits that a plane separates from the rest, one after the other, by both."""
    from sklearn.datasets import load_digits

    X, y = load_digits(return_X_y=True)
    each = [_classifier(X, y == digit, SMALL, repeats) for digit in range(8)]
    us, them = (sum(case[f"{who}_seconds"] for case in each) for who in ("weightnorm", "peer"))
    return {
        "log_loss": max(case["log_loss"] for case in each),
        "peer_log_loss": max(case["peer_log_loss"] for case in each),
        "peer_reached": all(case["peer_reached"] for case in each),
        "weightnorm_seconds": us, "peer_seconds": them, "ratio": us / them,
    }  # fmt: skip


def _sparse_classifier(repeats: int) -> dict[str, Any]:
    from scipy import sparse

    rng = np.random.default_rng(0)
    X = sparse.random(100_000, 500, density=0.01, format="csr", random_state=0)
    truth = 2.0 * rng.standard_normal(500)
    y = rng.random(100_000) < 1.0 / (1.0 + np.exp(-(X @ truth)))
    return _classifier(X, y, None, repeats)


def _sparse_regressor(repeats: int) -> dict[str, Any]:
    """Against lsqr on the same matrix, without an intercept, as exact as ours."""
    from scipy import sparse
    from scipy.sparse.linalg import lsqr

    from weightnorm.estimators import WeightNormRegressor

    rng = np.random.default_rng(0)
    X = sparse.random(2_000, 50_000, density=0.01, format="csr", random_state=0)
    y = rng.standard_normal(2_000)
    model = WeightNormRegressor(fit_intercept=False)
    best = lsqr(X, y, atol=1e-15, btol=1e-15, iter_lim=5_000)[0]
    error = float(np.linalg.norm(model.fit(X, y).coef_ - best) / np.linalg.norm(best))
    for tol in (1e-8, 1e-10, 1e-12, 1e-13, 1e-14):
        theirs = lsqr(X, y, atol=tol, btol=tol, iter_lim=5_000)[0]
        off = float(np.linalg.norm(theirs - best) / np.linalg.norm(best))
        if off <= max(error, 1e-12):
            break
    timed = compare(
        lambda: model.fit(X, y), lambda: lsqr(X, y, atol=tol, btol=tol, iter_lim=5_000), repeats
    )
    return {"error": error, "peer_error": off} | timed


def _targets(repeats: int, shape: tuple[int, int]) -> dict[str, Any]:
    from sklearn.linear_model import LinearRegression

    from weightnorm.estimators import WeightNormRegressor

    rng = np.random.default_rng(0)
    X, Y = rng.standard_normal(shape), rng.standard_normal((shape[0], 50))
    ours, theirs = WeightNormRegressor(), LinearRegression()
    apart = np.abs(ours.fit(X, Y).coef_ - theirs.fit(X, Y).coef_).max()
    timed = compare(lambda: ours.fit(X, Y), lambda: theirs.fit(X, Y), repeats)
    return {"apart": float(apart)} | timed


def _cross_validation(repeats: int) -> dict[str, Any]:
    """473 pairs of share and time against a grid search of 30 pairs of scale and ratio."""
    from sklearn.model_selection import GridSearchCV

    from weightnorm.estimators import WeightNormRegressor, WeightNormRegressorCV

    rng = np.random.default_rng(0)
    X, prior = rng.standard_normal((200, 1_000)), rng.standard_normal(1_000)
    y = X @ prior + rng.standard_normal(200)
    grid = {"ratio": np.geomspace(0.03, 30.0, 10), "scale": [0.0, 10.0, 30.0]}
    search = GridSearchCV(WeightNormRegressor(direction=prior), grid, cv=5)
    chosen = WeightNormRegressorCV(prior)
    answer = compare(lambda: chosen.fit(X, y), lambda: search.fit(X, y), repeats)
    return answer | {"candidates": int(chosen.cv_error_.size), "peer_candidates": 30}


CASES: dict[str, Callable[[int], dict[str, Any]]] = {
    "classifier, 10,000 × 200": lambda repeats: _noisy(repeats, units=False),
    "classifier, 10,000 × 200 in units 10^±3": lambda repeats: _noisy(repeats, units=True),
    "classifier, diabetes over its median": _diabetes,
    "classifier, breast cancer (separable)": lambda repeats: _cancer(repeats, standard=False),
    "classifier, breast cancer standardised": lambda repeats: _cancer(repeats, standard=True),
    "classifier, digits 0–7 (separable)": _digits,
    "classifier, CSR 100,000 × 500": _sparse_classifier,
    "regressor, CSR 2,000 × 50,000": _sparse_regressor,
    "50 targets, 2,000 × 500": lambda repeats: _targets(repeats, (2_000, 500)),
    "50 targets, 300 × 3,000": lambda repeats: _targets(repeats, (300, 3_000)),
    "cross-validation, 200 × 1,000": _cross_validation,
}
