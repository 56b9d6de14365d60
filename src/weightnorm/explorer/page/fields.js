// Fields, boxes and buttons: what they change, and what they show.

import { buildSliders, showNumber, watchTyping } from "./controls.js";
import { lastStep } from "./curves.js";
import { plainNumber } from "./paint.js";
import { allowedRange, initialState, isAllowed, problemOf } from "./state.js";
import { app, applyTheme, element, requestFrame, update } from "./store.js";
import { hasPhase } from "./phase.js";
import { hiddenPart } from "./plane.js";
import { TOUR, tourStep } from "./tour.js";

const PLAYING = 3500; // milliseconds of a whole run
let playing = false;

/** Listen to sliders, fields, boxes and buttons. */
export function listenToControls() {
  const change = (key, value, live) => {
    if (value === null) return requestFrame(false);
    return update(checked(key, value), live);
  };
  for (const group of ["start", "steps", "more"]) {
    buildSliders(element(`group-${group}`), group, change);
  }
  element("nesterov").addEventListener("change", (event) => {
    const wanted = event.target.checked;
    const { beta } = app.state;
    update({ nesterov: wanted ? 1 : 0, beta: wanted && beta === 0 ? 0.9 : beta });
  });
  element("problem-kind").addEventListener("change", (event) => {
    update({ problem: event.target.value, tour: 0 });
  });
  for (const key of ["m", "d", "k", "n", "seed"]) {
    watchTyping(element(`made-${key}`));
    element(`made-${key}`).addEventListener("change", (event) => {
      const typed = event.target.value.trim();
      if (typed === "") requestFrame(false);
      else update(checked(key, Number(typed)));
    });
  }
  element("theme").addEventListener("change", (event) => {
    update({ theme: event.target.value });
    applyTheme(event.target.value);
  });
  element("ends-rows").addEventListener("change", () => {
    const boxes = [...element("ends-rows").querySelectorAll("input")];
    update({ shown: boxes.filter((box) => box.checked).map((box) => box.value).join(".") });
  });
  element("upto").addEventListener("input", (event) => {
    stopPlaying();
    update({ upto: stepAt(Number(event.target.value) / 1000) }, true);
  });
  element("play").addEventListener("click", () => (playing ? stopPlaying() : play()));
  const anew = (kind) => {
    stopPlaying();
    const { theme, embed } = app.state;
    app.state = { ...initialState(kind, app.given, app.state), problem: kind, theme, embed };
    app.problem = problemOf(app.state, app.given);
    requestFrame(false);
  };
  element("reset").addEventListener("click", () => anew(app.given ? "data" : app.state.problem));
  element("back-to-data").addEventListener("click", () => anew("data"));
}

/** What someone typed, if it may be; otherwise the number stays what it is, and a line says why. */
function checked(key, value) {
  const allowed = isAllowed(key, value);
  element("refused").textContent = allowed ? ""
    : `${plainNumber(value)} is not possible here: ${allowedRange(key)}.`;
  return { [key]: allowed ? value : app.state[key] };
}

/** The step at a share of the logarithmic axis. */
function stepAt(share) {
  if (share >= 1) return app.state.steps;
  return Math.round((lastStep(app.scene) + 1) ** share - 1);
}

function play() {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    update({ upto: app.state.steps });
    return;
  }
  const began = performance.now();
  element("play").textContent = "Stop";
  playing = true;
  const tick = (now) => {
    if (!playing) return;
    const share = (now - began) / PLAYING;
    update({ upto: stepAt(share) }, true);
    if (share >= 1) stopPlaying();
    else requestAnimationFrame(tick);
  };
  requestAnimationFrame(tick);
}

/** Leave the paths as far as they are shown. */
export function stopPlaying() {
  playing = false;
  element("play").textContent = "Play";
}

/** The buttons of the tour. */
export function listenToTour() {
  TOUR.forEach((step, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = String(i + 1);
    button.setAttribute("aria-label", `Step ${i + 1}: ${step.title}`);
    button.addEventListener("click", () => goTo(i + 1));
    element("tour-steps").append(button);
  });
  const next = (by) => goTo(Math.min(TOUR.length, Math.max(1, app.state.tour + by)));
  element("tour-back").addEventListener("click", () => next(-1));
  element("tour-next").addEventListener("click", () => next(1));
}

function goTo(number) {
  stopPlaying();
  const asked = TOUR[number - 1].state;
  const { theme, embed } = app.state;
  app.state = { ...initialState("made", app.given, asked), ...asked, theme, embed, tour: number };
  app.problem = problemOf(app.state, app.given);
  requestFrame(false);
}

/** Show the state in fields that are not sliders. */
export function syncFields() {
  element("problem-kind").value = app.state.problem;
  element("made-fields").hidden = app.state.problem !== "made";
  for (const key of ["m", "d", "k", "n", "seed"]) {
    showNumber(element(`made-${key}`), app.state[key]);
  }
  const { samples, features, rank, free, floor } = app.problem;
  element("problem-note").textContent = `${app.problem.name}: ${samples} × ${features}, ` +
    `rank ${rank}, ‖x*‖ = ${plainNumber(app.problem.gstar)}` +
    (floor > 0 ? `, smallest loss ${plainNumber(floor)}` : "") +
    (free ? "" : "; the data see every direction");
  element("nesterov").checked = app.state.nesterov === 1;
  element("theme").value = app.state.theme;
  const share = app.state.upto >= lastStep(app.scene) ? 1
    : Math.log(app.state.upto + 1) / Math.log(lastStep(app.scene) + 1);
  element("upto").value = String(Math.round(1000 * share));
  element("upto-step").textContent = share >= 1 ? "the end" : app.state.upto.toLocaleString("en");
  element("upto").setAttribute("aria-valuetext", element("upto-step").textContent);
  document.body.classList.toggle("embed", app.state.embed === 1);
  const hidden = hiddenPart(app.scene);
  element("plane-hidden").textContent = hidden > 1e-9 * app.problem.gstar
    ? `${plainNumber(hidden, 3)} of the start points along other directions that the data see, ` +
      "which this picture leaves out: even on the black line such a start is no solution."
    : "";
  element("phase-help").hidden = !hasPhase(app.scene);
  element("back-to-data").hidden = !app.given || app.state.problem === "data";
  syncTour();
}

/** The words of the tour, as long as they are true of what is shown. */
function syncTour() {
  const { tour } = app.state;
  const step = tourStep(app.scene);
  const left = tour > 0 && !step;
  let title = "A tour in six steps";
  let text = "What this page shows, told in six pictures. Or drag the start right away.";
  if (step) [title, text] = [`${tour}. ${step.title}`, step.text(app.scene)];
  if (left) {
    title = `You have left step ${tour}`;
    text = `Press ${tour} to see “${TOUR[tour - 1].title}” again, or go on from here.`;
  }
  element("tour-title").textContent = title;
  if (element("tour-text").textContent !== text) element("tour-text").textContent = text;
  element("tour-next").textContent = tour === 0 ? "Start the tour →" : "→";
  element("tour-back").hidden = tour === 0;
  for (const [i, button] of [...element("tour-steps").children].entries()) {
    if (i + 1 === tour && !left) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  }
}
