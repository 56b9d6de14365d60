// One extrapolated step of linearly implicit Euler, for a Jacobian that is diagonal plus a few
// products of vectors: O(n) for each of its solves.

/** Solves (I − hJ)x = r for J = diag(d) + Σ a_k b_kᵀ, by Woodbury's formula. */
class ShiftedSolver {
  constructor({ d, left, right }, h) {
    this.n = d.length;
    this.right = right;
    this.inverse = new Float64Array(this.n);
    for (let i = 0; i < this.n; i++) this.inverse[i] = 1 / (1 - h * d[i]);
    const k = left.length;
    this.scaled = left.map((a) => {
      const product = new Float64Array(this.n);
      for (let i = 0; i < this.n; i++) product[i] = h * a[i] * this.inverse[i];
      return product;
    });
    this.matrix = [];
    for (let i = 0; i < k; i++) {
      this.matrix.push(new Float64Array(k));
      for (let j = 0; j < k; j++) {
        let total = i === j ? 1 : 0;
        for (let q = 0; q < this.n; q++) total -= right[i][q] * this.scaled[j][q];
        this.matrix[i][j] = total;
      }
    }
    this.order = factorInPlace(this.matrix);
    this.small = new Float64Array(k);
  }

  solve(r, out) {
    const { n, right, inverse, scaled, small } = this;
    for (let i = 0; i < n; i++) out[i] = r[i] * inverse[i];
    for (let k = 0; k < right.length; k++) {
      let total = 0;
      for (let i = 0; i < n; i++) total += right[k][i] * out[i];
      small[k] = total;
    }
    const x = solveFactored(this.matrix, this.order, small);
    for (let k = 0; k < right.length; k++) {
      for (let i = 0; i < n; i++) out[i] += scaled[k][i] * x[k];
    }
    return out;
  }
}

/** LU with row exchanges, of a small matrix; the order of its rows. */
function factorInPlace(matrix) {
  const k = matrix.length;
  const order = matrix.map((_, i) => i);
  for (let c = 0; c < k; c++) {
    let best = c;
    for (let i = c + 1; i < k; i++) {
      if (Math.abs(matrix[order[i]][c]) > Math.abs(matrix[order[best]][c])) best = i;
    }
    [order[c], order[best]] = [order[best], order[c]];
    const pivot = matrix[order[c]];
    for (let i = c + 1; i < k; i++) {
      const row = matrix[order[i]];
      row[c] /= pivot[c];
      for (let j = c + 1; j < k; j++) row[j] -= row[c] * pivot[j];
    }
  }
  return order;
}

function solveFactored(matrix, order, right) {
  const k = matrix.length;
  const x = new Float64Array(k);
  for (let i = 0; i < k; i++) {
    x[i] = right[order[i]];
    for (let j = 0; j < i; j++) x[i] -= matrix[order[i]][j] * x[j];
  }
  for (let i = k - 1; i >= 0; i--) {
    for (let j = i + 1; j < k; j++) x[i] -= matrix[order[i]][j] * x[j];
    x[i] /= matrix[order[i]][i];
  }
  return x;
}

/** One extrapolated step of length h: { y, error } with the error in units of the tolerance. */
export function extrapolatedStep(field, y, slope, jacobian, h, order, tolerance) {
  const n = y.length;
  const table = [];
  const f = new Float64Array(n);
  const move = new Float64Array(n);
  for (let j = 0; j < order; j++) {
    const parts = j + 1;
    const solver = new ShiftedSolver(jacobian, h / parts);
    const state = Float64Array.from(y);
    for (let part = 0; part < parts; part++) {
      if (part === 0) f.set(slope);
      else field.slope(state, f);
      for (let i = 0; i < n; i++) f[i] *= h / parts;
      solver.solve(f, move);
      for (let i = 0; i < n; i++) state[i] += move[i];
    }
    const row = [state];
    for (let k = 1; k <= j; k++) {
      const weight = 1 / (parts / (parts - k) - 1);
      const [before, last] = [table[j - 1][k - 1], row[k - 1]];
      const better = new Float64Array(n);
      for (let i = 0; i < n; i++) better[i] = last[i] + (last[i] - before[i]) * weight;
      row.push(better);
    }
    table.push(row);
  }
  const [lower, found] = table[order - 1].slice(-2);
  let error = 0;
  for (let i = 0; i < n; i++) {
    const size = Math.max(1e-3, Math.abs(y[i]), Math.abs(found[i]));
    error = Math.max(error, Math.abs(found[i] - lower[i]) / (tolerance * size));
  }
  return { y: found, error };
}
