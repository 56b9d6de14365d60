"""Gradient descent, WN and rPGD on diagonal least squares, 4 or 32 runs at a time.

One skeleton decides stopping and recording for all three; each method is an evaluation (loss and
inner products at the iterate) and an update. They are the rules of `methods/`, in the coordinates
of `problems/coordinates/reduction.py`:

    GD:    e = λ (x − ξ);         ∇ = e;
           x' = x − η v
    rPGD:  e = λ (g z − ξ);       s = z·e;         ∇ = g e;
           z' = (z − η v)/‖z − η v‖;               g' = g − γ v_g
    WN:    e = λ (g w/‖w‖ − ξ);   s = w·e/‖w‖;     ∇ = (g/‖w‖)(e − s w/‖w‖);
           w' = w − η v;                           g' = g − γ v_g

Without momentum v = ∇ and v_g = s. With momentum β the buffers are b ← β b + ∇, and v is the buffer
or, for Nesterov, ∇ + β b; the same for g. rPGD's buffer is neither projected nor rescaled.

rPGD stores z − η v and applies the inverse of its norm lazily in the next pass, so that an
iteration reads its data once; WN needs s before it can move, so it reads them twice. Norms are
always recomputed from the components: assuming them would drift.

A call advances every block by a bounded number of steps and returns, so interruption, progress and
memory are the caller's affair. Arrays are flat and contiguous: `vectors` and `buffers` hold
block × coordinate × lane, `fields` block × field × lane; their spares are where the next iterate is
written. A run that ends inside a call is copied to the final arrays at the iterate it ended at. λ
and −ξ are vectors where all runs are of one problem, and rows of lanes (block × coordinate, lane)
where each has its own; a problem of smaller rank has λ = ξ = 0 in the rest.

The off-row-space coordinate p shrinks geometrically while the scale is small and would soon
underflow; it is kept as p·2^(500·exponent), and takes part in norms only while exponent = 0 (below
that, its square is under 1e-300). Only in WN with momentum, where p has a buffer of its own, is it
kept as it is.
"""

from __future__ import annotations

import numpy as np

from .compiling import compiled, enabled
from .lanes import NARROW, WIDE

# `kernels/__init__.py` loads this file twice
_LANES = WIDE if __name__.endswith("wide") else NARROW
WIDTH, load, store, spread, pick = (
    _LANES.width,
    _LANES.load,
    _LANES.store,
    _LANES.spread,
    _LANES.pick,
)
absolute, multiply_add, outside, square_root = (
    _LANES.absolute,
    _LANES.multiply_add,
    _LANES.outside,
    _LANES.square_root,
)

# The fields of a lane: what changes, …
SCALE, INVERSE_NORM, PERP, SCALE_BUFFER, PERP_BUFFER, LOSS = range(6)
# … how p is kept, and what does not change: factors of the two steps, and bounds of twice the
# reachable loss.
(
    PERP_WEIGHT,
    PERP_LOW,
    PERP_HIGH,
    PERP_EXPONENT,
    VECTOR_FACTOR,
    SCALE_FACTOR,
    STOP_LOSS,
    DIVERGENCE_LOSS,
) = range(6, 14)
NUM_FIELDS = 14
RECORDED = (LOSS, SCALE, INVERSE_NORM, PERP, PERP_EXPONENT)
NUM_RECORDED = len(RECORDED) + 1  # and the square norm of the coordinates

GRADIENT_DESCENT, WEIGHT_NORM, RPGD = range(3)
COMPILED = enabled()

PERP_BITS = 500
_UNIT = 2.0**PERP_BITS

LARGEST_SQUARE = 1e300  # a square norm beyond this has overflowed, or is about to
SMALLEST_INVERSE = 1e-150


@compiled(_LANES.tag)
def advance(rule, problem, now, spare, final, blocks, steps, clock, every, record):
    """Advance every live run of the blocks by up to len(steps.vector_values) − 1 steps from step
    number clock[0] on; the groups are those of `arguments.py`.

    A run goes on while STOP_LOSS < 2·loss <= DIVERGENCE_LOSS; the step number at which it ended is
    in blocks.ended_at. The last values of the steps are not used: after the last update the iterate
    is only evaluated, so LOSS always belongs to the iterate returned. With every > 0 the first
    block's RECORDED fields are written, a row for each step number that is a multiple of `every`.
    The buffers are empty where momentum is zero, and the spare has no fields.
    """
    method, momentum, nesterov = rule
    curvatures, shift, size = problem
    vectors, buffers, fields = now
    spare_vectors, spare_buffers, _ = spare
    final_vectors, final_buffers, final_fields = final
    order, alive, ended_at = blocks
    vector_values, scale_values, powers = steps
    count = vector_values.size - 1
    start = clock[0]
    scratch = np.empty(2 * WIDTH)
    one = spread(1.0)
    beta = spread(momentum)
    heavy = momentum != 0.0
    for block in order:
        running = alive[block]
        if running == 0:
            continue
        base = block * NUM_FIELDS * WIDTH
        offset = block * size * WIDTH
        first = block * size if curvatures.ndim == 2 else 0
        here = vectors
        there = spare_vectors
        old = buffers
        new = spare_buffers
        row = 0
        g = load(fields, base + SCALE * WIDTH)
        inverse = load(fields, base + INVERSE_NORM * WIDTH)
        p = load(fields, base + PERP * WIDTH)
        scale_buffer = load(fields, base + SCALE_BUFFER * WIDTH)
        perp_buffer = load(fields, base + PERP_BUFFER * WIDTH)
        vector_factor = load(fields, base + VECTOR_FACTOR * WIDTH)
        scale_factor = load(fields, base + SCALE_FACTOR * WIDTH)
        bound = load(fields, base + STOP_LOSS * WIDTH)
        divergence_loss = load(fields, base + DIVERGENCE_LOSS * WIDTH)
        loss = divergence_loss
        for i in range(count + 1):
            eta = spread(vector_values[i]) * vector_factor
            if powers[0] != 0.0:
                eta = eta * _power(absolute(g), powers[0], scratch)
            if powers[1] != 0.0 and method == WEIGHT_NORM:
                eta = eta * _power(one / inverse, powers[1], scratch)
            if method == WEIGHT_NORM:
                loss, s, square = _evaluate_wn(
                    curvatures, shift, first, size, here, offset, g, inverse
                )
            elif method == RPGD and heavy:
                loss, s, square = _evaluate_rpgd_momentum(
                    curvatures,
                    shift,
                    first,
                    size,
                    here,
                    there,
                    old,
                    new,
                    offset,
                    g,
                    inverse,
                    eta,
                    beta,
                    nesterov,
                )
            elif method == RPGD:
                loss, s, square = _evaluate_rpgd(
                    curvatures, shift, first, size, here, there, offset, g, inverse, eta * g
                )
            elif heavy:
                loss, s, square = _evaluate_gd_momentum(
                    curvatures,
                    shift,
                    first,
                    size,
                    here,
                    there,
                    old,
                    new,
                    offset,
                    eta,
                    beta,
                    nesterov,
                )
            else:
                loss, s, square = _evaluate_gd(
                    curvatures, shift, first, size, here, there, offset, eta
                )

            fresh = outside(loss, bound, divergence_loss) & running
            recording = every > 0 and block == 0 and (start + i) % every == 0
            if fresh != 0 or recording:
                _store_state(fields, base, g, inverse, p, scale_buffer, perp_buffer, loss)
                if recording:
                    _write_record(record, row, fields, here, size)
                    row += 1
                if fresh != 0:
                    _finish(
                        fresh,
                        offset,
                        base,
                        size,
                        here,
                        old,
                        heavy,
                        fields,
                        final_vectors,
                        final_buffers,
                        final_fields,
                    )
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
                old, new = new, old
                continue
            gamma = spread(scale_values[i]) * scale_factor
            if powers[2] != 0.0:
                gamma = gamma * _power(absolute(g), powers[2], scratch)
            if powers[3] != 0.0 and method == WEIGHT_NORM:
                gamma = gamma * _power(one / inverse, powers[3], scratch)
            weight = load(fields, base + PERP_WEIGHT * WIDTH)
            if method == RPGD or heavy:
                inverse_before, p_before = inverse, p
                if method == RPGD:
                    p = p * inverse
                else:
                    push = g * inverse
                    drag = push * inverse * s
                    square = _update_wn_momentum(
                        curvatures,
                        shift,
                        first,
                        size,
                        here,
                        there,
                        old,
                        new,
                        offset,
                        push,
                        drag,
                        eta,
                        beta,
                        nesterov,
                    )
                    slope = spread(0.0) - drag * p
                    perp_buffer = multiply_add(beta, perp_buffer, slope)
                    p = p - eta * (
                        multiply_add(beta, perp_buffer, slope) if nesterov else perp_buffer
                    )
                square = multiply_add(weight * p, p, square)
                inverse = one / square_root(square)
                here, there = there, here
                old, new = new, old
                if outside(square, spread(0.0), spread(LARGEST_SQUARE)) & running:
                    store(fields, base + INVERSE_NORM * WIDTH, inverse)
                    store(fields, base + PERP * WIDTH, p)
                    store(scratch, 0, inverse_before)
                    store(scratch, WIDTH, p_before)
                    _keep_direction(offset, base, size, here, there, fields, scratch)
                    inverse = load(fields, base + INVERSE_NORM * WIDTH)
                    p = load(fields, base + PERP * WIDTH)
            else:
                push = eta * g * inverse
                keep = multiply_add(push * inverse, s, one)
                p = p * keep
                square = _update_wn(
                    curvatures, shift, first, size, here, offset, g * inverse, keep, push
                )
                square = multiply_add(weight * p, p, square)
                inverse = one / square_root(square)
                if outside(square, spread(0.0), spread(LARGEST_SQUARE)) & running:
                    store(fields, base + INVERSE_NORM * WIDTH, inverse)
                    _mark_overflow(base, fields)
                    inverse = load(fields, base + INVERSE_NORM * WIDTH)
            if heavy:
                scale_buffer = multiply_add(beta, scale_buffer, s)
                s = multiply_add(beta, scale_buffer, s) if nesterov else scale_buffer
            g = g - gamma * s
            low_p = load(fields, base + PERP_LOW * WIDTH)
            if outside(p, low_p, load(fields, base + PERP_HIGH * WIDTH)) & running:
                store(fields, base + PERP * WIDTH, p)
                _rescale_perp(base, fields)
                p = load(fields, base + PERP * WIDTH)
        _store_state(fields, base, g, inverse, p, scale_buffer, perp_buffer, loss)
        # The last iterate is in `here`. numba cannot compare the arrays, so count the swaps: one a
        # step, none for plain WN.
        if (method != WEIGHT_NORM or heavy) and running != 0 and count % 2 == 1:
            for j in range(offset, offset + size * WIDTH):
                vectors[j] = spare_vectors[j]
                if heavy:
                    buffers[j] = spare_buffers[j]
        alive[block] = running
    clock[0] = start + count


@compiled(_LANES.tag)
def _store_state(fields, base, g, inverse, p, scale_buffer, perp_buffer, loss):
    store(fields, base + SCALE * WIDTH, g)
    store(fields, base + INVERSE_NORM * WIDTH, inverse)
    store(fields, base + PERP * WIDTH, p)
    store(fields, base + SCALE_BUFFER * WIDTH, scale_buffer)
    store(fields, base + PERP_BUFFER * WIDTH, perp_buffer)
    store(fields, base + LOSS * WIDTH, loss)


@compiled(_LANES.tag, forceinline=True)
def _evaluate_gd(curvatures, shift, first, size, here, there, offset, eta):
    """2·loss of x; writes x' to `there`."""
    loss = spread(0.0)
    back = spread(0.0) - eta
    for k in range(size):
        x = load(here, offset + k * WIDTH)
        error = x + pick(shift, first + k)
        e = pick(curvatures, first + k) * error
        loss = multiply_add(error, e, loss)
        store(there, offset + k * WIDTH, multiply_add(back, e, x))
    return loss, loss, loss


@compiled(_LANES.tag, forceinline=True)
def _evaluate_gd_momentum(
    curvatures, shift, first, size, here, there, old, new, offset, eta, beta, nesterov
):
    """2·loss of x; writes x' to `there` and the buffer to `new`."""
    loss = spread(0.0)
    back = spread(0.0) - eta
    # x − η(∇ + βb) = x − η∇ − ηβ b: as short a chain as without Nesterov
    ahead = back * beta if nesterov else back
    straight = back if nesterov else spread(0.0)
    for k in range(size):
        x = load(here, offset + k * WIDTH)
        error = x + pick(shift, first + k)
        e = pick(curvatures, first + k) * error
        loss = multiply_add(error, e, loss)
        b = multiply_add(beta, load(old, offset + k * WIDTH), e)
        store(new, offset + k * WIDTH, b)
        store(there, offset + k * WIDTH, multiply_add(ahead, b, multiply_add(straight, e, x)))
    return loss, loss, loss


@compiled(_LANES.tag, forceinline=True)
def _evaluate_rpgd(curvatures, shift, first, size, here, there, offset, g, inverse, pull):
    """2·loss, s and the row-space part of ‖v'‖²; writes v' to `there`."""
    loss = spread(0.0)
    s = spread(0.0)
    square = spread(0.0)
    back = spread(0.0) - pull
    for k in range(size):
        z = load(here, offset + k * WIDTH) * inverse
        error = multiply_add(g, z, pick(shift, first + k))
        e = pick(curvatures, first + k) * error
        v = multiply_add(back, e, z)
        store(there, offset + k * WIDTH, v)
        loss = multiply_add(error, e, loss)
        s = multiply_add(z, e, s)
        square = multiply_add(v, v, square)
    return loss, s, square


@compiled(_LANES.tag, forceinline=True)
def _evaluate_rpgd_momentum(
    curvatures, shift, first, size, here, there, old, new, offset, g, inverse, eta, beta, nesterov
):
    """2·loss, s and the row-space part of ‖v'‖²; writes v' to `there` and the buffer to `new`."""
    loss = spread(0.0)
    s = spread(0.0)
    square = spread(0.0)
    back = spread(0.0) - eta
    for k in range(size):
        z = load(here, offset + k * WIDTH) * inverse
        error = multiply_add(g, z, pick(shift, first + k))
        e = pick(curvatures, first + k) * error
        b = multiply_add(beta, load(old, offset + k * WIDTH), g * e)
        store(new, offset + k * WIDTH, b)
        if nesterov:
            b = multiply_add(beta, b, g * e)
        v = multiply_add(back, b, z)
        store(there, offset + k * WIDTH, v)
        loss = multiply_add(error, e, loss)
        s = multiply_add(z, e, s)
        square = multiply_add(v, v, square)
    return loss, s, square


@compiled(_LANES.tag, forceinline=True)
def _evaluate_wn(curvatures, shift, first, size, here, offset, g, inverse):
    """2·loss and s."""
    loss = spread(0.0)
    s = spread(0.0)
    stretch = g * inverse
    for k in range(size):
        w = load(here, offset + k * WIDTH)
        error = multiply_add(stretch, w, pick(shift, first + k))
        e = pick(curvatures, first + k) * error
        loss = multiply_add(error, e, loss)
        s = multiply_add(w, e, s)
    s = s * inverse
    return loss, s, s


@compiled(_LANES.tag, forceinline=True)
def _update_wn(curvatures, shift, first, size, here, offset, stretch, keep, push):
    """w' = keep·w − push·e in place; the row-space part of ‖w'‖²."""
    square = spread(0.0)
    back = spread(0.0) - push
    for k in range(size):
        w = load(here, offset + k * WIDTH)
        e = pick(curvatures, first + k) * multiply_add(stretch, w, pick(shift, first + k))
        w = multiply_add(keep, w, back * e)
        store(here, offset + k * WIDTH, w)
        square = multiply_add(w, w, square)
    return square


@compiled(_LANES.tag, forceinline=True)
def _update_wn_momentum(
    curvatures, shift, first, size, here, there, old, new, offset, push, drag, eta, beta, nesterov
):  # fmt: skip
    """w' and the buffer from ∇ = push·e − drag·w, push = g/‖w‖ and drag = g s/‖w‖²; the
    row-space part of ‖w'‖².
    """
    square = spread(0.0)
    back = spread(0.0) - eta
    minus = spread(0.0) - drag
    for k in range(size):
        w = load(here, offset + k * WIDTH)
        e = pick(curvatures, first + k) * multiply_add(push, w, pick(shift, first + k))
        slope = multiply_add(push, e, minus * w)
        b = multiply_add(beta, load(old, offset + k * WIDTH), slope)
        store(new, offset + k * WIDTH, b)
        if nesterov:
            b = multiply_add(beta, b, slope)
        w = multiply_add(back, b, w)
        store(there, offset + k * WIDTH, w)
        square = multiply_add(w, w, square)
    return square


@compiled(_LANES.tag)
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


@compiled(_LANES.tag)
def _write_record(record, row, fields, here, size):
    """The RECORDED fields of the first block, and the square norm of its coordinates."""
    for lane in range(WIDTH):
        for j in range(len(RECORDED)):
            record[row, j, lane] = fields[RECORDED[j] * WIDTH + lane]
        square = 0.0
        for k in range(size):
            square += here[k * WIDTH + lane] ** 2
        record[row, len(RECORDED), lane] = square


@compiled(_LANES.tag)
def _finish(
    fresh, offset, base, size, here, old, heavy, fields, final_vectors, final_buffers, final_fields
):
    """Copy the finished lanes out."""
    for lane in range(WIDTH):
        if (fresh >> lane) & 1:
            for k in range(size):
                final_vectors[offset + k * WIDTH + lane] = here[offset + k * WIDTH + lane]
                if heavy:
                    final_buffers[offset + k * WIDTH + lane] = old[offset + k * WIDTH + lane]
            for j in range(NUM_FIELDS):
                final_fields[base + j * WIDTH + lane] = fields[base + j * WIDTH + lane]


@compiled(_LANES.tag)
def _keep_direction(offset, base, size, here, there, fields, before):
    """The zero-norm policy: where the new vector is 0, stay at the old one, with its norm and
    its p, which are in `before`.
    """
    _mark_overflow(base, fields)
    for lane in range(WIDTH):
        if fields[base + INVERSE_NORM * WIDTH + lane] == np.inf:
            zero = True
            for k in range(size):
                zero = zero and here[offset + k * WIDTH + lane] == 0.0
            if zero:
                for k in range(size):
                    here[offset + k * WIDTH + lane] = there[offset + k * WIDTH + lane]
                fields[base + INVERSE_NORM * WIDTH + lane] = before[lane]
                fields[base + PERP * WIDTH + lane] = before[WIDTH + lane]


@compiled(_LANES.tag)
def _mark_overflow(base, fields):
    """A norm that overflowed ends its run: NaN reaches the loss in the next evaluation."""
    for lane in range(WIDTH):
        if fields[base + INVERSE_NORM * WIDTH + lane] < SMALLEST_INVERSE:
            fields[base + INVERSE_NORM * WIDTH + lane] = np.nan


@compiled(_LANES.tag)
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
        elif p <= 0.0 or p != p:
            # gone, or of the other sign after a wild step: leave it alone from here on
            fields[base + PERP_LOW * WIDTH + lane] = -np.inf
        fields[base + PERP * WIDTH + lane] = p
        fields[base + PERP_EXPONENT * WIDTH + lane] = exponent
        fields[base + PERP_WEIGHT * WIDTH + lane] = 1.0 if exponent == 0.0 else 0.0
        fields[base + PERP_HIGH * WIDTH + lane] = np.inf if exponent == 0.0 else 1.0
