// What is kept of a run or a flow for the views.

const ALL_UP_TO = 400; // steps that are all kept for the picture …
const ANCHORS = 360; // … and how many pairs of steps after them

/** The steps kept for pictures: all of the first, then pairs of neighbours, so that an
 * alternation stays visible, at distances that grow with the step number. */
export function recordedSteps(maxSteps) {
  const kept = [];
  for (let t = 0; t <= Math.min(maxSteps, ALL_UP_TO); t++) kept.push(t);
  if (maxSteps > ALL_UP_TO) {
    const growth = (maxSteps / ALL_UP_TO) ** (1 / ANCHORS);
    let last = ALL_UP_TO;
    for (let i = 1; i <= ANCHORS; i++) {
      const t = Math.round(ALL_UP_TO * growth ** i);
      if (t > last) kept.push(t);
      if (t + 1 > last && t + 1 <= maxSteps) kept.push(t + 1);
      last = Math.max(last, t + 1);
    }
    kept.push(maxSteps - 2, maxSteps - 1, maxSteps); // what a cycle is seen by
  }
  return Int32Array.from(new Set(kept)).sort();
}

/** What a run or a flow passed on its way: one entry per kept step or time. */
export class Trace {
  constructor(problem, ratio) {
    this.problem = problem;
    this.ratio = ratio;
    this.step = [];
    this.loss = [];
    this.scale = [];
    this.perp = []; // ‖w⊥‖/‖w‖
    this.invariant = []; // log(‖w⊥‖/‖w‖) + g²/2c
    this.along = []; // x along x*, …
    this.across = []; // … along the page's second seen axis, …
    this.unseen = []; // … and along what the data cannot see
    this.recent = []; // the last three iterates in full
  }

  /** Keep one iterate: x = factor·vector in the row space, log ‖w⊥‖/‖w‖, and x's unseen part. */
  add(step, loss, g, vector, factor, logPerp, unseen) {
    const { rank, axis, across } = this.problem;
    let a = 0;
    let b = 0;
    for (let i = 0; i < rank; i++) {
      a += axis[i] * vector[i];
      b += across[i] * vector[i];
    }
    this.step.push(step);
    this.loss.push(loss);
    this.scale.push(g);
    this.perp.push(Math.exp(logPerp));
    this.invariant.push(this.ratio > 0 ? logPerp + (g * g) / (2 * this.ratio) : NaN);
    this.along.push(factor * a);
    this.across.push(factor * b);
    this.unseen.push(unseen);
    const weights = new Float64Array(rank + 1);
    for (let i = 0; i < rank; i++) weights[i] = factor * vector[i];
    weights[rank] = unseen;
    this.recent.push(weights);
    if (this.recent.length > 3) this.recent.shift();
  }
}
