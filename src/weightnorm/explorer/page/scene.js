// Everything the views show, computed from a state and its problem.

import { finiteStepLimit } from "./drift.js";
import { recordedSteps, runMethod, Trace } from "./methods.js";
import { labelNoise, startAt } from "./problems.js";
import { gradientLimit, phasedFlow, printedLimit } from "./predict.js";
import { isStable, maxDirectionStep, maxGradientStep, maxScaleStep } from "./stability.js";
import { noiseNorm, normBracket, stableBelow } from "./stability.js";
import { NOISE_SEED } from "./state.js";

const TOLERANCE = 1e-20; // of the loss at zero weights: there a run has converged
const FLOW_TOLERANCE = 1e-18;
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
    runs[method].cycles = seesCycle(runs[method], problem);
  }
  const perStep = state.eta / (1 - state.beta);
  const { flow, limit } = phasedFlow(problem, start, ratio, state.freeze * perStep, {
    tolerance: FLOW_TOLERANCE * problem.zeroLoss, accuracy: dragging ? "coarse" : "fine",
  });
  const side = start.unseen < 0 ? -1 : 1;
  runs.flow = flowAsRun(problem, flow, ratio, perStep, side);
  const gd = gradientLimit(problem, start);
  return {
    state, problem, start, ratio, runs,
    limits: { gd, ...steppedLimits(state, problem, start, ratio, limit), flow: limit },
    printed: state.freeze === 0 ? printedLimit(problem, start, ratio) : null,
    noiseNorm: state.noise > 0 ? noiseNorm(problem, ratio) : null,
    edges: edgesOf(state, problem, limit?.norm ?? problem.gstar),
  };
}

/** Where WN and rPGD end with steps of this size, or the flow's end where that is not known. */
function steppedLimits(state, problem, start, ratio, limit) {
  const steps = {
    eta: state.eta, ratio, momentum: state.beta, nesterov: state.nesterov === 1,
  };
  const known = state.freeze === 0 && start.scale !== 0;
  const of = (method) => (known && finiteStepLimit(problem, start, method, steps, limit)) || limit;
  return { wn: of("wn"), rpgd: of("rpgd") };
}

/** The largest stable steps at the predicted end, and the norms at which rPGD can settle. */
export function edgesOf(state, problem, norm) {
  const top = stableBelow(state.beta, state.nesterov === 1);
  return {
    eta: maxDirectionStep(problem, norm, state.gamma, top),
    gamma: maxScaleStep(problem, norm, state.eta, top),
    gd: maxGradientStep(problem, top),
    stable: isStable(problem, norm, state.eta, state.gamma, top),
    bracket: normBracket(problem, state.eta, state.gamma, top),
  };
}

/** Whether a run that did not end goes back and forth between two points. */
function seesCycle(run, problem) {
  const { along, unseen, step } = run.trace;
  const last = step.length - 1;
  if (run.status !== "max_steps" || last < 2 || step[last - 2] !== step[last] - 2) return false;
  const apart = (i, j) => Math.hypot(along[i] - along[j], unseen[i] - unseen[j]);
  const move = apart(last, last - 1);
  return move > 1e-6 * problem.gstar && apart(last, last - 2) < 1e-3 * move;
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
  const end = flow.states[last];
  const weights = Float64Array.from(end.slice(1, -1), (v) => end[0] * v);
  return {
    status: flow.status, steps: trace.step[last], loss: trace.loss[last], scale: end[0], trace,
    norm: Math.hypot(...weights, trace.unseen[last]), cycles: false,
  };
}

/** ‖x − x*‖ at the end of a run. */
export function distanceOf(run, problem) {
  if (!run.weights) return Math.abs(run.trace.unseen[run.trace.unseen.length - 1]);
  let total = run.weights[problem.rank] ** 2;
  for (let i = 0; i < problem.rank; i++) total += (run.weights[i] - problem.target[i]) ** 2;
  return Math.sqrt(total);
}

/** What became of a run, in words. */
export function outcomeOf(run, state) {
  const steps = Math.round(run.steps).toLocaleString("en");
  if (!run.weights && run.status === "converged") return "arrived"; // the flow: no steps
  if (run.status === "diverged") return `diverged, step ${steps}`;
  if (run.status === "converged") return `arrived, step ${steps}`;
  if (run.status === "stationary") return "rests in S";
  if (run.cycles) return "cycles";
  if (state.noise > 0 && run.weights) return `noisy, step ${steps}`;
  return `still moving, ${steps}`;
}
