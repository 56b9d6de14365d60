// The largest stable steps at a solution, and the norms at which rPGD can settle: twins of
// weightnorm.theory.stability and norm_bracket. K = diag(d) + ρbbᵀ in the problem's coordinates.

const HALVINGS = 56; // of a bracket: to rounding
const BRACKET_ROUNDING = 1e-13;

/** What the eigenvalues of K must stay below: 2, or what momentum makes of it. */
export function stableBelow(momentum, nesterov) {
  const top = 2 * (1 + momentum);
  return nesterov ? top / (1 + 2 * momentum) : top;
}

/** b² = λξ², the squares of y in the problem's coordinates. */
function pullSquares(problem) {
  return problem.curvatures.map((lam, i) => lam * problem.target[i] ** 2);
}

/** Whether diag(factor·λ) + ρbbᵀ has all eigenvalues under `top`; O(rank), by Sylvester's law. */
function isBelow(lam, factor, rho, b2, top) {
  let above = 0;
  let lost = false;
  let touching = false;
  let poles = 0;
  for (let i = 0; i < lam.length; i++) {
    const d = factor * lam[i];
    if (d >= top) {
      above += 1;
      if (b2[i] === 0) lost = true;
    }
    if (d === top) touching = true;
    if (b2[i] > 0) poles += b2[i] / (top - d);
  }
  if (lost || above > 1 || (above === 1 && !(rho < 0))) return false;
  let slack = 1 - rho * poles;
  if (Number.isNaN(slack)) slack = 1;
  if (above === 0) return slack > 0;
  return touching ? rho < 0 : slack < 0;
}

function aboveLeast(norm, gstar) {
  return Math.max(norm, gstar) ** 2;
}

/** Whether WN or rPGD with these steps is stable at a solution of this norm (‖w‖ = length). */
export function isStable(problem, norm, eta, gamma, top, length = 1) {
  const square = aboveLeast(norm, problem.gstar);
  const pull = eta / length ** 2;
  const b2 = pullSquares(problem);
  return isBelow(problem.curvatures, pull * square, gamma / square - pull, b2, top);
}

/** γ_max at a solution whose squared norm is given; 0 where the direction's step is too large. */
function largestScaleStep(problem, square, eta, weight, top, b2) {
  const pull = eta / weight;
  if (!isBelow(problem.curvatures, pull * square, -pull, b2, top)) return 0;
  let poles = 0;
  for (let i = 0; i < b2.length; i++) {
    if (b2[i] > 0) poles += b2[i] / (top - pull * square * problem.curvatures[i]);
  }
  return square * (1 / poles + pull);
}

/** The largest stable step of the scale, at the given step of the direction. */
export function maxScaleStep(problem, norm, eta, top, length = 1) {
  const square = aboveLeast(norm, problem.gstar);
  return largestScaleStep(problem, square, eta, length ** 2, top, pullSquares(problem));
}

/** The largest stable step of the direction, at the given step of the scale. */
export function maxDirectionStep(problem, norm, gamma, top, length = 1) {
  const square = aboveLeast(norm, problem.gstar);
  const steepest = Math.max(...problem.curvatures);
  const b2 = pullSquares(problem);
  let entries = 0;
  for (let i = 0; i < b2.length; i++) {
    const room = problem.curvatures[i] * (square - problem.target[i] ** 2);
    entries = Math.max(entries, room);
  }
  const fits = (eta) => {
    const pull = eta / length ** 2;
    return isBelow(problem.curvatures, pull * square, gamma / square - pull, b2, top);
  };
  if (!fits(0)) return 0;
  if (!(entries > 1e-14 * square * steepest)) return Infinity; // one sample, and x = x*
  let low = 0;
  let high = (top * length ** 2) / entries;
  for (let i = 0; i < HALVINGS; i++) {
    const middle = 0.5 * (low + high);
    if (fits(middle)) low = middle;
    else high = middle;
  }
  return high;
}

/** The largest stable step of gradient descent. */
export function maxGradientStep(problem, top) {
  return top / Math.max(...problem.curvatures);
}

/** Whether γ_max = G(1/Σ + η) grows with G = ‖x‖². */
function allowanceRises(problem, square, eta, top, b2) {
  if (!isBelow(problem.curvatures, eta * square, -eta, b2, top)) return false;
  let poles = 0;
  let slopes = 0;
  for (let i = 0; i < b2.length; i++) {
    if (!(b2[i] > 0)) continue;
    const steep = eta * problem.curvatures[i];
    const gap = top - steep * square;
    poles += b2[i] / gap;
    slopes += (b2[i] * steep) / gap ** 2;
  }
  return 1 / poles + eta - (square * slopes) / poles ** 2 > 0;
}

/** [low, high] of ‖x‖ at which rPGD with these steps can settle; null if there is none. */
export function normBracket(problem, eta, gamma, top) {
  const b2 = pullSquares(problem);
  const first = problem.gstar ** 2;
  let last = Infinity;
  for (let i = 0; i < b2.length; i++) {
    last = Math.min(last, top / (eta * problem.curvatures[i]) + problem.target[i] ** 2);
  }
  if (Number.isFinite(last)) last = Math.max(last, first);
  else last = Math.max(first, (gamma * b2.reduce((a, b) => a + b, 0)) / top);
  const allowed = (square) => largestScaleStep(problem, square, eta, 1, top, b2);
  let left = first;
  let right = last;
  for (let i = 0; problem.free && i < HALVINGS; i++) {
    const middle = 0.5 * (left + right);
    if (allowanceRises(problem, middle, eta, top, b2)) left = middle;
    else right = middle;
  }
  const best = allowed(first) > allowed(left) ? first : left;
  const enough = gamma * (1 - BRACKET_ROUNDING);
  const possible = isBelow(problem.curvatures, eta * first, -eta, b2, top);
  if (!possible || !(allowed(best) >= enough)) return null;
  if (!problem.free) return [problem.gstar, problem.gstar];
  const edge = (outside) => {
    if (allowed(outside) >= enough) return outside;
    let good = best;
    let bad = outside;
    for (let i = 0; i < HALVINGS; i++) {
      const middle = 0.5 * (good + bad);
      if (allowed(middle) >= enough) good = middle;
      else bad = middle;
    }
    return good;
  };
  const high = eta > 0 ? edge(last) : Infinity;
  return [Math.sqrt(edge(first)), Math.sqrt(high)];
}

/** ‖x‖ around which rPGD settles under fresh label noise, to second order in its step. */
export function noiseNorm(problem, ratio) {
  const trace = problem.curvatures.reduce((a, b) => a + b, 0);
  const square = pullSquares(problem).reduce((a, b) => a + b, 0);
  const lowest = problem.gstar ** 2;
  const reaches = trace * lowest >= (2 + ratio / lowest) * square;
  if (reaches || !problem.free) return problem.gstar;
  return Math.sqrt((square / trace) * (1 + Math.sqrt(1 + (ratio * trace) / square)));
}
