// Where training ends, in closed form: twins of weightnorm.theory.

const MAX_ROOT_STEPS = 200;
const DOMINATES = 1e18; // Δ/c beyond this swallows every logarithm: D = Δ to rounding

/** log(e^a + e^b), without overflow. */
function logAddExp(a, b) {
  if (a === b) return a + Math.LN2;
  const high = Math.max(a, b);
  return Number.isFinite(high) ? high + Math.log1p(Math.exp(-Math.abs(a - b))) : high;
}

/** The root t of e^t − log(1 + a e^{−t}) = right, an increasing function of t. */
function solveLogRoot(right, logA) {
  let low = Math.min(logA, 0) + Math.min(right, 0) - 2;
  let high = Math.log(Math.max(right, 0) + Math.max(logA, 0) + 2);
  let t = 0.5 * (low + high);
  let last = high - low;
  for (let i = 0; i < MAX_ROOT_STEPS; i++) {
    const v = Math.exp(t);
    const u = Math.exp(-Math.abs(logA - t));
    const value = v - logAddExp(0, logA - t) - right;
    const slope = v + (logA > t ? 1 : u) / (1 + u);
    if (value <= 0) low = t;
    if (value >= 0) high = t;
    let step = -value / slope;
    const fine = t + step >= low && t + step <= high && Math.abs(step) <= 0.5 * Math.abs(last);
    if (!fine) step = 0.5 * (low + high) - t;
    t += step;
    last = step;
    if (Math.abs(step) <= 2e-16 * Math.max(Math.abs(t), 1)) break;
  }
  return t;
}

/** ‖x∞⊥‖ of the WN flow from |g0|, ‖x*‖ > 0, 2·log q0 (−Infinity in the row space) and c > 0. */
export function limitPerp(g0, gstar, logQ2, c) {
  if (logQ2 === -Infinity) return 0;
  const size = Math.abs(g0);
  const rootC = Math.sqrt(c);
  const less = size - gstar;
  const more = 0.5 * size + 0.5 * gstar;
  const excess = less === 0 ? 0 : (less / rootC) * (more / rootC) * 2; // Δ/c, may be ± Infinity
  const logA = 2 * Math.log(gstar) - Math.log(c);
  const right = logQ2 + excess;
  if (!Number.isFinite(right) || excess >= DOMINATES) {
    if (!(excess > 0)) return 0;
    return Math.SQRT2 * Math.sqrt(Math.max(less, 0)) * Math.sqrt(more);
  }
  let t = solveLogRoot(right, logA);
  if (t < -600 && Math.abs(right) < 1e-200) {
    const faint = Math.sign(right) *
      Math.exp(Math.min(Math.log(Math.abs(right)) - 0.5 * logA, 690));
    t = 0.5 * logA + Math.asinh(0.5 * faint);
  }
  if (t <= 1) return Math.exp(0.5 * (t + Math.log(c)));
  // for large v the equation itself is the better formula: its logarithm hardly moves
  return Math.sqrt(Math.max(right + logAddExp(0, logA - t), 0)) * rootC;
}

/** ‖x∞⊥‖ by the paper's printed formula, with ‖x*‖ where the final scale should stand. */
export function printedPerp(g0, gstar, q0, c) {
  if (q0 === 0) return 0;
  const size = Math.abs(g0);
  return gstar * Math.exp(Math.log(q0) + (size - gstar) * ((size + gstar) / (2 * c)));
}

/** The share by which the norm of the printed limit is off. */
export function printedError(g0, gstar, q0, c) {
  const exact = Math.hypot(gstar, limitPerp(g0, gstar, 2 * Math.log(q0), c));
  return Math.abs(Math.hypot(gstar, printedPerp(g0, gstar, q0, c)) - exact) / exact;
}

/** c*, the ratio at which the WN flow and gradient descent end at the same distance from x*. */
export function criticalRatio(g0, gstar, q0) {
  const size = Math.abs(g0);
  const parallel = Math.sqrt(Math.max(0, 1 - q0 * q0));
  const share = size > 0 ? gstar / size : Infinity;
  const excess = (share - parallel) * (share + parallel); // D/g0²
  if (!(excess < 1e8)) return (gstar * gstar) / (2 * Math.log(share));
  return size * size * (excess === 0 ? 1 : excess / Math.log1p(excess));
}

/** Whether the WN flow ends closer to x* than gradient descent from the same weights. */
export function flowIsCloser(g0, gstar, q0, c) {
  if (!(q0 > 0) || g0 === 0) return false;
  const parallel = Math.sqrt(Math.max(0, 1 - q0 * q0));
  const share = gstar / Math.abs(g0);
  const excess = (share - parallel) * (share + parallel);
  if (excess === 0) return false;
  const critical = criticalRatio(g0, gstar, q0);
  return excess > 0 ? c < critical : c > critical;
}

/** The scale above which the unseen part of the direction grows: ‖x*‖/‖w0∥‖. */
export function turningScale(gstar, q0) {
  const parallel = Math.sqrt(Math.max(0, 1 - q0 * q0));
  return parallel > 0 ? gstar / parallel : Infinity;
}
