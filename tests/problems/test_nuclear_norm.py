"""The certified minimum nuclear norm, and the step search that compares with it."""

import numpy as np
import pytest

import weightnorm as wn
from weightnorm.problems.sensing.nuclear_norm import certify


def known():
    """X11 = 3, X22 = 1, X12 + X21 = 0 of a 3 × 3 matrix: the smallest nuclear norm is 4, at
    diag(3, 1, 0).
    """
    A = np.zeros((3, 3, 3))
    A[0, 0, 0] = A[1, 1, 1] = A[2, 0, 1] = A[2, 1, 0] = 1.0
    return wn.MatrixSensing(A, [3.0, 1.0, 0.0])


@pytest.mark.parametrize("over", ["psd", "symmetric", "all"])
def test_a_known_answer(over):
    found = known().min_nuclear_norm(over)
    assert found.value == pytest.approx(4.0, abs=1e-6)
    np.testing.assert_allclose(found.matrix, np.diag([3.0, 1.0, 0.0]), atol=1e-4)
    assert found.status == "certified"
    assert 0 <= found.gap + 1e-9 <= 1e-5


def test_the_three_minima_differ_where_they_should():
    """X12 = 1 alone: over PSD 2 (the ones matrix), over symmetric 2, over all matrices 1."""
    A = np.zeros((1, 2, 2))
    A[0, 0, 1] = 1.0
    problem = wn.MatrixSensing(A, [1.0])
    values = {over: problem.min_nuclear_norm(over).value for over in ("psd", "symmetric", "all")}
    assert values == {
        key: pytest.approx(v, abs=1e-5)
        for key, v in {"psd": 2.0, "symmetric": 2.0, "all": 1.0}.items()
    }
    negative = wn.MatrixSensing(np.eye(2)[None], [-3.0])
    assert negative.min_nuclear_norm("symmetric").value == pytest.approx(3.0, abs=1e-5)
    with pytest.raises(wn.NotCertified, match="found no psd matrix that fits y"):
        negative.min_nuclear_norm("psd")


@pytest.mark.parametrize("over", ["psd", "symmetric"])
def test_the_papers_problem(over):
    problem = wn.datasets.make_sensing(seed=0)
    found = problem.min_nuclear_norm(over)
    assert problem.value(found.matrix) < 1e-20
    assert np.linalg.norm(found.matrix, "nuc") == pytest.approx(found.value, rel=1e-12)
    # The proof, with nothing of the package: the dual matrix is at most 1, and its value is the
    # minimum.
    S = np.einsum(
        "i,ijk->jk", found.dual, (problem.sensors + problem.sensors.transpose(0, 2, 1)) / 2
    )
    eigenvalues = np.linalg.eigvalsh(S)
    assert eigenvalues.max() <= 1 + 1e-12
    assert over == "psd" or eigenvalues.min() >= -1 - 1e-12
    assert problem.y @ found.dual == pytest.approx(found.value, rel=1e-6)
    assert found.value < np.trace(problem.ground_truth)


def tampered():
    problem = wn.datasets.make_sensing(size=8, rank=2, num_measurements=15, seed=1)
    honest = problem.min_nuclear_norm("psd")
    shift = np.random.default_rng(0).standard_normal((8, 8)) * 1e-2
    yield "larger matrix", honest.matrix + shift @ shift.T, honest.dual
    yield "other feasible matrix", problem.ground_truth, honest.dual
    yield "weaker dual", honest.matrix, 0.999 * honest.dual
    yield "inflated dual", honest.matrix, 1.5 * honest.dual + 0.01
    yield "no dual", honest.matrix, np.zeros(15)
    yield "NaN", np.full((8, 8), np.nan), honest.dual
    yield "indefinite", honest.matrix - 0.01 * np.eye(8), honest.dual


@pytest.mark.parametrize("index", range(7))
def test_a_tampered_solution_is_refused(index):
    problem = wn.datasets.make_sensing(size=8, rank=2, num_measurements=15, seed=1)
    name, matrix, dual = list(tampered())[index]
    with pytest.raises(wn.NotCertified):
        certify(problem.sensors, problem.y, "psd", matrix, dual, name)


def test_an_inaccurate_solver_is_not_believed(monkeypatch):
    from weightnorm.problems.sensing import nuclear_norm

    original = nuclear_norm._ask

    def inaccurate(sensors, y, over, solver):
        matrix, dual = original(sensors, y, over, "CLARABEL")
        return matrix * 1.01 + 0.01, dual

    monkeypatch.setattr(nuclear_norm, "_ask", inaccurate)
    with pytest.raises(wn.NotCertified, match=r"between|not positive"):
        wn.datasets.make_sensing(size=8, rank=2, num_measurements=15, seed=2).min_nuclear_norm(
            "psd"
        )


def test_y_zero_and_y_out_of_reach():
    problem = wn.datasets.make_sensing(size=5, rank=1, num_measurements=6, seed=0)
    assert wn.MatrixSensing(problem.sensors, np.zeros(6)).min_nuclear_norm("all").value == 0.0
    twice = wn.MatrixSensing(np.concatenate([problem.sensors[:1]] * 2), [1.0, 2.0])
    for over in ("psd", "symmetric", "all"):
        with pytest.raises(wn.NotCertified, match="fits y"):
            twice.min_nuclear_norm(over)


@pytest.mark.parametrize("over", ["psd", "symmetric", "all"])
def test_units_do_not_matter(over):
    problem = wn.datasets.make_sensing(size=6, rank=2, num_measurements=10, seed=0)
    base = problem.min_nuclear_norm(over).value
    for factor in (1e-150, 1e-6, 1e6):
        other = wn.MatrixSensing(problem.sensors, factor * problem.y)
        assert other.min_nuclear_norm(over).value == pytest.approx(factor * base, rel=1e-6)
        turned = wn.MatrixSensing(factor * problem.sensors, problem.y)
        assert turned.min_nuclear_norm(over).value == pytest.approx(base / factor, rel=1e-6)
    mixed = np.geomspace(1e-12, 1e12, 10)
    uneven = wn.MatrixSensing(mixed[:, None, None] * problem.sensors, mixed * problem.y)
    found = uneven.min_nuclear_norm(over)
    assert found.value == pytest.approx(base, rel=1e-6)
    assert uneven.y @ found.dual == pytest.approx(found.lower_bound, rel=1e-9)


def test_a_tiny_sensor_counts():
    problem = wn.MatrixSensing([np.diag([1.0, 0.0]), 1e-16 * np.diag([0.0, 1.0])], [1.0, 5e-16])
    assert problem.min_nuclear_norm().value == pytest.approx(6.0, rel=1e-6)
    with pytest.raises(wn.NotCertified, match="sensor 1 sees nothing"):
        wn.MatrixSensing([np.eye(2), np.zeros((2, 2))], [1.0, 1.0]).min_nuclear_norm()


def test_what_no_psd_matrix_fits_is_refused():
    A = np.zeros((3, 2, 2))
    A[0, 0, 0] = A[1, 0, 1] = A[2, 1, 1] = 1
    for corner in (1.0, 4000.0):  # X₁₁ = 0, X₁₂ = 1
        with pytest.raises(wn.NotCertified):
            wn.MatrixSensing(A, [0.0, 1.0, corner]).min_nuclear_norm("psd")


def test_distance_is_to_the_certified_minimum():
    problem = wn.datasets.make_sensing(size=6, rank=1, num_measurements=10, seed=0)
    start = wn.datasets.sensing_start(6, 0.1)
    result = wn.run(wn.RPGD(1e-3, 1e-3), problem, **start, tolerance=1e-10)
    assert result.distance == pytest.approx(
        np.linalg.norm(result.weights - problem.min_nuclear_norm("psd").matrix)
    )


def test_step_search_finds_the_first_that_converges():
    problem = wn.datasets.make_sensing(size=10, rank=1, num_measurements=25, seed=0)
    start = wn.datasets.sensing_start(10, alpha=0.5)

    def rule(c):
        return wn.RPGD(c, c, blocks="columns")

    search = wn.search_step(problem, rule, **start, max_steps=20_000, refinements=2)
    alone = [
        wn.run(rule(0.5 / 2**k), problem, **start, tolerance=1e-6, max_steps=20_000)
        for k in range(12)
    ]
    first = next(k for k, result in enumerate(alone) if result.status == "converged")
    assert search.step == 0.5 / 2**first
    assert search.norm == pytest.approx(alone[first].norm, rel=1e-9)
    assert [c.step for c in search.refined] == [0.5 / 2**k for k in range(first, first + 3)]
    assert search.limit == pytest.approx(alone[first + 2].norm, rel=1e-9)
    assert search.change == pytest.approx(
        abs(alone[first + 2].norm - alone[first + 1].norm), rel=1e-6
    )
    assert all(c.status != "converged" for c in search.candidates[:first])


def test_step_search_waits_for_a_frozen_phase():
    problem = wn.datasets.make_sensing(12, 2, 20, seed=0)
    start = wn.datasets.sensing_start(12, alpha=1.0, seed=0)

    def rule(c):
        return wn.RPGD(c, wn.schedules.two_phase(0, c, 12_000), blocks="columns")

    search = wn.search_step(problem, rule, **start, largest=2**-7, num_candidates=3, refinements=1)
    assert search.step == 2**-7
    assert [c.status for c in search.refined] == ["converged"] * 2


def test_step_search_keeps_to_its_budget():
    problem = wn.datasets.make_sensing(size=10, rank=1, num_measurements=25, seed=0)
    start = wn.datasets.sensing_start(10, alpha=0.5)
    short = wn.search_step(
        problem, lambda c: wn.RPGD(c, c), **start, max_steps=130, num_candidates=3, refinements=0
    )
    assert max(c.num_steps for c in short.candidates) <= 130
    last = wn.search_step(
        problem,
        wn.GradientDescent,
        **start,
        largest=1e-3,
        num_candidates=1,
        refinements=2,
        tolerance=1e-3,
    )
    assert len(last.refined) == 3  # refined beyond the last candidate
    for wrong in (
        {"max_steps": 0},
        {"max_steps": 2.5},
        {"threads": 0},
        {"num_candidates": 1200},
        {"refinements": -1},
    ):
        with pytest.raises((ValueError, TypeError), match=next(iter(wrong))):
            wn.search_step(problem, wn.GradientDescent, **start, **wrong)


def test_step_search_says_when_nothing_converges():
    problem = wn.datasets.make_sensing(size=10, rank=1, num_measurements=25, seed=0)
    search = wn.search_step(
        problem, wn.GradientDescent, **wn.datasets.sensing_start(10), num_candidates=2
    )
    assert not search.found
    assert np.isnan(search.norm)
    assert "none of 2 steps converged" in repr(search)
