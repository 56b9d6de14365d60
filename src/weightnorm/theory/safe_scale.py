"""The scales from which a general A allows a guarantee (Proposition 3.3 and its lemmas)."""

from __future__ import annotations

from .._support import validate
from .formula import formula, log, log1p, whole
from .statement import Value, assume


@formula
def safe_scale(gstar: float, smallest: float, largest: float, delta: float = 1.0) -> Value:
    """The largest start scale at which rPGD forgets its start at a fixed rate, for any A.

    Proposition 3.3 for any λmax: |g0| ≤ g*λmin/((2 + δ)λmax) and the direction's step
    η = 1/(g0²λmax) give ‖v_t‖ ≥ 1 + δ, with v_t the direction after its step and before it is
    normalised. So ‖w⊥‖ ≤ ε after ⌈log(q0/ε)/log(1 + δ)⌉ steps at a fixed scale
    (`safe_scale_steps`), where w⊥ is the part of the direction that no row of A sees.

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution.
    smallest, largest : float
        λmin and λmax, the extreme eigenvalues of AAᵀ; greater than 0.
    delta : float
        δ, by how much a step shrinks w⊥: by 1/(1 + δ); greater than 0.

    Returns
    -------
    Value
        `.value` is the largest |g0|, a number.

    Examples
    --------
    >>> from weightnorm.theory import safe_scale
    >>> safe_scale(3.0, 0.5, 1.0, delta=1.0).value
    0.5
    """
    value = gstar * smallest / ((2.0 + delta) * largest)
    return Value(
        value,
        assumptions=(
            assume("g* > 0", gstar > 0),
            assume("0 < λmin ≤ λmax", 0 < smallest <= largest),
            assume("δ > 0", delta > 0),
        ),
        paper="Proposition 3.3",
    )


@formula
def safe_scale_steps(q0: float, accuracy: float, delta: float = 1.0) -> int:
    """The number of rPGD steps at a fixed scale that bring ‖w⊥‖ down to the accuracy, for any A.

    ⌈log(q0/ε)/log(1 + δ)⌉, not below 0, for a scale that `safe_scale` allows.

    Parameters
    ----------
    q0 : float
        Norm of the part of the unit start direction orthogonal to the row space of A; in [0, 1].
    accuracy : float
        ε, the ‖w⊥‖ to reach; greater than 0.
    delta : float
        δ, by how much a step shrinks w⊥: by 1/(1 + δ); greater than 0.

    Returns
    -------
    int
        The number of steps.

    Examples
    --------
    >>> from weightnorm.theory import safe_scale_steps
    >>> safe_scale_steps(1.0, 1e-3)
    10
    """
    validate.real("delta", delta, minimum=0.0, strict=True)
    return whole(log(q0 / accuracy) / log1p(delta))  # −inf for q0 = 0: no step is needed
