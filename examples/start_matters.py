"""Real data with more features than samples: what the start of training does to the test error.

Handwritten digits (8 × 8 pixels): is it an odd one? 2,000 random features of 300 digits to train
on, 1,497 to test. Every method fits the training labels to a hundred-thousandth; they differ in
what they keep of a start that moves away from zero.

Run it: python examples/start_matters.py [picture.png]
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import train_test_split

import weightnorm as wn

NUM_FEATURES, NUM_TRAIN, SEEDS = 2_000, 300, range(1)
# norms of the start, over that of the minimum-norm fit
STARTS = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0])
METHODS = {
    "gradient descent": {"method": "gd"},
    "weight normalization": {"method": "wn", "ratio": 0.1},
    "rPGD": {"method": "rpgd", "ratio": 0.1},
    "limit, ratio 0.1": {"method": "limit", "ratio": 0.1},
    "limit, ratio 1": {"method": "limit", "ratio": 1.0},
}


def features(X, seed):
    """Random features: rectified sums of the pixels with random weights."""
    rng = np.random.default_rng(seed)
    return np.maximum(
        X @ rng.standard_normal((X.shape[1], NUM_FEATURES)) / np.linalg.norm(X, axis=1)[:, None],
        0.0,
    )


def error(model, X, y):
    """The share of test digits on the wrong side of zero, in percent."""
    return 100 * float(np.mean(np.sign(model.predict(X)) != y))


pixels, digits = load_digits(return_X_y=True)
target = np.where(digits % 2 == 1, 1.0, -1.0)
errors = {name: np.zeros((len(SEEDS), len(STARTS))) for name in METHODS}
lines = {"minimum norm": [], "ridge (cross-validated)": []}
for i, seed in enumerate(SEEDS):
    X, X_test, y, y_test = train_test_split(
        features(pixels, seed), target, train_size=NUM_TRAIN, random_state=seed
    )
    least = wn.WeightNormRegressor().fit(X, y)  # of smallest norm
    lines["minimum norm"].append(error(least, X_test, y_test))
    lines["ridge (cross-validated)"].append(
        error(RidgeCV(np.logspace(-6, 3, 28)).fit(X, y), X_test, y_test)
    )
    size = float(np.linalg.norm(least.coef_))
    for name, options in METHODS.items():
        for j, start in enumerate(STARTS):
            model = wn.WeightNormRegressor(
                scale=start * size,
                direction="random",
                random_state=seed,
                tol=1e-3,
                max_iter=10**7,
                **options,
            ).fit(X, y)
            errors[name][i, j] = error(model, X_test, y_test)

figure, axes = plt.subplots(figsize=(7.5, 4.4), layout="constrained")
colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#6A3D9A"]
for (name, values), colour, style in zip(
    errors.items(), colours, ["-", "-", "--", ":", "-."], strict=True
):
    axes.plot(
        STARTS, values.mean(axis=0), style, marker="o", markersize=4, color=colour, label=name
    )
for (name, values), style in zip(lines.items(), ["-", ":"], strict=True):
    axes.axhline(np.mean(values), color="0.4", linewidth=0.9, linestyle=style, label=name)
axes.set(
    xlabel="norm of the start / minimum norm", ylabel="digits misjudged, percent", ylim=(0, None)
)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
picture = sys.argv[1] if len(sys.argv) > 1 else "start_matters.png"
figure.savefig(picture, dpi=150)
for name, values in errors.items():
    print(f"{name:>24}: " + " ".join(f"{value:6.2f}" for value in values.mean(axis=0)))
for name, values in lines.items():
    print(f"{name:>24}: {np.mean(values):6.2f}")
print(f"starts: {STARTS.tolist()}; drawn to {picture}")
