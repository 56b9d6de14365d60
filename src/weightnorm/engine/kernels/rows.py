"""One step of WN or rPGD on the rows of a matrix of weights, for `weightnorm.torch`.

The formulas are in `weightnorm/torch/_rules.py`. A row is read and written while it is in the
nearest cache, which no sequence of operations on whole tensors can do.
"""

from __future__ import annotations

import numpy as np

from .compiling import compiled

# as fast-math, but NaN and infinity stay what they are
SUMS = {"contract", "reassoc", "nsz", "arcp"}


@compiled("rows", fastmath=False)  # said, or it takes its caller's
def _written(row, out, back, factor):
    """row ← back·row, out ← factor·row: that of the rounded row, so that a row which does not move
    gives the same bits again.
    """
    for j in range(row.size):
        row[j] *= back
        out[j] = factor * row[j]


@compiled("rows", fastmath=False)
def _size(own):
    """‖own‖."""
    square = 0.0
    for j in range(own.size):
        square += own[j] * own[j]
    return np.sqrt(square)


@compiled("rows", fastmath=False)
def _followed(row, own, size, length, eps, buffer):
    """Take a row and its scale from weights of this size that others have changed; the scale.

    The row keeps its length and its side; what is not a number starts afresh.
    """
    along = 0.0
    for j in range(row.size):
        along += own[j] * row[j]
    for j in range(buffer.size):
        if not np.isfinite(buffer[j]):
            buffer[j] = 0
    if not size > eps:
        for j in range(row.size):
            if not np.isfinite(row[j]):
                row[j] = length / np.sqrt(row.size)
        return 0.0
    sign = -1.0 if along < 0 else 1.0
    for j in range(row.size):
        row[j] = own[j] * (sign * length / size)
    return sign * size


@compiled("rows", fastmath=SUMS)
def rows_step(p, G, w, g, n, w_buffer, g_buffer, numbers, nesterov, projects):
    """Move every row of w (rows, d), its scale g and its norm n, and write g·w/n into p.

    Numbers are the sign of G, the steps of w and g, momentum, decay, the least norm, and how near
    to 1 a norm counts as 1, and the smallest normal number, in the type of the arrays. Without
    momentum the buffers are empty. A row of p that is not g·w/n has been changed since the last
    step: it is followed first. Subnormal numbers round by too much to tell.
    """
    sign, lr, gamma, beta, decay, eps, near, tiny = numbers
    one = n.dtype.type(1)
    for i in range(w.shape[0]):
        row, slope, own = w[i], G[i], p[i]
        length = one if projects else n[i]
        factor, worst = g[i] / length, one - one
        for j in range(row.size):  # summed, not left at the first: such a loop is vectorised
            expected = factor * row[j]
            worst += max(abs(own[j] - expected) - near * abs(expected) - tiny, one - one)
        if not worst <= 0:  # also where either is not a number
            heavy = w_buffer[i] if beta > 0 else w_buffer[:0].reshape(-1)
            size = _size(own)
            if not projects and not (np.isfinite(length) and length > eps):
                n[i] = size if size > eps else one
            g[i] = _followed(row, own, size, one if projects else n[i], eps, heavy)
            if beta > 0 and not np.isfinite(g_buffer[i]):
                g_buffer[i] = 0
        s = one - one
        for j in range(row.size):
            s += slope[j] * row[j]
        length = one if projects else n[i]
        s *= sign / length
        b = g[i] / length
        # ∇_w = b·G + a·w; after this the step is row ← keep·row − along·G − lr·share·buffer
        a = one - one if projects else -b * s / length
        b *= sign
        slow, share = s + decay * g[i], one - one
        keep, along = one - lr * a, lr * b
        if beta > 0:
            buffer = w_buffer[i]
            for j in range(row.size):
                buffer[j] = beta * buffer[j] + b * slope[j] + a * row[j]
            g_buffer[i] = beta * g_buffer[i] + slow
            share = lr
            if nesterov:
                share, slow = lr * beta, slow + beta * g_buffer[i]
            else:
                keep, along, slow = one, one - one, g_buffer[i]
            for j in range(row.size):
                row[j] = keep * row[j] - along * slope[j] - share * buffer[j]
        else:
            for j in range(row.size):
                row[j] = keep * row[j] - along * slope[j]
        square = one - one
        for j in range(row.size):
            square += row[j] * row[j]
        length = max(np.sqrt(square), eps)
        g[i] -= gamma * slow
        if projects:
            back = one if abs(length - one) <= near else one / length
            _written(row, own, back, g[i])
        else:
            n[i] = length
            _written(row, own, one, g[i] / length)
