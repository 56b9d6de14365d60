"""Whether a method, a problem and a start go together."""

from __future__ import annotations

from typing import Any

from .._validate import Vector
from ..methods.base import Method, bind_steps
from ..problems import GeneralizedLinear, LeastSquares, MatrixSensing


def check_method(method: Any, problem: Any) -> None:
    """Refuse what is not a method, and a method that asks for more than the problem has."""
    if isinstance(method, type):
        raise TypeError(f"method must be a method with its steps, got the class {method.__name__}; call it with step sizes")
    if not all(hasattr(method, name) for name in ("init", "evaluate", "update", "schedules")):
        raise TypeError(f"method must be a GradientDescent, WeightNorm or RPGD, got {type(method).__name__}: {method!r}")
    if not isinstance(problem, LeastSquares | GeneralizedLinear | MatrixSensing):
        raise TypeError(
            "problem must be a LeastSquares, a GeneralizedLinear or a MatrixSensing, got "
            f"{type(problem).__name__}; use wn.LeastSquares(A, y)"
        )
    if getattr(method, "blocks", "all") != "all" and not isinstance(problem, MatrixSensing):
        raise ValueError(
            f"{method.name}(blocks={method.blocks!r}) needs a problem whose weights have columns, and "
            f"{type(problem).__name__} has one block; use blocks='all'"
        )
    if not isinstance(problem, LeastSquares):
        bind_steps(method, problem)  # refuses a curvature step where there is no largest curvature


def check_scale(method: Method, problem: Any, scale: Vector) -> None:
    """Refuse a start at scale zero where a step divides by it."""
    if scale.all():
        return
    for name, step in zip(("direction_step", "scale_step"), bind_steps(method, problem), strict=True):
        if step.undefined_at(scale).any():
            raise ValueError(
                f"scale is 0 and the {name} of {method.name} has a factor |g|^{step.scale_power:g}, which is undefined "
                "there; start from another scale or use a constant step"
            )
