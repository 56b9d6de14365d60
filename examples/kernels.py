"""A kernel, a prior model, 32 samples: what of the prior is kept, and is it worth keeping?

Handwritten digits (8 × 8 pixels), which of two is it, as a regression of ±1. A model is trained on
the first 906 of the collection; then 32 samples of the rest, which other people wrote, are fitted
by kernel methods that start at that model. Two kernels: RBF, whose prior is kernel ridge
regression, and the tangent kernel of a small network (64 pixels and a constant, 32 ReLUs, one
output, no biases) at the weights that it was trained to, which are its prior. Such a network is
homogeneous of degree two, so ⟨∇f(x), θ⟩ = 2f(x): weights θ/2 on its tangent features are the
network itself.

This is weight normalization of the linearised model, in parameter space: x = g·w/‖w‖ for all
parameters at once. It is not the tangent kernel of a weight-normalised network.

The tangent kernels are stored in examples/data/digits_ntk.npz; `--store FILE` makes them anew.

Run it: python examples/kernels.py [--all]   (a few seconds; --all: the whole page
docs/guides/kernel-priors.md)
"""

import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics.pairwise import rbf_kernel

import weightnorm as wn

STORED = Path(__file__).parent / "data" / "digits_ntk.npz"
WRITERS = 906  # samples from here on begin a new run of 0, 1, … 9: other people wrote them
SPLITS, TRAIN = 20, 32
LINES = (
    ((4, 9), (4, 9)),
    ((3, 8), (3, 8)),
    ((4, 9), (4, 7)),
    ((3, 8), (5, 8)),
    ((3, 5), (3, 8)),
    ((7, 9), (4, 9)),
)
WIDTH, UPDATES, RATE = 32, 2_000, 0.01  # of the network, and of Adam
PENALTIES = np.logspace(-6, 2, 33)
ABOVE = """# A kernel with a prior: what we measured

This page is the output of `python examples/kernels.py --all`.

Handwritten digits (8 × 8 pixels), which of two is it, as a regression of ±1. The prior is a model
trained on the first 906 of the collection, on the same two digits or on others; then 32 samples of
the rest, which by their order other people wrote, are fitted by kernel methods that start at that
model. Means over 20 random splits.

Two kernels. *RBF* (γ = 1/(64·variance)): the prior is kernel ridge regression. *NTK*: the tangent
kernel of a small network (64 pixels and a constant, 32 ReLUs, one output, no biases) at the weights
θ that Adam trained it to. Such a network is homogeneous of degree two, ⟨∇f(x), θ⟩ = 2f(x), so
weights θ/2 on its tangent features are the network itself, and that is the prior. The kernels are
stored, in single precision, in `examples/data/digits_ntk.npz`, with the weights that they are of.

**This is weight normalization of the linearised network, in parameter space**: x = g·w/‖w‖ for all
2,112 parameters at once, on features ∇f that stay as they are. It is not the tangent kernel of a
weight-normalised network, whose features are other ones, and says nothing about training that moves
them.

The columns: the mean squared error of the prior itself and of ridgeless regression, where the
default start ends; then what each fit loses (+) or gains (−) against ridgeless, in thousandths,
with the standard error over the splits, paired. Splits overlap and every line has one prior, so the
uncertainty over tasks is larger. `KernelRidge` has the penalty that leaves one out best. "GD" is
gradient descent from the prior, which keeps all that the data cannot see of it. "WN" starts there
too (scale ‖x0‖, ratio 1 in units of ‖x\\*‖²). "WN from 0" starts in the direction of the prior at
scale 0, with ratio 1 and, in the last column, 0.1.
"""
BELOW = """
All twelve lines that were tried are here. What holds in them:

- Where the prior is the same task by other writers, keeping it gains 9 to 47 thousandths over
  ridgeless. Where it is another task it gains up to 14, or loses up to 84.
- From the prior itself weight normalization keeps as much as gradient descent does: its scale
  starts beyond ‖x\\*‖ or near it, and there the WN flow forgets next to nothing.
- From scale zero in the direction of the prior, ratio 1, it keeps a part: it never lost more than
  2 thousandths and gained up to 31. With ratio 0.1 next to nothing is kept.
- KernelRidge with a tuned penalty is between 6 ahead of ridgeless and 11 behind. On the same kind
  of task with 64 linear features ridge is far ahead of minimum norm ([what a prior was
  worth](priors.md)), so this is no rule.

The start matters here because 32 samples leave most of the feature space unseen. With as many
samples as features nothing is left to keep.
"""
NAMES = ("KernelRidge", "GD", "WN", "WN from 0", "ratio 0.1")


def task(digits, first):
    """Pixels of one half of the collection, and ±1 for the first and the second digit."""
    X, y = load_digits(return_X_y=True)
    part = slice(WRITERS) if first else slice(WRITERS, None)
    X, y = X[part] / 16.0, y[part]
    chosen = np.isin(y, digits)
    return X[chosen], np.where(y[chosen] == digits[0], 1.0, -1.0)


# The network and its tangent kernel.


def inputs(X):
    """Pixels, and a constant in place of biases."""
    return np.column_stack([X, np.ones(len(X))])


def train_network(X, y, seed=0):
    """Weights (W, v) of f(x) = vᵀ relu(W x), by Adam on the squared error."""
    rng, Z = np.random.default_rng(seed), inputs(X)
    W = rng.standard_normal((WIDTH, Z.shape[1])) * np.sqrt(2.0 / Z.shape[1])
    v = rng.standard_normal(WIDTH) / np.sqrt(WIDTH)
    means, squares = [0.0, 0.0], [0.0, 0.0]
    for step in range(1, UPDATES + 1):
        seen = Z @ W.T
        error = (np.maximum(seen, 0.0) @ v - y) / len(y)
        slopes = ((error[:, None] * v) * (seen > 0)).T @ Z, np.maximum(seen, 0.0).T @ error
        for i, (weights, slope) in enumerate(zip((W, v), slopes, strict=True)):
            means[i] = 0.9 * means[i] + 0.1 * slope
            squares[i] = 0.999 * squares[i] + 0.001 * slope**2
            size = np.sqrt(squares[i] / (1 - 0.999**step)) + 1e-8
            weights -= RATE * means[i] / (1 - 0.9**step) / size
    return W, v


def network(W, v, X):
    """f(x)."""
    return np.maximum(inputs(X) @ W.T, 0.0) @ v


def tangent_kernel(W, v, X):
    """⟨∇f(x), ∇f(x')⟩, over all weights."""
    Z = inputs(X)
    seen = Z @ W.T
    on, active = (seen > 0).astype(float), np.maximum(seen, 0.0)
    return active @ active.T + (Z @ Z.T) * ((on * v**2) @ on.T)


def store(path):
    """Train a network on every prior task, and keep it with its tangent kernels."""
    kept = {}
    for digits, prior in LINES:
        W, v = train_network(*task(prior, first=True))
        key, X = f"{digits}; {prior}", task(digits, first=False)[0]
        kept |= {
            f"{key} W": W,
            f"{key} v": v,
            f"{key} kernel": tangent_kernel(W, v, X).astype(np.float32),
            f"{key} values": network(W, v, X),
        }
    np.savez_compressed(path, **kept)


def by_network(digits, prior):
    """The stored tangent kernel, and the prior: its values, and the norm of θ/2."""
    with np.load(STORED) as kept:
        K, values, W, v = (
            kept[f"{digits}; {prior} {name}"] for name in ("kernel", "values", "W", "v")
        )
    return K, values, 0.5 * np.sqrt((W**2).sum() + (v**2).sum())


def by_rbf(digits, prior):
    """An RBF kernel, and kernel ridge regression as a prior: its values, and its norm."""
    old, y = task(prior, first=True)
    new = task(digits, first=False)[0]
    gamma = 1.0 / (old.shape[1] * old.var())
    dual = KernelRidge(alpha=0.1, kernel="rbf", gamma=gamma).fit(old, y).dual_coef_
    norm = np.sqrt(dual @ rbf_kernel(old, gamma=gamma) @ dual)
    return rbf_kernel(new, gamma=gamma), rbf_kernel(new, old, gamma) @ dual, norm


# The fits.


def ridge(K, y):
    """KernelRidge with the penalty that leaves one out best, by its eigenvectors."""
    lam, U = np.linalg.eigh(K)
    scores = []
    for alpha in PENALTIES * lam[-1]:
        smoother = (U * (lam / (lam + alpha))) @ U.T
        scores.append((((y - smoother @ y) / (1.0 - np.diag(smoother))) ** 2).mean())
    return KernelRidge(alpha=PENALTIES[int(np.argmin(scores))] * lam[-1], kernel="precomputed")


def errors(K, values, norm, y, split):
    """Mean squared errors on the rest of one split: the prior's, ridgeless, and all others."""
    order = np.random.default_rng(split).permutation(len(y))
    train, test = order[:TRAIN], order[TRAIN:]
    here, there = K[np.ix_(train, train)], K[np.ix_(test, train)]
    f0, new_f0 = values[train] / norm, values[test] / norm
    targets = y[train]

    def fitted(**options):
        model = wn.WeightNormKernelRegressor(kernel="precomputed", **options)
        return model.fit(here, targets, start_values=f0).predict(there, new_f0)

    kept = wn.theory.gd_limit(wn.KernelLeastSquares(here, targets), norm, start_values=f0)
    predicted = [
        values[test],
        wn.WeightNormKernelRegressor(kernel="precomputed").fit(here, targets).predict(there),
        ridge(here, targets).fit(here, targets).predict(there),
        kept.predict(there, new_f0),
        fitted(scale=norm, ratio=1.0),
        fitted(ratio=1.0),
        fitted(ratio=0.1),
    ]
    return [float(((each - y[test]) ** 2).mean()) for each in predicted]


def row(kind, make, digits, prior):
    """One line of the table: errors, and what others lose (+) or gain (−) over ridgeless."""
    K, values, norm = make(digits, prior)
    y = task(digits, first=False)[1]
    found = np.array([errors(K, values, norm, y, split) for split in range(SPLITS)])
    differences = found[:, 2:] - found[:, 1:2]
    spread = differences.std(axis=0, ddof=1) / np.sqrt(SPLITS)
    cells = [
        f"{1e3 * mean:+.0f} ± {1e3 * error:.0f}".replace("-0 ", "0 ").replace("+0 ", "0 ")
        for mean, error in zip(differences.mean(axis=0), spread, strict=True)
    ]
    named = "the same" if digits == prior else f"{prior[0]} or {prior[1]}"
    head = f"| {kind}: {digits[0]} or {digits[1]}; {named} "
    return f"{head}| {found[:, 0].mean():.3f} | {found[:, 1].mean():.3f} | {' | '.join(cells)} |"


def main(everything):
    """Print the table as Markdown, with all that has to be said of it."""
    if everything:
        print(ABOVE)
    print("| kernel: task; prior | prior | ridgeless | " + " | ".join(NAMES) + " |")
    print("|---|---:|---:|" + "---:|" * len(NAMES))
    for kind, make in (("RBF", by_rbf), ("NTK", by_network)):
        for digits, prior in LINES if everything else LINES[:1]:
            print(row(kind, make, digits, prior), flush=True)
    if everything:
        print(BELOW, end="")


if __name__ == "__main__":
    if "--store" in sys.argv[1:]:
        store(sys.argv[sys.argv.index("--store") + 1])
    else:
        main("--all" in sys.argv[1:])
