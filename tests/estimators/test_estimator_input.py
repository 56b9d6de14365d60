"""What estimators are given: steps, hostile data, and parameters that are refused by name."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import weightnorm as wn
from tests.estimators.test_estimators import centred, problem


def test_one_step_gives_the_other():
    X, y, w0 = problem(11)
    gstar = np.linalg.norm(centred(X, y).min_norm_solution())
    options = {"scale": 0.5, "direction": w0, "ratio": 1.0, "tol": 1e-12, "max_iter": 10**7}
    both = wn.WeightNormRegressor(
        "rpgd", direction_step=1e-5, scale_step=gstar**2 * 1e-5, **options
    ).fit(X, y)
    one = wn.WeightNormRegressor("rpgd", direction_step=1e-5, **options).fit(X, y)
    other = wn.WeightNormRegressor("rpgd", scale_step=gstar**2 * 1e-5, **options).fit(X, y)
    np.testing.assert_allclose(one.coef_, both.coef_, rtol=1e-6)
    np.testing.assert_allclose(other.coef_, both.coef_, rtol=1e-6)
    with pytest.raises(ValueError, match="the other step must be given too"):
        wn.WeightNormRegressor("rpgd", direction_step=wn.schedules.two_phase(0.1, 0.2, 5)).fit(X, y)


@pytest.mark.parametrize("method", ["rpgd", "wn"])
def test_given_steps_are_those_of_a_run(method):
    """The fit works in units of y inside; steps, numbers or schedules, are the user's."""
    X, y, w0 = problem(13)
    rule = wn.RPGD if method == "rpgd" else wn.WeightNorm
    for steps in (
        (1e-4, 2e-3),
        (wn.schedules.curvature(0.5), wn.schedules.two_phase(0.0, 2e-3, 100)),
        (wn.schedules.scaled(1e-3, scale_power=-1), lambda t: 2e-3 / (1 + t / 1000)),
    ):
        model = wn.WeightNormRegressor(
            method,
            scale=0.7,
            direction=w0,
            direction_step=steps[0],
            scale_step=steps[1],
            tol=1e-10,
            max_iter=300,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        result = wn.run(
            rule(*steps),
            centred(X, y),
            0.7,
            w0,
            tolerance=1e-10 * centred(X, y).zero_loss,
            max_steps=300,
        )
        np.testing.assert_allclose(model.coef_, result.weights, rtol=1e-8, atol=1e-10)
        assert model.n_iter_ == result.num_steps


def test_fit_leaves_its_input_alone():
    X, y, _ = problem(12)
    for data in (X, np.asfortranarray(X), X.T.copy().T):
        before = data.copy()
        wn.WeightNormRegressor().fit(data, y)
        np.testing.assert_array_equal(data, before)


def test_hostile_data():
    X, y, _ = problem(7)
    flat = wn.WeightNormRegressor(scale=5.0).fit(X, np.full(8, 2.5))
    assert not flat.coef_.any()
    assert flat.intercept_ == 2.5
    constant = wn.WeightNormRegressor().fit(np.ones((5, 3)), np.arange(5.0))
    np.testing.assert_allclose(constant.predict(np.ones((2, 3))), 2.0)
    with pytest.raises(ValueError, match="largest entry of 1e\\+308"):
        wn.WeightNormRegressor().fit(np.full((3, 4), 1e308), np.ones(3))
    with pytest.raises(ValueError, match="one class only"):
        wn.WeightNormClassifier().fit(X, np.ones(8))
    with pytest.raises(ValueError, match="largest entry of 1e\\+308"):
        wn.WeightNormClassifier().fit(np.full((3, 4), 1e308), [0, 1, 0])
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        wn.WeightNormRegressor("rpgd", max_iter=2).fit(X, y)
    with pytest.raises(ValueError, match="diverged"):
        wn.WeightNormClassifier("gd", direction_step=1e308, max_iter=200).fit(
            1e3 * X, np.arange(8) % 2
        )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"method": "newton"}, r"method must be one of 'limit', 'rpgd', 'wn', 'gd', got 'newton'"),
        ({"ratio": 0.0}, r"ratio must be greater than 0"),
        ({"tol": -1.0}, r"tol must be at least 0"),
        ({"max_iter": 0}, r"max_iter must be at least 1"),
        ({"direction": [1.0, 2.0]}, r"direction must have shape \(30,\)"),
        ({"coef_init": np.full(30, np.nan)}, r"coef_init has 30 entries that are NaN or infinite"),
        (
            {"coef_init": np.ones(30), "direction": np.ones(30)},
            r"either coef_init or direction, not both",
        ),
        ({"direction": np.zeros(30)}, r"direction is zero"),
        ({"scale": 1e200}, r"scale must be at most 1e140"),
    ],
)
def test_bad_parameters_are_named(options, message):
    X, y, _ = problem()
    with pytest.raises(ValueError, match=message):
        wn.WeightNormRegressor(**options).fit(X, y)


def test_importing_weightnorm_does_not_load_scikit_learn():
    import subprocess
    import sys

    code = "import sys, weightnorm; sys.exit('sklearn' in sys.modules or 'cvxpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


@pytest.mark.parametrize(
    ("fit", "message"),
    [
        (lambda X, y: wn.WeightNormRegressor().fit("text", y), "X or y is not as expected"),
        (
            lambda X, y: wn.WeightNormRegressor().fit(np.ma.array(X, mask=X > 1), y),
            "X is a masked array",
        ),
        (
            lambda X, y: wn.WeightNormRegressor(random_state=b"1").fit(X, y),
            "random_state must be a seed",
        ),
        (
            lambda X, y: wn.WeightNormRegressor("gd", direction_step=-1.0).fit(X, y),
            "direction_step must be at least 0",
        ),
        (
            lambda X, y: wn.WeightNormRegressor("gd", direction_step=1e308).fit(1e3 * X, y),
            "training diverged after",
        ),
        (
            lambda X, y: wn.WeightNormRegressor().fit(1e-3 * X, 1e307 * y),
            "y has a largest entry of .* overflow; rescale",
        ),
        (
            lambda X, y: wn.WeightNormRegressor(scale=1.0).fit(X, 1e-200 * y),
            "scale has size 1, too large for y",
        ),
        (
            lambda X, y: wn.WeightNormRegressor("wn", coef_init=X[0]).fit(X, 1e-200 * y),
            "coef_init has size",
        ),
        (
            lambda X, y: wn.WeightNormRegressor("rpgd", direction_step=0.1).fit(X, 1e200 * y),
            "direction_step cannot be given in units of y",
        ),
        (
            lambda X, y: wn.WeightNormRegressor(coef_init=[10**400] * 6).fit(X, y),
            "coef_init has dtype object",
        ),
        (
            lambda X, y: wn.WeightNormRegressor().fit(X, y).predict(1e308 * np.sign(X)),
            "X has entries so large",
        ),
        (
            lambda X, y: wn.WeightNormClassifier().fit(X, y),
            "y has no class labels: Unknown label type",
        ),
        (
            lambda X, y: wn.WeightNormClassifier().fit(X, y > 0).predict(1e308 * np.sign(X)),
            "X has entries so large",
        ),
        (
            lambda X, y: wn.WeightNormClassifier(
                direction_step=wn.schedules.curvature(), scale_step=0.1
            ).fit(X, y > 0),
            "direction_step is a curvature step, and a classifier has no fixed largest curvature",
        ),
    ],
)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_refusals_name_the_parameter(fit, message):
    rng = np.random.default_rng(0)
    with pytest.raises((TypeError, ValueError), match=message):
        fit(rng.standard_normal((5, 6)), rng.standard_normal(5))


def test_centring_leaves_no_mean_of_the_offsets_size():
    """Taking a mean of 1e8 off once leaves rounding of its size; what is left becomes a
    direction of its own.
    """
    from weightnorm.estimators.data import prepare

    X = np.random.default_rng(0).standard_normal((50, 4)) + 1e8
    assert np.abs(prepare(X, None, True).A.mean(axis=0)).max() < 1e-14
    weights = np.linspace(0.1, 1.0, 50)
    assert np.abs(np.sqrt(weights) @ prepare(X, weights, True).A).max() < 1e-12
