"""Problems that know K = AAᵀ alone: the same as with A, to κ(K)·eps, in everything one can ask."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weightnorm as wn
from tests.support.kernel_cases import CONDITIONS, STARTS, lifted, off, pair
from weightnorm import theory

METHODS = {
    "gd": wn.GradientDescent(0.3),
    "wn": wn.WeightNorm(0.1, 0.1),
    "rpgd": wn.RPGD(0.1, 0.05),
    "nesterov": wn.RPGD(0.05, 0.05, momentum=0.5, nesterov=True),
    "batches": wn.RPGD(0.02, 0.02, batch_size=4, seed=1),
    "labels": wn.WeightNorm(0.05, 0.05, label_noise=0.1, seed=2),
    "decay": wn.RPGD(0.1, 0.1, scale_decay=0.05),
    "clip": wn.RPGD(0.1, 0.1, clip=0.2),
    "frozen": wn.RPGD(wn.schedules.curvature(), wn.schedules.two_phase(0.0, 0.1, 50)),
}
LIMITS = {
    "flow": lambda p, **s: theory.flow_limit(p, 1.5, ratio=0.7, **s),
    "printed": lambda p, **s: theory.flow_limit_as_printed(p, 0.5, ratio=2.0, **s),
    "gd": lambda p, **s: theory.gd_limit(p, -1.5, **s),
    "frozen": lambda p, **s: theory.fixed_scale_limit(p, 0.5, **s),
    "beyond": lambda p, **s: theory.fixed_scale_limit(p, 50.0, **s),
    "restart": lambda p, **s: theory.restart_limit(p, 0.5, **s),
    "steps": lambda p, **s: theory.finite_step_limit(
        p, 1.5, s.pop("direction", None), "rpgd", 1e-3, **s
    ),
}


def plain_rpgd(A, y, g, w, eta, gamma, steps):
    """rPGD as the paper has it: nothing of the package."""
    for _ in range(steps):
        r = A @ (g * w) - y
        slope = A.T @ r
        v = w - eta * g * slope
        g, w = g - gamma * (w @ slope), v / np.linalg.norm(v)
    return g, w


# The same as with features.


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("name", METHODS)
def test_runs_are_those_of_the_features(name, condition, start):
    it = pair(condition, start, seed=3)
    options = {"tolerance": 0, "max_steps": 300}
    known = wn.run(METHODS[name], it.explicit, 1.5, it.w0, **options)
    found = wn.run(METHODS[name], it.kernel, 1.5, start_values=it.f0, **options)
    assert found.num_steps == known.num_steps
    for number in ("scale", "norm", "perp_norm", "distance"):
        assert abs(getattr(found, number) - getattr(known, number)) <= it.tolerance * known.norm
    assert abs(found.loss - known.loss) <= it.tolerance * it.explicit.zero_loss
    assert off(lifted(it, found), known.weights) <= it.tolerance
    assert off(found.predict(it.new_kernel, it.new_f0), it.new @ known.weights) <= it.tolerance


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_sweep_is_that_of_the_features(condition):
    starts = [pair(condition, seed=5), pair(condition, "row space", seed=5)]
    it = starts[0]
    methods = {name: METHODS[name] for name in ("gd", "wn", "rpgd", "batches")}
    options = {"tolerance": 0, "max_steps": 200}
    scales = [0.0, -0.5, 2.0]
    known = wn.sweep(it.explicit, methods, scales, [s.w0 for s in starts], **options)
    values = [s.f0 for s in starts]
    found = wn.sweep(it.kernel, methods, scales, start_values=values, **options)
    assert found.sizes == known.sizes
    for name in ("norm", "final_scale", "perp_norm", "distance"):
        assert off(found[name], known[name]) <= it.tolerance
    assert (found.status == known.status).all()
    assert off(found.start_perp_norm, known.start_perp_norm) <= it.tolerance
    one = wn.run(methods["rpgd"], it.kernel, 2.0, start_values=it.f0, **options)
    entry = found.sel(algorithm="rpgd", scale=2.0).isel(start=0)
    assert abs(float(entry.norm) - one.norm) <= 1e-12 * one.norm


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("condition", CONDITIONS)
def test_flows_are_those_of_the_features(condition, start):
    it = pair(condition, start, seed=7)
    times = [0.0, 0.5, 3.0, 20.0]
    for make, options in ((wn.flow, {"ratio": 0.5}), (wn.gradient_flow, {})):
        known = make(it.explicit, 1.5, it.w0, times=times, **options)
        found = make(it.kernel, 1.5, start_values=it.f0, times=times, **options)
        # the integrator's own tolerance, which a last bit of its steps may move
        near = 1e-9 + it.tolerance
        assert off(found.scale, known.scale) <= near
        assert off(lifted(it, found), known.weights.T) <= near
        predicted = found.predict(it.new_kernel, it.new_f0)
        assert off(predicted, known.weights @ it.new.T) <= near


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("condition", CONDITIONS)
@pytest.mark.parametrize("name", LIMITS)
def test_limits_are_those_of_the_features(name, condition, start):
    it = pair(condition, start, seed=11)
    known = LIMITS[name](it.explicit, direction=it.w0)
    found = LIMITS[name](it.kernel, start_values=it.f0)
    if (name, start) == ("beyond", "row space"):  # nothing is promised: no way leads off it
        assert not found.applies
        return
    for number in ("scale", "norm", "perp_norm", "distance"):
        assert abs(getattr(found, number) - getattr(known, number)) <= it.tolerance * known.norm
    if start == "general":  # with features a start is in the row space to rounding, not to κ(K)·eps
        assert found.applies == known.applies
    assert off(lifted(it, found), known.weights) <= it.tolerance
    assert off(found.predict(it.new_kernel, it.new_f0), it.new @ known.weights) <= it.tolerance


@pytest.mark.parametrize("condition", CONDITIONS)
def test_other_predictions_are_those_of_the_features(condition):
    it = pair(condition, seed=13)
    known, found = it.explicit, it.kernel
    at = {"direction": it.w0}, {"start_values": it.f0}
    ask = (
        lambda p, s: theory.weight_decay_limit(p, 0.1).norm,
        lambda p, s: theory.batchnorm_limit(p, 1.0, **s).norm,
        lambda p, s: theory.scale_sign(p, 1.0, **s).sign,
        lambda p, s: theory.norm_bracket(p, 0.01, 0.01),
        lambda p, s: theory.flow_outcome(p, 1.0, s.get("direction"), 1.0, **_rest(s)).value,
        lambda p, s: p.floor,
        lambda p, s: p.curvature,
        lambda p, s: p.value(p.min_norm_solution()),
    )
    for question in ask:
        a, b = (question(p, s) for p, s in zip((known, found), at, strict=True))
        if isinstance(a, str | dict):
            assert str(a)[:20] == str(b)[:20]
        else:
            np.testing.assert_allclose(b, a, rtol=it.tolerance, atol=it.tolerance)
    ridge = theory.weight_decay_limit(found, 0.1)
    assert (
        off(ridge.predict(it.new_kernel), it.new @ theory.weight_decay_limit(known, 0.1).weights)
        <= it.tolerance
    )


def _rest(start):
    return {key: value for key, value in start.items() if key != "direction"}


def test_a_plan_is_that_of_the_features():
    it = pair(3.0, seed=17)
    known = theory.plan(it.explicit, 1e-3, 5.0, it.w0)
    found = theory.plan(it.kernel, 1e-3, 5.0, start_values=it.f0)
    assert [steps for _, steps in found.stages] == [steps for _, steps in known.stages]
    ended = found.run()
    assert ended.status == "converged"
    assert off(lifted(it, ended), known.run().weights) <= 1e-10
    # one that holds for any start, from one with values and from one orthogonal to the data
    any_start = theory.plan(it.kernel, 1e-3)
    assert any_start.run(start_values=it.f0).status == any_start.run().status == "converged"


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.integers(1, 6), st.integers(0, 5), st.floats(-2, 2))
def test_against_plain_steps_on_features(seed, m, more, g0):
    it = pair(3.0, seed=seed, m=m, d=m + more)
    g, w = plain_rpgd(it.A, it.y, g0, it.w0, 0.1, 0.07, 60)
    found = wn.run(wn.RPGD(0.1, 0.07), it.kernel, g0, start_values=it.f0, tolerance=0, max_steps=60)
    np.testing.assert_allclose(found.predict(it.new_kernel, it.new_f0), it.new @ (g * w), atol=1e-8)
    assert abs(found.scale - g) <= 1e-9


@pytest.mark.parametrize("rank", [1, 4])
def test_a_rank_deficient_kernel(rank):
    it = pair(4.0, seed=19, rank=rank, reach=False)
    assert it.kernel.rank == rank
    assert abs(it.kernel.floor - it.explicit.floor) <= 1e-12 * it.explicit.floor
    method, options = wn.RPGD(0.02, 0.02), {"tolerance": 0, "max_steps": 300}
    known = wn.run(method, it.explicit, 1.5, it.w0, **options)
    found = wn.run(method, it.kernel, 1.5, start_values=it.f0, **options)
    assert off(lifted(it, found), known.weights) <= 1e-12
    limit = theory.flow_limit(it.kernel, 1.5, start_values=it.f0)
    assert off(lifted(it, limit), theory.flow_limit(it.explicit, 1.5, it.w0).weights) <= 1e-12
    # reachable targets stay so, and samples that are there twice
    again = pair(4.0, seed=19, rank=rank)
    assert again.kernel.floor == 0.0
    twice = np.vstack([again.A, again.A])
    both = wn.KernelLeastSquares(twice @ twice.T, np.concatenate([again.y, again.y]))
    assert (both.rank, both.floor) == (rank, 0.0)


def test_full_coordinates_give_the_same():
    it = pair(3.0, seed=23)
    options = {"start_values": it.f0, "tolerance": 0, "max_steps": 200}
    for method in (wn.RPGD(0.1, 0.1), wn.BatchNorm(0.05, 0.05)):
        reduced = wn.run(method, it.kernel, 1.5, **options)
        full = wn.run(method, it.kernel, 1.5, coordinates="full", **options)
        assert off(full.weights, reduced.weights) <= 1e-12
        assert off(full.dual_coef, reduced.dual_coef) <= 1e-11
        assert abs(full.start_share - reduced.start_share) <= 1e-12


def test_means_taken_off():
    it = pair(3.0, seed=29)
    known, found = it.explicit.centred(), it.kernel.centred()
    assert found.rank == it.kernel.rank - 1
    f0 = it.f0 - it.f0.mean()
    a = theory.flow_limit(known, 1.0, it.w0)
    b = theory.flow_limit(found, 1.0, start_values=f0)
    assert abs(a.norm - b.norm) <= 1e-12 * a.norm
    far = wn.KernelLeastSquares(it.A @ it.A.T + 1e6, it.y + 1e9).centred()
    assert far.rank == found.rank
    assert abs(theory.gd_limit(far, 0.0).norm - theory.gd_limit(found, 0.0).norm) <= 1e-4


# What must always hold.


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.integers(-6, 6), st.integers(-6, 6))
def test_units_of_features_and_targets(seed, features, targets):
    """A·a and y·b: weights are b/a times as large, values of a unit direction a times."""
    it, a, b = pair(5.0, seed=seed, m=5, d=9), 10.0**features, 10.0**targets
    scale = 1.2
    known = theory.flow_limit(it.kernel, scale, ratio=0.5, start_values=it.f0)
    other = wn.KernelLeastSquares(a**2 * (it.A @ it.A.T), b * it.y)
    found = theory.flow_limit(
        other, scale * b / a, ratio=0.5 * (b / a) ** 2, start_values=a * it.f0
    )
    assert other.rank == 5
    assert abs(found.start_share * a / b - known.start_share) <= 1e-11
    np.testing.assert_allclose(found.dual_coef * a**2 / b, known.dual_coef, rtol=1e-9, atol=1e-9)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.floats(-3, 3))
def test_the_opposite_start_and_any_order_of_samples(seed, scale):
    it = pair(5.0, seed=seed, m=5, d=9)
    method, options = wn.RPGD(0.1, 0.1), {"tolerance": 0, "max_steps": 50}
    known = wn.run(method, it.kernel, scale, start_values=it.f0, **options)
    opposite = wn.run(method, it.kernel, -scale, start_values=-it.f0, **options)
    predicted = known.predict(it.new_kernel, it.new_f0)
    np.testing.assert_allclose(opposite.predict(it.new_kernel, -it.new_f0), predicted, atol=1e-12)
    order = np.random.default_rng(seed).permutation(5)
    K = it.A[order] @ it.A[order].T
    other = wn.KernelLeastSquares(K, it.y[order])
    found = wn.run(method, other, scale, start_values=it.f0[order], **options)
    np.testing.assert_allclose(found.dual_coef, known.dual_coef[order], atol=1e-10)


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), st.sampled_from(CONDITIONS), st.sampled_from(STARTS))
def test_a_start_by_its_values(seed, condition, start):
    it = pair(condition, start, seed=seed)
    unit = it.kernel.direction(it.f0)
    assert abs(np.linalg.norm(unit) - 1.0) <= 1e-14
    np.testing.assert_allclose(it.kernel.A @ unit, it.f0, atol=1e-7 * np.abs(it.f0).max() + 1e-14)
    if start == "row space":
        assert unit[-1] == 0.0  # as far as K can tell, though 1 − f0ᵀK⁺f0 is not zero
    if start == "orthogonal":
        assert unit[-1] >= 1.0 - 1e-9
        assert np.array_equal(it.kernel.direction(), it.kernel.direction(np.zeros(12)))
