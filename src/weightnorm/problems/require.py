"""Refuse problems of which a question has no answer."""

from __future__ import annotations

from typing import Any

from .contract import Problem


def require_least_squares(problem: Any) -> Any:
    """Return a LeastSquares as it is, and refuse any other problem.

    Parameters
    ----------
    problem : object
        What a user gave.

    Returns
    -------
    LeastSquares
        The same object.

    Raises
    ------
    TypeError
        If it is something else: some facts are known of least squares only.

    Examples
    --------
    >>> import weightnorm as wn
    >>> from weightnorm.problems import require_least_squares
    >>> problem = wn.LeastSquares([[1.0, 0.0]], [1.0])
    >>> require_least_squares(problem) is problem
    True
    """
    if not (isinstance(problem, Problem) and problem.is_least_squares):
        raise TypeError(
            f"problem must be a LeastSquares, got {type(problem).__name__}; use "
            "wn.LeastSquares(A, y)"
        )
    return problem


def has_minimum(problem: Any) -> bool:
    """Whether a problem finds its smallest loss by `minimum()`."""
    return isinstance(problem, Problem) and problem.finds_minimum
