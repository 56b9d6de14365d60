"""What the loop says of runs that neither converge nor diverge: at rest, in a cycle, going up
and down; run by run.
"""

import numpy as np
import pytest

import weightnorm as wn
from weightnorm.engine.batch import Position
from weightnorm.engine.stopping import FIRST_LOOK, WINDOW, StationarityTest

NOISE = 1e-13  # what rounding does to an attracting cycle: well above 8 eps


class Scripted:
    """Runs whose position and loss at every step are given by functions of the step number."""

    def __init__(self, angles, losses, scale=2.0):
        self.angles, self.losses, self.scale, self.clock = angles, losses, scale, 0

    def position(self):
        angle = np.array([f(self.clock) for f in self.angles])
        unit = np.column_stack([np.cos(angle), np.sin(angle)])
        ones = np.ones(len(angle))
        return Position(unit, self.scale * ones, ones, 0 * ones)

    @property
    def loss(self):
        return np.array([f(self.clock) for f in self.losses])

    @property
    def alive(self):
        return np.ones(len(self.angles), dtype=bool)

    def gradient_vanishes(self):
        return np.zeros(len(self.angles), dtype=bool)

    def settled_since(self, step):
        return np.ones(len(self.angles), dtype=bool)


def look(runs, looks=2):
    """The judge after so many looks, and which runs stood still at the last."""
    judge, still = StationarityTest(), None
    for k in range(looks):
        end = FIRST_LOOK << k
        for runs.clock in range(end - WINDOW, end):
            judge.remember(runs)
        runs.clock = end
        still = judge.look(runs)
    return judge, still


def cycle(period, seed=0):
    rng = np.random.default_rng(seed)
    return lambda t: 0.3 * (t % period) ** 1.5 + NOISE * rng.standard_normal()


def test_cycle_of_any_small_period_is_seen_in_its_own_run():
    periods = range(2, 17)
    runs = Scripted([cycle(p) for p in periods], [lambda t: 1.0 + NOISE * (t % 3) for _ in periods])
    judge, still = look(runs)
    assert judge.cycling.all()
    assert not still.any()
    assert not judge.rough.any()


def test_neither_cycle_nor_stationary_where_nothing_recurs():
    """A turn by the golden angle, whose loss goes up and down; slow and monotone progress; and a
    slow spiral.
    """
    golden = np.pi * (3 - np.sqrt(5))
    angles = [lambda t: golden * t, lambda t: 1e-6 * t, lambda t: (-1) ** t * 0.9999**t]
    losses = [lambda t: 2 + np.sin(t), lambda t: 1 / (1 + t / 1e6), lambda t: 0.9999 ** (2 * t)]
    judge, still = look(Scripted(angles, losses))
    assert not judge.cycling.any()
    assert not still.any()
    assert judge.rough.tolist() == [True, False, False]


def test_rounding_is_stationary_whatever_it_does_to_the_last_bits():
    """At rest to a few ulp, drifting by an ulp per step, or flickering between two points: as
    long as the loss is idle.
    """
    rng = np.random.default_rng(0)
    angles = [
        lambda t: 1.0 + 2e-16 * rng.standard_normal(),
        lambda t: 1.0 + 1e-16 * t,
        lambda t: 1.0 + 1e-13 * (t % 2),
        lambda t: 1.0 + 1e-16 * t,
    ]
    losses = [
        *[lambda t: 0.25 * (1 + 1e-15 * (t % 2))] * 3,
        lambda t: 0.25 - 1e-9 * t,
    ]  # the last one still improves
    judge, still = look(Scripted(angles, losses))
    assert still.tolist() == [True, True, True, False]
    assert not judge.cycling.any()


def test_steps_made_unwatched_do_not_count_as_one():
    runs = Scripted([lambda t: 0.0], [lambda t: 1.0])
    judge = StationarityTest()
    runs.clock = FIRST_LOOK - 10
    judge.remember(runs)
    runs.clock = FIRST_LOOK - 4
    judge.remember(runs)
    assert [glimpse.clock for glimpse in judge.window] == [FIRST_LOOK - 4]


@pytest.mark.rounding
@pytest.mark.parametrize(
    ("seed", "m", "d", "kappa", "steps", "period"),
    [
        (3, 4, 7, 3.0, (1.42, 0.1), 2),
        (927, 4, 6, 1.0, (1.19, 0.0), 3),
        (824, 2, 5, 2.0, (1.18, 1.0), 5),
    ],
)
def test_cycle_of_rpgd_is_named_and_not_stationary(seed, m, d, kappa, steps, period):
    problem = wn.datasets.make_regression(m, d, kappa, seed=seed)
    start = wn.datasets.random_direction(d, seed)
    method = wn.RPGD(*steps)
    result = wn.run(method, problem, 2.8, start, max_steps=40_000)
    assert result.status == "max_steps"
    assert "a cycle: try smaller steps" in result.message
    after = wn.run(
        method, problem, start=result, tolerance=0, max_steps=2 * period, record=1
    ).history
    states = np.column_stack([after.scale, after.loss, after.perp_norm])
    assert np.abs(states[period:] - states[:-period]).max() < 1e-6


@pytest.mark.rounding
def test_a_loss_that_goes_up_and_down_is_called_that():
    problem = wn.datasets.make_regression(2, 4, 2.0, seed=772)
    result = wn.run(
        wn.RPGD(0.56, 1.0), problem, 2.8, wn.datasets.random_direction(4, 772), max_steps=20_000
    )
    assert result.status == "max_steps"
    assert "the loss goes up and down: try smaller steps" in result.message


@pytest.mark.rounding
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize(
    "method", [wn.GradientDescent(0.005), wn.WeightNorm(0.005, 0.005), wn.RPGD(0.005, 0.005)]
)
def test_an_unreachable_y_is_stationary_on_every_cpu(method, seed):
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((4, 6)) / 3
    problem = wn.LeastSquares(np.vstack([A, A[:2]]), rng.standard_normal(6))
    result = wn.run(method, problem, 1.5, rng.standard_normal(6), max_steps=300_000)
    assert result.status == "stationary"
    assert result.loss == pytest.approx(problem.floor, rel=1e-12)


@pytest.mark.rounding
@pytest.mark.parametrize(
    "method", [wn.GradientDescent(1e-3), wn.WeightNorm(1e-3, 1e-3), wn.RPGD(1e-3, 1e-3)]
)
def test_a_run_that_leaves_a_saddle_slowly_is_not_at_rest(method):
    """X* = diag(1, .1) from a start whose second column is 1e-12: it grows by a little at every
    step, unseen by the loss.
    """
    sensors = np.eye(4).reshape(4, 2, 2)
    problem = wn.MatrixSensing(sensors, [1.0, 0.0, 0.0, 0.1])
    result = wn.run(method, problem, 1.0, np.diag([1.0, 1e-12]), max_steps=2_000_000)
    assert result.status == "converged"
    assert result.num_steps > 100_000


def test_good_progress_is_not_followed_step_by_step():
    """Where the loss halves between looks there is nothing to see; elsewhere it is followed, and
    that is decided once.
    """
    runs = Scripted([lambda t: 0.0], [lambda t: 0.5 ** (t / 1000)])
    judge = StationarityTest()
    for look, expected in ((FIRST_LOOK, False), (2 * FIRST_LOOK, False)):
        runs.clock = look - WINDOW
        assert judge.follows(runs) is expected
    runs.losses = [lambda t: 3e-3]
    runs.clock = 4 * FIRST_LOOK - WINDOW
    assert judge.follows(runs)
    runs.losses = [lambda t: 0.0]
    runs.clock += 1
    assert judge.follows(runs)
