"""
A start that is a function
==========================

Where only a kernel is known, weights are functions, and so is the start: here a bump between the
samples, given by its values alone. Gradient descent keeps what the samples cannot see of it; weight
normalization from a small scale ends near the interpolation of smallest norm.
"""

import matplotlib.pyplot as plt
import numpy as np

import weightnorm as wn


def kernel(x, z):
    """A Gaussian of the distance between points."""
    return np.exp(-((x[:, None] - z) ** 2))


samples, line = np.array([-3.0, -2.2, -1.5, -0.4, 1.8, 2.6, 3.1]), np.linspace(-4.0, 4.0, 400)
problem = wn.KernelLeastSquares(kernel(samples, samples), np.sin(2.0 * samples))
bump = np.array([0.9])  # a function of norm 1, in the space of the kernel
start = {"start_values": kernel(samples, bump)[:, 0]}
K_line, start_line = kernel(line, samples), kernel(line, bump)[:, 0]

size = 1.0
ends = {
    "gradient descent": wn.theory.gd_limit(problem, size, **start),
    "weight normalization": wn.theory.flow_limit(problem, size, ratio=0.3, **start),
    "smallest norm": wn.theory.gd_limit(problem, 0.0, **start),
}
figure, ax = plt.subplots(figsize=(7.0, 3.6), layout="constrained")
ax.plot(line, size * start_line, "0.6", linestyle=":", label="start")
for (name, end), style in zip(ends.items(), ("C0", "C1", "k--"), strict=True):
    ax.plot(line, end.predict(K_line, start_line), style, label=name)
ax.plot(samples, problem.y, "ko", markersize=5)
ax.set(xlabel="x", ylabel="f(x)")
figure.legend(loc="outside upper center", ncols=4, frameon=False, fontsize="small")

gd, norm, least = (end.predict(K_line, start_line) for end in ends.values())
assert np.abs(gd - least).max() > 5.0 * np.abs(norm - least).max()
assert all(np.allclose(end.predict(problem.K, start["start_values"]), problem.y) for end in
           ends.values())  # fmt: skip

# %%
# All three pass through the samples. Where there are none, gradient descent still has the bump of
# its start; weight normalization is next to the interpolation of smallest norm.
