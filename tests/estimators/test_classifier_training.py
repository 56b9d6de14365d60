"""Training a classifier: it goes down, says when it has not arrived, and forgets its start."""

import warnings

import numpy as np
import pytest
import scipy.sparse
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning

import weightnorm as wn
from weightnorm.problems.linear.logits import Logits


@pytest.mark.parametrize("method", ["rpgd", "wn", "gd"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_the_classifier_goes_down_and_says_when_it_has_not_arrived(method):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 60))
    y = X @ rng.standard_normal(60) > 0
    losses = []
    for count in (1, 50, 100, 150, 200):
        model = wn.WeightNormClassifier(method, max_iter=count, random_state=0).fit(X, y)
        losses.append(-np.log(model.predict_proba(X)[np.arange(20), y.astype(int)]).sum())
    assert (np.diff(losses) <= 1e-12).all()
    with pytest.warns(ConvergenceWarning):
        assert (
            wn.WeightNormClassifier(method, max_iter=51, tol=1e-9, random_state=0).fit(X, y).status_
            == "max_steps"
        )


@pytest.mark.parametrize("method", ["rpgd", "wn", "gd"])
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_steps_that_went_too_far_are_taken_again_smaller_and_later_grow(method):
    """From far out on features of very different units, where the curvature says too little."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((80, 5)) * np.logspace(0, 2, 5)
    y = X[:, 0] + rng.standard_normal(80) > 0
    model = wn.WeightNormClassifier(
        method, scale=30.0, max_iter=2000, direction="random", random_state=0
    ).fit(X, y)
    mean = np.logaddexp(0.0, np.where(y, -1.0, 1.0) * model.decision_function(X)).mean()
    assert mean < 5.0  # hundreds at the start, 8 and more without either


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_classifier_goes_on_from_itself():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((200, 3)) + 5.0
    y = X[:, 0] + rng.standard_normal(200) > 6.5
    first = wn.WeightNormClassifier("rpgd").fit(X, y)
    again = wn.WeightNormClassifier("rpgd", coef_init=first.coef_, max_iter=1).fit(X, y)
    np.testing.assert_allclose(again.predict_proba(X), first.predict_proba(X), atol=0.01)


def test_classifier_two_and_more_classes():
    X, y = load_iris(return_X_y=True)
    for labels, shape in ((y, (3, 4)), (np.array(["a", "b"])[(y == 2).astype(int)], (1, 4))):
        for method in ("rpgd", "wn", "gd"):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = wn.WeightNormClassifier(method, max_iter=800).fit(X, labels)
            assert model.coef_.shape == shape
            assert model.scale_.shape == (shape[0],)
            assert model.score(X, labels) > 0.93
            probabilities = model.predict_proba(X)
            np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
            np.testing.assert_array_equal(
                model.classes_[probabilities.argmax(axis=1)], model.predict(X)
            )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_classifier_forgets_what_the_data_cannot_see():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 80))
    for y in (rng.integers(0, 2, 20), np.arange(20) % 3):
        random = {"scale": 0.2, "direction": "random", "random_state": 0, "max_iter": 5000}
        kept = wn.WeightNormClassifier("gd", **random).fit(X, y)
        forgot = wn.WeightNormClassifier("rpgd", **random).fit(X, y)
        assert kept.perp_norm_ > 0.15
        assert forgot.perp_norm_ < 0.1 * kept.perp_norm_
        assert forgot.score(X, y) == kept.score(X, y) == 1.0
        sparse = wn.WeightNormClassifier("rpgd", **random).fit(scipy.sparse.csr_array(X), y)
        np.testing.assert_allclose(sparse.coef_, forgot.coef_, atol=1e-6)


@pytest.mark.parametrize("softmax", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("classes", [1, 4])
def test_logits_against_finite_differences(classes, intercept, softmax):
    if softmax and classes == 1:
        return
    rng = np.random.default_rng(0)
    targets = (
        np.eye(4)[rng.permutation(np.arange(12) % 4)]
        if classes == 4
        else (np.arange(12)[:, None] % 2).astype(float)
    )
    W = np.linalg.qr(rng.standard_normal((12, 5)))[0]
    weights = rng.uniform(0.5, 2.0, 12)
    model = Logits(W, np.arange(5.0, 0.0, -1.0), targets, weights, softmax, intercept)
    x = rng.standard_normal((1, 6, classes))
    gradient = model.value_and_gradient(x)[1]
    for index in np.ndindex(x.shape):
        e = np.zeros_like(x)
        e[index] = 1e-6
        numeric = (model.value_and_gradient(x + e)[0] - model.value_and_gradient(x - e)[0]) / 2e-6
        assert gradient[index] == pytest.approx(float(numeric[0]), abs=1e-7)
    np.testing.assert_allclose(
        np.sqrt(weights)[:, None] * model.matrix, W * np.arange(5.0, 0.0, -1.0), rtol=1e-12
    )
    logits = model.matrix @ x[0, :-1]
    b = model.intercept(logits)
    assert intercept or not b.any()
    logits = logits + b
    direct = (
        -weights @ np.log(np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True))[targets > 0]
        if softmax
        else np.sum(weights[:, None] * np.log1p(np.exp(np.where(targets > 0, -logits, logits))))
    )
    assert model.value_and_gradient(x)[0][0] == pytest.approx(direct)
    if intercept:  # no other intercept is better
        for other in b + 1e-3 * rng.standard_normal((20, classes)):
            assert model.losses_and_slopes(logits - b + other)[0] >= direct
    slope = model.losses_and_slopes(logits)[1] / np.sqrt(weights)[:, None]
    shares = np.linalg.norm(W.T @ slope, axis=0) / np.linalg.norm(slope, axis=0)
    assert model.optimality(x[0]) == pytest.approx(shares.max())
