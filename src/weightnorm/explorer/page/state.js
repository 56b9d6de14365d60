// The whole state of the page is a handful of numbers, and lives in the address.

import { dataProblem, LARGEST_MADE, madeProblem, planeProblem } from "./problems.js";

export const MOST_PAGE_STEPS = 20000;
const METHODS = ["gd", "wn", "rpgd", "flow"];

// What a number may be in an address: [smallest, largest]; what is outside is left out.
const LIMITS = {
  m: [1, LARGEST_MADE.samples], d: [1, LARGEST_MADE.features], k: [1, 100], n: [1e-6, 1e6],
  seed: [0, 2 ** 32 - 1], g: [-1e140, 1e140], a: [-90, 90], t: [-180, 180],
  eta: [1e-280, 1e280], gamma: [1e-280, 1e280], gd: [1e-280, 1e280],
  freeze: [0, MOST_PAGE_STEPS], beta: [0, 0.99], nesterov: [0, 1], noise: [0, 1e140],
  steps: [10, MOST_PAGE_STEPS], upto: [0, MOST_PAGE_STEPS], tour: [0, 6], embed: [0, 1],
};
const IDENTITY = ["m", "d", "k", "n", "seed"]; // of a made problem
const WHOLE = new Set(["m", "d", "seed", "freeze", "steps", "upto", "tour", "nesterov", "embed"]);
export const NOISE_SEED = 0;

/** What a number of the state may be, in words. */
export function allowedRange(key) {
  return `from ${LIMITS[key][0]} to ${LIMITS[key][1]}${WHOLE.has(key) ? ", whole" : ""}`;
}

/** Whether a number of the state may have this value. */
export function isAllowed(key, value) {
  const [low, high] = LIMITS[key];
  return value >= low && value <= high && (!WHOLE.has(key) || Number.isInteger(value));
}

/** A number rounded to so many significant digits, so that addresses and code stay short. */
export function significant(value, digits = 4) {
  return value === 0 || !Number.isFinite(value) ? value : Number(value.toPrecision(digits));
}

/** The problem that a state names; `given` is the description that Python put into the page. */
export function problemOf(state, given) {
  if (state.problem === "data" && given) return dataProblem(given);
  if (state.problem === "made") {
    const { m, d, k, n, seed } = state;
    return madeProblem({ samples: m, features: d, condition: k, norm: n, seed });
  }
  return planeProblem();
}

/** What identifies the problem of a state: as long as it is the same, so is the problem. */
export function problemKey({ problem, m, d, k, n, seed }) {
  return problem === "made" ? [problem, m, d, k, n, seed].join() : problem;
}

/** The state a problem begins with: its own start and steps that suit its units. */
export function initialState(kind, given, made = {}) {
  const base = {
    m: 20, d: 50, k: 1, n: 3, seed: 0, ...made, problem: kind,
    freeze: 0, beta: 0, nesterov: 0, noise: 0, steps: MOST_PAGE_STEPS, upto: MOST_PAGE_STEPS,
    tour: 0, embed: 0, shown: METHODS.join("."), theme: "auto",
  };
  const problem = problemOf(base, given);
  const { start, gstar, steepest } = problem;
  const eta = significant(0.18 / (steepest * gstar * gstar), 3);
  const ratio = problem.ratio ?? (gstar / 3) ** 2; // 1 in the paper's units
  return {
    ...base,
    g: start.scale ?? significant((2 / 3) * gstar),
    a: problem.free ? start.angle : 0,
    t: start.tilt,
    eta,
    gamma: problem.ratio ? ratio * eta : significant(ratio * eta, 3), // a given c is kept exactly
    gd: significant(0.18 / steepest, 3),
  };
}

/** The state as the part of an address after #: what differs from the problem's own. */
export function encodeState(state, given) {
  const usual = initialState(state.problem, given, state);
  const parts = [`problem=${state.problem}`];
  if (state.problem === "made") for (const key of IDENTITY) parts.push(`${key}=${state[key]}`);
  for (const key of Object.keys(usual)) {
    if (key === "problem" || IDENTITY.includes(key) || state[key] === usual[key]) continue;
    if (key === "upto" && state.upto === state.steps) continue;
    parts.push(`${key}=${encodeURIComponent(String(state[key]))}`);
  }
  return parts.join("&");
}

/** The state of an address; what it does not say, or says wrongly, is as the problem has it. */
export function decodeState(hash, given) {
  const said = new Map(
    hash.replace(/^#/, "").split("&").filter(Boolean).map((part) => {
      const [key, ...rest] = part.split("=");
      return [key, safeDecode(rest.join("="))];
    }),
  );
  const number = (key) => {
    const text = said.get(key);
    const value = text === undefined || text.trim() === "" ? NaN : Number(text);
    return isAllowed(key, value) ? value : undefined;
  };
  const kinds = given ? ["data", "plane", "made"] : ["plane", "made"];
  const kind = kinds.includes(said.get("problem")) ? said.get("problem") : kinds[0];
  const identity = {};
  for (const key of IDENTITY) if (number(key) !== undefined) identity[key] = number(key);
  const state = initialState(kind, given, kind === "made" ? identity : {});
  for (const key of Object.keys(LIMITS).filter((each) => !IDENTITY.includes(each))) {
    if (number(key) !== undefined) state[key] = number(key);
  }
  if (number("upto") === undefined) state.upto = state.steps;
  if (["auto", "light", "dark"].includes(said.get("theme"))) state.theme = said.get("theme");
  if (said.has("shown")) {
    state.shown = METHODS.filter((name) => said.get("shown").split(".").includes(name)).join(".");
  }
  return settled(state, problemOf(state, given));
}

function safeDecode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** A state that its problem can have: nothing unseen where there is nothing, no second axis … */
export function settled(state, problem) {
  const next = { ...state };
  if (!problem.free) next.a = 0;
  if (!problem.across.some((v) => v !== 0)) next.t = Math.abs(next.t) > 90 ? 180 : 0;
  next.upto = Math.min(next.upto, next.steps);
  next.freeze = Math.min(next.freeze, next.steps);
  if (next.beta === 0) next.nesterov = 0;
  return next;
}

/** The state on another made problem: the same start and steps, in that problem's units. */
export function carriedOver(state, from, to) {
  const scale = to.gstar / from.gstar;
  const steep = from.steepest / to.steepest;
  const { angle, tilt } = to.start;
  return settled({
    ...state,
    g: significant(state.g * scale), a: to.free ? angle : 0, t: tilt,
    eta: significant((state.eta * steep) / scale ** 2, 3),
    gamma: significant(state.gamma * steep, 3),
    gd: significant(state.gd * steep, 3),
    noise: significant((state.noise * scale) / Math.sqrt(steep), 3),
  }, to);
}

/** The start whose weights are at these places along x*, the second axis and the unseen one. */
export function startAtPoint(state, along, across, unseen) {
  const scale = Math.hypot(along, across, unseen);
  if (!(scale > 0)) return { ...state, g: 0 };
  const degrees = 180 / Math.PI;
  return {
    ...state,
    g: significant(scale),
    a: Number((Math.atan2(unseen, Math.hypot(along, across)) * degrees).toFixed(2)),
    t: Number((Math.atan2(across, along) * degrees).toFixed(2)),
  };
}
