// The story in six steps: each a state, a title and a sentence that says what to look at.

import { plainNumber } from "./paint.js";
import { flowLimit } from "./predict.js";
import { distanceOf } from "./scene.js";

const BASE = { problem: "made", m: 20, d: 50, k: 1, n: 3, seed: 0 };

function distances(scene) {
  const of = (name) => plainNumber(distanceOf(scene.runs[name], scene.problem), 3);
  return { gd: of("gd"), wn: of("wn"), rpgd: of("rpgd") };
}

const arrived = (scene, ...names) => names.every((n) => scene.runs[n].status === "converged");
const apart = (scene, name) => distanceOf(scene.runs[name], scene.problem);

/** The step of a state, as long as what it says still holds; null once someone has left it. */
export function tourStep(scene) {
  const { state } = scene;
  const step = TOUR[state.tour - 1];
  if (!step) return null;
  const here = Object.keys(BASE).every((key) => state[key] === BASE[key]);
  return here && step.holds(scene) ? step : null;
}

/** The steps of the tour, the first of them at place 0; `holds` says when a text is still true. */
export const TOUR = [
  {
    title: "Gradient descent keeps its start",
    state: { ...BASE, g: 2, shown: "gd" },
    holds: (scene) => arrived(scene, "gd"),
    text: (scene) => "Twenty equations, fifty unknowns: the black line are all solutions. " +
      "Gradient descent moves only along what the data see, so it ends as far up as it began, " +
      `${distances(scene).gd} from x*, the solution of smallest norm. Drag the start and see.`,
  },
  {
    title: "Weight normalization forgets it",
    state: { ...BASE, g: 2, shown: "gd.wn.rpgd.flow" },
    holds: (scene) => arrived(scene, "gd", "wn") && apart(scene, "wn") < 0.5 * apart(scene, "gd"),
    text: (scene) => {
      const { gd, wn } = distances(scene);
      return "The same start in scale × direction coordinates. When the scale grows, the unseen " +
        `part of the direction must shrink: WN ends ${wn} from x*, gradient descent ${gd}. The ` +
        "rings are predictions, made before any run.";
    },
  },
  {
    title: "Where it does not",
    state: { ...BASE, g: 1, eta: 0.01, gamma: 0.3, shown: "gd.wn.rpgd.flow" },
    holds: (scene) => arrived(scene, "gd", "wn") && Math.abs(scene.ratio - 30) < 0.01 &&
      apart(scene, "wn") > apart(scene, "gd"),
    text: (scene) => {
      const { gd, wn } = distances(scene);
      return "A fast scale (c = γ/η = 30) is in place before the direction has turned: now WN " +
        `ends ${wn} from x* and gradient descent ${gd}. The white lines of the phase diagram are ` +
        "exactly where the two are equal; click there to move.";
    },
  },
  {
    title: "Two phases",
    state: { ...BASE, g: 2.8, freeze: 400, shown: "gd.wn.rpgd.flow" },
    holds: (scene) => arrived(scene, "wn") && scene.state.freeze === 400 &&
      Math.abs(scene.state.g) < 3 && apart(scene, "wn") < 0.1,
    text: (scene) => {
      const kept = flowLimit(scene.problem, scene.start, scene.ratio).distance;
      return "Freeze the scale below ‖x*‖ = 3 for 400 steps: only the direction moves, on the " +
        "sphere that the dotted circle outlines, and its unseen part dies out. Then thaw: WN " +
        `ends ${distances(scene).wn} from x*; without the freeze it would keep ` +
        `${plainNumber(kept, 2)}.`;
    },
  },
  {
    title: "Too large a step",
    state: { ...BASE, g: 2, eta: 0.3, gamma: 0.05, shown: "gd.wn.rpgd.flow" },
    holds: (scene) => scene.edges.bracket === null && arrived(scene, "wn") &&
      scene.runs.rpgd.status === "max_steps",
    text: (scene) => "The direction's step is beyond the edge of stability, marked at the slider " +
      `(${plainNumber(scene.edges.eta, 3)}): no solution is stable for rPGD. It comes near and ` +
      "then jumps to and fro for ever, here in a direction that the plane does not show: see its " +
      "loss. WN arrives: its ‖w‖ grows until its step is small enough.",
  },
  {
    title: "The paper’s printed limit",
    state: { ...BASE, g: 3.5, shown: "gd.wn.rpgd.flow" },
    holds: (scene) => arrived(scene, "wn", "rpgd") && scene.printed !== null &&
      scene.printed.distance > 2 * scene.limits.flow.distance,
    text: (scene) => "The paper prints ‖x*‖ where the final scale should stand. That is good for " +
      "small starts, and here it is far off: printed " +
      `${plainNumber(scene.printed?.distance ?? NaN, 3)} from x*, exactly ` +
      `${plainNumber(scene.limits.flow.distance, 3)}, where the runs end. White strokes in the ` +
      "phase diagram: off by more than 1 %.",
  },
];
