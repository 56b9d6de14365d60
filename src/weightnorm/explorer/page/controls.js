// The sliders: what each changes, its range, and the mark of the edge of stability on it.

import { plainNumber } from "./paint.js";
import { MOST_PAGE_STEPS, significant } from "./state.js";

const FINE = 1000; // positions of a slider

const logarithmic = (low, high) => ({
  to: (value) => Math.round((FINE * Math.log(value / low)) / Math.log(high / low)),
  from: (place) => significant(low * (high / low) ** (place / FINE), 3),
  share: (value) => Math.log(value / low) / Math.log(high / low),
});
const linear = (low, high, digits = 4) => ({
  to: (value) => Math.round((FINE * (value - low)) / (high - low)),
  from: (place) => significant(low + ((high - low) * place) / FINE, digits),
  share: (value) => (value - low) / (high - low),
});
// zero, then powers: for what is mostly off
const fromZero = (low, high, whole = false) => {
  const inner = logarithmic(low, high);
  return {
    to: (value) => (value > 0 ? Math.max(1, inner.to(value)) : 0),
    from: (place) => {
      const value = place === 0 ? 0 : inner.from(place);
      return whole ? Math.round(value) : value;
    },
    share: inner.share,
  };
};

/** Whether the data see one direction only. */
function isLine(problem) {
  return !problem.across.some((v) => v !== 0);
}

/** One row per slider: its key in the state, its words, and its scale for a problem. */
const SLIDERS = [
  {
    key: "g", label: "scale g₀", group: "start",
    hint: "the norm of the weights at the start; negative: the direction turned round",
    scale: (problem, state) => linear(0, Math.max(2 * problem.gstar, 1.25 * Math.abs(state.g))),
  },
  {
    key: "a", label: "unseen: angle", group: "start", unit: "°",
    hint: "0°: the data see the whole start; 90°: nothing of it",
    scale: () => linear(-90, 90), hidden: (problem) => !problem.free,
  },
  {
    key: "t", label: "seen: angle to x*", group: "start", unit: "°",
    hint: "how far the seen part of the start points away from the solution",
    scale: (problem) => (isLine(problem) ? linear(0, 180) : linear(-180, 180)),
    coarse: isLine, // then only towards x* or away from it
  },
  {
    key: "eta", label: "direction’s step η", group: "steps", edge: "eta",
    hint: "of WN and rPGD",
    scale: ({ steepest, gstar }) => logarithmic(1e-3 / (steepest * gstar ** 2),
      10 / (steepest * gstar ** 2)),
  },
  {
    key: "gamma", label: "scale’s step γ", group: "steps", edge: "gamma",
    hint: "of WN and rPGD; c = γ/η",
    scale: ({ steepest }) => logarithmic(1e-4 / steepest, 30 / steepest),
  },
  {
    key: "gd", label: "GD’s step", group: "steps", edge: "gd",
    hint: "of gradient descent",
    scale: ({ steepest }) => logarithmic(1e-3 / steepest, 4 / steepest),
  },
  {
    key: "freeze", label: "scale frozen until step", group: "steps", whole: true,
    hint: "two phases: γ = 0 before this step",
    scale: () => fromZero(1, MOST_PAGE_STEPS, true),
  },
  {
    key: "beta", label: "momentum β", group: "more", hint: "of all methods, as in PyTorch",
    scale: () => linear(0, 0.99, 3),
  },
  {
    key: "noise", label: "label noise σ", group: "more",
    hint: "fresh noise on y at every step",
    scale: ({ gstar, steepest }) => fromZero(1e-3 * gstar * Math.sqrt(steepest),
      gstar * Math.sqrt(steepest)),
  },
  {
    key: "steps", label: "steps at most", group: "more", whole: true,
    hint: "where the runs end at the latest", scale: () => logarithmic(10, MOST_PAGE_STEPS),
  },
];

/** Build the rows of a group into an element; `change(key, value, live)` is told what moves. */
export function buildSliders(parent, group, change) {
  for (const slider of SLIDERS.filter((each) => each.group === group)) {
    const row = document.createElement("div");
    row.className = "slider";
    row.dataset.key = slider.key;
    row.innerHTML = `<label for="range-${slider.key}">${slider.label}</label>` +
      `<input type="number" id="number-${slider.key}" step="any" inputmode="decimal">` +
      `<span class="rail"><input type="range" id="range-${slider.key}" min="0" max="${FINE}">` +
      '<span class="edge" hidden></span></span>' +
      `<small id="hint-${slider.key}"></small>`;
    const range = row.querySelector("[type=range]");
    const number = row.querySelector("[type=number]");
    range.setAttribute("aria-describedby", `hint-${slider.key}`);
    number.setAttribute("aria-label", `${slider.label}, as a number`);
    range.addEventListener("input", () => {
      row.held = true; // a range that grows with its number would run away under the hand
      change(slider.key, row.scale.from(Number(range.value)), true);
    });
    range.addEventListener("change", () => {
      row.held = false;
      change(slider.key, null, false);
    });
    watchTyping(number);
    number.addEventListener("change", () => {
      const value = Number(number.value);
      if (number.value.trim() !== "" && Number.isFinite(value)) change(slider.key, value, false);
      else change(slider.key, null, false);
    });
    parent.append(row);
  }
}

/** Know of a field whether someone is typing in it: until then its number is the state's. */
export function watchTyping(field) {
  field.addEventListener("input", () => (field.dataset.typing = "yes"));
  field.addEventListener("change", () => delete field.dataset.typing);
  field.addEventListener("blur", () => delete field.dataset.typing);
}

/** Show a number in a field, unless someone is typing there. */
export function showNumber(field, value) {
  if (!field.dataset.typing) field.value = String(value);
}

/** Show a scene's numbers on all sliders. */
export function syncSliders(scene) {
  const { state, problem, edges } = scene;
  for (const slider of SLIDERS) {
    const row = document.querySelector(`.slider[data-key="${slider.key}"]`);
    if (!row) continue;
    row.hidden = slider.hidden?.(problem) ?? false;
    if (!row.held) row.scale = slider.scale(problem, state);
    const value = state[slider.key];
    const range = row.querySelector("[type=range]");
    const number = row.querySelector("[type=number]");
    range.step = slider.coarse?.(problem) ? FINE : 1;
    range.value = String(Math.min(FINE, Math.max(0, row.scale.to(value))));
    range.setAttribute("aria-valuetext", `${plainNumber(value)}${slider.unit ?? ""}`);
    showNumber(number, significant(value, 6));
    showHint(row, slider, value, slider.edge ? edges[slider.edge] : null);
  }
}

/** The hint under a slider, and the mark where the edge of stability is. */
function showHint(row, slider, value, edge) {
  const hint = row.querySelector("small");
  const mark = row.querySelector(".edge");
  let words = slider.hint;
  mark.hidden = true;
  row.classList.toggle("beyond", edge !== null && value >= edge);
  if (edge !== null) {
    const where = slider.edge === "gd" ? "" : " at the flow’s end";
    if (edge === Infinity) words += `; any is stable${where}`;
    else if (edge === 0) words += `; none is stable${where}, with the other step`;
    else {
      words += value >= edge ? `; beyond the edge of stability${where}, ${plainNumber(edge)}`
        : `; stable below ${plainNumber(edge)}${where}`;
    }
    const share = edge > 0 && edge < Infinity ? row.scale.share(edge) : -1;
    if (share >= 0 && share <= 1) {
      mark.hidden = false;
      mark.style.left = `calc(8px + (100% - 16px) * ${share.toFixed(4)})`;
    }
  }
  if (hint.textContent !== words) hint.textContent = words;
}
