"""Losses of A x: gradients, the reduction, the flow's invariant, the maximum margin, and hostile
data.
"""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import weightnorm as wn

LOSSES = ("squared", "logistic", "poisson", "huber")
METHODS = {
    "gd": wn.GradientDescent(0.01),
    "wn": wn.WeightNorm(0.01, 0.015),
    "rpgd": wn.RPGD(0.01, 0.015),
}


class Cauchy:
    """A loss of one's own: log(1 + (z − y)²/2)."""

    def __init__(self, y):
        self.y = y

    def value(self, z):
        return np.log1p((z - self.y) ** 2 / 2)

    def derivative(self, z):
        r = z - self.y
        return r / (1 + r**2 / 2)


def data(loss, m=8, d=20, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, d)) / np.sqrt(d)
    if loss == "logistic":
        y = rng.choice([0.0, 1.0], m)
    elif loss == "poisson":
        y = rng.poisson(1.0, m).astype(float)
    else:
        y = 2 * rng.standard_normal(m)
    return A, y, rng.standard_normal(d)


def make(loss, **options):
    A, y, w0 = data(loss if isinstance(loss, str) else "own", **options)
    return wn.GeneralizedLinear(A, y, Cauchy(y) if loss == "own" else loss), w0


def twin(method, problem, g, w0, num_steps):
    """The rule in d dimensions, with the loss's derivative written out again."""
    w = w0 / np.linalg.norm(w0)
    x = g * w
    for _ in range(num_steps):
        n = np.linalg.norm(w)
        if method != "gd":
            x = g * w / n
        G = problem.A.T @ problem.loss.derivative((problem.A @ x)[None])[0]
        if method == "gd":
            x = x - 0.01 * G
            continue
        along = (w / n) @ G
        w = (
            w - 0.01 * g / n * (G - along * w / n)
            if method == "wn"
            else (w - 0.01 * g * G) / np.linalg.norm(w - 0.01 * g * G)
        )
        g = g - 0.015 * along
    return x if method == "gd" else g * w / np.linalg.norm(w)


@pytest.mark.parametrize("loss", [*LOSSES, "own"])
def test_gradients_agree_with_finite_differences(loss):
    problem, x = make(loss)
    numeric = [(problem.value(x + e) - problem.value(x - e)) / 2e-6 for e in 1e-6 * np.eye(x.size)]
    np.testing.assert_allclose(problem.gradient(x), numeric, rtol=1e-6, atol=1e-7)
    both = problem.value(np.array([x, 0 * x]))
    assert both[1] == pytest.approx(problem.zero_loss)
    assert both[0] == pytest.approx(problem.value(x))


@pytest.mark.parametrize("coordinates", ["reduced", "full"])
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("loss", [*LOSSES, "own"])
def test_runs_equal_their_twins(loss, method, coordinates):
    problem, w0 = make(loss)
    result = wn.run(
        METHODS[method], problem, 0.7, w0, tolerance=0, max_steps=500, coordinates=coordinates
    )
    np.testing.assert_allclose(
        result.weights, twin(method, problem, 0.7, w0, 500), rtol=1e-10, atol=1e-11
    )
    assert result.loss == pytest.approx(problem.value(result.weights), rel=1e-9, abs=1e-12)
    assert result.perp_norm == pytest.approx(
        np.linalg.norm(problem.split(result.weights)[1]), abs=1e-11
    )
    assert np.isnan(result.distance)


def test_squared_is_least_squares():
    A, y, w0 = data("squared")
    model, classic = wn.GeneralizedLinear(A, y, "squared"), wn.LeastSquares(A, y)
    a, b = (wn.run(wn.RPGD(0.01, 0.01), p, 0.7, w0, tolerance=1e-6) for p in (model, classic))
    assert a.num_steps == b.num_steps
    np.testing.assert_allclose(a.weights, b.weights, atol=1e-10)
    flows = [wn.flow(p, 0.7, w0, tolerance=1e-16) for p in (model, classic)]
    np.testing.assert_allclose(flows[0].final_weights, flows[1].final_weights, atol=1e-9)
    assert model.curvature == pytest.approx(classic.curvature)


@pytest.mark.parametrize("kind", ["sparse", "operator", "tall"])
def test_any_matrix(kind):
    A, y, _ = data("huber", m=30 if kind == "tall" else 8)
    given_A = (
        scipy.sparse.csr_array(A)
        if kind == "sparse"
        else scipy.sparse.linalg.aslinearoperator(A)
        if kind == "operator"
        else A
    )
    w0 = np.ones(20)
    plain = wn.run(
        wn.RPGD(0.05, 0.05),
        wn.GeneralizedLinear(A, y, "huber"),
        0.7,
        w0,
        tolerance=0,
        max_steps=200,
    )
    other = wn.run(
        wn.RPGD(0.05, 0.05),
        wn.GeneralizedLinear(given_A, y, "huber"),
        0.7,
        w0,
        tolerance=0,
        max_steps=200,
    )
    np.testing.assert_allclose(other.weights, plain.weights, atol=1e-10)


def test_sweep_equals_runs_and_goes_on():
    problem, w0 = make("logistic")
    table = wn.sweep(problem, METHODS, [0.5, 1.0], w0, tolerance=1e-2, max_steps=5000)
    for name, method in METHODS.items():
        result = wn.run(method, problem, 1.0, w0, tolerance=1e-2, max_steps=5000)
        entry = table.sel({"algorithm": name, "scale": 1.0}).isel(start=0)
        assert int(entry.num_steps) == result.num_steps
        assert float(entry.norm) == pytest.approx(result.norm, rel=1e-12)
        half = wn.run(method, problem, 1.0, w0, tolerance=1e-2, max_steps=result.num_steps // 2)
        rest = wn.run(
            method, problem, start=half, tolerance=1e-2, max_steps=result.num_steps - half.num_steps
        )
        np.testing.assert_array_equal(rest.weights, result.weights)


@given(
    loss=st.sampled_from(LOSSES),
    seed=st.integers(0, 50),
    scale=st.floats(-2, 2),
    ratio=st.floats(0.2, 5.0),
)
@settings(max_examples=25, deadline=None)
def test_the_invariant_holds_for_every_loss(loss, seed, scale, ratio):
    problem, w0 = make(loss, seed=seed)
    trajectory = wn.flow(problem, scale, w0, ratio, tolerance=1e-6, max_time=20.0)
    assert trajectory.drift < 1e-9


@pytest.mark.long
def test_the_logistic_flow_tends_to_the_maximum_margin():
    """The margin of the direction approaches the SVM's like 1/g, and w⊥ vanishes like
    exp(−g²/2c).
    """
    from sklearn.svm import LinearSVC

    A, y, w0 = data("logistic", m=8, d=20, seed=3)
    signs = 2 * y - 1
    svm = (
        LinearSVC(C=1e5, loss="hinge", fit_intercept=False, tol=1e-8, max_iter=10**6)
        .fit(A, y)
        .coef_[0]
    )
    best = (signs * (A @ svm)).min() / np.linalg.norm(svm)
    problem, gaps, scales = wn.GeneralizedLinear(A, y, "logistic"), [], []
    for tolerance in (1e-10, 1e-20, 1e-40):
        trajectory = wn.flow(problem, 1.0, w0, ratio=1.0, tolerance=tolerance)
        x = trajectory.final_weights
        gaps.append(best - (signs * (A @ x)).min() / np.linalg.norm(x))
        scales.append(trajectory.scale[-1])
        assert trajectory.drift < 1e-9
    assert 0 < gaps[2] < gaps[1] < gaps[0]
    slope = np.polyfit(np.log(scales), np.log(gaps), 1)[0]
    assert slope == pytest.approx(-1.0, abs=0.1)
    q0 = np.linalg.norm(problem.split(w0)[1]) / np.linalg.norm(w0)
    first = wn.flow(problem, 1.0, w0, ratio=1.0, tolerance=1e-4)
    predicted = q0 * np.exp((1.0 - first.scale[-1] ** 2) / 2)
    assert first.perp_norm[-1] / first.scale[-1] == pytest.approx(predicted, rel=1e-6)
    # Gradient descent keeps its start for ever.
    kept = wn.run(wn.GradientDescent(0.5), problem, 1.0, w0, tolerance=1e-3).perp_norm
    assert kept == pytest.approx(q0, rel=1e-9)


def test_hostile_data_has_defined_answers():
    A, _, w0 = data("logistic")
    one_class = wn.GeneralizedLinear(A, np.ones(8), "logistic")
    assert wn.run(wn.RPGD(0.05, 0.05), one_class, 1.0, w0, tolerance=0.5).status == "converged"
    # e^z has no minimum: the loss falls for ever
    zeros = wn.GeneralizedLinear(A, np.zeros(8), "poisson")
    assert wn.run(wn.RPGD(0.1, 0.1), zeros, 1.0, w0, tolerance=0.5).status == "converged"
    assert np.isfinite(zeros.value(np.zeros(20)))
    # e^z overflows
    assert wn.run(wn.GradientDescent(1.0), zeros, 1e4, w0, max_steps=100).status == "diverged"
    logistic = wn.GeneralizedLinear(A, [0, 1] * 4, "logistic")
    assert np.isfinite(logistic.value(1e300 * w0))
    assert np.isfinite(logistic.gradient(1e300 * w0)).all()
    with pytest.raises(ValueError, match="square over- or underflows"):
        wn.run(
            wn.RPGD(0.1, 0.1),
            wn.GeneralizedLinear(1e308 * np.ones((2, 3)), [0, 1]),
            1.0,
            np.ones(3),
        )


def test_poisson_does_not_cancel():
    problem = wn.GeneralizedLinear(np.eye(1), [1e15], "poisson")
    x = np.log(1e15)
    for shift in (2e-8, -1e-8, 1e-3):
        u = (x + shift) - x
        assert problem.value([x + shift]) == pytest.approx(1e15 * (np.expm1(u) - u), rel=0.2)
        assert problem.value([x + shift]) >= 0
    far = wn.GeneralizedLinear(np.eye(2), [3.0, 0.0], "poisson")
    assert np.isfinite(far.gradient([1000.0, 1000.0])).all()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda A: wn.GeneralizedLinear(A, np.arange(8.0)),
            r"labels 0 and 1, or −1 and 1, for loss='logistic'",
        ),
        (
            lambda A: wn.GeneralizedLinear(A, -np.ones(8), "poisson"),
            r"y must not be negative for loss='poisson', got -1",
        ),
        (lambda A: wn.GeneralizedLinear(A, np.ones(8), "hinge"), r"loss must be one of 'squared'"),
        (
            lambda A: wn.GeneralizedLinear(A, np.ones(8), object()),
            r"an object with value\(z\) and derivative\(z\)",
        ),
        (
            lambda A: wn.GeneralizedLinear(A, np.ones(8), Cauchy(np.ones(7))),
            r"loss has 7 labels and y 8",
        ),
        (lambda A: wn.GeneralizedLinear(A, np.ones(7)), r"y must have 8 entries"),
        (lambda A: wn.GeneralizedLinear(A, np.full(8, np.nan)), r"y has 8 entries that are NaN"),
        (
            lambda A: wn.GeneralizedLinear(A, np.ones(8)).value(np.ones(3)),
            r"x must have shape \(20,\)",
        ),
        (
            lambda A: wn.run(
                wn.GradientDescent(wn.schedules.curvature()),
                wn.GeneralizedLinear(A, np.ones(8), "poisson"),
                1.0,
                A[0],
            ),
            r"curvature step, which needs the largest curvature",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises((ValueError, TypeError), match=message):
        call(data("logistic")[0])
