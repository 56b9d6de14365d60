"""
Too large a step
================

rPGD with larger and larger steps, the same for direction and scale. It can settle only at solutions
that are stable for its steps: an interval of norms that shrinks and then is empty.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np

import weightnorm as wn

problem = wn.datasets.make_regression(
    num_samples=20, num_features=50, condition_number=2.0, solution_norm=3.0, seed=0
)
w0 = wn.datasets.random_direction(50, seed=0)
steps = np.linspace(0.02, 0.32, 31)
with warnings.catch_warnings():
    warnings.simplefilter("ignore", RuntimeWarning)  # run says beforehand what cannot converge
    runs = [
        wn.run(wn.RPGD(step, step), problem, 2.8, w0, tolerance=1e-16, max_steps=20_000)
        for step in steps
    ]
settled = np.array([run.status == "converged" for run in runs])
norms = np.array([run.norm for run in runs])
brackets = [wn.theory.norm_bracket(problem, step, step) for step in steps]
possible = np.array([bracket is not None for bracket in brackets])

fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
low, high = np.array([bracket or (np.nan, np.nan) for bracket in brackets]).T
ax.fill_between(steps, low, high, alpha=0.25, label="norms that are stable: predicted")
ax.plot(steps[settled], norms[settled], "ko", markersize=4, label="runs that converge")
for step in steps[~settled]:
    ax.axvline(step, color="tab:red", alpha=0.3)
flow = wn.theory.flow_limit(problem, 2.8, w0).norm
ax.axhline(flow, color="0.5", linestyle=":", label="small steps: predicted")
ax.set(xlabel="η = γ, the steps", ylabel="‖x‖ at the end", ylim=(2.98, 3.3))
ax.plot([], [], color="tab:red", alpha=0.3, label="runs that do not")
ax.legend(loc="upper right")

assert not settled[~possible].any()
inside = (norms >= low * (1 - 1e-6)) & (norms <= high * (1 + 1e-6))
assert inside[settled].all()
assert norms[0] > norms[settled][-1]

# %%
# No run ends outside of the predicted interval, and none converges where it is empty. Before that a
# larger step pushes the norm at the end *down*, from where small steps end to the smallest there
# is.
