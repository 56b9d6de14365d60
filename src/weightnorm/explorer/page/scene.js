// Everything the views show, computed from a state and its problem.

import { finiteStepLimit, momentumFactor, VALID_STEP } from "./drift.js";
import { runMethod } from "./methods.js";
import { labelNoise, startAt } from "./problems.js";
import { gradientLimit, phasedFlow, printedLimit } from "./predict.js";
import { isStable, maxDirectionStep, maxGradientStep, maxScaleStep } from "./stability.js";
import { noiseNorm, normBracket, stableBelow } from "./stability.js";
import { NOISE_SEED } from "./state.js";
import { recordedSteps, Trace } from "./trace.js";

const TOLERANCE = 1e-20; // of the loss at zero weights: there a run has converged
const FLOW_TOLERANCE = 1e-18;
const SHAKEN = 0.1; // of ‖x‖²: noise that moves the weights by more has no known equilibrium
const DRAG_WORK = 400000; // coordinates × steps of a method in one frame of dragging

/** The loss at which runs stop. */
export function toleranceOf(problem) {
  return TOLERANCE * problem.zeroLoss;
}

/** Run the three methods and the flow, and predict their ends. */
export function computeScene(state, problem, { dragging = false } = {}) {
  const start = startAt(problem, state.g, state.a, state.t);
  const ratio = state.gamma / state.eta;
  const most = dragging ? Math.max(500, Math.floor(DRAG_WORK / problem.rank)) : Infinity;
  const maxSteps = Math.min(state.steps, most);
  const options = {
    step: state.gd, eta: state.eta, gamma: state.gamma, switchAt: state.freeze,
    momentum: state.beta, nesterov: state.nesterov === 1,
    noise: labelNoise(problem, state.noise, NOISE_SEED, maxSteps),
    tolerance: toleranceOf(problem), maxSteps, kept: recordedSteps(maxSteps),
  };
  const runs = {};
  for (const method of ["gd", "wn", "rpgd"]) {
    runs[method] = runMethod(method, problem, start, options);
    runs[method].motion = motionOf(runs[method], problem);
    runs[method].scaled = method !== "gd";
  }
  const perStep = state.eta / (1 - state.beta);
  const { flow, limit } = phasedFlow(problem, start, ratio, state.freeze * perStep, {
    tolerance: FLOW_TOLERANCE * problem.zeroLoss, accuracy: dragging ? "coarse" : "fine",
  });
  const side = start.unseen < 0 ? -1 : 1;
  runs.flow = flowAsRun(problem, flow, ratio, perStep, side);
  const limits = { gd: gradientLimit(problem, start), flow: limit };
  const edges = edgesOf(state, problem, limit.norm);
  return {
    state, problem, start, ratio, runs, limits, edges,
    predicted: predictedEnds(state, problem, start, ratio, limits, edges),
    printed: state.freeze === 0 && limit.applies ? printedLimit(problem, start, ratio) : null,
  };
}

/** The ends that the theory stands for with these steps: null where it does not, and `why`. */
function predictedEnds(state, problem, start, ratio, limits, edges) {
  const { flow } = limits;
  const gd = state.gd < edges.gd && state.noise === 0 ? limits.gd : null;
  const none = (why) => ({ gd, wn: null, rpgd: null, flow: flow.applies ? flow : null, why });
  if (!flow.applies) return none(flow.decidedBy === "stuck" ? "stuck" : "undecided");
  if (!edges.stable) return none("unstable");
  const nesterov = state.nesterov === 1;
  const step = state.eta / (1 - state.beta);
  const widest = Math.max(state.g ** 2, flow.norm ** 2, ratio);
  const equivalent = momentumFactor(state.beta, nesterov) * step * problem.steepest * widest;
  if (!(equivalent <= VALID_STEP)) return none("large");
  if (state.noise > 0) return { ...none("noise"), rpgd: noisyEnd(state, problem, start, ratio) };
  if (state.freeze >= state.steps) return none("frozen");
  const steps = { eta: state.eta, ratio, momentum: state.beta, nesterov };
  const known = state.freeze === 0 && start.scale !== 0;
  const stepped = (method) => known && finiteStepLimit(problem, start, method, steps, flow);
  const found = { wn: stepped("wn"), rpgd: stepped("rpgd") };
  const of = (method) => (found[method] ? (found[method].applies && found[method]) || null : flow);
  const [wn, rpgd] = [of("wn"), of("rpgd")];
  if (!wn || !rpgd) return { gd, wn, rpgd, flow, why: "side" };
  return { gd, wn, rpgd, flow, why: wn === flow ? "small" : "first order" };
}

/** Where fresh noise on y takes rPGD in the long run; null where that is not known, or not moved:
 * the average is for plain steps and noise that moves the weights by little. */
function noisyEnd(state, problem, start, ratio) {
  const norm = noiseNorm(problem, ratio);
  const shaken = (state.eta * norm ** 2 + state.gamma) * state.noise ** 2 * problem.rank;
  const known = problem.free && start.unseen !== 0 && state.beta === 0 &&
    state.freeze < state.steps && shaken <= SHAKEN * norm ** 2;
  if (!known) return null;
  const distance = Math.sqrt(Math.max(0, norm ** 2 - problem.gstar ** 2));
  return { norm, distance, unseen: (start.unseen < 0 ? -1 : 1) * distance };
}

/** The largest stable steps at the predicted end, and the norms at which rPGD can settle. */
function edgesOf(state, problem, norm) {
  const top = stableBelow(state.beta, state.nesterov === 1);
  return {
    eta: maxDirectionStep(problem, norm, state.gamma, top),
    gamma: maxScaleStep(problem, norm, state.eta, top),
    gd: maxGradientStep(problem, top),
    stable: isStable(problem, norm, state.eta, state.gamma, top),
    bracket: normBracket(problem, state.eta, state.gamma, top),
  };
}

/** What a run that did not end does: it "cycles" between two points, or "moves", however slowly.
 * g is looked at as well: weights can stand still while g and w both turn round at every step. */
function motionOf(run, problem) {
  const { recent, step, scale, loss } = run.trace;
  const last = step.length - 1;
  if (run.status !== "max_steps" || last < 2 || step[last - 2] !== step[last] - 2) return "moves";
  const apart = (i, j) => Math.hypot(scale[last - i] - scale[last - j],
    ...recent[2 - i].map((v, k) => v - recent[2 - j][k]));
  const move = apart(0, 1);
  const stays = loss[last] >= (1 - 1e-6) * loss[last - 2]; // a run that still improves arrives
  return stays && move > 1e-6 * problem.gstar && apart(0, 2) < 1e-3 * move ? "cycles" : "moves";
}

/** The flow in the same form as a run: its time counted in steps. */
function flowAsRun(problem, flow, ratio, perStep, side) {
  const trace = new Trace(problem, ratio);
  for (const [i, state] of flow.states.entries()) {
    const g = state[0];
    const z = state.slice(1, -1);
    const logPerp = state[state.length - 1];
    let loss = 0;
    for (let j = 0; j < problem.rank; j++) {
      loss += 0.5 * problem.curvatures[j] * (g * z[j] - problem.target[j]) ** 2;
    }
    trace.add(flow.time[i] / perStep, loss, g, z, g, logPerp, g * side * Math.exp(logPerp));
  }
  const last = trace.step.length - 1;
  const weights = trace.recent[trace.recent.length - 1];
  return {
    status: flow.status, steps: trace.step[last], loss: trace.loss[last], motion: "flows",
    scale: flow.states[last][0], trace, weights, norm: Math.hypot(...weights),
  };
}

/** ‖x − x*‖ at the end of a run. */
export function distanceOf(run, problem) {
  let total = run.weights[problem.rank] ** 2;
  for (let i = 0; i < problem.rank; i++) total += (run.weights[i] - problem.target[i]) ** 2;
  return Math.sqrt(total);
}

/** What became of a run, in words. */
export function outcomeOf(run, { state, predicted }) {
  const steps = Math.round(run.steps).toLocaleString("en");
  if (run.motion === "flows") {
    const ended = { converged: "arrived", stationary: "rests in S" };
    return ended[run.status] ?? "not followed to its end";
  }
  if (run.status === "diverged") return `diverged, step ${steps}`;
  if (run.status === "converged") return `arrived, step ${steps}`;
  if (predicted.why === "stuck" && run.norm === 0) return "rests in S";
  if (run.motion === "cycles") return "cycles";
  if (state.freeze >= state.steps && run.scaled) return "scale frozen";
  return state.noise > 0 ? `noisy, step ${steps}` : `still moving, ${steps}`;
}
