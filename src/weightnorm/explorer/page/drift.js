// Where steps of finite size end, to first order: the invariant drifts on the way, by an integral
// along the flow. A twin of weightnorm.theory.finite_step_limit, without batches and clipping.

import { limitPerp } from "./limits.js";
import { runMethod } from "./methods.js";
import { limitSign } from "./predict.js";

const DRIFT_TAIL = 1e-11; // ‖Aᵀr‖² fallen by this factor: what is left of the drift is nothing
const DRIFT_ACCURACY = 1e-8;
const MOST_EVALUATIONS = 4000; // in a frame; stiff problems get no such prediction …
const STIFF = 60; // … and beyond this spread of curvatures it is not even tried
const MOST_FOLLOWED = 10000; // steps that are followed for the sign of the scale …
const ENOUGH_FOLLOWED = 2000; // … or larger ones, where those of the run are more
export const VALID_STEP = 0.4; // beyond this equivalent step a first order says nothing

// Dormand and Prince's method of order five
const NODES = [
  [1 / 5],
  [3 / 40, 9 / 40],
  [44 / 45, -56 / 15, 32 / 9],
  [19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729],
  [9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656],
  [35 / 384, 0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84],
];
const FAULT = [71 / 57600, 0, -71 / 16695, 71 / 1920, -17253 / 339200, 22 / 525, -1 / 40];

/** By how much momentum multiplies the drift of a step. */
export function momentumFactor(beta, nesterov) {
  return nesterov ? 1 + (2 * beta * beta) / (1 - beta) : (1 + beta) / (1 - beta);
}

/** The field of (g, z, log N, change of the invariant, the sum of its changes' sizes), in units
 * in which ‖x*‖ = λmax = 1. */
function driftField(problem, start, method, h, c, rho) {
  const { rank } = problem;
  const lam = problem.curvatures.map((v) => v / problem.steepest);
  const xi = problem.target.map((v) => v / problem.gstar);
  const g0 = start.scale / problem.gstar;
  const q0 = Math.abs(start.unseen);
  const u = new Float64Array(rank);
  const e = new Float64Array(rank);
  const at = (y) => {
    const g = y[0];
    const N = Math.exp(y[rank + 1]);
    let perp2 = 0;
    if (q0 > 0) {
      const log = 2 * (Math.log(q0) + y[rank + 2]) - y[rank + 1] + (g0 * g0 - (g * g) / N) / c;
      perp2 = Math.exp(Math.min(log, 600));
    }
    let whole = perp2;
    for (let i = 0; i < rank; i++) whole += y[i + 1] * y[i + 1];
    const inverse = 1 / Math.sqrt(whole);
    let s = 0;
    let size = 0;
    for (let i = 0; i < rank; i++) {
      u[i] = y[i + 1] * inverse;
      e[i] = lam[i] * (g * u[i] - xi[i]);
      s += u[i] * e[i];
      size += e[i] * e[i];
    }
    return { g, N, s, size, share: perp2 / whole };
  };
  const slope = (y, out) => {
    const { g, N, s, share } = at(y);
    let p = s * s * share;
    for (let i = 0; i < rank; i++) p += (e[i] - s * u[i]) ** 2;
    out[0] = -c * s;
    for (let i = 0; i < rank; i++) out[i + 1] = -(g / N) * (e[i] - s * u[i]);
    if (method === "wn") {
      const along = c / N - (g * g) / N ** 2;
      const turn = g ** 4 / (c * N ** 3);
      out[rank + 1] = h * (g / N) ** 2 * rho * p;
      out[rank + 2] = 0.5 * h * (rho * along * s * s - rho * turn * p);
      out[rank + 3] = 0.5 * h * rho * (Math.abs(along) * s * s + (g / N) ** 2 * p) +
        Math.abs(g * s * (1 / N - 1));
    } else {
      out[rank + 1] = 0;
      out[rank + 2] = 0.5 * h * ((rho * c + g * g) * s * s - g * g * rho * p);
      out[rank + 3] = 0.5 * h * rho * ((c + g * g) * s * s + g * g * p);
    }
    return out;
  };
  return { at, slope };
}

/** Integrate until `done`; the state, or null where it did not get there. */
function integrateExplicitly(slope, first, done, watch) {
  const n = first.length;
  let y = Float64Array.from(first);
  let h = 1e-3;
  const stages = Array.from({ length: 7 }, () => new Float64Array(n));
  slope(y, stages[0]);
  const trial = new Float64Array(n);
  for (let used = 1; used < MOST_EVALUATIONS; used += 6) {
    for (let k = 0; k < 6; k++) {
      for (let i = 0; i < n; i++) {
        let total = 0;
        for (let j = 0; j <= k; j++) total += NODES[k][j] * stages[j][i];
        trial[i] = y[i] + h * total;
      }
      slope(trial, stages[k + 1]);
    }
    let error = 0;
    for (let i = 0; i < n; i++) {
      let total = 0;
      for (let j = 0; j < 7; j++) total += FAULT[j] * stages[j][i];
      const size = Math.max(1e-3, Math.abs(y[i]), Math.abs(trial[i]));
      error = Math.max(error, Math.abs(h * total) / (DRIFT_ACCURACY * size));
    }
    const factor = 0.9 * error ** -0.2;
    if (error <= 1) {
      y = Float64Array.from(trial);
      stages[0].set(stages[6]);
      watch(y);
      if (done(y)) return y;
    }
    h *= Number.isFinite(factor) ? Math.min(5, Math.max(0.2, factor)) : error === 0 ? 5 : 0.2;
  }
  return null;
}

/** The predicted end of "wn" or "rpgd" with these steps, or null where a first order is no help;
 * `flowEnd` is where the flow ends, whose sign it has, where that is known. */
export function finiteStepLimit(problem, start, method, steps, flowEnd = null) {
  const { eta, ratio, momentum, nesterov } = steps;
  const { rank, gstar, steepest } = problem;
  const rho = momentumFactor(momentum, nesterov);
  const step = eta / (1 - momentum);
  const c = ratio / gstar ** 2;
  const h = step * gstar ** 2 * steepest;
  const g0 = start.scale / gstar;
  if (!(rho * h * Math.max(g0 * g0, c) <= VALID_STEP)) return null;
  if (steepest > STIFF * Math.min(...problem.curvatures)) return null;
  const { at, slope } = driftField(problem, start, method, h, c, rho);
  const first = new Float64Array(rank + 4);
  first[0] = g0;
  first.set(start.seen, 1);
  let widest = g0 * g0;
  const atZero = Float64Array.from(first, (v, i) => (i === 0 ? 0 : v));
  const reference = Math.max(at(first).size, at(atZero).size);
  const end = integrateExplicitly(slope, first, (y) => at(y).size <= DRIFT_TAIL * reference,
    (y) => (widest = Math.max(widest, (y[0] * y[0]) / Math.exp(y[rank + 1]))));
  const equivalent = rho * h * Math.max(widest, c);
  if (end === null || !(equivalent <= VALID_STEP)) return null;
  const grown = Math.exp(end[rank + 1]);
  const shift = start.scale * (start.scale / ratio) * (1 - 1 / grown);
  const logQ2 = 2 * (Math.log(Math.abs(start.unseen)) + end[rank + 2]) - Math.log(grown) + shift;
  const perp = limitPerp(start.scale, gstar, logQ2, ratio * grown);
  const { sign, by } = flowEnd
    ? { sign: Math.sign(flowEnd.scale), by: flowEnd.decidedBy } : limitSign(problem, start, ratio);
  const followed = followedSign(problem, start, method, steps, equivalent, sign);
  const unseen = (followed ?? sign) * (start.unseen < 0 ? -1 : 1) * perp;
  const known = !["stuck", "undecided"].includes(by) && followed === sign;
  const applies = known || perp === 0; // x* is x* whatever the sign
  return { unseen, distance: perp, norm: Math.hypot(gstar, perp), applies, equivalent };
}

/** The sign of the scale once steps are so far under the loss at x = 0 that it cannot change any
 * more: those of the run itself or, where they are too many, larger ones that end on the side of
 * the flow; else null. */
function followedSign(problem, start, method, steps, equivalent, flowSign) {
  const { eta, ratio, momentum, nesterov } = steps;
  const share = momentum > 0 ? 0.5 : 1 - 1e-9; // with momentum a loss may rise again
  const follow = (factor) => runMethod(method, problem, start, {
    eta: factor * eta, gamma: factor * ratio * eta, momentum, nesterov, noise: null, switchAt: 0,
    tolerance: share * problem.zeroLoss, maxSteps: MOST_FOLLOWED, kept: [],
  });
  const largest = Math.max(1, VALID_STEP / equivalent);
  const rough = follow(largest);
  if (rough.status !== "converged") return null;
  const whole = 1.5 * largest * rough.steps;
  const factor = whole <= MOST_FOLLOWED ? 1 : Math.max(1, whole / ENOUGH_FOLLOWED);
  const run = follow(factor);
  const found = run.status === "converged" ? Math.sign(run.scale) : null;
  return factor === 1 || found === flowSign ? found : null;
}
