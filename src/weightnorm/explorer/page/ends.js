// The table of ends: what became of every method, beside what was predicted.

import { LONG_NAMES, METHOD_NAMES } from "./looks.js";
import { plainNumber } from "./paint.js";
import { distanceOf, outcomeOf } from "./scene.js";

const SWATCH = { gd: "", wn: "", rpgd: "dashed", flow: "dotted" };

function endsRow(name) {
  const row = document.createElement("tr");
  row.style.setProperty("--method", `var(--${name})`);
  const [short, long] = [METHOD_NAMES[name], LONG_NAMES[name]];
  row.innerHTML = `<th scope="row"><label><input type="checkbox" value="${name}">` +
    `<span class="swatch ${SWATCH[name]}"></span>${short} <small>${long}</small></label></th>` +
    "<td></td><td></td><td></td>";
  return row;
}

/** Fill the table from a scene. */
export function showEnds(scene) {
  const body = document.getElementById("ends-rows");
  if (!body.children.length) body.append(...Object.keys(METHOD_NAMES).map(endsRow));
  const shown = scene.state.shown.split(".");
  Object.keys(METHOD_NAMES).forEach((name, i) => {
    const run = scene.runs[name];
    const [outcome, distance, predicted] = body.children[i].querySelectorAll("td");
    body.children[i].querySelector("input").checked = shown.includes(name);
    const expected = scene.predicted[name]?.distance ?? NaN;
    outcome.textContent = outcomeOf(run, scene);
    distance.textContent = plainNumber(distanceOf(run, scene.problem));
    predicted.textContent = plainNumber(expected);
  });
  document.getElementById("ends-note").textContent = endsNote(scene);
}

const WHY = {
  stuck: "This start flows into S, where nothing pulls: no end is predicted.",
  unstable: "The flow’s end is not stable with these steps: WN and rPGD end elsewhere, or nowhere.",
  undecided: "Which side this start ends on is too close to call: no end is predicted.",
  side: "So near the border between two sides, the steps may decide which one WN or rPGD ends on.",
  frozen: "The scale stays frozen: only the flow is followed beyond that.",
  large: "These steps are too large for a prediction of WN and rPGD; the flow’s is for tiny ones.",
  small: "Predictions for WN and rPGD are those of small steps.",
  "first order": "Predictions count the steps of WN and rPGD, to first order in their size.",
};

/** What the numbers need to be read rightly. */
function endsNote(scene) {
  const { state, problem, predicted, ratio, runs, edges } = scene;
  const parts = [`‖x*‖ = ${plainNumber(problem.gstar)}, c = γ/η = ${plainNumber(ratio)}.`];
  if (predicted.why !== "noise") parts.push(WHY[predicted.why]);
  else if (predicted.rpgd) {
    parts.push("Noise takes rPGD along the solutions, slowly, to a norm of about " +
      `${plainNumber(predicted.rpgd.norm)}; WN’s weights grow without bound in the end.`);
  } else parts.push("Noise keeps all runs moving; where to is not known here.");
  if (state.gd >= edges.gd) parts.push("GD’s step is beyond its edge of stability.");
  const late = ["gd", "wn", "rpgd"].some((name) => predicted[name] &&
    runs[name].status === "max_steps" && runs[name].motion !== "cycles");
  if (late && state.noise === 0) {
    parts.push("Not all have arrived: predictions are for the end, however late.");
  }
  return parts.join(" ");
}

/** The same in a sentence, for who does not see it. */
export function wordsFor(scene) {
  const shown = scene.state.shown.split(".");
  const parts = Object.keys(METHOD_NAMES).filter((name) => shown.includes(name)).map((name) => {
    const run = scene.runs[name];
    const expected = scene.predicted[name];
    const foretold = expected ? `, predicted ${plainNumber(expected.distance, 3)}` : "";
    return `${LONG_NAMES[name]}: ${outcomeOf(run, scene)}, distance to the minimum-norm solution ` +
      `${plainNumber(distanceOf(run, scene.problem), 3)}${foretold}`;
  });
  return `Start of scale ${plainNumber(scene.state.g, 3)}. ${parts.join("; ")}.`;
}
