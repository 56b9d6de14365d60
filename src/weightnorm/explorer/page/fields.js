// Fields, boxes and buttons: what they change, and what they show.

import { buildSliders, showNumber, watchTyping } from "./controls.js";
import { lastStep } from "./curves.js";
import { plainNumber } from "./paint.js";
import { initialState, isAllowed, problemOf } from "./state.js";
import { app, applyTheme, element, requestFrame, update } from "./store.js";
import { TOUR } from "./tour.js";

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
      update(checked(key, Number(event.target.value)));
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
  element("reset").addEventListener("click", () => {
    const { theme, embed } = app.state;
    app.state = { ...initialState(app.state.problem, app.given, app.state), theme, embed };
    requestFrame(false);
  });
}

/** What someone typed, if it may be; otherwise the number stays what it is. */
function checked(key, value) {
  return { [key]: isAllowed(key, value) ? value : app.state[key] };
}

/** The step at a share of the logarithmic axis, and back. */
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

function stopPlaying() {
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
  const { samples, features, rank, free } = app.problem;
  element("problem-note").textContent = `${app.problem.name}: ${samples} × ${features}, ` +
    `rank ${rank}, ‖x*‖ = ${plainNumber(app.problem.gstar)}` +
    (free ? "" : "; the data see every direction");
  element("nesterov").checked = app.state.nesterov === 1;
  element("theme").value = app.state.theme;
  const share = app.state.upto >= lastStep(app.scene) ? 1
    : Math.log(app.state.upto + 1) / Math.log(lastStep(app.scene) + 1);
  element("upto").value = String(Math.round(1000 * share));
  element("upto-step").textContent = share >= 1 ? "the end" : app.state.upto.toLocaleString("en");
  element("upto").setAttribute("aria-valuetext", element("upto-step").textContent);
  document.body.classList.toggle("embed", app.state.embed === 1);
  const step = TOUR[app.state.tour - 1];
  const title = step ? `${app.state.tour}. ${step.title}` : "A tour in six steps";
  element("tour-title").textContent = title;
  const text = step ? step.text(app.scene)
    : "Press → for a guided tour of what this page shows, or drag the start right away.";
  if (element("tour-text").textContent !== text) element("tour-text").textContent = text;
  for (const [i, button] of [...element("tour-steps").children].entries()) {
    if (i + 1 === app.state.tour) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  }
}
