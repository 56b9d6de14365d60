// The table of ends: what became of every method, beside what was predicted.

import { plainNumber } from "./paint.js";
import { distanceOf, outcomeOf } from "./scene.js";

const NAMES = { gd: "GD", wn: "WN", rpgd: "rPGD", flow: "flow" };
const LONG = {
  gd: "gradient descent", wn: "weight normalization", rpgd: "rPGD", flow: "the flow",
};
const SWATCH = { gd: "", wn: "", rpgd: "dashed", flow: "dotted" };

/** What a method's end should be, if the theory says: its distance to x*. */
function predictedDistance(scene, name) {
  const { limits, problem, state, noiseNorm } = scene;
  if (state.noise > 0 && name !== "flow") {
    if (name !== "rpgd") return null; // GD wanders about its limit, WN's weights grow for ever
    return Math.sqrt(Math.max(0, noiseNorm ** 2 - problem.gstar ** 2));
  }
  const limit = limits[name];
  return limit && (limit.applies ?? true) ? limit.distance : null;
}

function endsRow(name) {
  const row = document.createElement("tr");
  row.style.setProperty("--method", `var(--${name})`);
  row.innerHTML = `<th scope="row"><label title="${LONG[name]}"><input type="checkbox" ` +
    `value="${name}"><span class="swatch ${SWATCH[name]}"></span>${NAMES[name]}</label></th>` +
    "<td></td><td></td><td></td><td></td>";
  return row;
}

/** Fill the table from a scene. */
export function showEnds(scene) {
  const body = document.getElementById("ends-rows");
  if (!body.children.length) body.append(...Object.keys(NAMES).map(endsRow));
  const shown = scene.state.shown.split(".");
  Object.keys(NAMES).forEach((name, i) => {
    const run = scene.runs[name];
    const [outcome, norm, distance, predicted] = body.children[i].querySelectorAll("td");
    body.children[i].querySelector("input").checked = shown.includes(name);
    const expected = predictedDistance(scene, name);
    outcome.textContent = outcomeOf(run, scene.state);
    norm.textContent = plainNumber(run.norm);
    distance.textContent = plainNumber(distanceOf(run, scene.problem));
    predicted.textContent = expected === null ? "–" : plainNumber(expected);
  });
  document.getElementById("ends-note").textContent = endsNote(scene);
}

/** What the numbers need to be read rightly. */
function endsNote(scene) {
  const { state, problem, limits, ratio } = scene;
  const parts = [`‖x*‖ = ${plainNumber(problem.gstar)}, c = γ/η = ${plainNumber(ratio)}.`];
  if (limits.flow && limits.flow.applies === false) {
    parts.push("This start flows into S, where nothing pulls: no end is predicted.");
  } else if (state.noise > 0) {
    parts.push("With noise rPGD wanders along the solutions to the norm predicted, very slowly.");
  } else if (limits.wn !== limits.flow) {
    parts.push("Predictions count the steps of WN and rPGD, to first order in their size.");
  } else parts.push("Predictions are for small steps; these end off by a share of their size.");
  return parts.join(" ");
}

/** The same in a sentence, for who does not see it. */
export function wordsFor(scene) {
  const shown = scene.state.shown.split(".");
  const parts = Object.keys(NAMES).filter((name) => shown.includes(name)).map((name) => {
    const run = scene.runs[name];
    const expected = predictedDistance(scene, name);
    const foretold = expected === null ? "" : `, predicted ${plainNumber(expected, 3)}`;
    return `${LONG[name]}: ${outcomeOf(run, scene.state)}, distance to the minimum-norm solution ` +
      `${plainNumber(distanceOf(run, scene.problem), 3)}${foretold}`;
  });
  return `Start of scale ${plainNumber(scene.state.g, 3)}. ${parts.join("; ")}.`;
}
