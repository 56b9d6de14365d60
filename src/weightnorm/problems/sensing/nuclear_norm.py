"""The smallest nuclear norm that fits the measurements: solved by cvxpy, believed only if certified
here.

With S_i the sensors (their symmetric parts unless `over="all"`), the problem and its dual are

    min ‖X‖_*  subject to ⟨S_i, X⟩ = y_i            max yᵀλ  subject to  ‖Σ λ_i S_i‖₂ ≤ 1,

and over positive semidefinite X the trace, with Σ λ_i S_i ⪯ I. Whatever the solver says, a matrix
that fits y bounds the minimum from above and a λ that satisfies the dual's constraint bounds it
from below. `certify` computes both bounds from the numbers it is given and nothing else.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.numeric import Matrix, Vector

# how well the matrix must fit y, and how far from positive semidefinite it may be, relatively
FIT = 1e-8
GAP = 1e-6  # how near the two bounds must be, relatively
SOLVERS = ("CLARABEL", "SCS")  # the accurate one first, the scalable one after it


class NotCertified(RuntimeError):  # noqa: N818  (what happened, like KeyboardInterrupt)
    """No certified minimum: nothing fits y, or the solver's answer does not pass the check.

    `MatrixSensing.min_nuclear_norm` raises it.

    Parameters
    ----------
    *args
        The message: what was found instead of a certificate.

    Examples
    --------
    A sensor that is antisymmetric sees nothing of a symmetric matrix:

    >>> import weightnorm as wn
    >>> wn.MatrixSensing([[[0.0, 1.0], [-1.0, 0.0]]], [1.0]).min_nuclear_norm()
    Traceback (most recent call last):
        ...
    weightnorm.problems.sensing.nuclear_norm.NotCertified: sensor 0 sees nothing ...
    """


@dataclass(frozen=True, eq=False)
class MinimumNuclearNorm:
    """A certified minimum of the nuclear norm among the matrices that fit the measurements.

    Attributes
    ----------
    value : float
        The nuclear norm of `matrix`, the certified upper bound.
    matrix : (d, d) array
        It fits y to 1e-8, and over positive semidefinite matrices its lowest eigenvalue is at least
        −1e-8 of `value`.
    status : str
        "certified", after the check that stands on our own arithmetic.
    gap : float
        value − lower_bound ≥ 0, up to rounding.
    lower_bound : float
        yᵀλ of a λ that satisfies the dual's constraint exactly.
    dual : (m,) array
        That λ.
    residual : float
        The largest |⟨A_i, matrix⟩ − y_i|, relative to the largest |y_i|, for sensors brought to
        norm 1.
    over : str
        Over which matrices it is the minimum: "psd", "symmetric" or "all".
    solver : str
        Whose answer was certified.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.sensing.nuclear_norm import certify
    >>> sensors, y = np.eye(2)[None], np.array([2.0])  # the trace of X is 2
    >>> certify(sensors, y, "psd", matrix=np.eye(2), dual=np.array([1.0]))
    MinimumNuclearNorm(certified: value=2 over psd, gap=...)
    """

    value: float
    matrix: Matrix
    status: str
    gap: float
    lower_bound: float
    dual: Vector
    residual: float
    over: str
    solver: str

    def __repr__(self) -> str:
        return (
            f"MinimumNuclearNorm({self.status}: value={self.value:.6g} over {self.over}, "
            f"gap={self.gap:.2g})"
        )


def certify(
    sensors: NDArray[np.float64],
    y: Vector,
    over: str,
    matrix: Matrix,
    dual: Vector,
    solver: str = "given",
) -> MinimumNuclearNorm:
    """Check that a matrix has the smallest nuclear norm, by a dual vector λ that proves it.

    The matrix is first moved to the nearest one that fits y. Its nuclear norm bounds the minimum
    from above, and yᵀλ, with λ shrunk until it satisfies the dual's constraint, from below.

    Parameters
    ----------
    sensors : (m, d, d) array
        A_i.
    y : (m,) array
        The measurements.
    over : {"psd", "symmetric", "all"}
        Over which matrices it is to be the minimum.
    matrix : (d, d) array
        A candidate.
    dual : (m,) array
        A candidate for λ.
    solver : str
        Where they come from, for messages.

    Returns
    -------
    MinimumNuclearNorm
        The certified minimum.

    Raises
    ------
    NotCertified
        If a number is not finite, no matrix near this one fits y (and is positive semidefinite,
        over "psd"), or the two bounds are further apart than 1e-6, relatively.
    """
    if not (np.isfinite(matrix).all() and np.isfinite(dual).all()):
        raise NotCertified(
            f"the solver {solver} gave numbers that are not finite; rescale the problem"
        )
    S, right, sizes = _normalised(sensors, y, over)
    X = matrix if over == "all" else 0.5 * (matrix + matrix.T)
    rows = S.reshape(len(y), -1)
    largest = float(np.abs(right).max(initial=0.0)) or 1.0
    # the nearest that fits y
    X = X + np.linalg.lstsq(rows, right - rows @ X.ravel(), rcond=None)[0].reshape(X.shape)
    residual = float(np.abs(rows @ X.ravel() - right).max()) / largest
    if residual > FIT:
        raise NotCertified(
            f"no matrix near the answer of {solver} fits y: off by {residual:.2g}, relatively; is "
            "y reachable?"
        )
    value = float(np.linalg.svd(X, compute_uv=False).sum())
    if over == "psd":
        lowest = float(np.linalg.eigvalsh(X)[0])
        if lowest < -FIT * value:
            raise NotCertified(
                f"the matrix of {solver} that fits y is not positive semidefinite: eigenvalue "
                f"{lowest:.3g}"
            )
    scaled = dual * sizes  # λ of the sensors brought to norm 1
    combined = np.tensordot(scaled, S, axes=1)
    reach = (
        float(np.linalg.eigvalsh(combined)[-1])
        if over == "psd"
        else float(np.linalg.norm(combined, 2))
    )
    scaled = scaled / max(1.0, reach)
    lower = float(right @ scaled)
    gap = value - lower
    if not abs(gap) <= GAP * value:
        raise NotCertified(
            f"the answer of {solver} is not proved to be the minimum over {over} matrices: the "
            f"nuclear norm is between {lower:.8g} and {value:.8g}"
        )
    return MinimumNuclearNorm(
        value, X, "certified", gap, lower, scaled / sizes, residual, over, solver
    )


def _normalised(
    sensors: NDArray[np.float64], y: Vector, over: str
) -> tuple[NDArray[np.float64], Vector, Vector]:
    """Sensors of norm 1 (their symmetric parts unless over all), y to match, and the norms."""
    S = sensors if over == "all" else 0.5 * sensors + 0.5 * sensors.swapaxes(1, 2)
    peak = np.abs(S).max(axis=(1, 2))
    sizes = np.where(peak > 0, peak, 1.0)
    sizes = sizes * np.sqrt((np.square(S / sizes[:, None, None])).sum(axis=(1, 2)) + (peak == 0))
    blind = (peak == 0) & (y != 0)
    if blind.any():
        raise NotCertified(
            f"sensor {int(np.argmax(blind))} sees nothing of such a matrix, but its y is not zero"
        )
    return S / sizes[:, None, None], y / sizes, sizes


def solve(sensors: NDArray[np.float64], y: Vector, over: str) -> MinimumNuclearNorm:
    """Find the certified minimum of the nuclear norm, by the first solver whose answer passes.

    Parameters
    ----------
    sensors : (m, d, d) array
        A_i.
    y : (m,) array
        The measurements.
    over : {"psd", "symmetric", "all"}
        Over which matrices.

    Returns
    -------
    MinimumNuclearNorm
        The certified minimum.

    Raises
    ------
    NotCertified
        If no matrix fits y, or no solver's answer passes `certify`.
    ImportError
        If cvxpy is not installed.
    """
    d = sensors.shape[1]
    S, right, sizes = _normalised(sensors, y, over)
    if not y.any():
        return certify(sensors, y, over, np.zeros((d, d)), np.zeros(len(y)), "nothing: y is zero")
    size = float(np.abs(right).max())
    failures = []
    for solver in SOLVERS:
        try:
            matrix, dual = _ask(S, right / size, over, solver)
            return certify(sensors, y, over, size * matrix, dual / sizes, solver)
        except Infeasible as error:
            raise NotCertified(str(error)) from None
        except NotCertified as error:
            failures.append(str(error))
    raise NotCertified("; ".join(failures))


class Infeasible(NotCertified):
    """A solver proved that no matrix fits y."""


def _ask(S: NDArray[np.float64], y: Vector, over: str, solver: str) -> tuple[Matrix, Vector]:
    """What a solver answers: the matrix, and λ with the sign that makes yᵀλ positive."""
    try:
        import cvxpy
    except ImportError:
        raise ImportError("min_nuclear_norm needs cvxpy; install weightnorm[all]") from None
    m, d = len(y), S.shape[1]
    if over == "psd":
        X = cvxpy.Variable((d, d), PSD=True)
        objective, matrix = cvxpy.trace(X), X
    elif over == "symmetric":
        # X = P − N, both positive semidefinite: a smaller program than the nuclear norm's own
        P, N = cvxpy.Variable((d, d), PSD=True), cvxpy.Variable((d, d), PSD=True)
        objective, matrix = cvxpy.trace(P) + cvxpy.trace(N), P - N
    else:
        X = cvxpy.Variable((d, d))
        objective, matrix = cvxpy.normNuc(X), X
    fits: Any = S.reshape(m, -1) @ cvxpy.vec(matrix, order="C") == y
    problem = cvxpy.Problem(cvxpy.Minimize(objective), [fits])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # "may be inaccurate": we look for ourselves
            problem.solve(solver=solver)
    except cvxpy.SolverError as error:
        raise NotCertified(f"{solver} gave up: {error}") from None
    if problem.status == "infeasible":
        raise Infeasible(f"{solver} found no {over} matrix that fits y: {problem.status}")
    if matrix.value is None or fits.dual_value is None:
        raise NotCertified(f"{solver} found no {over} matrix that fits y: {problem.status}")
    dual = np.asarray(fits.dual_value, dtype=np.float64).ravel()
    return np.asarray(matrix.value, dtype=np.float64), dual if y @ dual >= 0 else -dual
