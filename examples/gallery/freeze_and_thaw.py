"""
Freeze the scale, thaw it later
===============================

Three ways to train from a start nearly as large as the answer: both rates equal, a scale that is
frozen for fifty steps, and one that is frozen only *after* fifty steps.
"""

import matplotlib.pyplot as plt

import weightnorm as wn

problem = wn.datasets.make_regression(num_samples=20, num_features=50, solution_norm=3.0, seed=0)
w0 = wn.datasets.random_direction(50, seed=0)
step = wn.schedules.curvature(0.2)
methods = {
    "both at once": wn.RPGD(step, 0.1),
    "frozen, then thawed": wn.RPGD(step, wn.schedules.two_phase(0.0, 0.1, switch=50)),
    "thawed, then frozen": wn.RPGD(step, wn.schedules.two_phase(0.1, 0.0, switch=50)),
}
fig, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained")
distance = {}
for name, method in methods.items():
    run = wn.run(method, problem, 2.6, w0, tolerance=0, max_steps=250, record=1)
    kept = run.history
    dashes = "--" if name.startswith("thawed") else "-"  # it lies on the first for 50 steps
    for ax, values in zip(axes, (kept.loss, kept.scale, kept.perp_norm), strict=True):
        ax.plot(kept.step, values, dashes, label=name)
    distance[name] = run.distance
    if name.startswith("frozen"):
        assert kept.loss[:51].min() > 0.08  # ½(3 − 2.6)²
axes[0].set(yscale="log", ylabel="loss", xlabel="step", ylim=(1e-12, 30))
axes[1].set(ylabel="scale g", xlabel="step")
axes[2].set(ylabel="‖x⊥‖, what is kept of the start", xlabel="step")
axes[2].legend(fontsize=8)

assert distance["frozen, then thawed"] < 0.2 * distance["both at once"]
assert distance["thawed, then frozen"] > 0.9 * distance["both at once"]

# %%
# While the scale is frozen at 2.6 the loss cannot fall below ½(3 − 2.6)² = 0.08, and ‖x⊥‖ falls
# step by step; thawed, the scale goes to 3 with little of the start left. Frozen too late, nothing
# is gained: the dashed line.
