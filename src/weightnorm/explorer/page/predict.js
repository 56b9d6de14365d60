// Predicted ends, made before any run: twins of weightnorm.theory.flow_limit and its kin.

import { limitPerp, printedPerp } from "./limits.js";
import { integrateFlow } from "./flow.js";

const SIGN_ROUNDING = 1e-14;
const CLEARLY = 1 - 1e-9; // a loss under this share of that at x = 0 can never return to it

/** The sign of g∞, and what decides it: "pull", "start", "bracket", "integration"; "stuck" for a
 * start that flows into S, "undecided" where the integration gave up. */
export function limitSign(problem, start, ratio) {
  const { curvatures: lam, target: xi, rank, zeroLoss } = problem;
  let pull = 0;
  let steep = 0;
  let inside = 0;
  let curved = 0;
  for (let i = 0; i < rank; i++) {
    pull += start.seen[i] * lam[i] * xi[i];
    steep += (lam[i] * xi[i]) ** 2;
    inside += start.seen[i] ** 2;
    curved += lam[i] * start.seen[i] ** 2;
  }
  const g0 = start.scale;
  if (g0 === 0) {
    if (Math.abs(pull) <= SIGN_ROUNDING * Math.sqrt(steep)) return { sign: 1, by: "stuck" };
    return { sign: Math.sign(pull), by: "pull" };
  }
  const own = Math.sign(g0);
  const q0 = Math.abs(start.unseen);
  // where next to nothing is seen, q0 is 1 to rounding
  const logQ2 = inside < 0.5 ? Math.log1p(-inside) : 2 * Math.log(q0);
  const logF0 = q0 > 0 ? logQ2 + g0 * (g0 / ratio) : -Infinity;
  const aligned = g0 * pull > 0;
  if (rank === 1 && q0 > 0 && !aligned) {
    const terms = Math.abs(logQ2) + g0 * (g0 / ratio);
    if (Math.abs(logF0) <= SIGN_ROUNDING * terms) return { sign: own, by: "stuck" };
  }
  const orthogonal = lam.every((v) => Math.abs(v - 1) <= 1e-12);
  const lower = g0 * (0.5 * g0 * curved - pull) < 0; // than the loss at x = 0
  if (logF0 > 0 || lower || (orthogonal && aligned)) {
    return { sign: own, by: "start" };
  }
  if (rank === 1 || isUnderBracket(problem, start, ratio)) {
    return { sign: Math.sign(pull), by: "bracket" };
  }
  const scaled = (zeroLoss * 2) / (problem.gstar ** 2 * problem.steepest);
  const found = integrateFlow(problem, start, ratio, {
    until: (loss) => loss < CLEARLY * scaled, accuracy: "fine",
  });
  const last = found.states[found.states.length - 1][0];
  const by = { until: "integration", stationary: "stuck" }[found.status] ?? "undecided";
  return { sign: Math.sign(last) || 1, by };
}

/** Whether y is an eigenvector of AAᵀ and log(1 − a²) + g²/c < 0, a = ⟨ŵ, w*⟩: that never
 * increases, so a keeps its sign and g ends with it. */
function isUnderBracket(problem, start, ratio) {
  const { curvatures: lam, target: xi, axis, rank } = problem;
  const largest = Math.max(...xi.map(Math.abs));
  const felt = lam.filter((_, i) => Math.abs(xi[i]) > SIGN_ROUNDING * largest);
  if (Math.max(...felt) - Math.min(...felt) > 1e-12 * Math.max(...felt)) return false;
  let cosine = 0;
  for (let i = 0; i < rank; i++) cosine += axis[i] * start.seen[i];
  const fall = start.scale * (start.scale / ratio);
  return Math.log1p(-Math.min(cosine * cosine, 1)) + fall < -SIGN_ROUNDING * fall;
}

/** An end at x* plus so much of the unseen axis, with its norm and distance from x*. */
function endAt(problem, perp, applies = true) {
  const weights = Float64Array.from([...problem.target, perp]);
  const norm = Math.hypot(problem.gstar, perp);
  return { weights, unseen: perp, norm, distance: Math.abs(perp), applies };
}

/** Where gradient descent ends: x* and all of its start that the data cannot see. */
export function gradientLimit(problem, start) {
  return endAt(problem, start.scale * start.unseen);
}

/** Where the WN flow ends, by a scalar root; `log` is log ‖w0⊥‖ where that would underflow. */
export function flowLimit(problem, start, ratio, log = null) {
  const q0 = Math.abs(start.unseen);
  const logQ2 = 2 * (log ?? Math.log(q0));
  const perp = limitPerp(start.scale, problem.gstar, logQ2, ratio);
  const { sign, by } = limitSign(problem, start, ratio);
  const side = start.unseen < 0 ? -1 : 1;
  const known = by === "undecided" ? perp === 0 : by !== "stuck"; // x* is x* whatever the sign
  const end = endAt(problem, sign * side * perp, known);
  return { ...end, scale: sign * end.norm, decidedBy: by };
}

/** The end by the paper's printed formula. */
export function printedLimit(problem, start, ratio) {
  const perp = printedPerp(start.scale, problem.gstar, Math.abs(start.unseen), ratio);
  return endAt(problem, Math.sign(start.unseen) * perp);
}

/** A state of the flow as a start of its own; `side` is the side of the unseen axis it is on. */
function startFrom(state, side) {
  const last = state.length - 1;
  return {
    scale: state[0],
    seen: state.slice(1, last),
    unseen: side * Math.exp(state[last]),
    logUnseen: state[last],
  };
}

/** The flow with the scale frozen up to a time and free after it, and where it ends. */
export function phasedFlow(problem, start, ratio, frozen, options) {
  const side = start.unseen < 0 ? -1 : 1;
  if (!(frozen > 0)) {
    const flow = integrateFlow(problem, start, ratio, options);
    return { flow, limit: flowLimit(problem, start, ratio) };
  }
  const first = integrateFlow(problem, start, 0, { ...options, end: frozen, tolerance: 0 });
  const middle = startFrom(first.states[first.states.length - 1], side);
  const rest = integrateFlow(problem, middle, ratio, {
    ...options, end: (options.end ?? Infinity) - frozen,
  });
  const flow = {
    status: rest.status,
    time: [...first.time, ...rest.time.slice(1).map((t) => frozen + t)],
    states: [...first.states, ...rest.states.slice(1)],
  };
  const limit = flowLimit(problem, middle, ratio, middle.logUnseen);
  return { flow, limit: first.status === "max_steps" ? { ...limit, applies: false } : limit };
}
