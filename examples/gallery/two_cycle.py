"""
A trap: the 2-cycle
===================

rPGD with the curvature step η = 1/g², from a small start against the solution. The scale changes
its sign at every step, for ever, unless it is frozen for the first one.
"""

import warnings

import matplotlib.pyplot as plt

import weightnorm as wn

problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
start = {"scale": 0.1, "direction": [-0.6, 0.8]}
steps = {"γ = 0.5": 0.5, "frozen for one step": wn.schedules.two_phase(0.0, 0.5, switch=1)}
fig, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
ends = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", RuntimeWarning)  # run warns of the cycle
    for name, scale_step in steps.items():
        method = wn.RPGD(wn.schedules.curvature(), scale_step)
        run = wn.run(method, problem, **start, tolerance=0, max_steps=30, record=1)
        ax.plot(run.history.step, run.history.scale, "o-", markersize=3, label=name)
        ends[name] = run
told = wn.theory.two_cycle(problem, **start, scale_step=0.5)
for sign in (-1, 1):
    ax.axhline(sign * told.scale, color="0.7", zorder=0)
ax.set(xlabel="step", ylabel="scale g")
ax.legend()

assert told.trapped
assert abs(abs(ends["γ = 0.5"].scale) - told.scale) < 1e-6
assert ends["γ = 0.5"].loss > 0.5
assert ends["frozen for one step"].loss < 1e-12

# %%
# The run jumps between the two predicted values, the grey lines, and never fits the data; with one
# frozen step the same start goes to the solution.
