"""Is a prior worth keeping? Real data with a related task, and prediction without one.

Handwritten digits (8 × 8 pixels), which of two is it: 32 samples to train on, the coefficients of a
related task as a prior. "other writers": the same two digits, the prior from the first half of the
collection, which other people wrote. "4 or 9; 4 or 7": the prior from another pair of digits. Each
line is 20 random splits; errors are mean squared errors on the rest, and differences to the share
of the prior that cross-validation chooses come with their standard errors, split by split.

Then three data sets without a prior: minimum norm, early stopping, ridge and lasso.

Run it: python examples/priors.py [--all]   (a few seconds; --all: a minute or two, the whole page
docs/guides/priors.md)
"""

import sys
import warnings

import numpy as np
from sklearn.datasets import load_diabetes, load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LassoCV, RidgeCV

import weightnorm as wn

SPLITS, TRAIN = 20, 32
ALPHAS = np.logspace(-4, 4, 41)
PAIRS = (
    ((4, 9), None),
    ((3, 8), None),
    ((4, 9), (4, 7)),
    ((3, 8), (5, 8)),
    ((3, 5), (3, 8)),
    ((7, 9), (4, 9)),
)
ABOVE = """# Is a prior worth keeping? What we measured

This page is the output of `python examples/priors.py --all`.

Handwritten digits (8 × 8 pixels), which of two is it, as a regression of ±1: 32 samples to train
on, the coefficients of a related task as a prior, 20 random splits. "Other writers": the same two
digits in the first half of the collection. `share` is the mean share of the prior that
`WeightNormRegressorCV` chooses, `error` its mean squared error on the rest. The other columns are
what each fit loses (+) or gains (−) against it, in thousandths, with the standard error over the
splits, paired: ridge, ridge towards the prior (penalties by leave-one-out), gradient descent from
zero and from the prior, stopped early by the same cross-validation, and minimum norm.
"""
BETWEEN = """
All six lines that were tried are here. Choosing the share is ahead of ridge by about two standard
errors in four of them and level in two; in the last it is early stopping that gains, not the prior,
of which next to nothing is kept. Against the same early stopping without the prior (GD from 0) it
is ahead in three and level in three. Where the prior is the same task and a good one (first line),
ridge towards it and gradient descent from it are better still: choosing a share costs something on
32 samples. Minimum norm loses everywhere, as an interpolating fit of noisy labels does.

## Without a prior: use ridge or lasso

R² on the rest, 20 splits; differences to ridge, paired. "Early stopping" is
`WeightNormRegressorCV` without a prior, "min. norm" `WeightNormRegressor`, the limit of training
from any small start.
"""
NAMES = ("ridge", "ridge to prior", "GD from 0", "GD from prior", "min. norm")


def task(digits, part=slice(None)):
    """Pixels, and ±1 for the first and the second digit."""
    X, y = load_digits(return_X_y=True)
    X, y = X[part] / 16.0, y[part]
    chosen = np.isin(y, digits)
    return X[chosen], np.where(y[chosen] == digits[0], 1.0, -1.0)


def errors(pair, related, split):
    """The errors of all fits on one split, and the share that was chosen."""
    half = len(load_digits().target) // 2
    new = slice(half, None) if related is None else slice(None)
    old = task(pair, slice(half)) if related is None else task(related)
    prior = RidgeCV(ALPHAS).fit(*old).coef_
    X, y = task(pair, new)
    order = np.random.default_rng(split).permutation(len(y))
    train, test = order[:TRAIN], order[TRAIN:]

    def error(coef, intercept):
        return float(((X[test] @ coef + intercept - y[test]) ** 2).mean())

    chosen = wn.WeightNormRegressorCV(prior).fit(X[train], y[train])
    ridge = RidgeCV(ALPHAS).fit(X[train], y[train])
    towards = RidgeCV(ALPHAS).fit(X[train], y[train] - X[train] @ prior)
    zero, one = (
        wn.WeightNormRegressorCV(prior, shares=[share]).fit(X[train], y[train]) for share in (0, 1)
    )
    least = wn.WeightNormRegressor().fit(X[train], y[train])
    return chosen.share_, error(chosen.coef_, chosen.intercept_), [
        error(ridge.coef_, ridge.intercept_),
        error(towards.coef_ + prior, towards.intercept_),
        error(zero.coef_, zero.intercept_),
        error(one.coef_, one.intercept_),
        error(least.coef_, least.intercept_),
    ]  # fmt: skip


def prior_row(pair, related):
    """One line of the table: what others lose (+) or gain (−) over the share chosen."""
    found = [errors(pair, related, split) for split in range(SPLITS)]
    ours = np.array([one[1] for one in found])
    differences = np.array([one[2] for one in found]) - ours[:, None]
    spread = differences.std(axis=0, ddof=1) / np.sqrt(SPLITS)
    name = f"{pair[0]} or {pair[1]}; " + (
        "other writers" if related is None else f"{related[0]} or {related[1]}"
    )
    cells = [
        f"{1e3 * mean:+.0f} ± {1e3 * error:.0f}"
        for mean, error in zip(differences.mean(axis=0), spread, strict=True)
    ]
    share = np.mean([one[0] for one in found])
    return f"| {name} | {share:.2f} | {ours.mean():.3f} | " + " | ".join(cells) + " |"


def genomics(rng):
    """100 samples of 1,000 features in correlated blocks of ten, twenty of which matter."""
    common = rng.standard_normal((300, 100)).repeat(10, axis=1)
    X = 0.7 * common + 0.7 * rng.standard_normal((300, 1_000))
    truth = np.where(np.arange(1_000) % 50 == 0, 1.0, 0.0)
    return X, X @ truth + 2.0 * rng.standard_normal(300)


def without_prior(name, make, train):
    """R² on the rest: minimum norm, early stopping, ridge, lasso; differences to ridge."""
    scores = []
    for split in range(SPLITS):
        rng = np.random.default_rng(split)
        X, y = make(rng)
        order = rng.permutation(len(y))
        fit, test = order[:train], order[train:]
        fits = (
            wn.WeightNormRegressor(), wn.WeightNormRegressorCV(), RidgeCV(ALPHAS),
            LassoCV(cv=5, alphas=30, max_iter=5_000),
        )  # fmt: skip
        scores.append([model.fit(X[fit], y[fit]).score(X[test], y[test]) for model in fits])
    scores = np.array(scores)
    differences = scores - scores[:, 2:3]
    errors = differences.std(axis=0, ddof=1) / np.sqrt(SPLITS)
    cells = [
        f"{scores[:, k].mean():.3f}"
        if k == 2
        else f"{differences[:, k].mean():+.3f} ± {errors[k]:.3f}"
        for k in (2, 0, 1, 3)
    ]
    return f"| {name} | " + " | ".join(cells) + " |"


def main(everything):
    """Print the tables as Markdown, with all that has to be said of them."""
    if everything:
        print(ABOVE)
    print("| task; prior | share | error | " + " | ".join(NAMES) + " |")
    print("|---|---:|---:|" + "---:|" * len(NAMES))
    for pair, related in PAIRS if everything else PAIRS[:1]:
        print(prior_row(pair, related), flush=True)
    if not everything:
        return
    print(BETWEEN)
    print("| data | ridge, R² | min. norm | early stopping | lasso |")
    print("|---|---:|---:|---:|---:|")
    diabetes, digits = load_diabetes(return_X_y=True), load_digits(return_X_y=True)
    odd = digits[0], (digits[1] % 2).astype(float)
    print(without_prior("diabetes, 100 × 10", lambda rng: diabetes, 100))
    print(without_prior("genomics-like, 100 × 1,000", genomics, 100))
    print(without_prior("digits, odd or even, 100 × 64", lambda rng: odd, 100))


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # of the lasso
        main("--all" in sys.argv[1:])
