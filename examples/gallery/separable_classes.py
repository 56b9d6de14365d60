"""
Separable classes: the direction of maximum margin
==================================================

The logistic loss of two classes that a plane separates has no minimum: the scale grows for ever.
What has a limit is the direction, and the part of it that the data cannot see dies out.
"""

import matplotlib.pyplot as plt
import numpy as np

import weightnorm as wn

rng = np.random.default_rng(0)
A = rng.standard_normal((12, 3)) @ np.eye(3, 6)  # three of six directions are not seen
problem = wn.GeneralizedLinear(A, A[:, 0] > 0, loss="logistic")
best = wn.theory.max_margin(problem)
start = {"scale": 0.5, "direction": np.ones(6)}
methods = {"gradient descent": wn.GradientDescent(0.5), "rPGD": wn.RPGD(0.05, 0.05)}
fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
unseen = {}
for name, method in methods.items():
    run = wn.run(
        method, problem, **start, tolerance=0, max_steps=100_000, record=100, keep=("direction",)
    )
    kept = run.history
    directions = kept.direction
    angle = np.degrees(np.arccos(np.clip(directions @ best.direction, -1, 1)))
    assert (np.diff(angle[1:]) < 0).all()
    unseen[name] = np.linalg.norm(directions[:, 3:], axis=1)
    axes[0].semilogx(kept.step[1:], angle[1:], label=name)
    axes[1].loglog(kept.step[1:], unseen[name][1:], label=name)
axes[0].set(xlabel="step", ylabel="degrees from the maximum margin")
axes[1].set(xlabel="step", ylabel="unseen part of the direction", ylim=(1e-12, 1.5))
axes[1].legend()

assert best.gap < 1e-6 * best.margin
assert unseen["rPGD"][-1] < 1e-6 < 1e-2 < unseen["gradient descent"][-1]

# %%
# Left, both turn towards the maximum margin, slowly, as the theory says; right, rPGD loses the
# unseen part of its start altogether, gradient descent only as fast as its scale grows.
