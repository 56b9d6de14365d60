"""The scales from which other matrices allow a guarantee (beside Proposition 3.3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from weightnorm._support import validate
from weightnorm._support.numeric import Vector
from weightnorm.theory.formula import formula
from weightnorm.theory.statement import Value, assume, part_of_unit

NEARLY = 1 - 1e-12  # equal, to rounding


def _eigenvalues(eigenvalues: Any) -> Vector:
    lam = validate.array("eigenvalues", eigenvalues, ndim=1)
    if not (lam.min() >= 0.0 and lam.max() > 0.0):
        given = f"{lam.min():g} … {lam.max():g}"
        raise ValueError(f"eigenvalues must not be negative, nor all zero, got {given}")
    return lam


@formula
def safe_scale_any(gstar: float, eigenvalues: Any, delta: float = 1.0) -> Value:
    """A larger start scale than `safe_scale` at which rPGD still forgets its start.

    Lemma E.10: |g0| ≤ g*σ/(2 + δ − σ) with σ = λmin/λmax and the eigenvalues λ of AAᵀ. Its text
    says singular values of A, with which it fails; its proof has eigenvalues. `safe_scale` has
    the smaller bound of Proposition 3.3.

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution.
    eigenvalues : (m,) array
        λ, the eigenvalues of AAᵀ; not negative, and not all zero.
    delta : float
        δ, by how much a step shrinks w⊥, the part of the direction that no row of A sees: by
        1/(1 + δ); greater than 0.

    Returns
    -------
    Value
        `.value` has the keys "exact" and "printed", the largest |g0| in truth and in the paper.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import safe_scale_any
    >>> safe_scale_any(3.0, [1.0, 0.5]).value
    {'exact': 0.6, 'printed': 0.925...}
    """
    lam = _eigenvalues(eigenvalues)
    sigma = float(lam.min() / lam.max())
    root = float(np.sqrt(sigma))
    value = {
        "exact": gstar * sigma / (2.0 + delta - sigma),
        "printed": gstar * root / (2.0 + delta - root),
    }
    return Value(
        value,
        assumptions=(assume("λmin > 0", sigma > 0), assume("δ > 0", delta > 0)),
        paper="Lemma E.10",
    )


@formula
def safe_scale_random(gstar: float, eigenvalues: Any, delta: float = 1.0) -> Value:
    """The largest start scale at which rPGD forgets its start, for a random solution.

    Lemma E.11: where w* = x*/g* is uniform on the unit sphere of the row space, |g0| may be larger
    than `safe_scale_any` allows, with probability 1 − O(1/m):
    |g0| ≤ (g*/(2 + δ − σ_m))·√((Σλ² − 2√(m log m))/m), with the eigenvalues λ of AAᵀ scaled to
    λmax = 1 and σ_m the smallest, provided that the root's argument is at least σ_m². That can be
    met for m = 1 and for m ≥ 12 only: for 2 ≤ m ≤ 11 the lemma is void, as it is for orthogonal A
    and m ≥ 2. Proposition E.9, eq. (46), has 2 + δ for 2 + δ − σ_m; that bound is smaller, so it
    holds as well.

    Parameters
    ----------
    gstar : float
        g*, the norm of the minimum-norm solution x*.
    eigenvalues : (m,) array
        λ, the eigenvalues of AAᵀ; not negative, and not all zero. They are divided by the largest.
    delta : float
        δ, by how much a step shrinks w⊥, the part of the direction that no row of A sees: by
        1/(1 + δ); greater than 0.

    Returns
    -------
    Value
        `.value` has the keys "exact", the lemma's largest |g0|, and "main", that of (46); NaN where
        the root is not real.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm_paper.lemmas import safe_scale_random
    >>> safe_scale_random(3.0, np.append(np.ones(99), 0.1)).applies
    True
    """
    lam = _eigenvalues(eigenvalues)
    lam = lam / lam.max()
    m, sigma = lam.size, float(lam.min())
    inside = (float(lam @ lam) - 2.0 * np.sqrt(m * np.log(m))) / m
    root = float(np.sqrt(inside)) if inside > 0 else np.nan
    value = {"exact": gstar * root / (2.0 + delta - sigma), "main": gstar * root / (2.0 + delta)}
    conditions = (
        assume("w* is uniform on the row-space sphere", True),
        assume("δ > 0", delta > 0),
        assume("(Σλ² − 2√(m log m))/m ≥ σ_m²", inside >= sigma**2 * NEARLY),
    )
    return Value(value, assumptions=conditions, paper="Lemma E.11; Proposition E.9, eq. (46)")


@formula
def safe_scale_second_stage(g0: float, perp: float, smallest: float, largest: float) -> Value:
    """What plain gradient descent does after the direction has turned in, for any A.

    From x = g0·w it converges to x* + g0·w⊥, at the distance |g0|·‖w⊥‖ from the minimum-norm
    solution x* (Section 3); a step 1/λmax shrinks the residual by 1 − λmin/λmax or more.

    Parameters
    ----------
    g0 : float
        The scale at which the direction was turned in.
    perp : float
        ‖w⊥‖, the norm of the part of the direction that no row of A sees.
    smallest, largest : float
        λmin and λmax, the extreme eigenvalues of AAᵀ; greater than 0.

    Returns
    -------
    Value
        `.value` has the keys "distance", ‖x∞ − x*‖, and "factor", by which a step shrinks ‖r‖ at
        least.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import safe_scale_second_stage
    >>> safe_scale_second_stage(0.5, 0.01, smallest=0.25, largest=1.0).value
    {'distance': 0.005, 'factor': 0.75}
    """
    value = {"distance": abs(g0) * perp, "factor": 1.0 - smallest / largest}
    return Value(
        value,
        assumptions=(
            assume("0 < λmin ≤ λmax", 0 < smallest <= largest),
            part_of_unit("‖w⊥‖", perp),
        ),
        paper="Section 3, general A",
    )


@formula
def random_tail(m: int) -> Value:
    """How likely the squared norm of a Gaussian vector exceeds its mean by √(m log m).

    Pr(Σ_{i≤m} z_i² ≥ m + √(m log m)) for independent standard Gaussians, about m^{−1/4}/√(π log m).
    The proof of Lemma E.11 has O(1/m), which is far smaller; its conclusion needs only the ratio
    Σλ²z²/Σz², which does concentrate.

    Parameters
    ----------
    m : int
        The number of Gaussians; at least 2.

    Returns
    -------
    Value
        `.value` has the keys "exact" and "printed", 1/m.

    Examples
    --------
    >>> from weightnorm_paper.lemmas import random_tail
    >>> value = random_tail(2000).value
    >>> round(value["exact"], 4), value["printed"]
    (0.0273, 0.0005)
    """
    from scipy.special import gammaincc

    count = validate.integer("m", m, minimum=2, maximum=10**15)
    beyond = count + np.sqrt(count * np.log(count))
    value = {"exact": float(gammaincc(0.5 * count, 0.5 * beyond)), "printed": 1.0 / count}
    return Value(value, paper="proof of Lemma E.11")
