"""Gradient descent, WN, rPGD and batch norm on least squares, run by run, with all that a step may
have: decay, clipping, momentum, mini-batches and label noise.

The rules of `methods/`, in row-space coordinates and one coordinate p, the last, that the loss does
not see. Least squares is diagonal there, with curvatures λ and a target ξ; or, for random steps,
its samples are kept apart: predictions M x with M = U S of shape (m, rank). A step sees the rows
and the noise it is given; the loss that decides stopping is that of all rows without noise.
"""

from __future__ import annotations

import numpy as np

from .compiling import compiled, enabled

GRADIENT_DESCENT, WEIGHT_NORM, RPGD, BATCHNORM = range(4)
COMPILED = enabled()
TOO_LONG = 1e150  # a vector whose square overflows, almost: the loss says so


@compiled("scalar")
def advance(rule, samples, runs, steps, extras, stop_loss, clock):
    """Make up to len(steps.vector_values) − 1 steps with every run that is alive, from step number
    clock[0] on; the groups are those of `arguments.py`.

    A run stops where its loss is at most `stop_loss`, or beyond its divergence_loss. The last
    values of the steps are not used: after the last update the iterate is only evaluated.
    """
    method, momentum, nesterov = rule
    curvatures, target, floor, matrix, y = samples
    vectors, buffers, scale, scale_buffer, alive, loss, ended_at, divergence_loss = runs
    vector_values, scale_values, powers = steps
    factors, decays, clip, rows, noise = extras
    num_runs, width = vectors.shape
    count = vector_values.size - 1
    apart = y.size > 0  # samples, kept apart
    seen = np.empty(y.size)
    residual = np.empty(y.size)
    slope = np.empty(width)
    normal = np.zeros(width)
    moved = np.empty(width)
    for run in range(num_runs):
        if not alive[run]:
            continue
        w = vectors[run]
        buffer = buffers[run]
        for i in range(count + 1):
            norm = _norm(w) if method in (WEIGHT_NORM, BATCHNORM) else 1.0
            if apart:
                length = _predict(matrix, w, seen)
            else:
                length = _length(curvatures[run], w) if method == BATCHNORM else 1.0
            divisor = length if method == BATCHNORM else norm
            stretch = 1.0 if method == GRADIENT_DESCENT else scale[run] / divisor
            if apart:
                loss[run] = _residual(seen, stretch, y, residual)
            else:
                loss[run] = floor[run] + _diagonal(curvatures[run], target[run], stretch, w, slope)
            ended_at[run] = clock[0] + i
            if not (stop_loss < loss[run] <= divergence_loss[run]):
                alive[run] = False
                break
            if i == count:
                break
            if apart:
                _sampled(matrix, residual, rows[i], noise[i], slope)
            if method == BATCHNORM:
                if apart:
                    _transposed(matrix, seen, normal)
                else:
                    for k in range(width - 1):
                        normal[k] = curvatures[run, k] * w[k]
            along = 0.0
            if method != GRADIENT_DESCENT:
                for k in range(width):
                    along += w[k] * slope[k]
                along /= divisor
            for k in range(width):
                if method == RPGD:
                    slope[k] *= stretch
                elif method == WEIGHT_NORM:
                    slope[k] = stretch * (slope[k] - along * w[k] / norm)
                elif method == BATCHNORM:
                    slope[k] = stretch * (slope[k] - along / length * normal[k])
            eta = vector_values[i] * factors[0, run]
            gamma = scale_values[i] * factors[1, run]
            if method != GRADIENT_DESCENT:
                size = abs(stretch) * norm if method == BATCHNORM else abs(scale[run])
                eta *= _power(size, powers[0]) * _power(norm, powers[1])
                gamma *= _power(size, powers[2]) * _power(norm, powers[3])
            if clip < np.inf:
                share = _share(slope, along, clip)
                along *= share
                for k in range(width):
                    slope[k] *= share
            if decays[0] != 0.0:
                for k in range(width):
                    slope[k] += decays[0] * w[k]
            square = 0.0
            for k in range(width):
                push = slope[k]
                if momentum != 0.0:
                    buffer[k] = momentum * buffer[k] + slope[k]
                    push = slope[k] + momentum * buffer[k] if nesterov else buffer[k]
                moved[k] = w[k] - eta * push
                square += moved[k] * moved[k]
            if method == GRADIENT_DESCENT or square != 0.0:  # a step onto w = 0 is not made
                shorten = np.sqrt(square) if method == RPGD else 1.0
                if not shorten < TOO_LONG:
                    shorten = np.nan
                for k in range(width):
                    w[k] = moved[k] / shorten
            if method != GRADIENT_DESCENT:
                along += decays[1] * scale[run]
                if momentum != 0.0:
                    scale_buffer[run] = momentum * scale_buffer[run] + along
                    along = along + momentum * scale_buffer[run] if nesterov else scale_buffer[run]
                scale[run] -= gamma * along
    clock[0] += count


@compiled("scalar")
def _norm(w):
    """‖w‖; NaN where it overflowed."""
    square = 0.0
    for k in range(w.size):
        square += w[k] * w[k]
    norm = np.sqrt(square)
    return norm if norm < TOO_LONG else np.nan


@compiled("scalar")
def _length(curvatures, w):
    """‖Aw‖ of a diagonal problem; NaN where it is zero or overflowed."""
    square = 0.0
    for k in range(curvatures.size):
        square += curvatures[k] * w[k] * w[k]
    length = np.sqrt(square)
    return length if 0.0 < length < TOO_LONG else np.nan


@compiled("scalar")
def _diagonal(curvatures, target, stretch, w, slope):
    """The loss above the floor, and the gradient by the weights into `slope`."""
    total = 0.0
    for k in range(curvatures.size):
        error = stretch * w[k] - target[k]
        slope[k] = curvatures[k] * error
        total += error * slope[k]
    slope[-1] = 0.0
    return 0.5 * total


@compiled("scalar")
def _predict(matrix, w, seen):
    """M w into `seen`, and its length; NaN where that is zero or overflowed."""
    square = 0.0
    for j in range(seen.size):
        one = 0.0
        for k in range(matrix.shape[1]):
            one += matrix[j, k] * w[k]
        seen[j] = one
        square += one * one
    length = np.sqrt(square)
    return length if 0.0 < length < TOO_LONG else np.nan


@compiled("scalar")
def _residual(seen, stretch, y, residual):
    """The loss, and stretch·seen − y into `residual`."""
    total = 0.0
    for j in range(y.size):
        residual[j] = stretch * seen[j] - y[j]
        total += residual[j] * residual[j]
    return 0.5 * total


@compiled("scalar")
def _sampled(matrix, residual, rows, noise, slope):
    """The gradient by the weights that a step sees into `slope`."""
    slope[:] = 0.0
    rank = matrix.shape[1]
    for at in range(residual.size if rows.size == 0 else rows.size):
        j = at if rows.size == 0 else rows[at]
        error = residual[j] - noise[j] if noise.size else residual[j]
        for k in range(rank):
            slope[k] += error * matrix[j, k]
    if rows.size:
        for k in range(rank):
            slope[k] *= residual.size / rows.size


@compiled("scalar")
def _transposed(matrix, seen, normal):
    """Mᵀ seen into `normal`."""
    normal[:] = 0.0
    for j in range(seen.size):
        for k in range(matrix.shape[1]):
            normal[k] += seen[j] * matrix[j, k]


@compiled("scalar")
def _share(slope, along, clip):
    """What to multiply the gradients by so that their norm is at most `clip`."""
    largest = abs(along)
    for k in range(slope.size):
        largest = max(largest, abs(slope[k]))
    if not 0.0 < largest < np.inf:
        return 1.0
    square = (along / largest) ** 2
    for k in range(slope.size):
        square += (slope[k] / largest) ** 2
    return min(1.0, clip / largest / np.sqrt(square))


@compiled("scalar")
def _power(base, exponent):
    return 1.0 if exponent == 0.0 else base**exponent
