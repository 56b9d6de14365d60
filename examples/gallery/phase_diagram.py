"""
Where does it end, for every scale and ratio?
=============================================

The distance from the minimum-norm solution at the end of the flow, over all start scales g0 and
ratios c, from the exact limit: no run at all.
"""

import matplotlib.pyplot as plt

import weightnorm as wn

problem = wn.datasets.make_regression(num_samples=20, num_features=50, solution_norm=3.0, seed=0)
w0 = wn.datasets.random_direction(50, seed=0)
fig, ax = plt.subplots(figsize=(7, 4.6), layout="constrained")
wn.plot.phase_diagram(problem, ax, direction=w0)

near = wn.theory.flow_limit(problem, scale=1.0, direction=w0, ratio=0.5)
far = wn.theory.flow_limit(problem, scale=6.0, direction=w0, ratio=0.5)
assert near.distance < 0.01
assert far.distance > 4.0

# %%
# Starts below ‖x*‖ = 3 with a slow scale forget nearly everything, starts of twice that size keep
# most. On the line WN and gradient descent end equally far away; it is where c is the logarithmic
# mean of two squared norms.
