"""
Paths in the plane
==================

One equation, two unknowns: every point of the line fits. From one start, gradient descent, the WN
flow, and a flow with a slow scale.
"""

import numpy as np

import weightnorm as wn

problem = wn.LeastSquares([[1.0, 0.0]], [1.0])  # x₁ = 1; the smallest norm is at (1, 0)
start = {"scale": 0.9, "direction": [-0.2, 1.0]}
gd = wn.run(wn.GradientDescent(0.02), problem, **start, record=1, keep=("weights",))
flow = wn.flow(problem, **start, ratio=1.0)
slow = wn.flow(problem, **start, ratio=0.05, max_time=1e4)
wn.plot.path(problem, {"gd": gd, "flow, c = 1": flow, "flow, c = 0.05": slow})

ends = [
    np.linalg.norm(end - [1.0, 0.0]) for end in (gd.weights, flow.weights[-1], slow.weights[-1])
]
assert ends[0] > ends[1] > ends[2]
assert ends[2] < 0.2

# %%
# Gradient descent goes straight to the line and keeps its height; the flow bends towards the star,
# the solution of smallest norm, and the slower its scale, the nearer it ends.
