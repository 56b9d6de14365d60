"""What the explorer's page must compute, computed by weightnorm: hostile instances with answers.

A case is a dictionary with `what`, its input and `expected`: lists of numbers, each with the size
against which an error counts. `compute.js` gives a page's answer to it; nothing is shared but the
numbers.
"""

import itertools

import numpy as np

import weightnorm as wn
from weightnorm.theory import (
    distance_map,
    finite_step_limit,
    flow_limit,
    flow_limit_as_printed,
    gd_limit,
    noise_equilibrium,
    norm_bracket,
    stability,
    wn_beats_gd,
)

STEPS = 1500


class Instance:
    """A least-squares problem in coordinates of its own, A = [diag(s) | 0], and a start."""

    def __init__(self, singular, target, scale, seen, unseen):
        self.singular, self.target = np.array(singular, float), np.array(target, float)
        rank = self.singular.size
        self.problem = wn.LeastSquares(
            np.column_stack([np.diag(self.singular), np.zeros(rank)]), self.singular * self.target
        )
        seen = np.array(seen, float)
        seen = seen * np.sqrt(max(0.0, 1.0 - unseen**2)) / (np.linalg.norm(seen) or 1.0)
        self.scale, self.direction = float(scale), np.append(seen, unseen)
        self.gstar, self.steep = float(np.linalg.norm(target)), float(self.singular.max() ** 2)

    @property
    def start(self):
        return {"scale": self.scale, "direction": self.direction}

    def case(self, what, expected, **more):
        """With the numbers the page starts from."""
        return {
            "what": what,
            "problem": {
                "curvatures": (self.singular**2).tolist(),
                "target": self.target.tolist(),
                "across": np.zeros(self.target.size).tolist(),
                "free": True,
            },
            "start": {
                "scale": self.scale,
                "seen": self.direction[:-1].tolist(),
                "unseen": float(self.direction[-1]),
            },
            "expected": expected,
            **more,
        }


def numbers(values, size):
    """Expected numbers, and the size their errors are measured against."""
    return {"values": np.ravel(values).astype(float).tolist(), "size": float(size)}


def relative(values):
    """Expected numbers, to be right against the largest of them."""
    return numbers(values, np.abs(values).max() or 1.0)


def instances():
    """Problems of rank 1 to 20, well and badly conditioned, in several units; starts of any scale,
    sign and share unseen.
    """
    rng = np.random.default_rng(7)
    for number, (rank, kappa) in enumerate(itertools.product((1, 2, 3, 7, 20), (1.0, 3.0, 30.0))):
        for turn in range(4):
            features, targets = 10.0 ** rng.choice([-6, -3, 0, 0, 3, 6], 2)
            singular = np.geomspace(1.0, 1.0 / kappa, rank) * features
            target = rng.standard_normal(rank)
            target *= targets / features / np.linalg.norm(target)
            gstar = targets / features
            scale = gstar * rng.choice([0.03, 0.4, 0.9, 1.0, 1.7, 4.0]) * rng.choice([1, 1, 1, -1])
            unseen = [0.5, 0.95, 1.0, 0.02][(number + turn) % 4] * (-1) ** turn
            seen = rng.standard_normal(rank)
            yield Instance(singular, target, scale, seen, unseen)
    one = [1.0], [1.0]
    yield Instance(*one, 0.0, [1.0], 0.6)  # from g0 = 0 the pull decides
    yield Instance(*one, 0.5, [1.0], 0.0)  # in the row space
    yield Instance(*one, 0.5, [-1.0], 0.8)  # the scale passes through zero
    yield Instance([1.0, 0.1], [0.0, 1.0], 0.3, [0.1, -1.0], 0.3)
    yield Instance([1.0, 1.0, 1.0], [1.0, 0.0, 0.0], 0.4, [-0.6, 0.0, 0.1], 0.5)


def ratios(instance, number):
    """c in units of g*²: slow, equal and fast scales."""
    return instance.gstar**2 * np.array([0.05, 1.0, 30.0, 0.3, 5.0])[[number % 5, (number + 2) % 5]]


def steps_of(instance, number, ratio):
    """A stable pair of steps, near the edge for some."""
    share = (0.05, 0.3, 0.9)[number % 3]
    widest = max(instance.gstar, abs(instance.scale)) ** 2
    eta = share / (instance.steep * max(widest, ratio))
    return eta, ratio * eta


def run_cases(instance, number):
    """Every method, plain, with momentum, frozen at first, and with noise on the labels."""
    (ratio, _) = ratios(instance, number)
    eta, gamma = steps_of(instance, number, ratio)
    step = (0.05, 0.7, 1.8)[number % 3] / instance.steep
    switch = (0, 400)[number % 2]
    kinds = [{}, {"momentum": 0.5}, {"momentum": 0.9, "nesterov": True}]
    noisy = {"label_noise": 1e-2 * instance.gstar * instance.singular.max(), "seed": 5}
    for options in [*kinds, noisy]:
        slow = 1.0 - options.get("momentum", 0.0)
        thaw = wn.schedules.two_phase(0.0, slow * gamma, switch)
        methods = {
            "gd": wn.GradientDescent(slow * step, **options),
            "wn": wn.WeightNorm(slow * eta, thaw, **options),
            "rpgd": wn.RPGD(slow * eta, thaw, **options),
        }
        for name, method in methods.items():
            every = None if options is noisy else 1  # recording is slow where samples are apart
            result = wn.run(
                method, instance.problem, **instance.start, tolerance=0.0, max_steps=STEPS,
                record=every,
            )  # fmt: skip
            size = max(instance.gstar, abs(instance.scale), result.norm)
            expected = {"weights": numbers(result.weights, size)}
            picked = [0, 1, 7, 100, 1000, STEPS]
            if every is not None:
                history = result.history
                expected["scale"] = numbers(history.scale[picked], np.abs(history.scale).max())
                expected["loss"] = numbers(history.loss[picked], history.loss.max())
            yield instance.case(
                "run",
                expected,
                method=name,
                picked=picked,
                options={
                    "step": slow * step,
                    "eta": slow * eta,
                    "gamma": slow * gamma,
                    "switchAt": switch,
                    "momentum": options.get("momentum", 0.0),
                    "nesterov": options.get("nesterov", False),
                    "tolerance": 0.0,
                    "maxSteps": STEPS,
                },
                noise=options.get("label_noise", 0.0),
                seed=options.get("seed", 0),
            )


def flow_case(instance, ratio, times=None):
    """The flow at times from the start to where little moves, or at those given."""
    fastest = 1.0 / (instance.steep * max(instance.gstar, abs(instance.scale)) ** 2)
    ours = fastest * np.array([0.0, 0.01, 0.3, 3.0, 30.0, 300.0])
    times = ours if times is None else np.array(times)
    found = wn.flow(instance.problem, **instance.start, ratio=ratio, times=times)
    size = np.abs(found.weights).max()
    expected = {
        "weights": numbers(found.weights, size),
        "scale": numbers(found.scale, max(size, np.abs(found.scale).max())),
    }
    return instance.case("flow", expected, ratio=float(ratio), times=times.tolist())


def limit_case(instance, ratio):
    """The three ends in closed form, and which of two is closer."""
    limit = flow_limit(instance.problem, **instance.start, ratio=ratio)
    printed = flow_limit_as_printed(instance.problem, **instance.start, ratio=ratio)
    descent = gd_limit(instance.problem, **instance.start)
    q0 = abs(float(instance.direction[-1]))
    compared = wn_beats_gd(instance.scale, instance.gstar, q0, ratio)
    expected = {
        "applies": numbers(limit.applies, 1.0),
        "perp": numbers(limit.perp_norm, limit.perp_norm or 1.0),  # relative, however small
        "gd": numbers(descent.weights, descent.norm),
        "critical": numbers(compared.critical_ratio, compared.critical_ratio),
        "closer": numbers(compared.closer, 1.0),
    }
    if limit.applies:
        expected["weights"] = numbers(limit.weights, limit.norm)
        expected["scale"] = numbers(limit.scale, limit.norm)
    if np.isfinite(printed.perp_norm):
        expected["printed"] = numbers(printed.perp_norm, printed.perp_norm or 1.0)
    return instance.case("limit", expected, ratio=float(ratio))


def threshold_case(instance, number, ratio):
    """The largest stable steps at the flow's end, the bracket of norms, the noise's equilibrium."""
    momentum, nesterov = [(0.0, False), (0.9, False), (0.5, True)][number % 3]
    eta, gamma = steps_of(instance, number, ratio)
    norm = flow_limit(instance.problem, **instance.start, ratio=ratio).norm
    given = {"momentum": momentum, "nesterov": nesterov}
    found = stability(instance.problem, norm, eta, gamma, "wn", **given, direction_norm=1.5)
    descent = stability(instance.problem, None, eta, 0.0, "gd", **given)
    bracket = norm_bracket(instance.problem, eta, gamma, **given)
    quiet = noise_equilibrium(instance.problem, eta, ratio=ratio, label_noise=1.0)
    expected = {
        "gd": numbers(descent.max_direction_step, descent.max_direction_step),
        "gamma": numbers(found.max_scale_step, found.max_scale_step or 1.0),
        "stable": numbers(found.stable, 1.0),
        "bracket": numbers([] if bracket is None else bracket, instance.gstar),
        "noise": numbers(quiet.norm, quiet.norm),
    }
    if np.isfinite(found.max_direction_step):
        expected["eta"] = numbers(found.max_direction_step, found.max_direction_step or 1.0)
    steps = {"eta": float(eta), "gamma": float(gamma), "norm": norm, "length": 1.5}
    return instance.case("threshold", expected, ratio=float(ratio), **steps, **given)


def finite_case(instance, number, ratio):
    """Ends of WN and rPGD with steps of this size; the integration in Python is good to 1e-7."""
    momentum, nesterov = [(0.0, False), (0.5, False), (0.5, True)][number % 3]
    eta, _ = steps_of(instance, 3 * number, (1.0 - momentum) ** 2 * 0.3 * ratio)
    eta *= (1.0 - momentum) ** 2 * 0.3
    given = {"momentum": momentum, "nesterov": nesterov}
    expected = {}
    for method in ("wn", "rpgd"):
        end = finite_step_limit(
            instance.problem, **instance.start, method=method, step=eta, ratio=ratio, **given
        )
        known = end.equivalent_step <= 0.4 and end.applies
        expected[method] = numbers([end.perp_norm] if known else [], 1e4 * end.norm)
    return instance.case("finite", expected, ratio=float(ratio), eta=float(eta), **given)


def phase_case(instance):
    """The phase diagram: distances, the printed formula's error and the boundary."""
    gstar, q0 = instance.gstar, abs(float(instance.direction[-1]))
    scales = gstar * np.array([0.0, 1e-3, 0.5, 0.99, 1.0, 1.3, 3.0, 1e3])
    at = gstar**2 * np.array([1e-6, 0.01, 0.3, 1.0, 20.0, 1e5])
    distances = distance_map(scales, at, gstar, q0)
    critical = [wn_beats_gd(g0, gstar, q0).critical_ratio for g0 in scales[1:]]
    expected = {
        "distance": numbers(distances, gstar),
        "critical": numbers(np.array(critical) / np.maximum(gstar, scales[1:]) ** 2, 1.0),
    }
    return instance.case("phase", expected, scales=scales.tolist(), ratios=at.tolist(), q0=q0)


def made_cases():
    """make_regression and random_direction from a seed; signs of axes do not count."""
    for m, d, kappa, seed in [
        (20, 50, 1.0, 0), (20, 50, 5.0, 3), (1, 2, 1.0, 1), (3, 400, 30.0, 2**31), (7, 5, 2.0, 4),
        (6, 6, 1.0, 0), (20, 21, 10.0, 11),
    ]:  # fmt: skip
        problem = wn.datasets.make_regression(m, d, kappa, 2.0, seed=seed)
        direction = wn.datasets.random_direction(d, seed)
        seen, unseen = problem.split(direction)
        limit = gd_limit(problem, 1.3, direction)
        away = float(np.linalg.norm(unseen)) if d > m else 0.0
        axis = problem.min_norm_solution() / 2.0
        rest = float(np.linalg.norm(seen - seen @ axis * axis)) if min(m, d) > 1 else 0.0
        angles = np.arctan2([away, rest], [np.linalg.norm(seen), seen @ axis])
        start = {
            "samples": m, "features": d, "condition": kappa, "norm": 2.0, "seed": seed,
        }  # fmt: skip
        expected = {
            "curvatures": numbers(np.linalg.svd(problem.A, compute_uv=False) ** 2, 1.0),
            "unseen": numbers(away, 1.0),
            "along": numbers(seen @ problem.min_norm_solution(), 2.0),
            "pull": numbers(problem.y @ (problem.A @ direction), 2.0),
            "descent": numbers(limit.norm, 2.0),
            "angles": numbers(np.degrees(angles), 100.0),
            "across": numbers([0.0, rest > 0.0], 1.0),
            "free": numbers(d > m, 1.0),
        }
        if kappa > 1.0:
            target = np.abs(problem.factorisation.coordinates(problem.min_norm_solution()))
            expected["target"] = numbers(target, 2.0)
        yield {"what": "made", "made": start, "expected": expected}
        eta = 0.05
        noisy = wn.RPGD(eta, eta, label_noise=0.05, seed=2)
        ended = wn.run(noisy, problem, 0.8, direction, tolerance=0.0, max_steps=500)
        yield {
            "what": "made-noise",
            "made": start,
            "options": {
                "eta": eta, "gamma": eta, "step": eta, "switchAt": 0, "momentum": 0.0,
                "nesterov": False, "tolerance": 0.0, "maxSteps": 500,
            },
            "noise": 0.05,
            "seed": 2,
            "scale": 0.8,
            "expected": {"norm": numbers([ended.norm, ended.loss, ended.scale], 2.0)},
        }  # fmt: skip


def cases():
    """All of them."""
    for number, instance in enumerate(instances()):
        yield from run_cases(instance, number)
        for ratio in ratios(instance, number):
            yield flow_case(instance, ratio)
            yield limit_case(instance, ratio)
            yield threshold_case(instance, number, ratio)
            if instance.steep < 10.0 * instance.singular.min() ** 2:  # stiff ones it leaves alone
                yield finite_case(instance, number, ratio)
        yield phase_case(instance)
    yield from made_cases()


def worst(expected, answer):
    """The largest error of an answer by name, in units of the sizes; infinite where it is missing
    or has another length.
    """
    errors = {}
    for name, wanted in expected.items():
        got = answer.get(name)
        values = np.array(wanted["values"])
        if got is None or len(np.ravel(got)) != values.size:
            errors[name] = np.inf
            continue
        found = np.array([np.nan if v is None else v for v in np.ravel(got)], float)
        off = np.where(found == values, 0.0, np.abs(found - values)) / (wanted["size"] or 1.0)
        errors[name] = float(np.nan_to_num(off, nan=np.inf).max(initial=0.0))
    return errors
