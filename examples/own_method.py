"""A method of your own, with state of its own: rPGD whose step shrinks with the gradients it has
seen (AdaGrad's rule).

Its rule sees lengths only, and says so: it may run in reduced coordinates. Run it: python
examples/own_method.py
"""

from dataclasses import dataclass

import numpy as np

import weightnorm as wn


@dataclass(frozen=True, repr=False)  # ours prints what is not a default
class AdaptiveRPGD(wn.RPGD):
    """rPGD with the step of w divided by the root of all squared gradients so far."""

    rotation_equivariant = True

    def init(self, scale, direction):
        """The state of a batch of starts, and per run the sum of the squared gradients of w so
        far.
        """
        return super().init(scale, direction).also(seen=np.zeros(len(direction)))

    def update(self, state, evaluation, vector_step, scale_step):
        """One step of all runs."""
        seen = state["seen"] + (evaluation.vector_gradient**2).sum(axis=1)
        return (
            super()
            .update(state, evaluation, vector_step / np.sqrt(seen), scale_step)
            .also(seen=seen)
        )


problem = wn.datasets.make_regression(num_features=10_000, condition_number=3.0, seed=0)
w0 = wn.datasets.random_direction(10_000, seed=0)
methods = {"plain": wn.RPGD(0.1, 0.1), "adaptive": AdaptiveRPGD(0.1, 0.1, momentum=0.5)}
print(wn.run(methods["adaptive"], problem, scale=2.0, direction=w0))
print(wn.sweep(problem, methods, scales=[0.5, 1.0, 2.0], directions=w0).distance.to_series())
