"""One step of WN or rPGD on the rows of matrices of weights, for `weightnorm.torch`.

The formulas are in `weightnorm/torch/_rules.py`. A row is read and written while it is in the
nearest cache, which no sequence of operations on whole tensors can do. All matrices of a step come
in one call, as a table of their sizes and addresses: whoever fills it has checked them
(`weightnorm/torch/_compiled.py`).
"""

from __future__ import annotations

import numpy as np
from numba import carray
from numba.core import types
from numba.extending import intrinsic

from .compiling import compiled

# as fast-math, but NaN and infinity stay what they are, and a quotient is a quotient
SUMS = {"contract", "reassoc", "nsz"}
# columns of the table; an address of 0 is that of nothing
ROWS, COLUMNS, WEIGHTS, GRADIENT, DIRECTION, SCALE, NORM, DIRECTION_BUFFER, SCALE_BUFFER = range(9)


@intrinsic
def _pointer(typing_context, address, like):
    """The pointer at an address, to numbers of the type of an array."""

    def generate(context, builder, signature, arguments):
        kind = context.get_value_type(signature.return_type)
        return builder.inttoptr(arguments[0], kind)

    return types.CPointer(like.dtype)(types.int64, like), generate  # type: ignore[attr-defined]


@compiled("rows", fastmath={"contract"}, forceinline=True)  # said, or it takes its caller's
def _moved(row, slope, own, keep, along, factor):
    """row ← keep·row − along·slope, own ← factor·row: that of the rounded row, so that a row which
    does not move gives the same bits again.
    """
    for j in range(row.size):
        row[j] = keep * row[j] - along * slope[j]
        own[j] = factor * row[j]


@compiled("rows", fastmath=False)
def _written(row, own, back, factor):
    """row ← back·row, own ← factor·row, rounded in the same way."""
    for j in range(row.size):
        row[j] *= back
        own[j] = factor * row[j]


@compiled("rows", fastmath=False)
def _size(own):
    """‖own‖ as two factors, also where this type cannot hold its square: the norm of own/peak,
    and peak, the largest entry; 1 where that is zero or not a number.
    """
    peak = own.dtype.type(0)
    for j in range(own.size):
        peak = max(peak, abs(own[j]))
    if not (np.isfinite(peak) and peak > 0):
        peak = own.dtype.type(1)
    square = own.dtype.type(0)
    for j in range(own.size):
        share = own[j] / peak
        square += share * share
    return np.sqrt(square), peak


@compiled("rows", fastmath=False)
def _is_changed(row, own, factor, near, tiny):
    """Whether weights are not factor·row, up to a few roundings, or either is not a number."""
    for j in range(row.size):
        expected = factor * row[j]
        if not abs(own[j] - expected) <= near * abs(expected) + tiny:
            return True
    return False


@compiled("rows", fastmath=False)
def _followed(row, own, size, length, eps, buffer):
    """Take a row and its scale from weights of this size that others have changed; the scale.

    The row keeps its length and its side. Weights that are not numbers have a scale that is none.
    """
    for j in range(buffer.size):
        if not np.isfinite(buffer[j]):
            buffer[j] = 0
    if not np.isfinite(size):
        return size
    if size <= eps:
        for j in range(row.size):
            if not np.isfinite(row[j]):
                row[j] = length / np.sqrt(row.size)
        return 0.0
    along = 0.0
    for j in range(row.size):
        along += (own[j] / size) * row[j]
    sign = -1.0 if along < 0 else 1.0
    for j in range(row.size):
        row[j] = (own[j] / size) * (sign * length)
    return sign * size


@compiled("rows", fastmath=SUMS, forceinline=True)
def _sums(row, slope, own, factor):
    """How many weights are not factor·row, bit by bit, ⟨slope, row⟩, ‖slope‖² and ‖row‖²."""
    zero = row.dtype.type(0)
    one = row.dtype.type(1)
    off, s, steep, square = zero, zero, zero, zero
    for j in range(row.size):  # counted, not left at the first: such a loop is vectorised
        off += one if own[j] != factor * row[j] else zero
        s += slope[j] * row[j]
        steep += slope[j] * slope[j]
        square += row[j] * row[j]
    return off, s, steep, square


@compiled("rows", fastmath=SUMS)
def _with_momentum(row, slope, buffer, beta, a, b, keep, along, share):
    """buffer ← β·buffer + b·slope + a·row, row ← keep·row − along·slope − share·buffer; ‖row‖².

    Without a buffer only the row is moved.
    """
    square = row.dtype.type(0)
    if buffer.size == 0:
        for j in range(row.size):
            row[j] = keep * row[j] - along * slope[j]
            square += row[j] * row[j]
        return square
    for j in range(row.size):
        buffer[j] = beta * buffer[j] + b * slope[j] + a * row[j]
        row[j] = keep * row[j] - along * slope[j] - share * buffer[j]
        square += row[j] * row[j]
    return square


@compiled("rows", fastmath=False, forceinline=True)
def _row_step(own, slope, row, i, g, n, buffer, g_buffer, numbers, nesterov, projects):
    """Move row i of a direction, its scale g[i] and norm n[i], and write g·w/n into its weights.

    A row of weights that is not g·w/n has been changed since the last step: it is followed first.
    Subnormal numbers round by too much to tell.
    """
    sign, lr, gamma, beta, decay, eps, near, tiny, low, high = numbers
    zero = row.dtype.type(0)
    one = row.dtype.type(1)
    length = one if projects else n[i]
    factor = g[i] if projects else g[i] / length
    off, s, steep, square = _sums(row, slope, own, factor)
    if off > 0 and _is_changed(row, own, factor, near, tiny):
        share, peak = _size(own)
        size, least = share * peak, eps if row.size > 1 else zero
        # a norm that is lost, or with which g/n is not a number, is that of the weights
        lost = not (np.isfinite(length) and length > eps) or size >= high * length
        if not projects and (lost or least < size <= tiny * length):
            n[i] = size if size > least else one
        length = one if projects else n[i]
        g[i] = _followed(row, own, size, length, least, buffer)
        if beta > 0 and not np.isfinite(g_buffer[i]):
            g_buffer[i] = 0
        factor = g[i] / length
        off, s, steep, square = _sums(row, slope, own, factor)
    # ∇_w = b·G + a·w; the step is row ← keep·row − along·G − share·buffer
    slow, a, b = sign * s, zero, sign * factor
    if not projects:
        slow /= length
        a = -factor * slow / length
    slow += decay * g[i]
    keep, along, share = one - lr * a, lr * b, zero
    if beta > 0:
        g_buffer[i] = beta * g_buffer[i] + slow
        if nesterov:
            share, slow = lr * beta, slow + beta * g_buffer[i]
        else:
            keep, along, share, slow = one, zero, lr, g_buffer[i]
    if gamma > 0:
        g[i] -= gamma * slow
    if row.size == 1:  # one number has no direction: it is moved by its scale
        own[0] = g[i] / length * row[0]
        return
    # ‖row‖² after the step, if that is no difference of much larger terms; else it is measured
    two = row.dtype.type(2)  # a number of Python's would make all of it float64
    stay, turn, cross = keep * keep * square, along * along * steep, two * keep * along * s
    moved = stay - cross + turn
    if beta == 0 and low < square and stay + turn < two * moved and stay + turn < high:
        length = np.sqrt(moved)
        if projects:
            back = one if abs(length - one) <= near else one / length
            _moved(row, slope, own, keep * back, along * back, g[i])
        else:
            if steep > 0:  # else the row stays, and so does every bit of its norm
                n[i] = length
            _moved(row, slope, own, keep, along, g[i] / n[i])
        return
    moved = _with_momentum(row, slope, buffer, beta, a, b, keep, along, share)
    length, peak = np.sqrt(moved), one
    if not low < moved < high:
        length, peak = _size(row)
    if projects:
        if peak != one:
            for j in range(row.size):
                row[j] /= peak
        back = one if abs(length - one) <= near or length <= eps else one / length
        _written(row, own, back, g[i])
    else:
        n[i] = one if length * peak <= eps else length * peak
        _written(row, own, one, g[i] / n[i])


@compiled("rows", fastmath=False)
def rows_step(table, like, numbers, nesterov, projects, part, parts):
    """Make one of several parts of a step, about equal in numbers, each of whole rows.

    Numbers are the sign of G, the steps of w and g, momentum, decay, the least norm, how near to 1
    a norm counts as 1, the smallest normal number, and between which numbers a square is exact; in
    the type of `like`, an empty array of the type of the matrices. Without momentum there are no
    buffers, and rPGD, which `projects`, has no norms.
    """
    total = 0
    for k in range(len(table)):
        total += table[k, ROWS] * table[k, COLUMNS]
    start, stop = total * part // parts, total * (part + 1) // parts
    before = 0
    none = np.empty(0, like.dtype)
    empty = np.empty((0, 0), like.dtype)
    heavy = numbers[3] > 0
    for k in range(len(table)):
        rows, columns = table[k, ROWS], table[k, COLUMNS]
        first = min(max(0, -((before - start) // columns)), rows)
        last = min(max(0, -((before - stop) // columns)), rows)
        before += rows * columns
        if first == last:
            continue
        shape = (rows, columns)
        p = carray(_pointer(table[k, WEIGHTS], like), shape)
        G = carray(_pointer(table[k, GRADIENT], like), shape)
        w = carray(_pointer(table[k, DIRECTION], like), shape)
        g = carray(_pointer(table[k, SCALE], like), (rows,))
        n = none if projects else carray(_pointer(table[k, NORM], like), (rows,))
        w_buffer, g_buffer = empty, none
        if heavy:
            w_buffer = carray(_pointer(table[k, DIRECTION_BUFFER], like), shape)
            g_buffer = carray(_pointer(table[k, SCALE_BUFFER], like), (rows,))
        for i in range(first, last):
            buffer = w_buffer[i] if heavy else none
            _row_step(p[i], G[i], w[i], i, g, n, buffer, g_buffer, numbers, nesterov, projects)
