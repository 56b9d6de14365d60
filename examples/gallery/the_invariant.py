"""
One number that training keeps
==============================

The flow, the limit of small steps, keeps log ‖w⊥‖ + g²/2c: as the scale g grows, the part w⊥ of the
direction that the data cannot see has to shrink. Steps of finite size make the number drift.
"""

import matplotlib.pyplot as plt
import numpy as np

import weightnorm as wn

problem = wn.datasets.make_regression(num_samples=20, num_features=50, solution_norm=3.0, seed=0)
w0 = wn.datasets.random_direction(50, seed=0)
start = {"scale": 0.5, "direction": w0}

fig, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
drift = {}
for step, colour in ((0.05, "tab:red"), (0.02, "tab:orange"), (0.005, "tab:green")):
    run = wn.run(
        wn.RPGD(step, step), problem, **start, record=1, keep=("invariant",), tolerance=1e-12
    )
    kept = run.history
    time = kept.step * step
    axes[0].plot(kept.scale, kept.direction_perp_norm, color=colour, label=f"step {step}")
    axes[1].plot(time, kept.invariant - kept.invariant[0], color=colour, label=f"step {step}")
    drift[step] = abs(kept.invariant[-1] - kept.invariant[0])
flow = wn.flow(problem, **start, tolerance=1e-12)
axes[0].plot(flow.scale, flow.perp_norm / np.abs(flow.scale), "k--", label="flow")
axes[1].plot(flow.time, flow.invariant - flow.invariant[0], "k--", label="flow")
axes[0].set(xlabel="scale g", ylabel="‖w⊥‖")
axes[1].set(xlabel="time, steps × η", ylabel="invariant − its start", xlim=(0, 6))
axes[1].legend()

assert np.ptp(flow.invariant) < 1e-8
assert 7 < drift[0.05] / drift[0.005] < 13

# %%
# Left, ‖w⊥‖ falls along one curve as the scale grows from 0.5 to 3. Right, the flow keeps its
# number to rounding, and the drift of finite steps grows in proportion to the step.
