"""Gradient descent, WN and rPGD on a linear model with a logistic, Poisson or Huber loss.

They are the rules of `methods/` in row-space coordinates with the samples kept apart: predictions
z = M x with M = U S of shape (m, rank), and one coordinate p that the loss does not see. With
G = Mᵀ ℓ′(z) and s = ⟨w, G⟩/‖w‖:

    GD   : x = w;         ∇ = G;                        w' = w − η v
    rPGD : x = g w;       ∇ = g G;                      w' = (w − η v)/‖w − η v‖;   g' = g − γ v_g
    WN   : x = g w/‖w‖;   ∇ = (g/‖w‖)(G − s w/‖w‖);     w' = w − η v;               g' = g − γ v_g

Without momentum v = ∇ and v_g = s. With momentum β the buffers are b ← β b + ∇, and v is the buffer
or, for Nesterov, ∇ + β b; the same for g.

`kernels/__init__.py` loads this file twice. Many runs advance 8 at a time, a run in each lane. One
run alone has its coordinates in the lanes (and its predictions, where the loss is taken), and its
scalars in all of them: then a sum over coordinates ends with one over the lanes. All else is the
same source. A few rows of M give predictions, errors and their share of G before the next rows
come, so that M is read once a step. Where M is large and the run alone, `backends/model.py` leaves
the two products to NumPy's BLAS, for its threads; a step is then `weights`, `errors` and `move`.

A call makes a bounded number of steps and returns. Runs live in the rows of `vectors` between
calls; a run that ends inside a call is written back at the iterate it ended at. Every sum has an
order of its own, so a run's bits depend neither on the runs beside it nor on their number.
"""

from __future__ import annotations

import numpy as np

from .compiling import compiled, enabled
from .lanes import MIDDLE as _LANES

LONE = __name__.endswith("lone")
WIDTH, load, store, spread, broadcast = (
    _LANES.width,
    _LANES.load,
    _LANES.store,
    _LANES.spread,
    _LANES.broadcast,
)
absolute, multiply_add, outside, square_root = (
    _LANES.absolute,
    _LANES.multiply_add,
    _LANES.outside,
    _LANES.square_root,
)
choose, lane_sum, two_to = _LANES.choose, _LANES.lane_sum, _LANES.two_to
_TAG = f"{'lone' if LONE else 'many'}_{_LANES.tag}"

GRADIENT_DESCENT, WEIGHT_NORM, RPGD = range(3)
LOGISTIC, POISSON, HUBER = range(3)
COMPILED = enabled()

RUNS = 1 if LONE else WIDTH  # in a block
COLUMNS = WIDTH if LONE else 1  # the rank is padded with zeros to a multiple of this, …
ROWS = WIDTH if LONE else 4  # … and the samples, with weight zero, to one of this
VECTORS = 1 if LONE else ROWS  # of predictions in so many rows

LARGEST_EXPONENT = 650.0  # as in problems/losses.py
LARGEST = 1e300
SMALLEST_INVERSE = 1e-150  # a norm beyond its inverse has overflowed, or is about to

_LOG2_E, _LN2_HIGH, _LN2_LOW = (
    1.4426950408889634,
    6.93147180369123816490e-1,
    1.90821492927058770e-10,
)
_ROUNDS = 1.5 * 2.0**52  # added and taken away again, it rounds to whole numbers
# (e^r − 1 − r)/r² on |r| <= log(2)/2, by Taylor, and atanh(√q)/√q on q <= 1/9, by interpolation at
# Chebyshev's points: both to less than half a unit in the last place; highest power first
_EXP_TAIL = (
    1.6059043836821613e-10,
    2.08767569878681e-09,
    2.505210838544172e-08,
    2.755731922398589e-07,
    2.7557319223985893e-06,
    2.48015873015873e-05,
    0.0001984126984126984,
    0.001388888888888889,
    0.008333333333333333,
    0.041666666666666664,
    0.16666666666666666,
    0.5,
)
_ATANH = (
    0.08522081781390699,
    0.0416225325593041,
    0.06055084364034609,
    0.06650187016337313,
    0.07693307021152004,
    0.09090870416252403,
    0.11111112040373837,
    0.14285714272727057,
    0.20000000000092874,
    0.33333333333333076,
    1.0,
)


@compiled(_TAG)
def advance(
    method,
    loss_kind,
    matrix,
    labels,
    vectors,
    scale,
    buffers,
    scale_buffers,
    loss,
    divergence_loss,
    alive,
    ended_at,
    order,
    stop_loss,
    vector_values,
    scale_values,
    powers,
    momentum,
    nesterov,
    every,
    record,
):
    """Make up to len(vector_values) − 1 steps with the runs `order`, all alive and at one step
    number.

    Parameters
    ----------
    matrix : flat array
        M, row by row, padded with zeros to multiples of ROWS and COLUMNS.
    labels : flat array
        Three numbers for each row: see `_pointwise`; the second is its weight in the loss.
    vectors : (n, rank + 1)
        w (x itself for gradient descent); p is the last column.
    buffers : (n, rank + 1)
        Their momentum; empty where momentum is zero, as is that of the scale.
    scale, scale_buffers, loss, divergence_loss, alive, ended_at : (n,)
    vector_values, scale_values : (count + 1,)
        The values of both steps; the last is not used: after the last update the iterate is only
        evaluated.
    powers : (4,)
        The powers of |g| and ‖w‖ in the two steps.
    every, record : int, (number of records, 4)
        With every > 0, loss, g, ‖w‖² and p of run 0 at each step number that is a multiple of it.
    """
    count = vector_values.size - 1
    start = ended_at[order[0]]
    rank = vectors.shape[1] - 1
    size = -(-rank // COLUMNS)
    here = np.zeros(size * WIDTH)
    x = np.zeros(size * WIDTH)
    slope = np.zeros(size * WIDTH)
    heavy = momentum != 0.0
    buffer = np.zeros(size * WIDTH if heavy else 0)
    scratch = np.empty(ROWS * WIDTH)
    runs = np.empty(WIDTH, dtype=np.int64)
    one = spread(1.0)
    bound = spread(stop_loss)
    beta = spread(momentum)
    for block in range(0, order.size, RUNS):
        for lane in range(WIDTH):  # missing lanes repeat the last run
            runs[lane] = order[min(block + lane % RUNS, order.size - 1)]
            for k in range(rank):
                here[_place(k, lane)] = vectors[runs[lane], k]
                if heavy:
                    buffer[_place(k, lane)] = buffers[runs[lane], k]
        running = (1 << min(RUNS, order.size - block)) - 1
        p = _gather(vectors[:, rank], runs, scratch)
        g = _gather(scale, runs, scratch)
        top = _gather(divergence_loss, runs, scratch)
        inverse = _inverse_norm(here, size, p) if method == WEIGHT_NORM else one
        perp_buffer = _gather(buffers[:, rank], runs, scratch) if heavy else one
        scale_buffer = _gather(scale_buffers, runs, scratch) if heavy else one
        row = 0
        for i in range(count + 1):
            stretch = one if method == GRADIENT_DESCENT else g * inverse
            for k in range(size):
                store(x, k * WIDTH, stretch * load(here, k * WIDTH))
            value = _evaluate(loss_kind, matrix, labels, size, x, slope, scratch)
            if every > 0 and block == 0 and runs[0] == 0 and (start + i) % every == 0:
                record[row, 0] = _lane(value, 0, scratch)
                record[row, 1] = _lane(g, 0, scratch)
                record[row, 2] = _lane(_square_norm(here, size, p), 0, scratch)
                record[row, 3] = _lane(p, 0, scratch)
                row += 1
            fresh = outside(value, bound, top) & running
            if fresh != 0 or i == count:
                leaving = running if i == count else fresh
                for lane in range(RUNS):
                    if (leaving >> lane) & 1:
                        run = runs[lane]
                        ended_at[run] = start + i
                        alive[run] = (fresh >> lane) & 1 == 0
                        loss[run] = _lane(value, lane, scratch)
                        scale[run] = _lane(g, lane, scratch)
                        vectors[run, rank] = _lane(p, lane, scratch)
                        for k in range(rank):
                            vectors[run, k] = here[_place(k, lane)]
                        if heavy:
                            scale_buffers[run] = _lane(scale_buffer, lane, scratch)
                            buffers[run, rank] = _lane(perp_buffer, lane, scratch)
                            for k in range(rank):
                                buffers[run, k] = buffer[_place(k, lane)]
                running &= ~leaving
                if running == 0:
                    break

            eta = spread(vector_values[i]) * _powers(g, inverse, powers[0], powers[1], scratch)
            gamma = spread(scale_values[i]) * _powers(g, inverse, powers[2], powers[3], scratch)
            inverse, g, p, scale_buffer, perp_buffer = _step(
                method,
                size,
                here,
                slope,
                x,
                buffer,
                (inverse, g, p, scale_buffer, perp_buffer),
                eta,
                gamma,
                beta,
                heavy,
                nesterov,
            )


@compiled(_TAG)
def _step(method, size, here, slope, moved, buffer, scalars, eta, gamma, beta, heavy, nesterov):
    """One step of w, in `here` and with its buffer in place; the new scalars: 1/‖w‖ (1 but for WN),
    g, p, and the buffers of both.
    """
    inverse, g, p, scale_buffer, perp_buffer = scalars
    one = spread(1.0)
    largest = spread(LARGEST)
    s = spread(0.0)
    if method != GRADIENT_DESCENT:
        for k in range(size):
            s = multiply_add(load(here, k * WIDTH), load(slope, k * WIDTH), s)
        s = _across(s) * inverse
    stretch = one if method == GRADIENT_DESCENT else g * inverse
    drag = s * inverse if method == WEIGHT_NORM else spread(0.0)
    for k in range(size):
        w = load(here, k * WIDTH)
        move = stretch * (load(slope, k * WIDTH) - drag * w)
        if heavy:
            b = multiply_add(beta, load(buffer, k * WIDTH), move)
            store(buffer, k * WIDTH, b)
            move = multiply_add(beta, b, move) if nesterov else b
        store(moved, k * WIDTH, w - eta * move)
    move = spread(0.0) - stretch * drag * p
    scale_move = s
    if heavy:
        perp_buffer = multiply_add(beta, perp_buffer, move)
        move = multiply_add(beta, perp_buffer, move) if nesterov else perp_buffer
        scale_buffer = multiply_add(beta, scale_buffer, s)
        scale_move = multiply_add(beta, scale_buffer, s) if nesterov else scale_buffer
    p_before = p
    p = p - eta * move
    after = one if method == GRADIENT_DESCENT else _inverse_norm(moved, size, p)
    factor = after if method == RPGD else one
    for k in range(size):  # a run whose step leads to w = 0 stays where it is
        w = choose(after, largest, load(here, k * WIDTH), factor * load(moved, k * WIDTH))
        store(here, k * WIDTH, w)
    p = choose(after, largest, p_before, factor * p)
    if method == WEIGHT_NORM:
        inverse = choose(after, largest, inverse, after)
    return inverse, g - gamma * scale_move, p, scale_buffer, perp_buffer


@compiled(_TAG)
def errors(loss_kind, labels, predictions):
    """Turn the predictions of one run into the derivatives of its loss, which is returned."""
    rows = labels.size // 3
    loss = spread(0.0)
    for j in range(0, rows, WIDTH):
        a = _label(labels, j)
        weight = _label(labels, rows + j)
        extra = _label(labels, 2 * rows + j)
        value, error = _pointwise(loss_kind, load(predictions, j), a, weight, extra)
        loss = multiply_add(weight, value, loss)
        store(predictions, j, error)
    return lane_sum(loss)


@compiled(_TAG)
def weights(method, vectors, scale, x):
    """Write x of run 0, which is alone, padded as a row of M is; its 1/‖w‖ (1 but for WN)."""
    rank = vectors.shape[1] - 1
    x[:rank] = vectors[0, :rank]
    size = x.size // WIDTH
    inverse = spread(1.0)
    if method == WEIGHT_NORM:
        inverse = _inverse_norm(x, size, spread(vectors[0, rank]))
    if method != GRADIENT_DESCENT:
        for k in range(size):
            store(x, k * WIDTH, spread(scale[0]) * inverse * load(x, k * WIDTH))
    return lane_sum(inverse) / WIDTH


@compiled(_TAG)
def move(
    method,
    vectors,
    scale,
    buffers,
    scale_buffers,
    slope,
    inverse,
    steps,
    powers,
    momentum,
    nesterov,
):
    """One step of run 0, which is alone, along the gradient `slope`; `steps` are the values of
    both, and `inverse` is 1/‖w‖ as from `weights`.
    """
    rank = vectors.shape[1] - 1
    heavy = momentum != 0.0
    here = np.zeros(slope.size)
    here[:rank] = vectors[0, :rank]
    buffer = np.zeros(slope.size if heavy else 0)
    scale_buffer = spread(0.0)
    perp_buffer = spread(0.0)
    if heavy:
        buffer[:rank] = buffers[0, :rank]
        scale_buffer = spread(scale_buffers[0])
        perp_buffer = spread(buffers[0, rank])
    g = spread(scale[0])
    p = spread(vectors[0, rank])
    moved = np.empty(max(slope.size, WIDTH))
    eta = spread(steps[0]) * _powers(g, spread(inverse), powers[0], powers[1], moved)
    gamma = spread(steps[1]) * _powers(g, spread(inverse), powers[2], powers[3], moved)
    _, g, p, scale_buffer, perp_buffer = _step(
        method,
        slope.size // WIDTH,
        here,
        slope,
        moved,
        buffer,
        (spread(inverse), g, p, scale_buffer, perp_buffer),
        eta,
        gamma,
        spread(momentum),
        heavy,
        nesterov,
    )
    vectors[0, :rank] = here[:rank]
    vectors[0, rank] = lane_sum(p) / WIDTH
    scale[0] = lane_sum(g) / WIDTH
    if heavy:
        buffers[0, :rank] = buffer[:rank]
        buffers[0, rank] = lane_sum(perp_buffer) / WIDTH
        scale_buffers[0] = lane_sum(scale_buffer) / WIDTH


@compiled(_TAG, forceinline=True)
def _place(k, lane):
    """Where coordinate k of the run in a lane is."""
    return k if LONE else k * WIDTH + lane


@compiled(_TAG, forceinline=True)
def _across(value):
    """The sum of all coordinates, from those of each lane."""
    return spread(lane_sum(value)) if LONE else value


@compiled(_TAG)
def _gather(values, runs, scratch):
    for lane in range(WIDTH):
        scratch[lane] = values[runs[lane]]
    return load(scratch, 0)


@compiled(_TAG)
def _lane(value, lane, scratch):
    store(scratch, 0, value)
    return scratch[lane]


@compiled(_TAG)
def _square_norm(vector, size, p):
    square = spread(0.0)
    for k in range(size):
        w = load(vector, k * WIDTH)
        square = multiply_add(w, w, square)
    return multiply_add(p, p, _across(square))


@compiled(_TAG)
def _inverse_norm(vector, size, p):
    """1/‖w‖; NaN where the norm overflowed, so that the loss says so."""
    inverse = spread(1.0) / square_root(_square_norm(vector, size, p))
    return choose(spread(SMALLEST_INVERSE), inverse, spread(np.nan), inverse)


@compiled(_TAG)
def _powers(g, inverse, scale_power, norm_power, scratch):
    """|g|^scale_power·‖w‖^norm_power."""
    factor = spread(1.0)
    if scale_power != 0.0:
        factor = _power(absolute(g), scale_power, scratch)
    if norm_power != 0.0:
        factor = factor * _power(inverse, -norm_power, scratch)
    return factor


@compiled(_TAG)
def _power(x, exponent, scratch):
    if exponent == -2.0:
        return spread(1.0) / (x * x)
    store(scratch, 0, x)
    for lane in range(WIDTH):
        scratch[lane] = scratch[lane] ** exponent
    return load(scratch, 0)


@compiled(_TAG)
def _evaluate(kind, matrix, labels, size, x, slope, scratch):
    """The loss of x; writes its gradient to `slope`."""
    rows = labels.size // 3
    stride = size * COLUMNS
    loss = spread(0.0)
    for k in range(size):
        store(slope, k * WIDTH, spread(0.0))
    for first in range(0, rows, ROWS):
        if LONE:
            _predict_eight(matrix, first * stride, stride, size, x, scratch)
        else:
            _predict(matrix, first * stride, stride, size, x, scratch)
        for j in range(VECTORS):
            a = _label(labels, first + j)
            weight = _label(labels, rows + first + j)
            extra = _label(labels, 2 * rows + first + j)
            value, error = _pointwise(kind, load(scratch, j * WIDTH), a, weight, extra)
            loss = multiply_add(weight, value, loss)
            store(scratch, j * WIDTH, error)
        if LONE:
            _push_eight(matrix, first * stride, stride, size, slope, scratch)
        else:
            _push(matrix, first * stride, stride, size, slope, scratch)
    return _across(loss)


@compiled(_TAG, forceinline=True)
def _label(labels, index):
    return load(labels, index) if LONE else broadcast(labels, index)


@compiled(_TAG, forceinline=True)
def _predict(matrix, start, stride, size, x, scratch):
    """Predictions of four rows of M, to `scratch`: of 8 runs."""
    a = spread(0.0)
    b = spread(0.0)
    c = spread(0.0)
    d = spread(0.0)
    for k in range(size):
        v = load(x, k * WIDTH)
        a = multiply_add(broadcast(matrix, start + k), v, a)
        b = multiply_add(broadcast(matrix, start + stride + k), v, b)
        c = multiply_add(broadcast(matrix, start + 2 * stride + k), v, c)
        d = multiply_add(broadcast(matrix, start + 3 * stride + k), v, d)
    store(scratch, 0, a)
    store(scratch, WIDTH, b)
    store(scratch, 2 * WIDTH, c)
    store(scratch, 3 * WIDTH, d)


@compiled(_TAG, forceinline=True)
def _push(matrix, start, stride, size, slope, scratch):
    """Add what four rows of M give with their errors, from `scratch`."""
    a = load(scratch, 0)
    b = load(scratch, WIDTH)
    c = load(scratch, 2 * WIDTH)
    d = load(scratch, 3 * WIDTH)
    for k in range(size):
        v = load(slope, k * WIDTH)
        v = multiply_add(broadcast(matrix, start + k), a, v)
        v = multiply_add(broadcast(matrix, start + stride + k), b, v)
        v = multiply_add(broadcast(matrix, start + 2 * stride + k), c, v)
        v = multiply_add(broadcast(matrix, start + 3 * stride + k), d, v)
        store(slope, k * WIDTH, v)


@compiled(_TAG, forceinline=True)
def _predict_eight(matrix, start, stride, size, x, scratch):
    """Predictions of eight rows of M, to `scratch`: of one run, with coordinates in the lanes."""
    a = spread(0.0)
    b = spread(0.0)
    c = spread(0.0)
    d = spread(0.0)
    e = spread(0.0)
    f = spread(0.0)
    g = spread(0.0)
    h = spread(0.0)
    for k in range(size):
        v = load(x, k * WIDTH)
        a = multiply_add(load(matrix, start + k * WIDTH), v, a)
        b = multiply_add(load(matrix, start + stride + k * WIDTH), v, b)
        c = multiply_add(load(matrix, start + 2 * stride + k * WIDTH), v, c)
        d = multiply_add(load(matrix, start + 3 * stride + k * WIDTH), v, d)
        e = multiply_add(load(matrix, start + 4 * stride + k * WIDTH), v, e)
        f = multiply_add(load(matrix, start + 5 * stride + k * WIDTH), v, f)
        g = multiply_add(load(matrix, start + 6 * stride + k * WIDTH), v, g)
        h = multiply_add(load(matrix, start + 7 * stride + k * WIDTH), v, h)
    scratch[0] = lane_sum(a)
    scratch[1] = lane_sum(b)
    scratch[2] = lane_sum(c)
    scratch[3] = lane_sum(d)
    scratch[4] = lane_sum(e)
    scratch[5] = lane_sum(f)
    scratch[6] = lane_sum(g)
    scratch[7] = lane_sum(h)


@compiled(_TAG, forceinline=True)
def _push_eight(matrix, start, stride, size, slope, scratch):
    """Add what eight rows of M give with their errors, from `scratch`."""
    a = spread(scratch[0])
    b = spread(scratch[1])
    c = spread(scratch[2])
    d = spread(scratch[3])
    e = spread(scratch[4])
    f = spread(scratch[5])
    g = spread(scratch[6])
    h = spread(scratch[7])
    for k in range(size):
        v = load(slope, k * WIDTH)
        v = multiply_add(load(matrix, start + k * WIDTH), a, v)
        v = multiply_add(load(matrix, start + stride + k * WIDTH), b, v)
        v = multiply_add(load(matrix, start + 2 * stride + k * WIDTH), c, v)
        v = multiply_add(load(matrix, start + 3 * stride + k * WIDTH), d, v)
        v = multiply_add(load(matrix, start + 4 * stride + k * WIDTH), e, v)
        v = multiply_add(load(matrix, start + 5 * stride + k * WIDTH), f, v)
        v = multiply_add(load(matrix, start + 6 * stride + k * WIDTH), g, v)
        v = multiply_add(load(matrix, start + 7 * stride + k * WIDTH), h, v)
        store(slope, k * WIDTH, v)


@compiled(_TAG, forceinline=True)
def _pointwise(kind, z, a, weight, extra):
    """The loss of predictions, without its weight, and its derivative, with it.

    logistic : a = the label ±1, weight = 1; 0 for both in a row that is none
    poisson  : a = log y, weight = y, extra = 1; 0, 1, 0 where y = 0
    huber    : a = y, weight = 1, extra = the width
    """
    zero = spread(0.0)
    one = spread(1.0)
    two = spread(2.0)
    if kind == LOGISTIC:
        t = a * z
        u = _exp(zero - absolute(t))
        inverse = one / ((one + u) * (two + u))  # one division for u/(2 + u) and 1/(1 + u)
        ratio = u * (one + u) * inverse
        q = ratio * ratio
        series = spread(_ATANH[0])
        for coefficient in _ATANH[1:]:
            series = multiply_add(series, q, spread(coefficient))
        value = choose(zero, t, zero - t, zero) + two * ratio * series
        return value, zero - a * choose(t, zero, u, one) * (two + u) * inverse
    if kind == POISSON:
        top = spread(LARGEST_EXPONENT)
        u = choose(z, top, top, z) - a
        power, r, tail = _split_exp(u)
        # e^u − 1 − u: where the power is 1, r = u, and the middle term is exactly zero
        value = power * tail + ((power - extra) + (power * r - extra * u))
        value = choose(z, top, spread(np.inf), value)
        return value, weight * (power * (r + tail) + (power - extra))
    r = z - a
    distance = absolute(r)
    inside = choose(distance, extra, extra, distance)
    value = inside * (distance - spread(0.5) * inside)
    return value, choose(zero, r, zero - inside, inside)


@compiled(_TAG, forceinline=True)
def _split_exp(x):
    """2^k, r and e^r − 1 − r with x = k log 2 + r, |r| <= log(2)/2 (about), for x <= 1400."""
    bottom = spread(-1000.0)
    x = choose(bottom, x, bottom, x)
    k = multiply_add(x, spread(_LOG2_E), spread(_ROUNDS)) - spread(_ROUNDS)
    r = multiply_add(k, spread(-_LN2_HIGH), x)
    r = multiply_add(k, spread(-_LN2_LOW), r)
    tail = spread(_EXP_TAIL[0])
    for coefficient in _EXP_TAIL[1:]:
        tail = multiply_add(tail, r, spread(coefficient))
    # in two factors, so that it may be 0, subnormal or infinite
    half = multiply_add(k, spread(0.5), spread(_ROUNDS)) - spread(_ROUNDS)
    return two_to(half) * two_to(k - half), r, r * r * tail


@compiled(_TAG, forceinline=True)
def _exp(x):
    power, r, tail = _split_exp(x)
    return multiply_add(power, r + tail, power)
