"""Gradient descent, WN and rPGD on diagonal least squares, eight runs at a time.

One skeleton decides stopping and recording for all three; each method is an evaluation (loss and inner products at
the iterate) and an update. They are the rules of `methods/`, in the coordinates of `rowspace.py`:

    GD  : e = λ (x − ξ);           x' = x − η e
    rPGD: e = λ (g z − ξ);         s = z·e;    v = z − η g e;  z' = v/‖v‖;            g' = g − γ s
    WN  : e = λ (g w/‖w‖ − ξ);     s = w·e/‖w‖; w' = w − (η g/‖w‖)(e − s w/‖w‖);       g' = g − γ s

rPGD stores v and applies 1/‖v‖ lazily in the next pass, so that an iteration reads its data once; WN needs s before
it can move, so it reads them twice. Norms are always recomputed from the components: assuming them would drift.

A call advances every block by a bounded number of steps and returns, so interruption, progress and memory are the
caller's affair. Arrays are flat and contiguous: `vectors` and `spare` hold block × coordinate × lane, `fields` block ×
field × lane. A run that ends inside a call is copied to `final_vectors` and `final_fields` at the iterate it ended at.

The off-row-space coordinate p shrinks geometrically while the scale is small and would soon underflow; it is kept as
p·2^(500·exponent), and takes part in norms only while exponent = 0 (below that, its square is under 1e-300).
"""

from __future__ import annotations

import numpy as np

from .compiling import compiled
from .lanes import WIDTH as WIDTH
from .lanes import absolute, load, multiply_add, outside, spread, square_root, store

# The fields of a lane.
SCALE, INVERSE_NORM, PERP, PERP_WEIGHT, PERP_LOW, PERP_HIGH, PERP_EXPONENT, LOSS, LIMIT = range(9)
NUM_FIELDS = 9
RECORDED = (LOSS, SCALE, INVERSE_NORM, PERP, PERP_EXPONENT)
NUM_RECORDED = len(RECORDED) + 1  # and the square norm of the coordinates

GRADIENT_DESCENT, WEIGHT_NORM, RPGD = range(3)

PERP_BITS = 500
_UNIT = 2.0**PERP_BITS

LARGEST_SQUARE = 1e300  # a square norm beyond this has overflowed, or is about to
SMALLEST_INVERSE = 1e-150


@compiled()
def advance(
    method,
    curvatures,
    target,
    vectors,
    spare,
    fields,
    final_vectors,
    final_fields,
    alive,
    ended_at,
    low,
    vector_values,
    scale_values,
    powers,
    clock,
    every,
    record,
):
    """Advance every live run by up to len(vector_values) − 1 steps from step number clock[0] on.

    `low` and the LIMIT field bound twice the reachable loss: a run goes on while low < 2·loss <= limit. `alive` has a
    bit per lane; `ended_at` (block × lane) gets the step number at which a run ended. `powers` are the
    powers of |g| and ‖w‖ in the two steps. The last entry of the values is not used: after the last update the
    iterate is only evaluated, so LOSS always belongs to the iterate returned. With every > 0 the first block's
    RECORDED fields are written, a row for each step number that is a multiple of `every`.
    """
    size = curvatures.size
    count = vector_values.size - 1
    start = clock[0]
    bound = spread(low)
    scratch = np.empty(WIDTH)
    one = spread(1.0)
    for block in range(alive.size):
        running = alive[block]
        if running == 0:
            continue
        base = block * NUM_FIELDS * WIDTH
        offset = block * size * WIDTH
        here = vectors
        there = spare
        row = 0
        g = load(fields, base + SCALE * WIDTH)
        inverse = load(fields, base + INVERSE_NORM * WIDTH)
        p = load(fields, base + PERP * WIDTH)
        limit = load(fields, base + LIMIT * WIDTH)
        loss = limit
        for i in range(count + 1):
            eta = spread(vector_values[i])
            if powers[0] != 0.0:
                eta = eta * _power(absolute(g), powers[0], scratch)
            if powers[1] != 0.0 and method == WEIGHT_NORM:
                eta = eta * _power(one / inverse, powers[1], scratch)
            if method == RPGD:
                loss, s, square = _evaluate_rpgd(curvatures, target, here, there, offset, g, inverse, eta * g)
            elif method == WEIGHT_NORM:
                loss, s, square = _evaluate_wn(curvatures, target, here, offset, g, inverse)
            else:
                loss, s, square = _evaluate_gd(curvatures, target, here, there, offset, eta)

            fresh = outside(loss, bound, limit) & running
            recording = every > 0 and block == 0 and (start + i) % every == 0
            if fresh != 0 or recording:
                store(fields, base + SCALE * WIDTH, g)
                store(fields, base + INVERSE_NORM * WIDTH, inverse)
                store(fields, base + PERP * WIDTH, p)
                store(fields, base + LOSS * WIDTH, loss)
                if recording:
                    _write_record(record, row, fields, here, size)
                    row += 1
                if fresh != 0:
                    _finish(fresh, offset, base, size, here, fields, final_vectors, final_fields)
                    for lane in range(WIDTH):
                        if (fresh >> lane) & 1:
                            ended_at[block * WIDTH + lane] = start + i
                    running &= ~fresh
                    if running == 0:
                        break
            if i == count:
                break

            if method == GRADIENT_DESCENT:
                here, there = there, here
                continue
            gamma = spread(scale_values[i])
            if powers[2] != 0.0:
                gamma = gamma * _power(absolute(g), powers[2], scratch)
            if powers[3] != 0.0 and method == WEIGHT_NORM:
                gamma = gamma * _power(one / inverse, powers[3], scratch)
            weight = load(fields, base + PERP_WEIGHT * WIDTH)
            if method == RPGD:
                previous = inverse
                p = p * inverse
                square = multiply_add(weight * p, p, square)
                inverse = one / square_root(square)
                here, there = there, here
                if outside(square, spread(0.0), spread(LARGEST_SQUARE)) & running:
                    store(fields, base + INVERSE_NORM * WIDTH, inverse)
                    store(fields, base + PERP * WIDTH, p)
                    store(scratch, 0, previous)
                    _keep_direction(offset, base, size, here, there, fields, scratch)
                    inverse = load(fields, base + INVERSE_NORM * WIDTH)
                    p = load(fields, base + PERP * WIDTH)
            else:
                push = eta * g * inverse
                keep = multiply_add(push * inverse, s, one)
                p = p * keep
                square = _update_wn(curvatures, target, here, offset, g * inverse, keep, push)
                square = multiply_add(weight * p, p, square)
                inverse = one / square_root(square)
                if outside(square, spread(0.0), spread(LARGEST_SQUARE)) & running:
                    store(fields, base + INVERSE_NORM * WIDTH, inverse)
                    _mark_overflow(base, fields)
                    inverse = load(fields, base + INVERSE_NORM * WIDTH)
            g = g - gamma * s
            low_p = load(fields, base + PERP_LOW * WIDTH)
            if outside(p, low_p, load(fields, base + PERP_HIGH * WIDTH)) & running:
                store(fields, base + PERP * WIDTH, p)
                _rescale_perp(base, fields)
                p = load(fields, base + PERP * WIDTH)
        store(fields, base + SCALE * WIDTH, g)
        store(fields, base + INVERSE_NORM * WIDTH, inverse)
        store(fields, base + PERP * WIDTH, p)
        store(fields, base + LOSS * WIDTH, loss)
        # The last iterate is in `here`. numba cannot compare the arrays, so count the swaps: one a step, none for WN.
        if method != WEIGHT_NORM and running != 0 and count % 2 == 1:
            for j in range(offset, offset + size * WIDTH):
                vectors[j] = spare[j]
        alive[block] = running
    clock[0] = start + count


@compiled()
def _evaluate_gd(curvatures, target, here, there, offset, eta):
    """2·loss of x; writes x' to `there`."""
    loss = spread(0.0)
    back = spread(0.0) - eta
    for k in range(curvatures.size):
        x = load(here, offset + k * WIDTH)
        error = x - spread(target[k])
        e = spread(curvatures[k]) * error
        loss = multiply_add(error, e, loss)
        store(there, offset + k * WIDTH, multiply_add(back, e, x))
    return loss, loss, loss


@compiled()
def _evaluate_rpgd(curvatures, target, here, there, offset, g, inverse, pull):
    """2·loss, s and the row-space part of ‖v'‖²; writes v' to `there`."""
    loss = spread(0.0)
    s = spread(0.0)
    square = spread(0.0)
    back = spread(0.0) - pull
    for k in range(curvatures.size):
        z = load(here, offset + k * WIDTH) * inverse
        error = multiply_add(g, z, spread(-target[k]))
        e = spread(curvatures[k]) * error
        v = multiply_add(back, e, z)
        store(there, offset + k * WIDTH, v)
        loss = multiply_add(error, e, loss)
        s = multiply_add(z, e, s)
        square = multiply_add(v, v, square)
    return loss, s, square


@compiled()
def _evaluate_wn(curvatures, target, here, offset, g, inverse):
    """2·loss and s."""
    loss = spread(0.0)
    s = spread(0.0)
    stretch = g * inverse
    for k in range(curvatures.size):
        w = load(here, offset + k * WIDTH)
        error = multiply_add(stretch, w, spread(-target[k]))
        e = spread(curvatures[k]) * error
        loss = multiply_add(error, e, loss)
        s = multiply_add(w, e, s)
    s = s * inverse
    return loss, s, s


@compiled()
def _update_wn(curvatures, target, here, offset, stretch, keep, push):
    """w' = keep·w − push·e in place; the row-space part of ‖w'‖²."""
    square = spread(0.0)
    back = spread(0.0) - push
    for k in range(curvatures.size):
        w = load(here, offset + k * WIDTH)
        e = spread(curvatures[k]) * multiply_add(stretch, w, spread(-target[k]))
        w = multiply_add(keep, w, back * e)
        store(here, offset + k * WIDTH, w)
        square = multiply_add(w, w, square)
    return square


@compiled()
def _power(x, exponent, scratch):
    if exponent == -2.0:
        return spread(1.0) / (x * x)
    if exponent == 2.0:
        return x * x
    if exponent == 1.0:
        return x
    store(scratch, 0, x)
    for lane in range(WIDTH):
        scratch[lane] = scratch[lane] ** exponent
    return load(scratch, 0)


@compiled()
def _write_record(record, row, fields, here, size):
    """The RECORDED fields of the first block, and the square norm of its coordinates."""
    for lane in range(WIDTH):
        for j in range(len(RECORDED)):
            record[row, j, lane] = fields[RECORDED[j] * WIDTH + lane]
        square = 0.0
        for k in range(size):
            square += here[k * WIDTH + lane] ** 2
        record[row, len(RECORDED), lane] = square


@compiled()
def _finish(fresh, offset, base, size, here, fields, final_vectors, final_fields):
    """Copy the finished lanes out."""
    for lane in range(WIDTH):
        if (fresh >> lane) & 1:
            for k in range(size):
                final_vectors[offset + k * WIDTH + lane] = here[offset + k * WIDTH + lane]
            for j in range(NUM_FIELDS):
                final_fields[base + j * WIDTH + lane] = fields[base + j * WIDTH + lane]


@compiled()
def _keep_direction(offset, base, size, here, there, fields, previous):
    """The zero-norm policy: where v' = 0, stay at the old v with its old norm."""
    _mark_overflow(base, fields)
    for lane in range(WIDTH):
        if fields[base + INVERSE_NORM * WIDTH + lane] == np.inf:
            zero = True
            for k in range(size):
                zero = zero and here[offset + k * WIDTH + lane] == 0.0
            if zero:
                for k in range(size):
                    here[offset + k * WIDTH + lane] = there[offset + k * WIDTH + lane]
                fields[base + INVERSE_NORM * WIDTH + lane] = previous[lane]
                fields[base + PERP * WIDTH + lane] /= previous[lane]


@compiled()
def _mark_overflow(base, fields):
    """A norm that overflowed ends its run: NaN reaches the loss in the next evaluation."""
    for lane in range(WIDTH):
        if fields[base + INVERSE_NORM * WIDTH + lane] < SMALLEST_INVERSE:
            fields[base + INVERSE_NORM * WIDTH + lane] = np.nan


@compiled()
def _rescale_perp(base, fields):
    """Move a unit of 2^500 between p and its exponent where p has left its range."""
    for lane in range(WIDTH):
        p = fields[base + PERP * WIDTH + lane]
        exponent = fields[base + PERP_EXPONENT * WIDTH + lane]
        if 0.0 < p <= fields[base + PERP_LOW * WIDTH + lane]:
            p *= _UNIT
            exponent -= 1.0
        elif p > fields[base + PERP_HIGH * WIDTH + lane]:
            p /= _UNIT
            exponent += 1.0
        elif p <= 0.0 or p != p:  # gone, or of the other sign after a wild step: leave it alone from here on
            fields[base + PERP_LOW * WIDTH + lane] = -np.inf
        fields[base + PERP * WIDTH + lane] = p
        fields[base + PERP_EXPONENT * WIDTH + lane] = exponent
        fields[base + PERP_WEIGHT * WIDTH + lane] = 1.0 if exponent == 0.0 else 0.0
        fields[base + PERP_HIGH * WIDTH + lane] = np.inf if exponent == 0.0 else 1.0
