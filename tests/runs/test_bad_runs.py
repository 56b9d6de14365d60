"""Every bad input of a run has a clear error naming the parameter, what came and the fix."""

import numpy as np
import pytest

import weightnorm as wn
from tests.support.bad_inputs import PROBLEM, RPGD, A, W, Y


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: wn.run(RPGD, PROBLEM, 1.0), ValueError, "scale and direction are both needed"),
        (
            lambda: wn.run(RPGD, PROBLEM, 1.0, W, tolerance=-1),
            ValueError,
            "tolerance must be at least 0, got -1",
        ),
        (
            lambda: wn.run(RPGD, PROBLEM, 1.0, W, max_steps=-1),
            ValueError,
            "max_steps must be at least 0, got -1",
        ),
        (
            lambda: wn.run(RPGD, PROBLEM, 1.0, W, max_steps=1e3),
            TypeError,
            "max_steps must be a whole number",
        ),
        (
            lambda: wn.run(RPGD, PROBLEM, 1.0, W, record=0),
            ValueError,
            "record must be at least 1, got 0",
        ),
        (
            lambda: wn.run(RPGD, PROBLEM, 1.0, W, coordinates="polar"),
            ValueError,
            "coordinates must be one of",
        ),
        (
            lambda: wn.run("rpgd", PROBLEM, 1.0, W),
            TypeError,
            "method must be a GradientDescent, WeightNorm, RPGD or BatchNorm",
        ),
        (
            lambda: wn.run(RPGD, A, 1.0, W),
            TypeError,
            r"problem must be a LeastSquares, a GeneralizedLinear or a MatrixSensing, got ndarray; "
            r"use wn.LeastSquares",
        ),
        (
            lambda: wn.run(wn.RPGD(0.1, 0.1, blocks="columns"), PROBLEM, 1.0, W),
            ValueError,
            r"RPGD\(blocks='columns'\) needs a problem whose weights have columns, and "
            r"LeastSquares has one block",
        ),
        (
            lambda: wn.run(wn.RPGD(wn.schedules.curvature(), 0.1), PROBLEM, 0.0, W),
            ValueError,
            r"scale is 0 and the direction_step of RPGD has a factor \|g\|\^-2",
        ),
        (
            lambda: wn.run(
                wn.WeightNorm(0.1, wn.schedules.scaled(1.0, scale_power=-1)), PROBLEM, 0, W
            ),
            ValueError,
            "scale is 0 and the scale_step of WeightNorm",
        ),
        (
            lambda: wn.run(
                wn.RPGD(wn.schedules.curvature(), 0.1), wn.LeastSquares(0 * A, Y), 1.0, W
            ),
            ValueError,
            "A is zero, so λmax = 0",
        ),
        (lambda: wn.run(RPGD, PROBLEM, start=3), TypeError, "start must be a Result, got int"),
        (
            lambda: wn.run(RPGD, PROBLEM, 1.0, W, start=wn.run(RPGD, PROBLEM, 1.0, W)),
            ValueError,
            "not both",
        ),
        (
            lambda: wn.run(
                RPGD, wn.datasets.make_regression(), start=wn.run(RPGD, PROBLEM, 1.0, W)
            ),
            ValueError,
            "start has 3 weights, the problem has 50 features",
        ),
        (
            lambda: wn.run(
                RPGD, PROBLEM, start=wn.run(wn.GradientDescent(0.1), PROBLEM, 0.0, W, max_steps=0)
            ),
            ValueError,
            "start has zero weights, so no direction",
        ),
        (
            lambda: wn.run(wn.RPGD(lambda t: None, 0.1), PROBLEM, 1.0, W),
            TypeError,
            "step size at t = 0.*NoneType",
        ),
        (
            lambda: wn.run(wn.RPGD(lambda t: np.nan, 0.1), PROBLEM, 1.0, W),
            ValueError,
            "must be finite, got nan",
        ),
        (
            lambda: wn.LeastSquares([[1.0, 2.0], [3.0]], Y),
            ValueError,
            "A is not a rectangular array of numbers",
        ),
        (
            lambda: wn.sweep(PROBLEM, {"a": RPGD}, [1.0], [[1.0], W]),
            ValueError,
            "directions is not a rectangular array",
        ),
        (lambda: wn.run(RPGD, PROBLEM, 10**400, W), ValueError, "scale must be finite, got inf"),
        (
            lambda: wn.run(wn.RPGD, PROBLEM, 1.0, W),
            TypeError,
            "got the class RPGD; call it with step sizes",
        ),
    ],
)
def test_errors_name_the_parameter(call, error, message):
    with pytest.raises(error, match=message):
        call()
