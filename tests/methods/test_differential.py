"""Random trainings against the plain loop of training_twin.py, hundreds of them.

A run may be chaotic: its steps amplify the last bits until plain NumPy, started 1e-13 away, ends
elsewhere too. Such a seed says nothing and is left out, whether x, g or ‖w‖ shows it; that few are
is part of the test.
"""

import numpy as np
import pytest

import weightnorm as wn
from tests.support.training_twin import train

NUDGE = 1e-13  # of the start, by which chaos is told
CALM = 1e4  # what a calm training may make of it
ALLOWED = 1e-8  # how far a calm run may be from the loop, which NUDGE × CALM explains


def drawn(seed):
    """A training: the keywords of the loop, the method, the problem, the start and the steps."""
    rng = np.random.default_rng([seed, 7])
    m, extra = int(rng.integers(1, 9)), int(rng.integers(0, 6))
    d = m + extra if rng.random() < 0.8 else max(1, m - extra)
    spread = np.geomspace(1.0, 10 ** -rng.uniform(0, 2), min(m, d))
    left, right = (np.linalg.qr(rng.standard_normal((n, len(spread))))[0] for n in (m, d))
    A = left * spread @ right.T
    reach = rng.random() < 0.7
    y = A @ rng.standard_normal(d) * 3 if reach else rng.standard_normal(m)
    kind = str(rng.choice(["gd", "wn", "rpgd", "bn"]))
    eta, gamma = (float(10 ** rng.uniform(-3, -0.7)) for _ in range(2))
    momentum = float(rng.choice([0.0, 0.0, 0.5, 0.9]))
    options = {"momentum": momentum, "nesterov": bool(momentum and rng.integers(2))}
    if rng.random() < 0.3 and kind != "gd":
        options["clip"] = float(10 ** rng.uniform(-2, 1))
    if rng.random() < 0.2:
        options["direction_decay"] = 0.01
        if kind != "gd":
            options["scale_decay"] = 0.02
    random = {}
    if rng.random() < 0.3 and kind != "bn":
        random = {"batch_size": int(rng.integers(1, m + 1)), "seed": seed}
        random |= {"label_noise": 0.1} if rng.random() < 0.3 else {}
    norm = {"initial_norm": float(rng.choice([0.5, 1.0, 2.0]))} if kind in ("wn", "bn") else {}
    rule = {"gd": wn.GradientDescent, "wn": wn.WeightNorm, "rpgd": wn.RPGD, "bn": wn.BatchNorm}
    steps = (eta,) if kind == "gd" else (eta, gamma)
    method = rule[kind](*steps, **options, **random, **norm)
    start = float(rng.choice([-1, 1]) * 10 ** rng.uniform(-1.5, 0.7)), rng.standard_normal(d)
    how = options | norm | ({"draws": method.sampling.draws(m)} if random else {})
    return kind, A, y, method, start, (eta, gamma), how, int(rng.integers(1, 300))


def loop(kind, A, y, start, steps, how, count):
    """x, g and ‖w‖ after so many steps of the plain loop."""
    (g0, w0), (eta, gamma) = start, steps
    with np.errstate(all="ignore"):
        x, _, w = train(kind, A, y, g0, w0, lambda t: eta, lambda t: gamma, count, **how)[-1]
    return np.concatenate([x, [np.linalg.norm(w)]])


def check(seed):
    """Compare one seed; "compared", or why not."""
    kind, A, y, method, start, steps, how, count = drawn(seed)
    plain = loop(kind, A, y, start, steps, how, count)
    nudged = loop(kind, A, y, (start[0] * (1 + NUDGE), start[1]), steps, how, count)
    size = 1.0 + np.abs(plain).max()
    if not np.isfinite(plain).all() or size > 1e8:
        return "diverged"
    if np.abs(plain - nudged).max() > CALM * NUDGE * size:
        return "chaotic"
    coordinates = "full" if seed % 3 == 0 else "reduced"
    run = wn.run(
        method, wn.LeastSquares(A, y), *start,
        tolerance=0, max_steps=count, coordinates=coordinates,
    )  # fmt: skip
    norm = [] if kind == "gd" else [run.direction_norm]
    ours = np.concatenate([run.weights, norm])
    assert np.abs(ours - plain[: ours.size]).max() <= ALLOWED * size, (seed, kind, coordinates)
    return "compared"


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(part, marks=pytest.mark.long) for part in range(1, 10))]
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_five_hundred_trainings_agree_with_plain_numpy(part):
    found = [check(seed) for seed in range(50 * part, 50 * part + 50)]
    assert found.count("compared") >= 40, found
