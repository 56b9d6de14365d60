"""One step of a method's own rule, and what is asked of the state it returns.

A rule that forgets part of its work gives wrong answers, not errors: so the state is looked at
after every step of a method that is not ours.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._support.numeric import Array
from ...methods.contract import Method
from ...methods.registry import COMPILED
from ...methods.state import Evaluation, State, block_norm

UNIT = 1e-6  # how far from 1 the norm of a direction may be: far more than rounding


def updated(
    method: Method, state: State, evaluation: Evaluation, vector_step: Array, scale_step: Array
) -> State:
    """The state after one step.

    Parameters
    ----------
    method : Method
    state : State
        Before the step; its arrays become read-only, because a rule that changed them would move
        runs that have ended, and results.
    evaluation : Evaluation
    vector_step, scale_step : arrays
        Shaped like the scale.
    """
    name = type(method).__name__
    for array in (state.vector, state.scale, *state.arrays.values()):
        array.flags.writeable = False
    try:
        new: Any = method.update(state, evaluation, vector_step, scale_step)
    except ValueError as error:
        if "broadcast" in str(error):
            raise ValueError(
                f"{name}.update failed: {error}; a step has one number per run (and column): "
                "multiply by weightnorm.methods.expand(step, vector), not by step itself"
            ) from error
        if "read-only" not in str(error):
            raise
        raise ValueError(
            f"{name}.update must not change the state it is given ({error}); return a new one"
        ) from error
    _require_shapes(name, new, state)
    if type(method) not in COMPILED:
        _require_unit(method, new)
        _require_buffers(method, new)
    return new  # type: ignore[no-any-return]


def _require_shapes(name: str, new: Any, state: State) -> None:
    came: Any = type(new).__name__
    if isinstance(new, State):
        came = (new.vector.shape, new.scale.shape)
        if came == (state.vector.shape, state.scale.shape):
            return
    raise TypeError(
        f"{name}.update must return a State with a vector of shape {state.vector.shape} and a "
        f"scale of shape {state.scale.shape}, got {came}; a step is shaped like the scale, "
        "expand(step, vector) fits it to a vector"
    )


def _require_unit(method: Method, new: State) -> None:
    """Refuse directions that are no longer of unit length, where the loss is taken at g·w."""
    if not method.has_scale or type(method).evaluate is not Method.evaluate:
        return
    norm = block_norm(new.vector, new.scale)
    # a run may diverge: a step that overflowed leaves NaN, inf or zero
    wrong = norm[np.isfinite(norm) & (norm > 0.0) & (np.abs(norm - 1.0) > UNIT)]
    if wrong.size:
        raise ValueError(
            f"{type(method).__name__}.update must return directions of unit length, got one of "
            f"length {wrong[0]:.6g}; divide by expand(block_norm(vector, scale), vector) of "
            "weightnorm.methods, or give the method an evaluate of its own"
        )


def _require_buffers(method: Method, new: State) -> None:
    """Refuse a step that drops the buffers of momentum: then there is none."""
    dropped = [name for name in method.buffers if name not in new.arrays]
    if dropped:
        raise ValueError(
            f"{type(method).__name__} has momentum = {method.momentum:g}, and its update returned "
            f"no {' and no '.join(dropped)}: take the moves of self.step_directions(state, "
            "evaluation) in place of the gradients, and give **buffers to moved(…)"
        )
