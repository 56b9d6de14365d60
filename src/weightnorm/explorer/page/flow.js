// The WN flow, ġ = −c s, ż = −g (e − s z), d(log p)/dt = g s, integrated by extrapolated
// linearly implicit Euler steps (which stiff problems do not slow down): a twin of weightnorm.flow.
// Units are those in which ‖x*‖ = λmax = 1. Everything depends on u = z/‖w‖, so that an error of
// ‖w‖ does not grow.

import { extrapolatedStep } from "./implicit.js";

// "fine" is for pictures and signs, "coarse" for pictures while something is dragged
const ORDERS = { exact: 8, fine: 6, coarse: 4 };
const ACCURACY = { exact: 1e-12, fine: 1e-9, coarse: 1e-5 };
const MOST_STEPS = 4000;
const LONGEST = 1e280;

/** The reduced problem and its start in units of its own. */
class FlowField {
  constructor(problem, start, ratio) {
    const steep = Math.max(...problem.curvatures);
    this.rank = problem.rank;
    this.unit = problem.gstar;
    this.clock = 1 / (problem.gstar ** 2 * steep); // time of the page per time here
    this.lam = problem.curvatures.map((v) => v / steep);
    this.xi = problem.target.map((v) => v / problem.gstar);
    this.ratio = ratio / problem.gstar ** 2;
    // a start in the row space has p = 0 for ever
    this.inside = start.unseen === 0 && !Number.isFinite(start.logUnseen ?? -Infinity);
    this.u = new Float64Array(this.rank);
    this.e = new Float64Array(this.rank);
  }

  /** u, e, s and their kin at a state (g, z, log p). */
  at(y) {
    const { rank, lam, xi, u, e } = this;
    const g = y[0];
    const p2 = this.inside ? 0 : Math.exp(2 * y[rank + 1]);
    let square = p2;
    for (let i = 0; i < rank; i++) square += y[i + 1] * y[i + 1];
    const inverse = 1 / Math.sqrt(square);
    let s = 0;
    for (let i = 0; i < rank; i++) {
      u[i] = y[i + 1] * inverse;
      e[i] = lam[i] * (g * u[i] - xi[i]);
      s += u[i] * e[i];
    }
    return { g, p2, square, inverse, s };
  }

  slope(y, out) {
    const { rank, u, e } = this;
    const { g, inverse, s } = this.at(y);
    out[0] = -this.ratio * s;
    for (let i = 0; i < rank; i++) out[i + 1] = -g * (e[i] - s * u[i]);
    out[rank + 1] = this.inside ? 0 : g * s * inverse;
    return out;
  }

  /** 2·loss over ‖x*‖²λmax. */
  twiceLoss(y) {
    const { g } = this.at(y);
    let total = 0;
    for (let i = 0; i < this.rank; i++) {
      const error = g * this.u[i] - this.xi[i];
      total += this.lam[i] * error * error;
    }
    return total;
  }

  /** The Jacobian as diag(d) + Σ a_k b_kᵀ: two bordering rows, two columns and two of rank one. */
  jacobian(y) {
    const { rank, lam, u, e, ratio } = this;
    const { g, p2, square, inverse, s } = this.at(y);
    const n = rank + 2;
    const last = n - 1;
    let sG = 0;
    for (let i = 0; i < rank; i++) sG += lam[i] * u[i] * u[i];
    const sU = Float64Array.from(u, (v, i) => e[i] + g * lam[i] * v);
    let along = 0;
    for (let i = 0; i < rank; i++) along += u[i] * sU[i];
    const sP = (-along * p2) / square;
    const d = new Float64Array(n);
    const left = [];
    const right = [];
    const pair = () => {
      left.push(new Float64Array(n));
      right.push(new Float64Array(n));
      return [left[left.length - 1], right[right.length - 1]];
    };
    const [scaleUnit, scaleRow] = pair();
    scaleUnit[0] = 1;
    scaleRow[0] = -ratio * sG;
    const [perpUnit, perpRow] = pair();
    perpUnit[last] = 1;
    if (!this.inside) perpRow[0] = (s + g * sG) * inverse;
    const [turn, turnRow] = pair(); // g u s_uᵀ/n
    const [keep, keepRow] = pair(); // −(by_u u) uᵀ/n
    const [byScale, scaleColumn] = pair();
    scaleColumn[0] = 1;
    const [byPerp, perpColumn] = pair();
    perpColumn[last] = 1;
    for (let i = 0; i < rank; i++) {
      const sZ = (sU[i] - u[i] * along) * inverse;
      const diagonal = g * s - g * g * lam[i];
      const byU = diagonal * u[i] + g * u[i] * along;
      d[i + 1] = diagonal * inverse;
      scaleRow[i + 1] = -ratio * sZ;
      if (!this.inside) perpRow[i + 1] = g * sZ * inverse - (g * s * u[i]) / square;
      turn[i + 1] = g * u[i] * inverse;
      turnRow[i + 1] = sU[i];
      keep[i + 1] = -byU * inverse;
      keepRow[i + 1] = u[i];
      byScale[i + 1] = -(e[i] - s * u[i]) - g * (lam[i] * u[i] - sG * u[i]);
      byPerp[i + 1] = (-byU * p2) / square;
    }
    scaleRow[last] = -ratio * sP;
    if (!this.inside) perpRow[last] = g * sP * inverse - (g * s * p2 * inverse) / square;
    return { d, left, right };
  }

  /** Whether nothing moves, against the terms it is made of: a point of S, or a settled direction
   * at a frozen scale. */
  atRest(y, tolerance) {
    const { g, s } = this.at(y);
    let size = 0;
    let across = 0;
    let seen = 0;
    for (let i = 0; i < this.rank; i++) {
      size += this.e[i] ** 2;
      seen += this.u[i] ** 2;
      across += (this.e[i] - s * this.u[i]) ** 2;
    }
    across += s * s * Math.max(0, 1 - seen);
    size = Math.sqrt(size);
    const turned = g === 0 || Math.sqrt(across) <= tolerance * size;
    return turned && (this.ratio === 0 || Math.abs(s) <= tolerance * size);
  }
}

/** Integrate from a start: { time, states (g, z, log p, all in the page's units), status }.
 *
 * `options`: end (a time), tolerance (a loss at which it ends, 0 for none), accuracy ("exact",
 * "fine" or "coarse"), times (to be met exactly), until (a predicate of 2·loss/(‖x*‖²λmax) that
 * ends it). */
export function integrateFlow(problem, start, ratio, options = {}) {
  const { end = Infinity, tolerance = 0, accuracy = "exact", times = null } = options;
  const field = new FlowField(problem, start, ratio);
  const { rank, unit, clock } = field;
  const energy = (0.5 * unit * unit * Math.max(...problem.curvatures));
  const n = rank + 2;
  let y = new Float64Array(n);
  y[0] = start.scale / unit;
  for (let i = 0; i < rank; i++) y[i + 1] = start.seen[i];
  y[n - 1] = field.inside ? 0 : (start.logUnseen ?? Math.log(Math.abs(start.unseen)));
  const wanted = times === null ? [end] : times;
  const found = { time: [], states: [], status: "max_steps" };
  const keep = (t, state) => {
    let square = field.inside ? 0 : Math.exp(2 * state[n - 1]);
    for (let i = 1; i <= rank; i++) square += state[i] * state[i];
    const size = Math.sqrt(square);
    const unitState = Float64Array.from(state, (v, i) => (i === 0 ? v * unit : v / size));
    unitState[n - 1] = field.inside ? -Infinity : state[n - 1] - Math.log(size);
    found.time.push(t * clock);
    found.states.push(unitState);
  };
  const order = ORDERS[accuracy];
  const relative = ACCURACY[accuracy];
  const slope = new Float64Array(n);
  let t = 0;
  let h = 1e-2 / Math.max(1, y[0] * y[0], field.ratio);
  let next = 0;
  if (times === null) keep(0, y);
  while (next < wanted.length && wanted[next] <= 0) {
    if (times !== null) keep(0, y);
    next += 1;
  }
  let mark = y;
  let marked = 0;
  for (let count = 0; count < MOST_STEPS; count++) {
    const loss = field.twiceLoss(y);
    if (tolerance > 0 && loss * energy <= tolerance) {
      found.status = "converged";
      break;
    }
    if (options.until?.(loss)) {
      found.status = "until";
      break;
    }
    if (next >= wanted.length) {
      found.status = "max_time";
      break;
    }
    if (count === 0 && field.atRest(y, 3.6e-15)) {
      found.status = "stationary";
      break;
    }
    const goal = wanted[next] / clock;
    const length = Math.min(h, goal - t);
    field.slope(y, slope);
    const step = extrapolatedStep(field, y, slope, field.jacobian(y), length, order, relative);
    const factor = 0.9 * step.error ** (-1 / order);
    if (!(step.error <= 1)) {
      h = length * Math.max(0.1, Math.min(0.8, Number.isFinite(factor) ? factor : 0.1));
      if (!(t + h > t)) break;
      continue;
    }
    y = step.y;
    const reached = length === goal - t;
    t = reached ? goal : t + length;
    if (!reached || h === length) h = length * Math.min(5, Math.max(0.2, factor));
    if (times === null) keep(t, y);
    while (next < wanted.length && wanted[next] / clock <= t) {
      if (times !== null) keep(t, y);
      next += 1;
    }
    if (!(t < LONGEST)) break;
    if (t >= 2 * marked) {
      const still = y.every((v, i) => i === n - 1 ||
        Math.abs(v - mark[i]) <= 1e-12 * Math.max(1, Math.abs(v)));
      // at a frozen scale the unseen part goes on falling when all else is at rest
      if (ratio > 0 && marked > 0 && still && field.atRest(y, 1e-9)) {
        found.status = "stationary";
        break;
      }
      mark = y;
      marked = t;
    }
  }
  if (found.status === "stationary" && times !== null) {
    for (; next < wanted.length; next++) keep(wanted[next] / clock, y);
  }
  return found;
}
