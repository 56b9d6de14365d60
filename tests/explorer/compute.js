// The page's answer to a case of golden.py or corners.py, from the functions of its modules.
function compute(page, given) {
  const problem = given.problem ? page.reducedProblem(given.problem) : null;
  const start = given.start && { ...given.start, seen: Float64Array.from(given.start.seen) };
  return ANSWERS[given.what](page, given, problem, start);
}

const list = (values) => Array.from(values);
const last = (values) => values[values.length - 1];
const finite = (values) => list(values).map((v) => (v === Infinity ? -1 : v)); // JSON has none

function runOf(page, { options, noise, seed }, method, problem, start, kept) {
  const drawn = page.labelNoise(problem, noise, seed, options.maxSteps);
  return page.runMethod(method, problem, start, { ...options, noise: drawn, kept });
}

/** The weights at a state (g, z, log p) of the flow. */
function weightsOf(state, start) {
  const side = start.unseen < 0 ? -1 : 1;
  return [...list(state.slice(1, -1)), side * Math.exp(last(state))].map((v) => state[0] * v);
}

function answerRun(page, given, problem, start) {
  const kept = Int32Array.from(given.picked);
  const found = runOf(page, given, given.method, problem, start, kept);
  const { step, loss, scale, perp, invariant, along, across, unseen } = found.trace;
  return {
    step, loss, scale, perp, invariant, along, across, unseen,
    weights: list(found.weights),
    logs: [...perp, ...unseen].map((v) => Math.log(Math.abs(v))),
    status: [Number(found.status === given.status)],
    steps: [found.steps],
  };
}

function answerKept(page, { maxSteps }) {
  const kept = list(page.recordedSteps(maxSteps));
  const has = new Set(kept);
  const early = Array.from({ length: Math.min(maxSteps, 400) + 1 }, (_, t) => t);
  return {
    ends: [kept[0], last(kept)],
    holds: [
      kept.every((t, i) => Number.isInteger(t) && (i === 0 || t > kept[i - 1])),
      early.every((t) => has.has(t)),
      maxSteps < 2 || (has.has(maxSteps - 1) && has.has(maxSteps - 2)),
      maxSteps === 0 || kept.every((t) => has.has(t - 1) || has.has(t + 1)),
      kept.length <= 1200,
    ].map(Number),
  };
}

function answerFlow(page, given, problem, start) {
  const { states } = page.integrateFlow(problem, start, given.ratio, { times: given.times });
  return {
    weights: states.flatMap((state) => weightsOf(state, start)),
    scale: states.map((state) => state[0]),
  };
}

function answerFlowEnd(page, given, problem, start) {
  const options = { end: given.end ?? Infinity, tolerance: given.tolerance };
  const found = page.integrateFlow(problem, start, given.ratio, options);
  return {
    status: [Number(found.status === given.status)],
    weights: weightsOf(last(found.states), start),
  };
}

function answerPhased(page, given, problem, start) {
  const phased = (options) => page.phasedFlow(problem, start, given.ratio, given.frozen, options);
  const flows = given.times.map((end) => phased({ end }).flow);
  const { limit } = phased({});
  return {
    times: flows.map(({ time }) => last(time)),
    weights: flows.flatMap(({ states }) => weightsOf(last(states), start)),
    limit: list(limit.weights),
    scale: [limit.scale],
  };
}

function answerLimit(page, given, problem, start) {
  const q0 = Math.abs(start.unseen);
  const limit = page.flowLimit(problem, start, given.ratio);
  return {
    perp: [limit.distance],
    weights: list(limit.weights),
    scale: [limit.scale],
    applies: [Number(limit.applies)],
    gd: list(page.gradientLimit(problem, start).weights),
    printed: [page.printedLimit(problem, start, given.ratio).distance],
    critical: [page.criticalRatio(start.scale, problem.gstar, q0)],
    closer: [Number(page.flowIsCloser(start.scale, problem.gstar, q0, given.ratio))],
  };
}

function answerThreshold(page, given, problem) {
  const top = page.stableBelow(given.momentum, given.nesterov);
  const { norm, eta, gamma, length } = given; // without a length, the functions' own
  return {
    gd: [page.maxGradientStep(problem, top)],
    gamma: [page.maxScaleStep(problem, norm, eta, top, length)],
    eta: finite([page.maxDirectionStep(problem, norm, gamma, top, length)]),
    stable: [Number(page.isStable(problem, norm, eta, gamma, top, length))],
    bracket: finite(page.normBracket(problem, eta, gamma, top) ?? []),
    noise: [page.noiseNorm(problem, given.ratio)],
  };
}

function answerFinite(page, given, problem, start) {
  const answer = {};
  for (const method of ["wn", "rpgd"]) {
    const known = given.expected[method].values.length > 0;
    const end = page.finiteStepLimit(problem, start, method, given);
    answer[method] = known && end ? [end.distance] : [];
  }
  return answer;
}

function answerFirstOrder(page, given, problem, start) {
  const answer = {};
  for (const method of ["wn", "rpgd"]) {
    const end = page.finiteStepLimit(problem, start, method, given);
    answer[method] = end ? [end.unseen, end.distance, end.norm, end.equivalent] : [];
  }
  return answer;
}

function answerPhase(page, { scales, ratios, q0 }, { gstar }) {
  const logQ2 = 2 * Math.log(q0);
  return {
    distance: scales.flatMap((g) => ratios.map((c) => page.limitPerp(g, gstar, logQ2, c))),
    critical: scales.slice(1).map(
      (g) => page.criticalRatio(g, gstar, q0) / Math.max(gstar, g) ** 2),
  };
}

/** A function of numbers alone. */
function answerFormula(page, { name, given }) {
  return { value: finite([Number(page[name](...given))]) };
}

function answerLoss(page, given, problem, start) {
  return { value: [page.excessLoss(problem, start.seen, start.scale)] };
}

/** The noise of the first and the last step, asked for one after the other. */
function answerNoise(page, { asked }, problem) {
  const { rank } = problem;
  return {
    values: asked.flatMap(([level, seed, steps]) => {
      const drawn = page.labelNoise(problem, level, seed, steps);
      return [...drawn.slice(0, rank), ...drawn.slice(steps * rank, (steps + 1) * rank)];
    }),
  };
}

function answerStart(page, { angle, tilt }, problem) {
  const { seen, unseen } = page.startAt(problem, 1, angle, tilt);
  const zeros = [unseen === 0, seen.every((v) => v === 0)];
  return { direction: [...seen, unseen], zeros: zeros.map(Number) };
}

function answerPlane(page) {
  const { rank, curvatures, target, samples, features, ...rest } = page.planeProblem();
  const { gstar, zeroLoss, steepest, start } = rest;
  return {
    problem: [samples, features, rank, ...curvatures, ...target, gstar, zeroLoss, steepest],
    start: [start.angle, start.tilt],
  };
}

function answerMade(page, given) {
  const made = page.madeProblem(given.made);
  const begin = page.startAt(made, 1.3, made.start.angle, made.start.tilt);
  const dot = (weights) => begin.seen.reduce((sum, v, i) => sum + v * weights(i), 0);
  return {
    curvatures: list(made.curvatures),
    target: list(made.target).map(Math.abs),
    unseen: [begin.unseen],
    along: [dot((i) => made.target[i])],
    pull: [dot((i) => made.curvatures[i] * made.target[i])],
    descent: [page.gradientLimit(made, begin).norm],
    angles: [made.start.angle, made.start.tilt],
    across: [made.across.reduce((sum, v, i) => sum + v * made.target[i], 0),
      Math.hypot(...made.across)],
    free: [Number(made.free)],
  };
}

function answerMadeNoise(page, given) {
  const made = page.madeProblem(given.made);
  const begin = page.startAt(made, given.scale, made.start.angle, made.start.tilt);
  const found = runOf(page, given, "rpgd", made, begin);
  return { norm: [found.norm, found.loss, found.scale] };
}

function answerSeed(page, { seed }) {
  const refuses = (ask) => {
    try {
      ask();
      return 0;
    } catch (error) {
      return Number(error instanceof RangeError);
    }
  };
  const asks = [() => new page.Generator([seed]), () => page.purpose("x", seed)];
  return { refused: asks.map(refuses) };
}

const ANSWERS = {
  "run": answerRun,
  "kept": answerKept,
  "flow": answerFlow,
  "flow-end": answerFlowEnd,
  "phased": answerPhased,
  "limit": answerLimit,
  "threshold": answerThreshold,
  "finite": answerFinite,
  "first-order": answerFirstOrder,
  "phase": answerPhase,
  "formula": answerFormula,
  "loss": answerLoss,
  "noise": answerNoise,
  "start": answerStart,
  "plane": answerPlane,
  "made": answerMade,
  "made-noise": answerMadeNoise,
  "seed": answerSeed,
};
