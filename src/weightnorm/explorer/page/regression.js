import { purpose } from "./random.js";

// make_regression and random_direction of the Python package, without forming A: everything a page
// needs of it are its singular values and vectors.

/** The Euclidean norm of values[from], values[from + stride] and so on. */
function euclideanLength(values, from = 0, stride = 1) {
  // A compensated sum: then a unit vector agrees with NumPy's to the last bits at any length.
  let sum = 0;
  let lost = 0;
  for (let i = from; i < values.length; i += stride) {
    const square = values[i] * values[i];
    const next = sum + square;
    lost += sum >= square ? sum - next + square : square - next + sum;
    sum = next;
  }
  return Math.sqrt(sum + lost);
}

/** Apply the reflector in column `pivot`, below the diagonal, to the columns right of it. */
function reflectColumns(matrix, rows, columns, pivot, tau, products) {
  // Row by row, as the matrix lies in memory: first tau v^T M, then M - v (tau v^T M).
  for (let k = pivot + 1; k < columns; k++) products[k] = matrix[pivot * columns + k];
  for (let i = pivot + 1; i < rows; i++) {
    const v = matrix[i * columns + pivot];
    for (let k = pivot + 1; k < columns; k++) products[k] += v * matrix[i * columns + k];
  }
  for (let k = pivot + 1; k < columns; k++) {
    products[k] *= tau;
    matrix[pivot * columns + k] -= products[k];
  }
  for (let i = pivot + 1; i < rows; i++) {
    const v = matrix[i * columns + pivot];
    for (let k = pivot + 1; k < columns; k++) matrix[i * columns + k] -= v * products[k];
  }
}

/** Make a row-major matrix, rows >= columns, the Q of its QR decomposition, signed as LAPACK's. */
function orthonormalize(matrix, rows, columns) {
  const taus = new Float64Array(columns);
  const products = new Float64Array(columns);
  for (let j = 0; j < columns; j++) {
    const diagonal = j * columns + j;
    const below = euclideanLength(matrix, diagonal + columns, columns);
    // Nothing below the diagonal: LAPACK then leaves the column as it is, whatever its sign.
    if (below === 0) continue;
    const alpha = matrix[diagonal];
    const beta = alpha >= 0 ? -Math.hypot(alpha, below) : Math.hypot(alpha, below);
    taus[j] = (beta - alpha) / beta;
    for (let i = j + 1; i < rows; i++) matrix[i * columns + j] /= alpha - beta;
    reflectColumns(matrix, rows, columns, j, taus[j], products);
  }
  // From the last reflector to the first, column j of Q can take the place of reflector j.
  for (let j = columns - 1; j >= 0; j--) {
    reflectColumns(matrix, rows, columns, j, taus[j], products);
    for (let i = 0; i < j; i++) matrix[i * columns + j] = 0;
    matrix[j * columns + j] = 1 - taus[j];
    for (let i = j + 1; i < rows; i++) matrix[i * columns + j] *= -taus[j];
  }
  return matrix;
}

/** numpy.geomspace(1, last, count). */
function geometricSpacing(last, count) {
  const spacing = Math.log10(last) / (count - 1);
  const values = Float64Array.from({ length: count }, (_, i) => 10 ** (i * spacing));
  if (count > 1) values[count - 1] = last;
  values[0] = 1;
  return values;
}

/** The singular values and vectors of make_regression's A, and x* in the right ones. */
export function makeRegression({ samples, features, condition, norm, seed }) {
  const rank = Math.min(samples, features);
  const stream = purpose("make_regression", seed);
  const left = orthonormalize(stream.normals(samples * rank), samples, rank);
  const right = orthonormalize(stream.normals(features * rank), features, rank);
  const singular = geometricSpacing(1 / condition, rank);
  const target = stream.normals(rank);
  const factor = norm / euclideanLength(target);
  for (let j = 0; j < rank; j++) target[j] *= factor;
  return { samples, features, rank, singular, left, right, target };
}

/** The unit vector random_direction(features, seed). */
export function randomDirection(features, seed) {
  const direction = purpose("random_direction", seed).normals(features);
  const length = euclideanLength(direction);
  for (let i = 0; i < features; i++) direction[i] /= length;
  return direction;
}

/** The coordinates of a vector in the right singular vectors, V^T vector. */
function rightCoordinates({ features, rank, right }, vector) {
  const coordinates = new Float64Array(rank);
  for (let i = 0; i < features; i++) {
    for (let j = 0; j < rank; j++) coordinates[j] += right[i * rank + j] * vector[i];
  }
  return coordinates;
}

/** What of a direction A sees, in its right singular vectors, and the norm of what it does not. */
export function enter(problem, direction) {
  const { features, rank, right } = problem;
  const seen = rightCoordinates(problem, direction);
  if (features === rank) return { seen, unseen: 0 };
  const rest = Float64Array.from(direction);
  let part = seen;
  // Twice: the first leaves rounding errors in the row space, which count when little is unseen.
  for (let pass = 0; pass < 2; pass++) {
    if (pass > 0) part = rightCoordinates(problem, rest);
    for (let i = 0; i < features; i++) {
      for (let j = 0; j < rank; j++) rest[i] -= right[i * rank + j] * part[j];
    }
  }
  return { seen, unseen: euclideanLength(rest) };
}
