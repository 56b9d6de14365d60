"""Logits -> probabilities, for a fitted classifier and for a model file alike."""

from __future__ import annotations

import numpy as np
from scipy.special import log_expit, log_softmax, logsumexp

from .._support.numeric import Array


def log_probabilities(logits: Array, multi_class: str) -> Array:
    """The logarithm of the probability of every class.

    Parameters
    ----------
    logits : (n, 1) or (n, n_classes) array
        Of the second class of two, or of every class.
    multi_class : {"ovr", "softmax"}
        Whether the probabilities of one class against the rest are divided by their sum, or the
        classes compete.

    Returns
    -------
    (n, n_classes) array
        Nothing over- or underflows.

    Examples
    --------
    >>> import numpy as np
    >>> from weightnorm.estimators.probabilities import log_probabilities
    >>> np.exp(log_probabilities(np.array([[0.0]]), "ovr")).tolist()
    [[0.5, 0.5]]
    """
    if logits.shape[1] == 1:
        return np.column_stack([log_expit(-logits[:, 0]), log_expit(logits[:, 0])])
    if multi_class == "softmax":
        return np.asarray(log_softmax(logits, axis=1))
    each = log_expit(logits)
    return np.asarray(each - logsumexp(each, axis=1, keepdims=True))
