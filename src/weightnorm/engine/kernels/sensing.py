"""Matrix sensing compiled: runs share the two products with the sensors, eight to a block.

A run's factor is kept transposed, T[j] = w_j, each row padded with zeros to a multiple of eight.
One step of a run is four products: X = Σ_j s_j w_j w_jᵀ (half of it: X is symmetric), the
measurements ⟨A_i, X⟩, the gradient M = Σ e_i A_i/m, and T M. The two with the sensors are shared by
the runs of a block, one lane each. All four are the same 4 × 8 tile of a matrix product, whose
eight accumulators stay in registers. What a lane computes does not depend on the others.

A lone run would leave seven lanes empty; it has the two products with the sensors in a form of its
own, vectors along the sensors or along the packed entries instead of lanes, with every sum in the
same order: the numbers are the same.
"""

from __future__ import annotations

import numpy as np

from .compiling import compiled, enabled
from .lanes import MIDDLE

WIDTH, broadcast, lane_sum = MIDDLE.width, MIDDLE.broadcast, MIDDLE.lane_sum
load, multiply_add, spread, store = MIDDLE.load, MIDDLE.multiply_add, MIDDLE.spread, MIDDLE.store

# packed entries of X that are multiplied with all sensors in one go: the sensors' part stays in
# cache
CHUNK = 32
ROWS = 4  # rows of a tile
GROUP = 4 * WIDTH  # sensors that a lone run measures together

GRADIENT_DESCENT, WEIGHT_NORM, RPGD = range(3)
COMPILED = enabled()

_jit = compiled(MIDDLE.tag, boundscheck=False)


@_jit
def _tile(a, a_start, a_row, a_step, b, b_start, b_step, count, c, c_start, c_row, add):
    """Four rows of eight:
    c[r] (+)= Σ_k a[a_start + r·a_row + k·a_step]·b[b_start + k·b_step : … + 8].
    """
    zero = spread(0.0)
    c0, c1, c2, c3 = zero, zero, zero, zero
    if add:
        c0 = load(c, c_start)
        c1 = load(c, c_start + c_row)
        c2 = load(c, c_start + 2 * c_row)
        c3 = load(c, c_start + 3 * c_row)
    for _ in range(count):
        right = load(b, b_start)
        c0 = multiply_add(broadcast(a, a_start), right, c0)
        c1 = multiply_add(broadcast(a, a_start + a_row), right, c1)
        c2 = multiply_add(broadcast(a, a_start + 2 * a_row), right, c2)
        c3 = multiply_add(broadcast(a, a_start + 3 * a_row), right, c3)
        a_start += a_step
        b_start += b_step
    store(c, c_start, c0)
    store(c, c_start + c_row, c1)
    store(c, c_start + 2 * c_row, c2)
    store(c, c_start + 3 * c_row, c3)


@_jit
def _pack_outer(
    left, left_start, right, right_start, rank, size, width, square, packed, lane, stride
):
    """The lower triangle of leftᵀ right into every stride-th place of `packed`, for two arrays
    of `rank` rows.
    """
    for i in range(0, size, ROWS):
        for k in range(0, i + ROWS, WIDTH):
            a, b = left_start + i, right_start + k
            _tile(left, a, 1, width, right, b, width, rank, square, i * width + k, width, False)
    place = lane
    for i in range(size):
        for k in range(i + 1):
            packed[place] = square[i * width + k]
            place += stride


@_jit
def _unpack(packed, lane, stride, size, width, square):
    """The symmetric matrix whose packed form, off the diagonal doubled, is in every stride-th
    place of `packed`.
    """
    place = lane
    for i in range(size):
        for k in range(i):
            value = 0.5 * packed[place]
            square[i * width + k] = value
            square[k * width + i] = value
            place += stride
        square[i * width + i] = packed[place]
        place += stride
        for k in range(size, width):  # what a run before may have left there
            square[i * width + k] = 0.0


@_jit
def _measure(sensors, num_chunks, num_rows, packed, packed_size, measured, num_blocks):
    """⟨A_i, X⟩ of every block, chunk by chunk of the packed entries."""
    rows = num_rows * WIDTH
    for chunk in range(num_chunks):
        for block in range(num_blocks):
            b = block * packed_size * WIDTH + chunk * CHUNK * WIDTH
            for i in range(0, num_rows, ROWS):
                a = (chunk * num_rows + i) * CHUNK
                _tile(
                    sensors,
                    a,
                    CHUNK,
                    1,
                    packed,
                    b,
                    WIDTH,
                    CHUNK,
                    measured,
                    block * rows + i * WIDTH,
                    WIDTH,
                    chunk > 0,
                )


@_jit
def _combine(sensors, num_chunks, num_rows, measured, packed, packed_size, num_blocks):
    """Σ_i e_i A_i of every block, packed."""
    rows = num_rows * WIDTH
    for chunk in range(num_chunks):
        for block in range(num_blocks):
            for k in range(0, CHUNK, ROWS):
                a = chunk * num_rows * CHUNK + k
                c = (block * packed_size + chunk * CHUNK + k) * WIDTH
                _tile(
                    sensors,
                    a,
                    1,
                    CHUNK,
                    measured,
                    block * rows,
                    WIDTH,
                    num_rows,
                    packed,
                    c,
                    WIDTH,
                    False,
                )


@_jit
def _measure_one(groups, packed_size, packed, seen, measured):
    """⟨A_i, X⟩ of a lone run, whose packed entries are next to each other; into every WIDTH-th
    place.

    `groups` is flat (groups, packed_size, GROUP): the sensors again, GROUP of them next to each
    other. Each sum is taken in the same order as in `_measure`, so that the numbers are the same.
    """
    for group in range(groups.size // (packed_size * GROUP)):
        zero = spread(0.0)
        c0, c1, c2, c3 = zero, zero, zero, zero
        at = group * packed_size * GROUP
        for k in range(packed_size):
            entry = broadcast(packed, k)
            c0 = multiply_add(load(groups, at), entry, c0)
            c1 = multiply_add(load(groups, at + WIDTH), entry, c1)
            c2 = multiply_add(load(groups, at + 2 * WIDTH), entry, c2)
            c3 = multiply_add(load(groups, at + 3 * WIDTH), entry, c3)
            at += GROUP
        store(seen, 0, c0)
        store(seen, WIDTH, c1)
        store(seen, 2 * WIDTH, c2)
        store(seen, 3 * WIDTH, c3)
        first = group * GROUP
        for i in range(min(GROUP, measured.size // WIDTH - first)):
            measured[(first + i) * WIDTH] = seen[i]


@_jit
def _combine_one(sensors, num_chunks, num_rows, measured, packed):
    """Σ_i e_i A_i of a lone run, packed."""
    for chunk in range(num_chunks):
        zero = spread(0.0)
        c0, c1, c2, c3 = zero, zero, zero, zero
        for i in range(num_rows):
            a, error = (chunk * num_rows + i) * CHUNK, broadcast(measured, i * WIDTH)
            c0 = multiply_add(error, load(sensors, a), c0)
            c1 = multiply_add(error, load(sensors, a + WIDTH), c1)
            c2 = multiply_add(error, load(sensors, a + 2 * WIDTH), c2)
            c3 = multiply_add(error, load(sensors, a + 3 * WIDTH), c3)
        at = chunk * CHUNK
        store(packed, at, c0)
        store(packed, at + WIDTH, c1)
        store(packed, at + 2 * WIDTH, c2)
        store(packed, at + 3 * WIDTH, c3)


@_jit
def _power(base, exponent):
    return 1.0 if exponent == 0.0 else base**exponent


@_jit
def _shift(factor, start, length, keep, gradient, place, step):
    """factor ← keep·factor − step·gradient on `length` entries; the sum of its squares
    afterwards.
    """
    times, minus, total = spread(keep), spread(-step), spread(0.0)
    for i in range(0, length, WIDTH):
        value = multiply_add(minus, load(gradient, place + i), times * load(factor, start + i))
        store(factor, start + i, value)
        total = multiply_add(value, value, total)
    return lane_sum(total)


@_jit
def _rescale(source, start, length, multiplier, target, place):
    """target ← multiplier·source on `length` entries."""
    times = spread(multiplier)
    for i in range(0, length, WIDTH):
        store(target, place + i, times * load(source, start + i))


@_jit
def _dot(a, a_start, b, b_start, length):
    total = spread(0.0)
    for i in range(0, length, WIDTH):
        total = multiply_add(load(a, a_start + i), load(b, b_start + i), total)
    return lane_sum(total)


@_jit
def _update(
    kind,
    columns,
    factor,
    start,
    gradient,
    slope,
    scale,
    norm,
    place,
    rank,
    width,
    eta,
    gamma,
    powers,
    row,
):
    """One step of a run from its gradient T M; its scales and norms, one or one per column,
    begin at `place`.
    """
    if kind == GRADIENT_DESCENT:
        _shift(factor, start, rank * width, 1.0, gradient, 0, 2.0 * eta)
        return
    blocks, length = (rank, width) if columns else (1, rank * width)
    for j in range(blocks):
        begin, g, n = start + j * width, scale[place + j], norm[place + j]
        if columns:
            slope = _dot(factor, begin, gradient, j * width, width) / (n * n)
        direction_step = eta * _power(abs(g), powers[row]) * _power(n, powers[row + 1])
        scale_step = gamma * _power(abs(g), powers[row + 2]) * _power(n, powers[row + 3])
        if kind == WEIGHT_NORM:
            rate = direction_step * 2.0 * g / (n * n)
            norm[place + j] = np.sqrt(
                _shift(factor, begin, length, 1.0 + rate * slope, gradient, j * width, rate)
            )
        else:
            rate = 2.0 * direction_step * g
            size = np.sqrt(_shift(factor, begin, length, 1.0, gradient, j * width, rate))
            if size == 0.0:  # every point of the sphere is equally near: stay
                _shift(factor, begin, length, 1.0, gradient, j * width, -rate)
            else:
                _rescale(
                    factor,
                    begin,
                    length,
                    1.0 / size if np.isfinite(size) else np.nan,
                    factor,
                    begin,
                )
        scale[place + j] = g - scale_step * slope


@_jit
def advance(
    sensors,
    y,
    size,
    factor,
    rank,
    scale,
    norm,
    kind,
    columns,
    powers,
    order,
    alive,
    loss,
    ended_at,
    stop_loss,
    divergence_loss,
    steps,
    clock,
    groups,
):
    """Make up to steps.shape[1] − 1 steps with the runs `order`; a run that ends keeps the iterate
    it ended at.

    Parameters
    ----------
    sensors : flat (chunks, num_rows, CHUNK)
        The packed sensors, off the diagonal doubled; the rows beyond y.size are zero.
    factor : flat (runs, rank rounded up to a multiple of ROWS, size rounded up to one of WIDTH)
        T, filled up with zeros.
    scale, norm : flat (runs, rank)
        With one block the first entry of a row counts. The norms of WN are computed, all others are
        1.
    kind, columns, alive, loss, ended_at, divergence_loss : (runs,)
        A run that ends is no longer alive; ended_at is the number of the iterate it is at.
    powers : flat (runs, 4)
    order : the runs to advance
    groups : the sensors once more, for a lone run: see `_measure_one`; empty if there are several
    steps : (2, count + 1, len(order))
        The values of both steps; the last is not used: after the last update the iterate is only
        evaluated.
    """
    width = -(-size // WIDTH) * WIDTH
    rows = -(-rank // ROWS) * ROWS
    num_measured = y.size
    num_rows = -(-num_measured // ROWS) * ROWS
    num_chunks = sensors.size // (num_rows * CHUNK)
    packed_size = num_chunks * CHUNK
    num_blocks = -(-order.size // WIDTH)
    lone = groups.size > 0
    stride = 1 if lone else WIDTH
    buffer = np.empty(GROUP)
    packed = np.zeros(num_blocks * packed_size * WIDTH)
    measured = np.zeros(num_blocks * num_rows * WIDTH)
    slope = np.zeros(order.size)
    square = np.zeros(-(-size // ROWS) * ROWS * width)
    scratch = np.zeros(rows * width)
    count = steps.shape[1] - 1
    left = order.size
    for run in order:
        # the same sum as after an update: going on equals never having stopped
        if kind[run] == WEIGHT_NORM:
            for j in range(rank if columns[run] else 1):
                start = (run * rows + j) * width
                norm[run * rank + j] = np.sqrt(
                    _dot(factor, start, factor, start, width if columns[run] else rank * width)
                )
    for t in range(count + 1):
        for i in range(order.size):
            run = order[i]
            if not alive[run]:
                continue
            start, place = run * rows * width, run * rank
            lane = (i // WIDTH) * packed_size * WIDTH + i % WIDTH
            if columns[run]:
                for j in range(rank):
                    n = norm[place + j]
                    _rescale(
                        factor,
                        start + j * width,
                        width,
                        scale[place + j] / (n * n),
                        scratch,
                        j * width,
                    )
                _pack_outer(
                    scratch, 0, factor, start, rank, size, width, square, packed, lane, stride
                )
            else:
                _pack_outer(
                    factor, start, factor, start, rank, size, width, square, packed, lane, stride
                )
        if lone:
            _measure_one(groups, packed_size, packed, buffer, measured)
        else:
            _measure(sensors, num_chunks, num_rows, packed, packed_size, measured, num_blocks)
        for i in range(order.size):
            run = order[i]
            if not alive[run]:
                continue
            shrink = (
                1.0 if kind[run] != WEIGHT_NORM or columns[run] else 1.0 / norm[run * rank] ** 2
            )
            g = 1.0 if kind[run] == GRADIENT_DESCENT or columns[run] else scale[run * rank]
            at = (i // WIDTH) * num_rows * WIDTH + i % WIDTH
            total, along = 0.0, 0.0
            for k in range(num_measured):
                seen = shrink * measured[at + k * WIDTH]
                error = g * seen - y[k]
                total += error * error
                along += error * seen
                measured[at + k * WIDTH] = error / num_measured
            loss[run] = 0.5 * total / num_measured
            slope[i] = along / num_measured
            ended_at[run] = clock + t
            if not (stop_loss < loss[run] <= divergence_loss[run]):
                alive[run] = False
                left -= 1
        if t == count or left == 0:
            return
        if lone:
            _combine_one(sensors, num_chunks, num_rows, measured, packed)
        else:
            _combine(sensors, num_chunks, num_rows, measured, packed, packed_size, num_blocks)
        for i in range(order.size):
            run = order[i]
            if not alive[run]:
                continue
            start = run * rows * width
            lane = (i // WIDTH) * packed_size * WIDTH + i % WIDTH
            _unpack(packed, lane, stride, size, width, square)
            for j in range(0, rank, ROWS):
                for k in range(0, size, WIDTH):
                    _tile(
                        factor,
                        start + j * width,
                        width,
                        1,
                        square,
                        k,
                        width,
                        size,
                        scratch,
                        j * width + k,
                        width,
                        False,
                    )
            _update(
                kind[run],
                columns[run],
                factor,
                start,
                scratch,
                slope[i],
                scale,
                norm,
                run * rank,
                rank,
                width,
                steps[0, t, i],
                steps[1, t, i],
                powers,
                4 * run,
            )
