"""Matrix sensing compiled: runs share the two products with the sensors, eight to a block.

A run's factor is kept transposed, T[j] = w_j, each row padded with zeros to a multiple of eight.
One step of a run is four products: X = Σ_j s_j w_j w_jᵀ (half of it: X is symmetric), the
measurements ⟨A_i, X⟩, the gradient M = Σ e_i A_i/m, and T M. The two with the sensors are shared by
the runs of a block, one lane each, and made for so many sensors at a time that these are read from
memory once. All four are tiles of a matrix product, whose accumulators stay in registers: as many
rows as there are registers for. What a lane computes depends neither on the others nor on the tile.

A lone run would leave seven lanes empty; it has the two products with the sensors in a form of its
own, vectors along the sensors or along the packed entries instead of lanes, with every sum in the
same order: the numbers are the same.
"""

from __future__ import annotations

import numpy as np

from .compiling import compiled, enabled, has_wide_registers
from .lanes import MIDDLE

WIDTH, broadcast, lane_sum = MIDDLE.width, MIDDLE.broadcast, MIDDLE.lane_sum
load, multiply_add, spread, store = MIDDLE.load, MIDDLE.multiply_add, MIDDLE.spread, MIDDLE.store
transpose = MIDDLE.transpose

# rows of a tile: eight numbers each, in one register or in two, with some to spare
ROWS = 12 if has_wide_registers() else 6
# packed entries, or sensors, that are gone through at a time: what is read again is in cache then
CHUNK = 96
TOGETHER = 2**16  # numbers of the sensors that are measured and combined at a time: half a MiB
FACTOR_ROWS = 6  # rows of a tile of the factor
GROUP = 4 * WIDTH  # sensors, or packed entries, that a lone run goes through together

GRADIENT_DESCENT, WEIGHT_NORM, RPGD = range(3)
COMPILED = enabled()

_jit = compiled(f"{MIDDLE.tag}_{ROWS}", boundscheck=False)
_factor_tile = MIDDLE.tile(FACTOR_ROWS)
_measuring_tile = MIDDLE.tile(ROWS, 1, ROWS)
_combining_tile = MIDDLE.tile(ROWS, ROWS, 1)


@_jit
def _outer(
    left, left_start, right, right_start, rank, size, width, square, packed, first, packed_size
):
    """The lower triangle of leftᵀ right, for two arrays of `rank` rows: row after row from place
    `first` of `packed` on, then zeros.
    """
    for i in range(0, size, FACTOR_ROWS):
        for k in range(0, min(i + FACTOR_ROWS, size), WIDTH):
            a, b, c = left_start + i, right_start + k, i * width + k
            _factor_tile(left, a, 1, width, 0, right, b, width, 1, rank, square, c, width, 0)
    place = 0
    for i in range(size):
        for k in range(0, i + 1, WIDTH):
            store(packed, first + place + k, load(square, i * width + k))
        place += i + 1
    for k in range(place, packed_size):
        packed[first + k] = 0.0


@_jit
def _unpack(packed, first, size, width, square):
    """The symmetric matrix whose packed form, off the diagonal doubled, begins at `first`."""
    half, place = spread(0.5), first
    for i in range(size):
        for k in range(0, i, WIDTH):
            store(square, i * width + k, half * load(packed, place + k))
        square[i * width + i] = packed[place + i]
        place += i + 1
    for i in range(0, size, WIDTH):
        for k in range(0, i, WIDTH):
            transpose(square, i * width + k, width, square, k * width + i, width)
        for k in range(i, min(i + WIDTH, size)):
            for j in range(i, k):
                square[j * width + k] = square[k * width + j]
    for i in range(size):
        for k in range(size, width):  # what a row after the last has left there
            square[i * width + k] = 0.0


@_jit
def _to_lanes(entries, stride, packed, block, packed_size):
    """Eight runs' packed entries, `stride` apart, as the lanes of a block."""
    for k in range(0, packed_size, WIDTH):
        transpose(entries, k, stride, packed, (block * packed_size + k) * WIDTH, WIDTH)


@_jit
def _from_lanes(packed, block, packed_size, entries, stride):
    """The lanes of a block as eight runs' packed entries, `stride` apart."""
    for k in range(0, packed_size, WIDTH):
        transpose(packed, (block * packed_size + k) * WIDTH, WIDTH, entries, k, stride)


@_jit
def _measure(sensors, first, last, packed, packed_size, measured, num_rows, num_blocks):
    """⟨A_i, X⟩ of every block for the tiles of sensors from first to last."""
    for k in range(0, packed_size, CHUNK):
        count = min(CHUNK, packed_size - k)
        for tile in range(first, last):
            a = (tile * packed_size + k) * ROWS
            for block in range(num_blocks):
                b = (block * packed_size + k) * WIDTH
                c = (block * num_rows + tile * ROWS) * WIDTH
                _measuring_tile(
                    sensors, a, 1, ROWS, 0, packed, b, WIDTH, 1, count, measured, c, WIDTH, k
                )


@_jit
def _combine(sensors, first, last, measured, num_rows, gradient, packed_size, num_blocks):
    """Add Σ_i e_i A_i over the tiles of sensors from first to last to every block, packed."""
    for k in range(0, packed_size, ROWS):
        for block in range(num_blocks):
            a, jump, tiles = (first * packed_size + k) * ROWS, packed_size * ROWS, last - first
            b = (block * num_rows + first * ROWS) * WIDTH
            c = (block * packed_size + k) * WIDTH
            _combining_tile(
                sensors,
                a,
                ROWS,
                1,
                jump,
                measured,
                b,
                WIDTH,
                tiles,
                ROWS,
                gradient,
                c,
                WIDTH,
                first,
            )


@_jit
def _weigh_errors(measured, at, count, y, first, scale, shrink, total, along, place):
    """From measurements of a block to errors over m, lane by lane; their squares and products
    are added up.
    """
    g, s, m = load(scale, place), load(shrink, place), spread(float(y.size))
    squares, products = load(total, place), load(along, place)
    for i in range(count):
        seen = s * load(measured, at + i * WIDTH)
        error = g * seen - spread(y[first + i])
        squares = squares + error * error
        products = products + error * seen
        store(measured, at + i * WIDTH, error / m)
    store(total, place, squares)
    store(along, place, products)


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
            a, error = (chunk * num_rows + i) * GROUP, broadcast(measured, i * WIDTH)
            c0 = multiply_add(error, load(sensors, a), c0)
            c1 = multiply_add(error, load(sensors, a + WIDTH), c1)
            c2 = multiply_add(error, load(sensors, a + 2 * WIDTH), c2)
            c3 = multiply_add(error, load(sensors, a + 3 * WIDTH), c3)
        at = chunk * GROUP
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
def width_of(size):
    """The length of a row of the factor: for tiles and vectors to end within it."""
    whole = -(-size // FACTOR_ROWS) * FACTOR_ROWS
    return -(-whole // WIDTH) * WIDTH


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
    sensors : flat (tiles, packed_size, ROWS), for a lone run (chunks, y.size, GROUP)
        The packed sensors, off the diagonal doubled, filled up with zeros.
    factor : flat (runs, rank rounded up to a multiple of FACTOR_ROWS, width_of(size))
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
    width = width_of(size)
    rows = -(-rank // FACTOR_ROWS) * FACTOR_ROWS
    lone = groups.size > 0
    if lone:
        num_rows = y.size
        packed_size, num_blocks, together = sensors.size // num_rows, 1, 1
        num_tiles = 1
    else:
        num_tiles = -(-y.size // ROWS)
        num_rows = num_tiles * ROWS
        packed_size, num_blocks = sensors.size // num_rows, -(-order.size // WIDTH)
        together = max(1, TOGETHER // (packed_size * ROWS))
    stride = packed_size + WIDTH  # a row that is stored in eights may go beyond its end
    entries = np.zeros(num_blocks * WIDTH * stride)
    packed = np.zeros(num_blocks * packed_size * WIDTH)
    gradient = np.zeros(num_blocks * packed_size * WIDTH)
    measured = np.zeros(num_blocks * num_rows * WIDTH)
    seen = np.empty(GROUP)
    lanes = num_blocks * WIDTH
    g, shrink, total, along = np.ones(lanes), np.ones(lanes), np.zeros(lanes), np.zeros(lanes)
    square = np.zeros((size + WIDTH + FACTOR_ROWS) * width)
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
            start, place, at = run * rows * width, run * rank, i * stride
            if columns[run]:
                for j in range(rank):
                    n = norm[place + j]
                    times = scale[place + j] / (n * n)
                    _rescale(factor, start + j * width, width, times, scratch, j * width)
                _outer(
                    scratch, 0, factor, start, rank, size, width, square, entries, at, packed_size
                )
            else:
                _outer(
                    factor,
                    start,
                    factor,
                    start,
                    rank,
                    size,
                    width,
                    square,
                    entries,
                    at,
                    packed_size,
                )
            one_scale = not columns[run]
            shrink[i] = 1.0 / norm[place] ** 2 if kind[run] == WEIGHT_NORM and one_scale else 1.0
            g[i] = scale[place] if kind[run] != GRADIENT_DESCENT and one_scale else 1.0
        total[:] = 0.0
        along[:] = 0.0
        if lone:
            _measure_one(groups, packed_size, entries, seen, measured)
            _weigh_errors(measured, 0, y.size, y, 0, g, shrink, total, along, 0)
            if t < count:
                _combine_one(sensors, packed_size // GROUP, y.size, measured, entries)
        else:
            for block in range(num_blocks):
                _to_lanes(entries[block * WIDTH * stride :], stride, packed, block, packed_size)
            for first in range(0, num_tiles, together):
                last = min(first + together, num_tiles)
                begin = first * ROWS
                some = min(last * ROWS, y.size) - begin
                _measure(sensors, first, last, packed, packed_size, measured, num_rows, num_blocks)
                for block in range(num_blocks):
                    at = (block * num_rows + begin) * WIDTH
                    _weigh_errors(
                        measured, at, some, y, begin, g, shrink, total, along, block * WIDTH
                    )
                if t < count:
                    _combine(
                        sensors, first, last, measured, num_rows, gradient, packed_size, num_blocks
                    )
        for i in range(order.size):
            run = order[i]
            if not alive[run]:
                continue
            loss[run] = 0.5 * total[i] / y.size
            ended_at[run] = clock + t
            if not (stop_loss < loss[run] <= divergence_loss[run]):
                alive[run] = False
                left -= 1
        if t == count or left == 0:
            return
        if not lone:
            for block in range(num_blocks):
                _from_lanes(gradient, block, packed_size, entries[block * WIDTH * stride :], stride)
        for i in range(order.size):
            run = order[i]
            if not alive[run]:
                continue
            start = run * rows * width
            _unpack(entries, i * stride, size, width, square)
            for j in range(0, rank, FACTOR_ROWS):
                for k in range(0, size, WIDTH):
                    a, c = start + j * width, j * width + k
                    _factor_tile(
                        factor, a, width, 1, 0, square, k, width, 1, size, scratch, c, width, 0
                    )
            _update(
                kind[run],
                columns[run],
                factor,
                start,
                scratch,
                along[i] / y.size,
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
