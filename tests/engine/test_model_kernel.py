"""The compiled linear models against their NumPy twins: the same rules through
`value_and_gradient`, run by run, and fifty digits for the losses themselves.
"""

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weightnorm as wn
from weightnorm.engine.backends.model import BLAS_FROM, ModelBatch
from weightnorm.engine.backends.rules import RulesBatch
from weightnorm.engine.batch import Start
from weightnorm.engine.start import start
from weightnorm.problems.losses import Huber, Logistic, Poisson

LOSSES = ("logistic", "poisson", "huber")
EPS = np.finfo(float).eps
curvature, scaled, two_phase = wn.schedules.curvature, wn.schedules.scaled, wn.schedules.two_phase
METHODS = {
    "gd": lambda **o: wn.GradientDescent(0.03, **o),
    "gd, falling": lambda **o: wn.GradientDescent(lambda t: 0.05 / (1 + t), **o),
    "wn": lambda **o: wn.WeightNorm(0.01, 0.02, initial_norm=1.5, **o),
    "wn, powers": lambda **o: wn.WeightNorm(scaled(0.01, 1.0, 1.5), scaled(0.02, 0.5, -1.0), **o),
    "rpgd": lambda **o: wn.RPGD(0.01, 0.02, **o),
    "rpgd, phases": lambda **o: wn.RPGD(two_phase(0.04, 0.01, 9), two_phase(0.0, 0.02, 5), **o),
    "rpgd, powers": lambda **o: wn.RPGD(scaled(0.01, 1.0), scaled(0.02, 0.5), **o),
}
MOMENTA = ({}, {"momentum": 0.6}, {"momentum": 0.6, "nesterov": True})


def make(loss, m=8, d=20, rank=None, seed=0):
    """A model, as much of it as there is in `rank` dimensions, and a direction."""
    rng = np.random.default_rng(seed)
    A = rng.standard_normal((m, d)) / np.sqrt(d)
    if rank is not None:
        A = A[:, :rank] @ rng.standard_normal((rank, d)) / 4
    if loss == "poisson":
        y = rng.poisson(1.0, m).astype(float)
    else:
        y = rng.choice([0.0, 1.0], m) if loss == "logistic" else 2 * rng.standard_normal(m)
    return wn.GeneralizedLinear(A, y, loss), rng.standard_normal(d)


def batch_of(method, problem, scales, units, compiled=True, threads=1, tolerance=0.0):
    space = problem.reduce()
    units = space.enter(units / np.linalg.norm(units, axis=1, keepdims=True))
    begun = Start(np.asarray(scales, dtype=float), units, perp_units=space.perp_units(units, True))
    return start(method, space.problem, begun, tolerance, compiled=compiled, threads=threads)


def assert_same_runs(batch, twin, rtol=1e-11):
    """Positions, losses and ends of two batches."""
    np.testing.assert_array_equal(batch.alive, twin.alive)
    np.testing.assert_array_equal(batch.ended_at, twin.ended_at)
    np.testing.assert_allclose(batch.loss, twin.loss, rtol=rtol, atol=1e-16)
    with np.errstate(invalid="ignore"):
        here, there = batch.position(), twin.position()
    for name in ("unit", "scale", "direction_norm", "perp"):
        size = np.nanmax(np.abs(getattr(there, name)), initial=1e-300)
        np.testing.assert_allclose(
            getattr(here, name), getattr(there, name), rtol=rtol, atol=rtol * size, err_msg=name
        )


@given(
    loss=st.sampled_from(LOSSES),
    name=st.sampled_from(sorted(METHODS)),
    options=st.sampled_from(MOMENTA),
    shape=st.sampled_from([(1, 3, None), (8, 20, None), (9, 9, 4), (21, 5, None), (17, 30, 0)]),
    scales=st.lists(st.floats(-1.5, 1.5), min_size=1, max_size=11),
    inside=st.booleans(),
    count=st.integers(0, 40),
    seed=st.integers(0, 9),
)
@settings(max_examples=150, deadline=None)
def test_kernel_equals_rules(loss, name, options, shape, scales, inside, count, seed):
    """Any loss, method, schedule, momentum, shape (a zero A too), number of runs, scale (zero and
    negative too) and start (in the row space too).
    """
    m, d, rank = shape
    problem, _ = make(loss, m, d, rank, seed)
    units = np.random.default_rng(seed).standard_normal((len(scales), d))
    if inside and rank != 0:
        units = units @ np.linalg.pinv(problem.A) @ problem.A
    pair = [batch_of(METHODS[name](**options), problem, scales, units, kind) for kind in (1, 0)]
    assert [type(batch) for batch in pair] == [ModelBatch, RulesBatch]
    for batch in pair:
        batch.advance(count // 3)
        batch.advance(count - count // 3)
    assert_same_runs(*pair)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ["gd", "wn", "rpgd"])
def test_every_step_of_a_wild_run_is_that_of_the_rules(loss, name):
    """Where steps are too long for the scale, rounding grows until two runs have nothing in common
    (or are in two phases of one cycle): so each step starts from the state of the rules.
    """
    problem, w0 = make(loss)
    makers = {"gd": wn.GradientDescent, "wn": wn.WeightNorm, "rpgd": wn.RPGD}
    method = makers[name](0.03) if name == "gd" else makers[name](0.03, 0.02)
    path, small = batch_of(method, problem, [0.8], w0[None], False), problem.reduce().problem
    for _ in range(60):
        path.advance(12)
        here = path.state()
        begun = Start(here.scale, here.vector, state=here)
        pair = [start(method, small, begun, 0.0, compiled=kind) for kind in (True, False)]
        for batch in pair:
            batch.advance(1)
        assert_same_runs(*pair, rtol=1e-13)


@pytest.mark.parametrize(
    ("shape", "by_blas"),
    [((150, 170), False), pytest.param((11_003, 50), True, marks=pytest.mark.slow)],
)
def test_large_models_equal_rules(shape, by_blas):
    problem, w0 = make("logistic", *shape)
    large = problem.reduce().problem.matrix.size >= BLAS_FROM
    assert large == by_blas
    for method in (wn.RPGD(curvature(), 0.01, momentum=0.2), wn.WeightNorm(curvature(), 0.01)):
        for units in (w0[None], np.array([w0, w0[::-1], w0**2])):
            scales = np.linspace(1.0, 2.0, len(units))
            pair = [batch_of(method, problem, scales, units, kind) for kind in (1, 0)]
            for batch in pair:
                batch.advance(20)
            assert pair[0].alive.all()
            assert_same_runs(*pair)


def losses_and_slopes(loss, z, lone):
    """The kernel's loss and derivative at each z, from one step of gradient descent so long that
    nothing else is left of it.
    """
    step = 2.0**500
    problem = wn.GeneralizedLinear(np.eye(1), loss.y if hasattr(loss, "y") else [1.0], loss)
    units = np.tile([1.0, 0.0], (len(z), 1))
    batches = [
        start(wn.GradientDescent(step), problem.reduce().problem, Start(z[i], units[i]), 0.0)
        for i in (np.arange(len(z)).reshape(-1, 1) if lone else [slice(None)])
    ]
    values = np.concatenate([batch.loss for batch in batches])
    for batch in batches:
        batch.set_divergence_loss(np.full(len(batch.loss), np.inf))
        batch.alive[:] = True
        batch.advance(1)
    x = np.concatenate([b.position().scale * b.position().unit[:, 0] for b in batches])
    return values, -x / step


def exact(loss, z):
    """Value and derivative with fifty digits; of float64 size."""
    shift = float(np.log(loss.y[0])) if isinstance(loss, Poisson) and loss.y[0] else 0.0
    with mpmath.workdps(50):
        u, z = mpmath.mpf(z - shift), mpmath.mpf(z)  # that difference is rounded, as in NumPy
        if isinstance(loss, Logistic):
            return float(mpmath.log1p(mpmath.exp(-z))), float(-1 / (1 + mpmath.exp(z)))
        y = mpmath.mpf(loss.y[0])
        if isinstance(loss, Poisson):
            value = y * (mpmath.expm1(u) - u) if y else mpmath.exp(z)
            return float(value), float(y * mpmath.expm1(u) if y else mpmath.exp(z))
        r, width = z - y, mpmath.mpf(loss.width)
        inside = min(abs(r), width)
        return float(inside * (abs(r) - inside / 2)), float(mpmath.sign(r) * inside)


@pytest.mark.rounding
@pytest.mark.parametrize("lone", [False, True])
@pytest.mark.parametrize(
    "loss",
    [
        Logistic(np.ones(1)),
        Poisson(np.array([0.0])),
        Poisson(np.array([1.0])),
        Poisson(np.array([1e15])),
        Huber(np.zeros(1), width=0.7),
    ],
    ids=["logistic", "poisson 0", "poisson 1", "poisson 1e15", "huber"],
)
def test_losses_are_exact_to_a_few_units_in_the_last_place(loss, lone):
    """Tiny ones relative to themselves: they are what a run stops by."""
    rng, count = np.random.default_rng(0), 20 if lone else 100
    center = np.log(loss.y[0]) if isinstance(loss, Poisson) and loss.y[0] else 0.0
    far = rng.choice([-1, 1], count) * np.exp(rng.uniform(-20, 6.3, count))
    z = center + np.concatenate([rng.uniform(-2, 2, count), far, [0.0, 0.3465, 0.3466, 1.0397]])
    values, slopes = losses_and_slopes(loss, z, lone)
    expected = np.array([exact(loss, one) for one in z]).T
    # where k is not 0, e^u − 1 − u is a difference: of numbers ten times as large, next to log(2)/2
    units = 40 if isinstance(loss, Poisson) else 4
    np.testing.assert_allclose(values, expected[0], rtol=units * EPS, atol=1e-300)
    # a step of 2^500 brings these within the range of numbers
    seen = (np.abs(expected[1]) > 1e-130) & (np.abs(expected[1]) < 1e130)
    np.testing.assert_allclose(slopes[seen], expected[1, seen], rtol=units * EPS)


def test_a_loss_beyond_all_numbers():
    """As in NumPy: e^z is cut off, a logistic loss is not, and NaN stays NaN."""
    z = np.array([649.0, 651.0, 1e5, -1e5, np.nan])
    for loss in (Logistic(np.ones(1)), Poisson(np.array([2.0])), Huber(np.zeros(1))):
        values, _ = losses_and_slopes(loss, z, lone=False)
        with np.errstate(invalid="ignore"):
            np.testing.assert_allclose(values, loss.value(z), rtol=1e-13)
    subnormal = losses_and_slopes(Logistic(np.ones(1)), np.array([720.0, 740.0]), False)[0]
    np.testing.assert_allclose(subnormal, np.exp([-720.0, -740.0]), atol=1e-323)
