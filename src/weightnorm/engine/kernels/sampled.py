"""Gradient descent, WN and rPGD on least squares with random steps: mini-batches and label noise,
run by run.

The rules of `methods/`, in row-space coordinates with the samples kept apart: predictions M x with
M = U S of shape (m, rank), and one coordinate p that the loss does not see. A step sees the rows
and the noise it is given; the loss that decides stopping is that of all rows without noise.
"""

from __future__ import annotations

import numpy as np

from .compiling import compiled, enabled

GRADIENT_DESCENT, WEIGHT_NORM, RPGD = range(3)
COMPILED = enabled()


@compiled("scalar")
def advance(
    method,
    matrix,
    y,
    vectors,
    buffers,
    scale,
    scale_buffer,
    alive,
    loss,
    ended_at,
    low,
    limit,
    vector_values,
    scale_values,
    powers,
    momentum,
    nesterov,
    rows,
    noise,
    clock,
):
    """Make up to len(vector_values) − 1 steps with every run that is alive, from step number
    clock[0] on.

    Parameters
    ----------
    vectors, buffers : (n, rank + 1)
        w (x itself for gradient descent) and its momentum; p is the last column.
    scale, scale_buffer, loss, ended_at, limit, alive : (n,)
    vector_values, scale_values : (count + 1,)
        The values of both steps; the last is not used: after the last update the iterate is only
        evaluated.
    powers : (4,)
        The powers of |g| and ‖w‖ in the two steps.
    rows : (count, b)
        The samples of each step; b = 0 stands for all of them.
    noise : (count, m), or (count, 0) where there is none
    """
    num_runs, width = vectors.shape
    rank = width - 1
    num_samples = y.size
    count = vector_values.size - 1
    batch = rows.shape[1]
    residual = np.empty(num_samples)
    slope = np.empty(width)
    moved = np.empty(width)
    for run in range(num_runs):
        if not alive[run]:
            continue
        w = vectors[run]
        buffer = buffers[run]
        for i in range(count + 1):
            square = 0.0
            for k in range(width):
                square += w[k] * w[k]
            norm = np.sqrt(square) if method == WEIGHT_NORM else 1.0
            if not norm < 1e150:
                norm = np.nan  # overflowed: the loss says so
            stretch = 1.0 if method == GRADIENT_DESCENT else scale[run] / norm
            total = 0.0
            for j in range(num_samples):
                seen = 0.0
                for k in range(rank):
                    seen += matrix[j, k] * w[k]
                residual[j] = stretch * seen - y[j]
                total += residual[j] * residual[j]
            loss[run] = 0.5 * total
            ended_at[run] = clock[0] + i
            if not (low < loss[run] <= limit[run]):
                alive[run] = False
                break
            if i == count:
                break
            slope[:] = 0.0
            for at in range(num_samples if batch == 0 else batch):
                j = at if batch == 0 else rows[i, at]
                error = residual[j] - noise[i, j] if noise.shape[1] else residual[j]
                for k in range(rank):
                    slope[k] += error * matrix[j, k]
            along = 0.0
            for k in range(rank):
                if batch:
                    slope[k] *= num_samples / batch
                along += w[k] * slope[k]
            along /= norm
            for k in range(width):
                if method == RPGD:
                    slope[k] *= scale[run]
                elif method == WEIGHT_NORM:
                    slope[k] = scale[run] / norm * (slope[k] - along * w[k] / norm)
            eta = vector_values[i]
            gamma = scale_values[i]
            if method != GRADIENT_DESCENT:
                size = abs(scale[run])
                eta *= _power(size, powers[0]) * _power(norm, powers[1])
                gamma *= _power(size, powers[2]) * _power(norm, powers[3])
            square = 0.0
            for k in range(width):
                push = slope[k]
                if momentum != 0.0:
                    buffer[k] = momentum * buffer[k] + slope[k]
                    push = slope[k] + momentum * buffer[k] if nesterov else buffer[k]
                moved[k] = w[k] - eta * push
                square += moved[k] * moved[k]
            if method == GRADIENT_DESCENT or square != 0.0:  # a step onto w = 0 is not made
                divisor = np.sqrt(square) if method == RPGD else 1.0
                if not divisor < 1e150:
                    divisor = np.nan
                for k in range(width):
                    w[k] = moved[k] / divisor
            if method != GRADIENT_DESCENT:
                if momentum != 0.0:
                    scale_buffer[run] = momentum * scale_buffer[run] + along
                    along = along + momentum * scale_buffer[run] if nesterov else scale_buffer[run]
                scale[run] -= gamma * along
    clock[0] += count


@compiled("scalar")
def _power(base, exponent):
    return 1.0 if exponent == 0.0 else base**exponent
