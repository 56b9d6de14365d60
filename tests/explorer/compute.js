// The page's answer to a case of golden.py, from the functions of its modules.
function compute(page, given) {
  const problem = given.problem ? page.reducedProblem(given.problem) : null;
  const start = given.start && { ...given.start, seen: Float64Array.from(given.start.seen) };
  const list = (values) => Array.from(values);
  const run = (method, of, from, kept) => {
    const { options, noise, seed } = given;
    const drawn = page.labelNoise(of, noise, seed, options.maxSteps);
    return page.runMethod(method, of, from, { ...options, noise: drawn, kept });
  };
  if (given.what === "run") {
    const found = run(given.method, problem, start, Int32Array.from(given.picked));
    const { scale, loss } = found.trace;
    return { weights: list(found.weights), scale, loss };
  }
  if (given.what === "flow") {
    const found = page.integrateFlow(problem, start, given.ratio, { times: given.times });
    const side = start.unseen < 0 ? -1 : 1;
    const weights = found.states.flatMap((state) => [
      ...list(state.slice(1, -1)).map((v) => state[0] * v),
      state[0] * side * Math.exp(state[state.length - 1]),
    ]);
    return { weights, scale: found.states.map((state) => state[0]) };
  }
  if (given.what === "limit") {
    const q0 = Math.abs(start.unseen);
    const limit = page.flowLimit(problem, start, given.ratio);
    return {
      perp: [limit.distance],
      weights: list(limit.weights),
      gd: list(page.gradientLimit(problem, start).weights),
      printed: [page.printedLimit(problem, start, given.ratio).distance],
      critical: [page.criticalRatio(start.scale, problem.gstar, q0)],
      closer: [Number(page.flowIsCloser(start.scale, problem.gstar, q0, given.ratio))],
    };
  }
  if (given.what === "threshold") {
    const top = page.stableBelow(given.momentum, given.nesterov);
    const { norm, eta, gamma, length } = given;
    return {
      gd: [page.maxGradientStep(problem, top)],
      gamma: [page.maxScaleStep(problem, norm, eta, top, length)],
      eta: [page.maxDirectionStep(problem, norm, gamma, top, length)],
      stable: [Number(page.isStable(problem, norm, eta, gamma, top, length))],
      bracket: page.normBracket(problem, eta, gamma, top) ?? [],
      noise: [page.noiseNorm(problem, given.ratio)],
    };
  }
  if (given.what === "finite") {
    const answer = {};
    for (const method of ["wn", "rpgd"]) {
      const known = given.expected[method].values.length > 0;
      const end = page.finiteStepLimit(problem, start, method, given);
      answer[method] = known && end ? [end.distance] : [];
    }
    return answer;
  }
  if (given.what === "phase") {
    const { scales, ratios, q0 } = given;
    const { gstar } = problem;
    const logQ2 = 2 * Math.log(q0);
    return {
      distance: scales.flatMap((g) => ratios.map((c) => page.limitPerp(g, gstar, logQ2, c))),
      critical: scales.slice(1).map(
        (g) => page.criticalRatio(g, gstar, q0) / Math.max(gstar, g) ** 2),
    };
  }
  const made = page.madeProblem(given.made);
  const begin = page.startAt(made, given.scale ?? 1.3, made.start.angle, made.start.tilt);
  if (given.what === "made-noise") {
    const found = run("rpgd", made, begin);
    return { norm: [found.norm, found.loss, found.scale] };
  }
  const dot = (weights) => begin.seen.reduce((sum, v, i) => sum + v * weights(i), 0);
  return {
    curvatures: list(made.curvatures),
    target: list(made.target).map(Math.abs),
    unseen: [begin.unseen],
    along: [dot((i) => made.target[i])],
    pull: [dot((i) => made.curvatures[i] * made.target[i])],
    descent: [page.gradientLimit(made, begin).norm],
  };
}
