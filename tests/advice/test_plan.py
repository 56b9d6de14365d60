"""plan(): from any start, however far, the promise is kept."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

import weightnorm as wn
from weightnorm.advice.approach import approach
from weightnorm.theory import plan, safe_scale


def planned(problem, accuracy, scale, w):
    """The plan, or why there is none."""
    try:
        return plan(problem, accuracy, scale=scale, direction=w)
    except ValueError as error:
        return str(error)


@st.composite
def starts(draw):
    """A problem, and a start of any kind: near, far, negative, inside or off the row space."""
    m, more = draw(st.integers(1, 7)), draw(st.integers(0, 8))
    kappa = draw(st.sampled_from([1.0, 1.5, 4.0]))
    norm, seed = draw(st.sampled_from([1e-3, 1.0, 50.0])), draw(st.integers(0, 10_000))
    problem = wn.datasets.make_regression(m, m + more, kappa, norm, seed=seed)
    unit = draw(st.sampled_from([1e-6, 1.0, 1e6]))
    problem = wn.LeastSquares(unit * problem.A, unit * problem.y)
    best = problem.min_norm_solution()
    w = np.random.default_rng(seed).standard_normal(m + more)
    kind = draw(st.sampled_from(["any", "any", "best", "opposite", "off", "inside"]))
    if kind in ("best", "opposite"):
        w = best if kind == "best" else -best
    elif kind in ("off", "inside") and more:
        inside, off = problem.split(w)
        w = off if kind == "off" else inside
    far = draw(st.sampled_from([1e-3, 0.05, 0.5, 0.95, 1.0, 2.0, 30.0, 1e5, 1e9]))
    scale = draw(st.sampled_from([-1.0, 1.0])) * far * np.linalg.norm(best)
    return problem, scale, w, draw(st.sampled_from([0.5, 1e-2, 1e-5]))


@given(starts())
@settings(max_examples=150, deadline=None)
def test_the_promise_is_kept(start):
    problem, scale, w, accuracy = start
    best = problem.min_norm_solution()
    x0 = scale * w / np.linalg.norm(w)
    assume(np.linalg.norm(problem.A @ x0 - problem.y) > 1e-6 * np.linalg.norm(problem.y))
    made = planned(problem, accuracy, scale, w)
    if isinstance(made, str):  # far out, and hardly anything of the direction is seen
        assert "double precision cannot tell" in made
        assert np.linalg.norm(problem.split(w / np.linalg.norm(w))[0]) < 1e-6
        assert abs(scale) > 10 * np.linalg.norm(best)
        return
    result = made.run()
    assert np.linalg.norm(result.weights - best) <= accuracy * np.linalg.norm(best) * (1 + 1e-9)
    assert result.status == "converged"
    assert result.num_steps == made.num_steps == sum(steps for _, steps in made.stages)
    assert "max_steps" not in repr(result) + result.message


@given(starts())
@settings(max_examples=60, deadline=None)
def test_the_stages_are_what_a_plain_loop_makes_of_them(start):
    """The same steps in d dimensions, without the package: (g, w) by rPGD, then x by descent."""
    problem, scale, w, accuracy = start
    x0 = scale * w / np.linalg.norm(w)
    assume(np.linalg.norm(problem.A @ x0 - problem.y) > 1e-6 * np.linalg.norm(problem.y))
    assume(abs(scale) < 20 * np.linalg.norm(problem.min_norm_solution()))
    made = plan(problem, accuracy, scale=scale, direction=w)
    largest = np.linalg.eigvalsh(problem.A @ problem.A.T)[-1]
    g, w = scale, w / np.linalg.norm(w)
    for method, steps in made.stages:
        for t in range(steps):
            G = problem.A.T @ (problem.A @ (g * w) - problem.y)
            vector, gamma = (float(s(t)) for s in method.schedules)
            if not method.has_scale:
                x = g * w - vector / largest * G
                g = np.linalg.norm(x)
                w = x / g
                continue
            if method.schedules[0].per_curvature:
                vector = vector / (g * g * largest)
            v = w - vector * g * G
            g, w = g - gamma * (w @ G), v / np.linalg.norm(v)
    np.testing.assert_allclose(
        made.run().weights, g * w, atol=1e-6 * np.linalg.norm(problem.min_norm_solution())
    )


def test_without_a_start_it_chooses_one_for_any_direction():
    problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    made = plan(problem, 1e-3)
    assert made.direction is None
    for seed in range(5):
        result = made.run(wn.datasets.random_direction(50, seed))
        assert result.distance <= 3e-3
    with pytest.raises(ValueError, match="direction is needed: the plan holds for any"):
        made.run()


def test_a_scale_alone_is_enough_where_any_direction_will_do():
    problem = wn.datasets.make_regression(condition_number=2.0, seed=0)
    limit = safe_scale(3.0, 0.25, 1.0).value
    assert plan(problem, 1e-3, scale=0.5 * limit).run(np.ones(50)).status == "converged"
    with pytest.raises(ValueError, match=r"scale = 5 is above 0\.25, .*; give direction= as well"):
        plan(problem, 1e-3, scale=5.0)
    orthogonal = wn.datasets.make_regression(seed=0)
    assert plan(orthogonal, 1e-3, scale=2.95).run(np.ones(50)).status == "converged"
    with pytest.raises(ValueError, match=r"scale = 3 is above 2\.997"):
        plan(orthogonal, 1e-3, scale=3.0 - 1e-9)


def test_a_plan_that_depends_on_its_direction_takes_no_other():
    problem = wn.datasets.make_regression(condition_number=2.0, seed=0)
    w0, other = (wn.datasets.random_direction(50, seed) for seed in (0, 1))
    far = plan(problem, 1e-3, scale=100.0, direction=w0)
    assert far.run(2.0 * w0).status == "converged"
    with pytest.raises(ValueError, match="direction is not the one that the plan was made for"):
        far.run(other)
    near = plan(problem, 1e-3, scale=0.01, direction=w0)
    assert near.run().status == "converged"
    inside = plan(problem, 1e-3, direction=problem.min_norm_solution())  # has nothing to forget
    with pytest.raises(ValueError, match="direction is not the one that the plan was made for"):
        inside.run(w0)


def test_at_the_solution_there_is_nothing_to_do():
    for problem in (
        wn.datasets.make_regression(condition_number=2.0, seed=0),
        wn.datasets.make_regression(9, 4, condition_number=2.0, seed=0),
        wn.LeastSquares([[1e-6, 0.0]], [1.0]),
    ):
        best = problem.min_norm_solution()
        for sign in (1.0, -1.0):
            made = plan(problem, 1e-3, sign * np.linalg.norm(best), sign * best)
            assert made.num_steps == 0
            assert "no step is needed" in repr(made)
            assert made.run().status == "converged"


def test_what_double_precision_cannot_do_is_said():
    """Far out, with a direction that is all but invisible; and from closer by it works."""
    problem = wn.LeastSquares([[1.0, 2.0, 0.0]], [3.0])
    for far in (1e2, 1e4):
        assert plan(problem, 1e-3, far, [0.0, 0.0, 1.0]).run().status == "converged"
    with pytest.raises(ValueError, match="double precision cannot tell which steps lead back"):
        plan(problem, 1e-3, 1e100, [0.0, 0.0, 1.0])
    wide = wn.datasets.make_regression(8, 20, 30.0, seed=1)
    rows = np.linalg.svd(wide.A)[2]
    for scale, share in ((3e12, 1e-5), (3e8, 1e-11), (-3e3, 1e-11), (-30.0, 1e-3)):
        made = planned(wide, 0.1, scale, rows[-1] + share * rows[0])
        if isinstance(made, str):
            assert "double precision" in made
        else:
            assert made.run().status == "converged"


def test_the_repr_says_what_each_stage_does():
    problem = wn.datasets.make_regression(condition_number=2.0, seed=0)
    w0 = wn.datasets.random_direction(50, 0)
    text = repr(plan(problem, 1e-3, scale=20.0, direction=w0))
    for word in (
        "from scale 20",
        "this direction",
        "T1 = ",
        "T2 = ",
        "γ = ",
        "δ = 1",
        "from 20 to",
    ):
        assert word in text, word
    assert "guaranteed after" in text
    orthogonal = repr(plan(wn.datasets.make_regression(seed=0), 1e-2))
    assert "T1" in orthogonal
    assert "T2" in orthogonal
    assert "any direction" in orthogonal
    inside = repr(plan(problem, 1e-3, scale=0.01, direction=problem.min_norm_solution()))
    assert "rPGD needs no step" in inside


def test_the_numbers_of_steps_are_those_of_the_bounds():
    """Proposition 3.3 until g0‖w⊥‖ ≤ εg*/√2, then 1 − λmin/λmax until the rest is, too."""
    problem = wn.datasets.make_regression(condition_number=2.0, seed=0)
    w0 = wn.datasets.random_direction(50, 0)
    q0, g0, accuracy = np.linalg.norm(problem.split(w0)[1]), 0.1, 1e-4
    (_, first), (_, second) = plan(problem, accuracy, g0, w0).stages
    assert first == np.ceil(np.log2(q0 * g0 * np.sqrt(2) / (accuracy * 3.0)))
    rest = np.log((g0 + 3.0) * np.sqrt(2) / (accuracy * 3.0))
    assert second == np.ceil(rest / -np.log(1 - 0.25))


def test_from_zero_gradient_descent_is_enough():
    for kappa in (1.0, 3.0):
        problem = wn.datasets.make_regression(condition_number=kappa, seed=0)
        made = plan(problem, 1e-4, scale=0.0)
        assert [type(method).__name__ for method, _ in made.stages] == ["GradientDescent"]
        assert made.run(np.ones(50)).distance <= 3e-4


def test_a_start_that_fits_already_is_refused():
    problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    with pytest.raises(ValueError, match="the start fits y already, so that no gradient leaves it"):
        plan(problem, 1e-3, scale=np.sqrt(5.0), direction=[1.0, 2.0])


def test_rounding_is_not_called_success():
    problem = wn.datasets.make_regression(condition_number=3.0, seed=0)
    w0 = wn.datasets.random_direction(50, 0)
    result = plan(problem, 1e-30, scale=5.0, direction=w0).run()
    assert result.status == "max_steps"
    assert "rounding allows no better" in result.message


def test_the_scale_lands_where_it_should():
    problem = wn.datasets.make_regression(5, 12, condition_number=2.0, seed=1)
    for seed in range(20):
        w0 = wn.datasets.random_direction(12, seed)
        for g0 in (4.0, 1e4, 1e12):
            stage = approach(problem, g0, w0, 0.1)
            end = wn.run(stage.method, problem, g0, w0, tolerance=0, max_steps=stage.num_steps)
            # a step from 1e12 rounds by 1e-4, and the next one keeps a small share of that
            assert end.scale == pytest.approx(0.1, rel=1e-4 if g0 > 1e8 else 1e-8)
            perp = np.linalg.norm(problem.split(end.direction)[1])
            assert perp == pytest.approx(stage.perp, rel=1e-6)
