// The problems of the page, in rank + 1 coordinates: the paper's example, made ones, the user's.

import { Generator } from "./random.js";
import { enter, makeRegression, randomDirection } from "./regression.js";

const RADIANS = Math.PI / 180;
const NOISE_AHEAD = 2 ** 16; // as in weightnorm.methods.draws: numbers drawn at once
export const LARGEST_MADE = { samples: 20, features: 400 };

/** A problem with everything the page asks of it, from λ, ξ and the second seen axis. */
export function reducedProblem({ curvatures, target, across, free, ...rest }) {
  const lam = Float64Array.from(curvatures);
  const xi = Float64Array.from(target);
  const gstar = Math.hypot(...xi);
  let energy = 0;
  for (let i = 0; i < lam.length; i++) energy += lam[i] * xi[i] * xi[i];
  return {
    ...rest,
    rank: lam.length,
    curvatures: lam,
    target: xi,
    free,
    gstar,
    axis: xi.map((v) => v / gstar),
    across: Float64Array.from(across),
    zeroLoss: 0.5 * energy, // less the part of y out of reach
    steepest: Math.max(...lam),
  };
}

/** The paper's example: A = [1, 0] and y = 1. */
export function planeProblem() {
  return reducedProblem({
    kind: "plane", name: "one equation, two unknowns", samples: 1, features: 2,
    curvatures: [1], target: [1], across: [0], free: true, left: null,
    start: { angle: 65, tilt: 0 },
  });
}

/** The problem of weightnorm.datasets.make_regression, and the start of random_direction. */
export function madeProblem({ samples, features, condition, norm, seed }) {
  const made = makeRegression({ samples, features, condition, norm, seed });
  const { rank, singular, target } = made;
  const { seen, unseen } = enter(made, randomDirection(features, seed));
  const size = Math.hypot(...target);
  const axis = target.map((v) => v / size);
  const { rest, along } = restOf(seen, axis);
  const length = Math.hypot(...rest);
  return reducedProblem({
    kind: "made", name: `${samples} equations, ${features} unknowns`, samples, features,
    condition, norm, seed,
    curvatures: singular.map((v) => v * v), target, left: made.left,
    across: rest.map((v) => (length > 1e-12 ? v / length : 0)),
    free: features > rank,
    start: {
      angle: Math.atan2(unseen, Math.hypot(along, length)) / RADIANS,
      tilt: Math.atan2(length > 1e-12 ? length : 0, along) / RADIANS,
    },
  });
}

/** The part of z off a unit vector, and how much is along it. */
function restOf(z, axis) {
  let rest = Float64Array.from(z);
  let along = 0;
  for (let round = 0; round < 2; round++) {
    let dot = 0;
    for (let i = 0; i < axis.length; i++) dot += rest[i] * axis[i];
    rest = rest.map((v, i) => v - dot * axis[i]);
    along += dot;
  }
  return { rest, along };
}

/** The problem that Python has put into the page. */
export function dataProblem(description) {
  return reducedProblem({ ...description, left: null });
}

/** A start of the page: w0 = cos(angle)(cos(tilt) w* + sin(tilt) across) + sin(angle) away. */
export function startAt(problem, scale, angle, tilt) {
  const [seen, unseen] = cosSin(angle);
  const [along, across] = cosSin(tilt);
  return {
    scale,
    seen: problem.axis.map((v, i) => seen * (along * v + across * problem.across[i])),
    unseen,
  };
}

/** Cosine and sine of an angle in degrees, exact at multiples of 90. */
export function cosSin(degrees) {
  const turns = ((degrees % 360) + 360) % 360;
  const exact = { 0: [1, 0], 90: [0, 1], 180: [-1, 0], 270: [0, -1] }[turns];
  return exact ?? [Math.cos(turns * RADIANS), Math.sin(turns * RADIANS)];
}

const noiseCache = new WeakMap();

/** S Uᵀε for every step, ε the label noise that weightnorm draws from this seed: rank per step. */
export function labelNoise(problem, level, seed, steps) {
  if (!(level > 0)) return null;
  const known = noiseCache.get(problem);
  if (known && known.seed === seed && known.level === level && known.steps >= steps) {
    return known.values;
  }
  const { rank, curvatures, left } = problem;
  const count = left ? problem.samples : rank; // without U: a sample per coordinate
  const length = Math.max(1, Math.min(256, Math.floor(NOISE_AHEAD / count)));
  const chunks = Math.ceil((steps + 1) / length);
  const values = new Float64Array(chunks * length * rank);
  for (let chunk = 0; chunk < chunks; chunk++) {
    const drawn = new Generator([seed, chunk, 1]).normals(length * count);
    for (let t = 0; t < length; t++) {
      const place = (chunk * length + t) * rank;
      for (let i = 0; i < rank; i++) {
        let total = 0;
        if (left) {
          for (let j = 0; j < count; j++) total += left[j * rank + i] * drawn[t * count + j];
        } else total = drawn[t * count + i];
        values[place + i] = level * Math.sqrt(curvatures[i]) * total;
      }
    }
  }
  noiseCache.set(problem, { seed, level, steps: chunks * length - 1, values });
  return values;
}
