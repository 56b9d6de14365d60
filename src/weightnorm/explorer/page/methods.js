// Gradient descent, WN and rPGD, step by step: twins of weightnorm.run in rank + 1 coordinates.
//
// A problem is { rank, curvatures λ, target ξ, gstar, zeroLoss, free }; a start is
// { scale g0, seen z0 (rank numbers), unseen p0 } with z0·z0 + p0² = 1. The loss is
// ½ Σ λ (x − ξ)²; the last coordinate is what the data cannot see.

import { recordedSteps, Trace } from "./trace.js";

const GROWTH = 1e30; // a loss this many times its start will not come back
const SHRINK = 2 ** -500; // what a tiny unseen part is multiplied with: it would soon underflow

/** Run one method: { status, steps, loss, scale, weights (rank + 1 numbers), norm, trace }.
 *
 * `options`: step (of gradient descent), eta, gamma, switchAt (the scale is frozen before that
 * step), momentum, nesterov, noise (rank numbers per step, or null), tolerance, maxSteps, kept. */
export function runMethod(method, problem, start, options) {
  const runner = { gd: stepGradient, wn: stepWeightNorm, rpgd: stepProjected }[method];
  const { eta, gamma } = options;
  const trace = new Trace(problem, eta > 0 ? gamma / eta : NaN);
  const startLoss = excessLoss(problem, start.seen, start.scale);
  const limit = Math.min(GROWTH * Math.max(startLoss, problem.zeroLoss, 2 ** -1022), 1e300);
  const kept = options.kept ?? recordedSteps(options.maxSteps);
  return runner(problem, start, options, { trace, limit, kept });
}

/** ½ Σ λ (factor·z − ξ)². */
export function excessLoss(problem, z, factor) {
  let total = 0;
  for (let i = 0; i < problem.rank; i++) {
    const error = factor * z[i] - problem.target[i];
    total += problem.curvatures[i] * error * error;
  }
  return 0.5 * total;
}

function endedRun(status, steps, loss, scale, trace) {
  const weights = trace.recent[trace.recent.length - 1];
  return { status, steps, loss, scale, weights, norm: Math.hypot(...weights), trace };
}

/** The status at an iterate, or null if the run goes on. */
function statusAt(loss, t, options, limit) {
  if (!(loss <= limit)) return "diverged";
  if (loss <= options.tolerance && options.tolerance > 0) return "converged";
  return t >= options.maxSteps ? "max_steps" : null;
}

function stepGradient(problem, start, options, { trace, limit, kept }) {
  const { rank, curvatures: lam, target: xi } = problem;
  const { step, momentum: beta, nesterov, noise } = options;
  const x = Float64Array.from(start.seen, (v) => start.scale * v);
  const buffer = new Float64Array(rank);
  const unseen = start.scale * start.unseen;
  for (let t = 0, next = 0; ; t++) {
    let loss = 0;
    for (let i = 0; i < rank; i++) {
      const error = x[i] - xi[i];
      loss += lam[i] * error * error;
    }
    loss *= 0.5;
    const status = statusAt(loss, t, options, limit);
    if (status !== null || t === kept[next]) {
      let norm = unseen * unseen;
      for (let i = 0; i < rank; i++) norm += x[i] * x[i];
      norm = Math.sqrt(norm);
      trace.add(t, loss, norm, x, 1, Math.log(Math.abs(unseen) / norm), unseen);
      next += 1;
      if (status !== null) {
        return endedRun(status, t, loss, norm, trace); // the norm stands for a scale
      }
    }
    for (let i = 0; i < rank; i++) {
      let e = lam[i] * (x[i] - xi[i]);
      if (noise) e -= noise[t * rank + i];
      if (beta > 0) {
        buffer[i] = beta * buffer[i] + e;
        e = nesterov ? e + beta * buffer[i] : buffer[i];
      }
      x[i] -= step * e;
    }
  }
}

function stepProjected(problem, start, options, { trace, limit, kept }) {
  const { rank, curvatures: lam, target: xi } = problem;
  const { eta, gamma, switchAt, momentum: beta, nesterov, noise } = options;
  const z = Float64Array.from(start.seen);
  const buffer = new Float64Array(rank);
  let g = start.scale;
  let p = start.unseen;
  let shrunk = 0; // how often p was multiplied by 2^500
  let push = 0; // the scale's buffer
  for (let t = 0, next = 0; ; t++) {
    let loss = 0;
    let s = 0;
    for (let i = 0; i < rank; i++) {
      const error = g * z[i] - xi[i];
      const e = lam[i] * error;
      loss += error * e;
      s += z[i] * e;
    }
    loss *= 0.5;
    const status = statusAt(loss, t, options, limit);
    if (status !== null || t === kept[next]) {
      const unseen = shrunk === 0 ? g * p : g * p * SHRINK ** shrunk;
      trace.add(t, loss, g, z, g, Math.log(Math.abs(p)) - shrunk * 500 * Math.LN2, unseen);
      next += 1;
      if (status !== null) return endedRun(status, t, loss, g, trace);
    }
    let square = shrunk === 0 ? p * p : 0;
    let noisy = 0;
    for (let i = 0; i < rank; i++) {
      let e = lam[i] * (g * z[i] - xi[i]);
      if (noise) {
        e -= noise[t * rank + i];
        noisy += z[i] * e;
      }
      let move = g * e;
      if (beta > 0) {
        buffer[i] = beta * buffer[i] + move;
        move = nesterov ? move + beta * buffer[i] : buffer[i];
      }
      const v = z[i] - eta * move;
      z[i] = v;
      square += v * v;
    }
    if (noise) s = noisy;
    const inverse = 1 / Math.sqrt(square);
    for (let i = 0; i < rank; i++) z[i] *= inverse;
    p *= inverse;
    [p, shrunk] = rescaled(p, shrunk);
    if (beta > 0) {
      push = beta * push + s;
      s = nesterov ? s + beta * push : push;
    }
    g -= (t < switchAt ? 0 : gamma) * s;
  }
}

function stepWeightNorm(problem, start, options, { trace, limit, kept }) {
  const { rank, curvatures: lam, target: xi } = problem;
  const { eta, gamma, switchAt, momentum: beta, nesterov, noise } = options;
  const w = Float64Array.from(start.seen);
  const buffer = new Float64Array(rank);
  let g = start.scale;
  let p = start.unseen;
  let shrunk = 0;
  let push = 0;
  let pushUnseen = 0;
  for (let t = 0, next = 0; ; t++) {
    let square = shrunk === 0 ? p * p : 0;
    for (let i = 0; i < rank; i++) square += w[i] * w[i];
    const inverse = 1 / Math.sqrt(square);
    const factor = g * inverse;
    let loss = 0;
    let s = 0;
    for (let i = 0; i < rank; i++) {
      const error = factor * w[i] - xi[i];
      const e = lam[i] * error;
      loss += error * e;
      s += w[i] * e;
    }
    loss *= 0.5;
    s *= inverse;
    const status = statusAt(loss, t, options, limit);
    if (status !== null || t === kept[next]) {
      const tiny = shrunk === 0 ? 1 : SHRINK ** shrunk;
      const logPerp = Math.log(Math.abs(p) * inverse) - shrunk * 500 * Math.LN2;
      trace.add(t, loss, g, w, factor, logPerp, factor * p * tiny);
      next += 1;
      if (status !== null) {
        return endedRun(status, t, loss, g, trace);
      }
    }
    if (noise) {
      s = 0;
      for (let i = 0; i < rank; i++) {
        s += w[i] * (lam[i] * (factor * w[i] - xi[i]) - noise[t * rank + i]);
      }
      s *= inverse;
    }
    const drag = factor * inverse * s;
    for (let i = 0; i < rank; i++) {
      let e = lam[i] * (factor * w[i] - xi[i]);
      if (noise) e -= noise[t * rank + i];
      let move = factor * e - drag * w[i];
      if (beta > 0) {
        buffer[i] = beta * buffer[i] + move;
        move = nesterov ? move + beta * buffer[i] : buffer[i];
      }
      w[i] -= eta * move;
    }
    if (beta > 0) {
      const move = -drag * p; // its buffer is in the units of p: with momentum p is kept as it is
      pushUnseen = beta * pushUnseen + move;
      p -= eta * (nesterov ? move + beta * pushUnseen : pushUnseen);
      push = beta * push + s;
      s = nesterov ? s + beta * push : push;
    } else {
      p *= 1 + eta * drag;
      [p, shrunk] = rescaled(p, shrunk);
    }
    g -= (t < switchAt ? 0 : gamma) * s;
  }
}

/** p·2^(−500·shrunk) with a p that neither under- nor overflows. */
function rescaled(p, shrunk) {
  const size = Math.abs(p);
  if (size < SHRINK && size > 0) return [p / SHRINK, shrunk + 1];
  if (shrunk > 0 && size >= 1) return [p * SHRINK, shrunk - 1];
  return [p, shrunk];
}
