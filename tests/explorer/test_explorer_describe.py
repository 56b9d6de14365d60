"""A problem as the page knows it: plain numbers, against plain linear algebra."""

import math

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

import weightnorm as wn
from tests.support.explorer_cases import PROBLEM, A, W, Y, check, data, start_of
from weightnorm.explorer import describe as describing
from weightnorm.explorer.describe import describe


@pytest.mark.parametrize(
    ("m", "d"), [(1, 1), (1, 5), (3, 3), (4, 9), (9, 4), (20, 200), (1, 2), (2, 1)]
)
def test_a_description_is_the_linear_algebra(m, d):
    A, y, w = data(m, d)
    problem = wn.LeastSquares(A, y)
    found = describe(problem, 1.5, w, 0.25, "mine")
    check(found, A, y, w)
    coordinates, _ = problem.reduce().start(w / np.linalg.norm(w))
    z, away = start_of(found)
    np.testing.assert_allclose([*z, away], coordinates, atol=1e-12)
    assert (found["start"]["scale"], found["ratio"], found["name"]) == (1.5, 0.25, "mine")
    assert found["kind"] == "data"


def test_a_description_without_a_start():
    A, y, _ = data(4, 9)
    found = describe(wn.LeastSquares(A, y))
    check(found, A, y, wn.datasets.random_direction(9, seed=0))
    size = np.linalg.norm(np.linalg.pinv(A) @ y)
    assert found["start"]["scale"] == pytest.approx(size / 2)
    assert found["ratio"] == pytest.approx(size**2 / 9)
    assert found["name"] == "your problem"


def test_a_rank_deficient_matrix():
    A, y, w = data(4, 9)
    A = np.vstack([A, A[0] + A[1], np.zeros(9)])
    y = np.append(y, [1.0, -2.0])
    found = describe(wn.LeastSquares(A, y), direction=w)
    check(found, A, y, w)
    assert found["floor"] > 1.0
    tall = describe(wn.LeastSquares(A.T, np.arange(9.0)), direction=np.ones(6))
    assert tall["free"] is True  # more samples than features, and yet two are not seen
    check(tall, A.T, np.arange(9.0), np.ones(6))


def test_equal_singular_values_stay_apart():
    """Runs could do with two coordinates for all of them; noise on the labels could not."""
    problem = wn.datasets.make_regression(20, 50, solution_norm=3.0, seed=0)
    w = wn.datasets.random_direction(50, seed=3)
    found = describe(problem, direction=w)
    assert found["rank"] == 20
    assert found["curvatures"] == pytest.approx([1.0] * 20)
    z, away = start_of(found)
    seen, unseen = problem.split(w)
    assert away == pytest.approx(np.linalg.norm(unseen), abs=1e-13)
    along = seen @ problem.min_norm_solution()
    assert z @ found["target"] == pytest.approx(along, abs=1e-13)


@pytest.mark.parametrize("kind", ["sparse", "operator", "dask"])
def test_other_kinds_of_matrices_say_the_same(kind):
    A, y, w = data(4, 9)
    if kind == "dask":
        da = pytest.importorskip("dask.array")
        other = da.from_array(A, chunks=(4, 3))
    elif kind == "sparse":
        other = scipy.sparse.csr_array(A)
    else:
        other = scipy.sparse.linalg.aslinearoperator(A)
    found = describe(wn.LeastSquares(other, y), direction=w)
    check(found, A, y, w)


class TestStarts:
    """Where an angle is at its end, nothing is NaN and nothing is lost."""

    A = np.array([[2.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]])
    problem = wn.LeastSquares(A, [6.0, 4.0])  # x* = (3, 4, 0, 0)

    @pytest.mark.parametrize(
        ("w", "angle", "tilt"),
        [
            ([3.0, 4.0, 0.0, 0.0], 0.0, 0.0),  # along the solution
            ([-3.0, -4.0, 0.0, 0.0], 0.0, 180.0),
            ([0.0, 0.0, 1.0, 2.0], 90.0, 0.0),  # nothing of it is seen
            ([4.0, -3.0, 0.0, 0.0], 0.0, 90.0),
            ([-4.0, 3.0, 0.0, 0.0], 0.0, 90.0),  # across is chosen so
            ([3.0, 4.0, 5.0, 0.0], 45.0, 0.0),
        ],
    )
    def test_special_directions(self, w, angle, tilt):
        found = describe(self.problem, direction=w)
        assert found["start"]["angle"] == pytest.approx(angle, abs=1e-13)
        assert found["start"]["tilt"] == pytest.approx(tilt, abs=1e-13)
        check(found, self.A, np.array([6.0, 4.0]), np.array(w))

    @pytest.mark.parametrize("tiny", [1e-3, 1e-8, 1e-11])
    def test_small_angles_keep_their_digits(self, tiny):
        found = describe(self.problem, direction=[3.0, 4.0, 5.0 * tiny, 0.0])
        assert math.radians(found["start"]["angle"]) == pytest.approx(math.atan(tiny), rel=1e-4)
        found = describe(self.problem, direction=[3.0 + 4.0 * tiny, 4.0 - 3.0 * tiny, 0.0, 0.0])
        assert math.radians(found["start"]["tilt"]) == pytest.approx(math.atan(tiny), rel=1e-4)

    def test_a_direction_without_a_rest_gets_the_axis_with_the_least_of_the_target(self):
        found = describe(self.problem, direction=[3.0, 4.0, 0.0, 0.0])
        target = np.array(found["target"])
        axis = int(np.argmin(np.abs(target)))
        rest = np.eye(2)[axis] - target[axis] / (target @ target) * target
        np.testing.assert_allclose(found["across"], rest / np.linalg.norm(rest), atol=1e-15)
        again = describe(wn.LeastSquares(self.A, [6.0, 4.0]), direction=[3.0, 4.0, 0.0, 0.0])
        assert again == found

    def test_a_single_coordinate_has_nothing_across(self):
        found = describe(wn.LeastSquares([[1.0, 0.0]], [-2.0]), direction=[1.0, 1.0])
        assert found["across"] == [0.0]
        assert found["start"]["angle"] == pytest.approx(45.0)
        assert found["start"]["tilt"] == 180.0

    def test_a_scale_of_zero_is_one(self):
        assert describe(self.problem, 0)["start"]["scale"] == 0.0


@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 5),
    st.integers(1, 8),
    st.integers(0, 99),
    st.floats(1e-6, 1e6),
    st.floats(1e-6, 1e6),
)
def test_units_change_numbers_only_as_units_do(m, d, seed, s, t):
    A, y, w = data(m, d, seed)
    found, other = (
        describe(wn.LeastSquares(*given), direction=w) for given in ((A, y), (A * s, y * t))
    )
    np.testing.assert_allclose(other["curvatures"], np.array(found["curvatures"]) * s * s)
    here, there = np.abs(found["target"]), np.abs(other["target"])
    np.testing.assert_allclose(there, here * t / s, rtol=1e-7, atol=1e-11 * t / s * here.max())
    for key in ("angle", "tilt"):
        assert other["start"][key] == pytest.approx(found["start"][key], rel=1e-7, abs=1e-6)
    assert other["start"]["scale"] == pytest.approx(found["start"]["scale"] * t / s)
    assert other["ratio"] == pytest.approx(found["ratio"] * (t / s) ** 2)
    assert (other["rank"], other["free"]) == (found["rank"], found["free"])
    check(other, A * s, y * t, w)


@pytest.mark.parametrize("power", [-20, 20, 200])
def test_powers_of_two_change_no_digit(power):
    A, y, w = data(4, 9)
    s = 2.0**power
    found = describe(wn.LeastSquares(A, y), direction=w)
    other = describe(wn.LeastSquares(A * s, y), direction=w)
    assert other["target"] == pytest.approx(np.array(found["target"]) / s, rel=1e-12)
    assert other["across"] == pytest.approx(found["across"], rel=1e-12)
    assert other["start"]["tilt"] == pytest.approx(found["start"]["tilt"], rel=1e-12)


def test_a_target_far_from_zero_is_centred():
    A, y, w = data(12, 30)
    found, other = (
        describe(wn.LeastSquares(A, values).centred(), direction=w) for values in (y, y + 1e9)
    )
    assert other["rank"] == found["rank"] == 11
    assert other["start"]["tilt"] == pytest.approx(found["start"]["tilt"], rel=1e-5)
    assert np.linalg.norm(other["target"]) == pytest.approx(np.linalg.norm(found["target"]))


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: describe(A), TypeError, "problem must be a LeastSquares, got ndarray; use"),
        (lambda: describe(None), TypeError, "problem must be a LeastSquares, got NoneType"),
        (
            lambda: describe(wn.datasets.make_generalized_linear()),
            TypeError,
            "problem must be a LeastSquares, got GeneralizedLinear; use wn.LeastSquares",
        ),
        (
            lambda: describe(wn.datasets.make_sensing(4, 1, 5)),
            TypeError,
            "problem must be a LeastSquares, got MatrixSensing",
        ),
        (lambda: describe(wn.LeastSquares(A, 0 * Y)), ValueError, "y is zero, or wholly out of"),
        (lambda: describe(wn.LeastSquares(0 * A, Y)), ValueError, "y is zero, or wholly out of"),
        (
            lambda: describe(wn.LeastSquares([[1.0, 0.0], [0.0, 0.0]], [0.0, 1.0])),
            ValueError,
            "wholly out of A's reach",
        ),
        (
            lambda: describe(wn.LeastSquares(A, 1e-200 * Y)),
            ValueError,
            "y and A give a solution of norm .*e-20.*rescale A or y",
        ),
        (lambda: describe(PROBLEM, np.nan), ValueError, "scale must be finite, got nan"),
        (lambda: describe(PROBLEM, -1.0), ValueError, "scale must be at least 0, got -1"),
        (lambda: describe(PROBLEM, 1e200), ValueError, "scale must be at most 1e140"),
        (lambda: describe(PROBLEM, "1"), TypeError, "scale must be a number, got str"),
        (
            lambda: describe(PROBLEM, direction=W * np.nan),
            ValueError,
            "direction has 5 entries that are NaN",
        ),
        (lambda: describe(PROBLEM, direction=0 * W), ValueError, "direction is zero"),
        (lambda: describe(PROBLEM, direction=W[:-1]), ValueError, "direction must have 5 entries"),
        (lambda: describe(PROBLEM, direction=np.eye(5)), ValueError, "direction must be a vector"),
        (lambda: describe(PROBLEM, ratio=0.0), ValueError, "ratio must be greater than 0, got 0"),
        (lambda: describe(PROBLEM, ratio=np.inf), ValueError, "ratio must be finite"),
        (lambda: describe(PROBLEM, name=3), TypeError, "name must be a text, got int"),
    ],
)
def test_bad_input_is_refused_by_name(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_rank_that_a_browser_cannot_take(monkeypatch):
    monkeypatch.setattr(describing, "MOST", 2)
    with pytest.raises(ValueError, match=r"problem has rank 3, and the page trains in the browser"):
        describe(PROBLEM)
