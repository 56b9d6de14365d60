"""
Momentum moves the end
======================

With momentum β the same flow is followed, but finite steps count (1 + β)/(1 − β) times as much. The
shift of the end is predicted to first order, before the run.
"""

import matplotlib.pyplot as plt
import numpy as np

import weightnorm as wn

problem = wn.datasets.make_regression(num_samples=20, num_features=50, solution_norm=3.0, seed=0)
w0 = wn.datasets.random_direction(50, seed=0)
betas, step = np.array([0.0, 0.3, 0.5, 0.7, 0.8, 0.85, 0.9]), 2e-4
fig, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, method, colour in (("wn", wn.WeightNorm, "tab:orange"), ("rpgd", wn.RPGD, "tab:green")):
    runs = [
        wn.run(method(step, step, momentum=b), problem, 2.8, w0, tolerance=1e-20) for b in betas
    ]
    told = [
        wn.theory.finite_step_limit(problem, 2.8, w0, method=name, step=step, momentum=b)
        for b in betas
    ]
    ax.plot(betas, [limit.norm for limit in told], color=colour, label=f"{name}: predicted")
    ax.plot(betas, [run.norm for run in runs], "o", color=colour, label=f"{name}: runs")
    for run, limit in zip(runs, told, strict=True):
        assert abs(run.norm - limit.norm) <= limit.error
    away = np.diff([run.norm for run in runs]) * (1 if name == "wn" else -1)
    assert (away > 0).all()
flow = wn.theory.flow_limit(problem, 2.8, w0).norm
ax.axhline(flow, color="black", linewidth=0.8, label="small steps")
ax.set(xlabel="momentum β", ylabel="‖x‖ at the end")
ax.legend()

# %%
# Momentum pulls rPGD towards the smallest norm and WN away from it, more steeply as β nears 1, and
# every run ends where it was predicted to, within the stated error.
