"""A problem and a start as the page knows them: rank + 1 coordinates, in plain numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import LARGEST, Vector
from ..datasets import random_direction
from ..problems import require_least_squares
from ..theory.setup import Setup, require_target

MOST = 500  # coordinates that a browser can still train in while one drags
NEGLIGIBLE = 1e-12  # a part of a unit vector this small has no direction of its own


def describe(
    problem: Any,
    scale: Any = None,
    direction: Any = None,
    ratio: Any = None,
    name: str | None = None,
    start_values: Any = None,
) -> dict[str, Any]:
    """Reduce a problem and a start to what the page needs, ready for JSON.

    The unit direction of the start is cos(angle)·(cos(tilt)·w* + sin(tilt)·across) +
    sin(angle)·away: w* is the unit vector along the solution, `across` one orthogonal to it that
    the data see as well, and away is along the part that they do not see.

    Parameters
    ----------
    problem : LeastSquares
        With a solution x* other than zero.
    scale : float, optional
        g0 of the start, zero or more; half of ‖x*‖ by default.
    direction : (d,) array, optional
        Of the start; `random_direction(d, seed=0)` by default.
    ratio : float, optional
        c, the scale's rate over the direction's; (‖x*‖/3)² by default, 1 in the paper's units.
    name : str, optional
        What the page calls the problem.
    start_values : (n,) array, optional
        For `KernelLeastSquares`, in place of the direction: f0 = A w0, as in `run`; without them
        the start is orthogonal to the data.

    Returns
    -------
    dict
        `kind`, `name`, `samples`, `features`, `rank`, `curvatures`, `target`, `floor`, `free`,
        `across`, `start` (`scale`; `angle` and `tilt` in degrees) and `ratio`. `free` says
        whether there is anything that the data cannot see.

    Raises
    ------
    TypeError
        If the problem is not least squares.
    ValueError
        If x* = 0, if the rank is too large for a browser, or if a number makes no sense.

    Examples
    --------
    >>> import weightnorm as wn
    >>> from weightnorm.explorer.describe import describe
    >>> problem = wn.LeastSquares([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0]], [3.0, 8.0])
    >>> found = describe(problem, direction=[3.0, 4.0, 5.0])
    >>> found["samples"], found["features"], found["rank"], found["free"]
    (2, 3, 2, True)
    >>> found["curvatures"], [abs(number) for number in found["target"]]
    ([4.0, 1.0], [4.0, 3.0])
    >>> {key: round(number, 9) for key, number in found["start"].items()}
    {'scale': 2.5, 'angle': 45.0, 'tilt': 0.0}
    """
    problem = require_least_squares(problem)
    if name is not None and not isinstance(name, str):
        raise TypeError(f"name must be a text, got {type(name).__name__}: {name!r}")
    g0 = None if scale is None else validate.real("scale", scale, minimum=0.0)
    c = None if ratio is None else validate.real("ratio", ratio, minimum=0.0, strict=True)
    if not problem.needs_direction or start_values is not None:
        direction = problem.start_direction(direction, start_values)
    if direction is None:
        direction = random_direction(problem.dimension, seed=0)
    setup = _set_up(problem, 0.0 if g0 is None else g0, direction)
    require_target(setup)
    _require_size(setup)
    free = problem.dimension > setup.lam.size
    across, angle, tilt = _angles(setup, free)
    return {
        "kind": "data",
        "name": "your problem" if name is None else name,
        "samples": int(problem.shape[0]),
        "features": int(problem.shape[1]),
        "rank": int(setup.lam.size),
        "curvatures": setup.lam.tolist(),
        "target": setup.target.tolist(),
        "floor": float(problem.floor),
        "free": free,
        "across": across.tolist(),
        "start": {
            "scale": setup.gstar / 2 if g0 is None else g0,
            "angle": math.degrees(angle),
            "tilt": math.degrees(tilt),
        },
        "ratio": (setup.gstar / 3) ** 2 if c is None else c,
    }


def _set_up(problem: Any, scale: float, direction: Any) -> Setup:
    """The problem and the start with a coordinate per singular value, equal ones too: noise on the
    labels moves along all of them.
    """
    g0 = validate.squarable("scale", scale)
    unit = problem.unit_direction("direction", direction, False)
    space = replace(problem.reduce(), groups=())
    start, lifter = space.start(unit)
    lam = problem.factorisation.singular_values**2
    return Setup(g0, float(start[-1]), start[:-1], lam, problem.target, lifter)


def _require_size(setup: Setup) -> None:
    """Refuse what the page cannot compute with."""
    if setup.lam.size > MOST:
        raise ValueError(
            f"problem has rank {setup.lam.size:,}, and the page trains in the browser, in at most "
            f"{MOST:,} coordinates; give fewer samples or features"
        )
    if not 1.0 / LARGEST <= setup.gstar <= LARGEST:
        raise ValueError(
            f"y and A give a solution of norm {setup.gstar:.3g}, whose square over- or underflows; "
            "rescale A or y"
        )


def _angles(setup: Setup, free: bool) -> tuple[Vector, float, float]:
    """The unit vector across the solution, and the start's angles to what the data see and to the
    solution within that, by atan2: no angle loses digits.
    """
    z, unit = setup.z0, setup.target / setup.gstar
    away = setup.q0 if free else 0.0
    rest = _rest(z, unit)
    size = float(np.linalg.norm(rest))
    if size <= NEGLIGIBLE:
        size, rest = 0.0, _rest(np.eye(unit.size)[int(np.argmin(np.abs(unit)))], unit)
    length = float(np.linalg.norm(rest)) if unit.size > 1 else 0.0
    across = rest / length if length > 0 else np.zeros_like(unit)
    along = float(z @ unit)
    seen = math.hypot(along, size)
    tilt = math.atan2(size, along) if seen > 0 else 0.0
    return across, math.atan2(away, seen), tilt


def _rest(vector: Vector, unit: Vector) -> Vector:
    """A vector without its part along a unit vector; twice, so that rounding leaves nothing."""
    for _ in range(2):
        vector = vector - float(vector @ unit) * unit
    return vector
