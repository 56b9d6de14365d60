"""A loss by its name, or one of the user's own, checked before it runs."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._support import validate
from .._support.numeric import Vector
from .losses import Huber, Logistic, Loss, Poisson, Squared

NAMES = ("squared", "logistic", "poisson", "huber")


def as_loss(loss: Any, y: Vector) -> Loss:
    """Make the loss of a name, or check a user's own object on one row.

    Parameters
    ----------
    loss : {"squared", "logistic", "poisson", "huber"} or an object
        A name, or an object with value(z) and derivative(z).
    y : (m,) array
        The targets or labels.

    Returns
    -------
    Loss
        The loss of these targets; an object of the user's own as it is.

    Raises
    ------
    TypeError
        If an object has no value or no derivative.
    ValueError
        If they give arrays of the wrong shape, or y does not suit the loss.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.problems.own_loss import as_loss
    >>> as_loss("squared", np.array([1.0])).derivative(np.array([3.0])).tolist()
    [2.0]
    """
    if isinstance(loss, str):
        name = validate.choice("loss", loss, NAMES)
        makers: dict[str, Any] = {
            "squared": Squared,
            "logistic": Logistic.of,
            "poisson": Poisson.of,
            "huber": Huber,
        }
        made: Loss = makers[name](y)
        return made
    for method in ("value", "derivative"):
        if not callable(getattr(loss, method, None)):
            raise TypeError(
                f"loss must be one of {', '.join(map(repr, NAMES))} or an object with value(z) and "
                f"derivative(z), got {loss!r}"
            )
    if getattr(loss, "checked", False):  # made by the house, of losses that were checked
        checked: Loss = loss
        return checked
    labels = getattr(loss, "y", y)
    if np.shape(labels) != y.shape:
        raise ValueError(
            f"loss has {np.size(labels)} labels and y {y.size}; make it of this y, or give its name"
        )
    rows = np.zeros((2, y.size))
    value, slope = np.shape(loss.value(rows)), np.shape(loss.derivative(rows))
    if value not in (rows.shape, (2,)) or slope != rows.shape:
        raise ValueError(
            f"loss must take z of shape (n, {y.size}): value(z) gives that shape or (n,), "
            f"derivative(z) that shape; for n = 2 they gave {value} and {slope}"
        )
    for method in ("value", "derivative"):
        validate.numbers(f"loss.{method}(0)", getattr(loss, method)(rows))
    if getattr(loss, "smoothness", None) is not None:
        validate.real("loss.smoothness", loss.smoothness, minimum=0.0)
    own: Loss = loss
    return own
