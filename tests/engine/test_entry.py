"""What enters compiled code is looked at first: it reads and writes without asking."""

import pickle

import numpy as np
import pytest

import weightnorm as wn
from weightnorm.problems.dask.lapack import fold_rows
from weightnorm.problems.losses import Squared
from weightnorm.runs.step_search import search_steps

NUMBERS = np.arange(1.0, 41.0)


def by_rank(rank):
    """A diagonal problem of 40 numbers, factorised to its largest few."""
    problem = wn.LeastSquares(np.diag(NUMBERS), np.ones(40))
    problem.factorise(noise=40.5 - rank)
    assert problem.factorisation.rank == rank
    return problem


@pytest.mark.parametrize(("before", "after"), [(2, 40), (40, 2)])
@pytest.mark.parametrize("options", [{}, {"clip": 1.0}, {"scale_decay": 0.1}])
def test_a_run_goes_on_from_its_weights_where_the_rank_has_changed(before, after, options):
    """Its state has other coordinates; it was written past its end."""
    problem, method = by_rank(before), wn.RPGD(1e-4, 1e-4, **options)
    first = wn.run(method, problem, 1.0, np.ones(40), max_steps=3, tolerance=0.0)
    problem.factorise(noise=40.5 - after)
    going = wn.run(method, problem, start=first, max_steps=50, tolerance=0.0)
    fresh = by_rank(after)
    due = wn.run(method, fresh, first.scale, first.direction, max_steps=50, tolerance=0.0)
    assert going.weights == pytest.approx(due.weights, abs=1e-13)
    assert going.perp_norm == pytest.approx(due.perp_norm, abs=1e-13)
    assert going.distance == pytest.approx(due.distance, abs=1e-13)


def test_momentum_of_other_coordinates_is_refused():
    problem, method = by_rank(2), wn.RPGD(1e-4, 1e-4, momentum=0.5)
    first = wn.run(method, problem, 1.0, np.ones(40), max_steps=3, tolerance=0.0)
    problem.factorise()
    with pytest.raises(ValueError, match="its momentum means nothing here"):
        wn.run(method, problem, start=first, max_steps=3, tolerance=0.0)


def test_a_pickled_run_goes_on_from_its_weights_where_the_rank_is_another():
    """Equal y and A·probe, so that the fingerprint is the same; another rank."""
    problem, method = by_rank(2), wn.RPGD(1e-4, 1e-4)
    first = wn.run(method, problem, 1.0, np.ones(40), max_steps=3, tolerance=0.0)
    kept, full = pickle.loads(pickle.dumps(first)), by_rank(40)
    going = wn.run(method, full, start=kept, max_steps=20, tolerance=0.0)
    due = wn.run(method, full, first.scale, first.direction, max_steps=20, tolerance=0.0)
    assert going.weights == pytest.approx(due.weights, abs=1e-13)


def test_factorising_anew_forgets_what_the_old_factors_gave():
    problem = by_rank(2)
    assert np.linalg.norm(problem.min_norm_solution()) < 1.0
    problem.factorise()
    assert problem.min_norm_solution() == pytest.approx(1.0 / NUMBERS, rel=1e-12)


@pytest.mark.parametrize("how", ["memmap", "array"])
@pytest.mark.parametrize("shape", [(5, 9), (9, 5)])
def test_a_matrix_that_may_not_be_written_is_not(how, shape, tmp_path):
    """factorise(in_place=True) of a read-only memory map ended the process."""
    A = np.random.default_rng(0).standard_normal(shape)
    if how == "memmap":
        np.save(tmp_path / "A.npy", A)
        given = np.load(tmp_path / "A.npy", mmap_mode="r")
    else:
        given = A.copy()
        given.flags.writeable = False
    problem = wn.LeastSquares(given, np.ones(shape[0]))
    problem.factorise(in_place=True)
    assert np.array_equal(given, A)
    assert problem.min_norm_solution() == pytest.approx(np.linalg.pinv(A) @ np.ones(shape[0]))


class Odd(wn.schedules.Schedule):
    """Gives another number of values than it is asked for."""

    def __call__(self, t):
        return {"one": np.float64(0.01), "more": np.full(t.size + 3, 0.01)}[KIND]


KIND = "one"


@pytest.mark.parametrize("kind", ["one", "more"])
@pytest.mark.parametrize("place", [0, 1])
@pytest.mark.parametrize("options", [{}, {"momentum": 0.5}, {"clip": 1.0}])
def test_a_schedule_gives_one_value_for_each_step(kind, place, options, monkeypatch):
    monkeypatch.setitem(globals(), "KIND", kind)
    steps = [0.01, 0.01]
    steps[place] = Odd((0.01,), ())
    problem, w0 = wn.datasets.make_regression(seed=0), wn.datasets.random_direction(50, 0)
    with pytest.raises(ValueError, match="must give one value for each t"):
        wn.run(wn.RPGD(*steps, **options), problem, 1.0, w0, max_steps=5)


def test_a_loss_of_other_labels_is_refused():
    with pytest.raises(ValueError, match="loss has 1 labels and y 3"):
        wn.GeneralizedLinear(np.ones((3, 4)), np.ones(3), loss=Squared(np.ones(1)))


def samples_changed(problem):
    problem.num_samples = 20_000_000


def labels_resized(problem):
    problem.y.resize(3_000_000, refcheck=False)


@pytest.mark.parametrize(("change", "first"), [(samples_changed, False), (labels_resized, True)])
def test_a_problem_whose_samples_were_changed_is_refused(change, first):
    rng = np.random.default_rng(0)
    problem = wn.LeastSquares(rng.standard_normal((6, 9)), rng.standard_normal(6))
    method, w0 = wn.RPGD(0.01, 0.01, batch_size=2, seed=0), rng.standard_normal(9)
    if first:
        wn.run(method, problem, 1.0, w0, max_steps=5)
    change(problem)
    with pytest.raises(ValueError, match=r"changed after it was made|must have"):
        wn.run(method, problem, 1.0, w0, max_steps=5)


@pytest.mark.parametrize(
    "change", [{"y": np.ones(24_000)}, {"dimension": 40}, {"y": np.ones(3)}], ids=str
)
def test_a_sensing_problem_that_was_changed_is_refused(change):
    problem = wn.datasets.make_sensing(seed=0)
    for name, value in change.items():
        setattr(problem, name, value)
    size = problem.dimension
    with pytest.raises(ValueError, match="a MatrixSensing was changed after it was made"):
        wn.run(wn.RPGD(0.01, 0.01), problem, 1.0, np.eye(size)[:, :2], max_steps=5)


@pytest.mark.parametrize("wider", [True, False])
def test_a_sensing_problem_that_is_changed_under_way_is_refused(wider):
    """By a callback, say: the sensors are laid out anew when blocks become lone runs."""
    problem = wn.datasets.make_sensing(size=8, rank=1, num_measurements=24, seed=0)
    start = wn.datasets.sensing_start(8, alpha=0.1, seed=0)
    seen = []

    def change(ended, total):
        seen.append(ended)
        m, entries = problem.packed.shape
        problem.packed = np.ones((m, entries + 60) if wider else (m + 60, entries))

    task = (lambda step: wn.RPGD(step, step), start["scale"], start["direction"])
    with pytest.raises(ValueError, match="a MatrixSensing was changed after it was made"):
        search_steps(problem, [task], progress=change, threads=1)
    assert len(seen) == 1


@pytest.mark.parametrize("which", ["R", "rows"])
@pytest.mark.parametrize("how", ["float32", "int32", "read-only"])
def test_lapack_gets_writable_doubles_only(which, how):
    arrays = {"R": np.asfortranarray(np.eye(3)), "rows": np.asfortranarray(np.ones((2, 3)))}
    if how == "read-only":
        arrays[which].flags.writeable = False
    else:
        arrays[which] = arrays[which].astype(how, order="F")
    before = {name: array.copy() for name, array in arrays.items()}
    with pytest.raises(ValueError, match=f"{which} must be a float64 array that can be written"):
        fold_rows(**arrays, triangular=False, panel=2)
    assert all(np.array_equal(arrays[name], before[name]) for name in arrays)


@pytest.mark.parametrize("kind", ["csr_array", "csc_array", "csr_matrix"])
def test_sparse_indices_that_lead_outside_are_refused(kind):
    """A run in full coordinates followed them, and ended the process."""
    from scipy import sparse

    A = getattr(sparse, kind)(np.eye(3))
    A.indices[1] = 200_000_000
    with pytest.raises(ValueError, match="A is not a valid sparse matrix"):
        wn.LeastSquares(A, np.ones(3))
