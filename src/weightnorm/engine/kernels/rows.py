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


@compiled("rows")
def rows_differ(p, w, g, n, near, projects):
    """Whether a row of p is not g·w/n, to so many relative units."""
    for i in range(w.shape[0]):
        factor = g[i] if projects else g[i] / n[i]
        row, own = w[i], p[i]
        for j in range(row.size):
            expected = factor * row[j]
            # also where either is not a number
            if not abs(own[j] - expected) <= near * abs(expected):
                return True
    return False


@compiled("rows", fastmath=SUMS)
def rows_step(p, G, w, g, n, w_buffer, g_buffer, numbers, nesterov, projects):
    """Move every row of w (rows, d), its scale g and its norm n, and write g·w/n into p.

    Numbers are the sign of G, the steps of w and g, momentum, decay, the least norm, and how near
    to 1 a norm counts as 1, in the type of the arrays. Without momentum the buffers may be empty.
    """
    sign, lr, gamma, beta, decay, eps, near = numbers
    one = n.dtype.type(1)
    for i in range(w.shape[0]):
        row, slope = w[i], G[i]
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
            _written(row, p[i], back, g[i])
        else:
            n[i] = length
            _written(row, p[i], one, g[i] / length)
