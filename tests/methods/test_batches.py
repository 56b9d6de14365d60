"""Random steps: what is drawn, on every form of the data, and what they are never called."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import aslinearoperator

import weightnorm as wn
from tests.methods.test_training import ETA, GAMMA, W0, close


class TestDraws:
    def test_batches_are_rows_without_replacement_each_as_likely(self):
        large = wn.GradientDescent(0.1, batch_size=3, seed=0).sampling.draws(1_000)
        many = np.array([large.at(t)[0] for t in range(3_000)])
        assert all(len(set(row)) == 3 for row in many.tolist())
        assert abs(many.mean() - 499.5) < 5 * 290 / np.sqrt(many.size)
        draws = wn.GradientDescent(0.1, batch_size=3, seed=0).sampling.draws(8)
        rows = np.array([draws.at(t)[0] for t in range(8_000)])
        assert rows.shape == (8_000, 3)
        assert all(len(set(row)) == 3 for row in rows.tolist())
        counts = np.bincount(rows.ravel(), minlength=8)
        expected, spread = 3_000, np.sqrt(8_000 * 3 / 8 * 5 / 8)
        assert (np.abs(counts - expected) < 5 * spread).all()
        pairs = np.zeros((8, 8))
        for a, b, c in rows:
            pairs[a, b] += 1
            pairs[a, c] += 1
            pairs[b, c] += 1
        upper = pairs[np.triu_indices(8, 1)]
        assert (np.abs(upper - 8_000 * 3 / 28) < 5 * np.sqrt(8_000 * 3 / 28)).all()

    def test_noise_is_fresh_and_has_the_size_asked_for(self):
        draws = wn.GradientDescent(0.1, label_noise=0.3, seed=0).sampling.draws(8)
        noise = np.array([draws.at(t)[1] for t in range(5_000)])
        assert noise.std() == pytest.approx(0.3, rel=0.02)
        assert abs(noise.mean()) < 5 * 0.3 / np.sqrt(noise.size)
        assert abs(np.mean(noise[1:] * noise[:-1])) < 5 * 0.09 / np.sqrt(noise.size)

    def test_depend_on_seed_and_step_alone(self):
        method = wn.GradientDescent(0.1, batch_size=2, label_noise=0.1, seed=3)
        forward, backward = method.sampling.draws(9), method.sampling.draws(9)
        ahead = [forward.at(t) for t in range(700)]
        for t in reversed(range(700)):
            rows, noise = backward.at(t)
            np.testing.assert_array_equal(rows, ahead[t][0])
            np.testing.assert_array_equal(noise, ahead[t][1])
        other = replace(method, seed=4).sampling.draws(9)
        assert not all(np.array_equal(other.at(t)[0], ahead[t][0]) for t in range(20))

    def test_an_unseeded_method_keeps_the_seed_it_drew(self):
        a, b = (wn.GradientDescent(0.05, batch_size=2) for _ in range(2))
        assert a.seed is not None
        assert a.seed != b.seed
        problem = wn.datasets.make_regression(6, 20, seed=0)
        runs = [wn.run(m, problem, 1.0, W0, max_steps=20).weights for m in (a, replace(a), b)]
        np.testing.assert_array_equal(runs[0], runs[1])
        assert np.abs(runs[0] - runs[2]).max() > 0

    def test_a_plain_method_has_no_seed(self):
        assert wn.RPGD(0.1, 0.1).seed is None
        assert wn.RPGD(0.1, 0.1) == wn.RPGD(0.1, 0.1)


@pytest.mark.parametrize("form", [scipy.sparse.csr_array, aslinearoperator])
@pytest.mark.parametrize("coordinates", ["reduced", "full"])
def test_batches_on_every_form_of_the_matrix(form, coordinates):
    dense = wn.datasets.make_regression(6, 20, condition_number=3.0, seed=0)
    problem = wn.LeastSquares(form(dense.A), dense.y)
    method = wn.RPGD(ETA, GAMMA, batch_size=2, seed=0)
    runs = [
        wn.run(method, p, 1.4, W0, tolerance=0, max_steps=200, coordinates=c)
        for p, c in ((problem, coordinates), (dense, "full"))
    ]
    close(runs[0].weights, runs[1].weights)


@pytest.mark.parametrize("loss", ["logistic", "poisson", "huber", "squared"])
def test_batches_of_a_generalized_linear_model(loss):
    """The mean of the gradients over all batches of one size is the whole gradient, and reduced
    is full.
    """
    rng = np.random.default_rng(0)
    A, y = rng.standard_normal((6, 9)) / 3, rng.integers(0, 2, 6)
    problem = wn.GeneralizedLinear(A, y, loss=loss)
    x = rng.standard_normal((2, 9))
    from itertools import combinations

    parts = [
        problem.sample(np.array(rows), None).value_and_gradient(x)[1]
        for rows in combinations(range(6), 2)
    ]
    np.testing.assert_allclose(np.mean(parts, axis=0), problem.gradient(x), atol=1e-13)
    method = wn.WeightNorm(0.1, 0.1, batch_size=2, seed=0, momentum=0.3)
    a, b = (
        wn.run(method, problem, 1.0, x[0], tolerance=0, max_steps=300, coordinates=c).weights
        for c in ("reduced", "full")
    )
    close(a, b)


def test_batches_and_momentum_on_matrix_sensing():
    """Against a plain loop on the factor."""
    problem, start = (
        wn.datasets.make_sensing(5, 1, 12, seed=0),
        wn.datasets.sensing_start(5, seed=0),
    )
    method = wn.RPGD(1e-3, 1e-3, batch_size=4, label_noise=0.1, momentum=0.7, seed=2)
    result = wn.run(method, problem, **start, tolerance=0, max_steps=150)
    draws, A, y = method.sampling.draws(12), problem.sensors, problem.y
    W, g = start["direction"] / np.linalg.norm(start["direction"]), float(start["scale"])
    buffer, scale_buffer = np.zeros_like(W), 0.0
    for t in range(150):
        rows, noise = draws.at(t)
        error = np.tensordot(A[rows], g * W @ W.T, axes=2) - (y + noise)[rows]
        M = np.tensordot(error, A[rows], axes=1) / len(rows)
        M = (M + M.T) / 2
        buffer = 0.7 * buffer + 2 * g * M @ W
        scale_buffer = 0.7 * scale_buffer + np.sum(W * (M @ W))
        W = W - 1e-3 * buffer
        W, g = W / np.linalg.norm(W), g - 1e-3 * scale_buffer
    close(result.weights, g * W @ W.T)


def test_a_random_run_is_not_called_stationary():
    """At the floor of an unreachable y the gradient of all samples vanishes, and label noise
    still moves the weights.
    """
    rng = np.random.default_rng(0)
    problem = wn.LeastSquares(rng.standard_normal((12, 4)), rng.standard_normal(12))
    method = wn.GradientDescent(0.01, label_noise=0.1, seed=0)
    result = wn.run(method, problem, 1.0, np.ones(4), tolerance=1e-9, max_steps=20_000)
    assert result.status == "max_steps"
    assert "cannot go below" in result.message
