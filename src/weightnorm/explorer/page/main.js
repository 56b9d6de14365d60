// Wires the page: one state, the views that show it, and what people do to it.

import { buildSliders, showNumber, syncSliders, watchTyping } from "./controls.js";
import { drawCurves, lastStep } from "./curves.js";
import { showEnds, wordsFor } from "./ends.js";
import { copyText, exportPicture } from "./taking.js";
import { finiteStepLimit } from "./drift.js";
import { integrateFlow } from "./flow.js";
import { criticalRatio, flowIsCloser, limitPerp, printedError, printedPerp } from "./limits.js";
import { runMethod } from "./methods.js";
import { CanvasPainter, plainNumber } from "./paint.js";
import { drawPhase, phaseWindow } from "./phase.js";
import { drawPlane, planeWindow, startPoint } from "./plane.js";
import { flowLimit, gradientLimit, printedLimit } from "./predict.js";
import { labelNoise, madeProblem, reducedProblem, startAt } from "./problems.js";
import { pythonCode } from "./python.js";
import { computeScene, distanceOf } from "./scene.js";
import { decodeState, encodeState, initialState, problemKey, problemOf } from "./state.js";
import { settled, significant, startAtPoint } from "./state.js";
import { isStable, maxDirectionStep, maxGradientStep, maxScaleStep } from "./stability.js";
import { noiseNorm, normBracket, stableBelow } from "./stability.js";
import { TOUR } from "./tour.js";

const HANDLE = 26; // pixels around the start that take hold of it
const IDLE = 160; // milliseconds after which a coarse picture is drawn in full
const PLAYING = 3500; // milliseconds of a whole run
const COLORS = ["paper", "ink", "quiet", "faint", "grid", "gd", "wn", "rpgd", "flow", "printed"];
const element = (id) => document.getElementById(id);
const given = JSON.parse(element("given").textContent);
const canvases = { plane: element("plane"), phase: element("phase"), curves: element("curves") };
const frameTimes = [];
let state = decodeState(location.hash, given);
let problem = problemOf(state, given);
let scene = null;
let views = {};
let heldWindow = null; // of the plane, while the start is dragged
let pending = null;
let idleTimer = 0;
let playing = 0;
let firstPicture = null; // milliseconds after the page was asked for

/** Change some of the state; `live` while something is still being dragged. */
function update(changes, live = false) {
  const before = problemKey(state);
  let next = { ...state, ...changes };
  if (problemKey(next) !== before) {
    const own = initialState(next.problem, given, next);
    const kept = ["theme", "embed", "shown"].map((key) => [key, next[key]]);
    next = { ...own, ...Object.fromEntries(kept), ...changes };
    problem = problemOf(next, given);
  }
  state = settled(next, problem);
  requestFrame(live);
}

function requestFrame(live) {
  if (pending === null) {
    pending = { live };
    requestAnimationFrame(() => {
      const { live: coarse } = pending;
      pending = null;
      drawFrame(coarse);
    });
  } else pending.live &&= live;
  clearTimeout(idleTimer);
  idleTimer = setTimeout(settleFrame, IDLE);
}

/** Nothing has moved for a while: draw in full, and put the state into the address. */
function settleFrame() {
  drawFrame(false);
  const hash = `#${encodeState(state, given)}`;
  if (hash !== location.hash) history.replaceState(null, "", hash);
  element("announce").textContent = wordsFor(scene);
  element("whole").firstElementChild.href = `#${encodeState({ ...state, embed: 0 }, given)}`;
}

function drawFrame(live) {
  const began = performance.now();
  scene = computeScene(state, problem, { dragging: live });
  const colors = currentColors();
  for (const [name, canvas] of Object.entries(canvases)) {
    if (canvas.clientWidth === 0) continue;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const ratio = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintView(name, new CanvasPainter(context), width, height, colors, live);
  }
  syncSliders(scene);
  syncFields();
  showEnds(scene);
  frameTimes.push(performance.now() - began);
  firstPicture ??= performance.now();
  if (frameTimes.length > 2000) frameTimes.shift();
}

function paintView(name, painter, width, height, colors, coarse) {
  if (name === "plane") {
    views.plane = heldWindow ?? planeWindow(scene, width, height);
    drawPlane(painter, scene, views.plane, width, height, colors);
  } else if (name === "phase") {
    views.phase = phaseWindow(scene, width, height);
    drawPhase(painter, scene, views.phase, width, height, colors, { coarse });
  } else drawCurves(painter, scene, width, height, colors);
}

function currentColors() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(COLORS.map((name) => [name, style.getPropertyValue(`--${name}`).trim()]));
}

// ---- what people do --------------------------------------------------------------------------

function place(event, canvas) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function nearStart(px, py) {
  const [x, y] = startPoint(scene);
  return Math.hypot(views.plane.x(x) - px, views.plane.y(y) - py) <= HANDLE;
}

/** Move the start to a point of the plane; what is not in the plane stays as it is. */
function moveStart(x, y, live) {
  const seen = state.g * Math.cos((state.a * Math.PI) / 180);
  const across = seen * Math.sin((state.t * Math.PI) / 180);
  const hidden = Math.abs(across) < 1e-9 * problem.gstar ? 0 : across;
  const next = problem.free ? startAtPoint(state, x, hidden, y) : startAtPoint(state, x, y, 0);
  update({ g: next.g, a: next.a, t: next.t }, live);
}

function listenToPlane() {
  const canvas = canvases.plane;
  let dragging = false;
  let pressed = null;
  canvas.addEventListener("touchstart", (event) => {
    const [px, py] = place(event.touches[0], canvas);
    if (nearStart(px, py)) event.preventDefault(); // the page scrolls unless the start is held
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    const [px, py] = place(event, canvas);
    pressed = [px, py];
    dragging = nearStart(px, py);
    if (!dragging) return;
    heldWindow = views.plane;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [px, py] = place(event, canvas);
    canvas.style.cursor = dragging ? "grabbing" : nearStart(px, py) ? "grab" : "crosshair";
    if (dragging) moveStart(...views.plane.back(px, py), true);
  });
  const release = (event) => {
    if (pressed === null) return;
    const [px, py] = place(event, canvas);
    const still = Math.hypot(px - pressed[0], py - pressed[1]) < 5;
    if (event.type === "pointerup" && !dragging && still) {
      moveStart(...views.plane.back(px, py), false);
    }
    dragging = false;
    pressed = null;
    heldWindow = null;
    requestFrame(false);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("keydown", (event) => {
    const step = (event.shiftKey ? 0.25 : 0.05) * problem.gstar;
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[
      event.key];
    if (!move) return;
    event.preventDefault();
    const [x, y] = startPoint(scene);
    moveStart(x + step * move[0], y + step * move[1], false);
  });
}

function listenToPhase() {
  const canvas = canvases.phase;
  let held = false;
  const move = (event, live) => {
    const [g, c] = views.phase.back(...place(event, canvas));
    const sign = state.g < 0 ? -1 : 1;
    update({ g: sign * significant(g), gamma: significant(c * state.eta, 3) }, live);
  };
  canvas.addEventListener("pointerdown", (event) => {
    held = event.pointerType === "mouse";
    if (held) canvas.setPointerCapture(event.pointerId);
    if (held) move(event, true);
  });
  canvas.addEventListener("pointermove", (event) => held && move(event, true));
  canvas.addEventListener("pointerup", (event) => {
    move(event, false);
    held = false;
  });
  canvas.addEventListener("pointercancel", () => (held = false));
  canvas.addEventListener("keydown", (event) => {
    const far = event.shiftKey ? 5 : 1;
    const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const upwards = { ArrowDown: -1, ArrowUp: 1 }[event.key];
    if (sideways === undefined && upwards === undefined) return;
    event.preventDefault();
    if (sideways !== undefined) {
      const g = Math.max(0, Math.abs(state.g) + 0.02 * far * sideways * problem.gstar);
      update({ g: significant((state.g < 0 ? -1 : 1) * g) });
    } else update({ gamma: significant(state.gamma * 1.1 ** (far * upwards), 3) });
  });
}

function listenToControls() {
  const change = (key, value, live) => {
    if (value === null) return requestFrame(false);
    return update(checked(key, value), live);
  };
  for (const group of ["start", "steps", "more"]) {
    buildSliders(element(`group-${group}`), group, change);
  }
  element("nesterov").addEventListener("change", (event) => {
    const wanted = event.target.checked;
    update({ nesterov: wanted ? 1 : 0, beta: wanted && state.beta === 0 ? 0.9 : state.beta });
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
    const { theme, embed } = state;
    state = { ...initialState(state.problem, given, state), theme, embed };
    requestFrame(false);
  });
}

/** A number that someone typed, as the address would take it: what it refuses is left as it is. */
function checked(key, value) {
  const asked = decodeState(encodeState({ ...state, [key]: value }, given), given);
  return { [key]: asked[key] === value ? value : state[key] };
}

/** The step at a share of the logarithmic axis, and back. */
function stepAt(share) {
  if (share >= 1) return state.steps;
  return Math.round((lastStep(scene) + 1) ** share - 1);
}

function play() {
  if (matchMedia("(prefers-reduced-motion: reduce)").matches) {
    update({ upto: state.steps });
    return;
  }
  const began = performance.now();
  element("play").textContent = "Stop";
  playing = 1;
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
  playing = 0;
  element("play").textContent = "Play";
}

function listenToTour() {
  TOUR.forEach((step, i) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = String(i + 1);
    button.setAttribute("aria-label", `Step ${i + 1}: ${step.title}`);
    button.addEventListener("click", () => goTo(i + 1));
    element("tour-steps").append(button);
  });
  element("tour-back").addEventListener("click", () => goTo(Math.max(1, state.tour - 1)));
  element("tour-next").addEventListener("click", () => goTo(Math.min(TOUR.length, state.tour + 1)));
}

function goTo(number) {
  stopPlaying();
  const asked = TOUR[number - 1].state;
  const { theme, embed } = state;
  state = { ...initialState("made", given, asked), ...asked, theme, embed, tour: number };
  problem = problemOf(state, given);
  requestFrame(false);
}

/** Show the state in fields that are not sliders. */
function syncFields() {
  element("problem-kind").value = state.problem;
  element("made-fields").hidden = state.problem !== "made";
  for (const key of ["m", "d", "k", "n", "seed"]) {
    showNumber(element(`made-${key}`), state[key]);
  }
  const { samples, features, rank, free } = problem;
  element("problem-note").textContent = `${problem.name}: ${samples} × ${features}, rank ${rank}` +
    `, ‖x*‖ = ${plainNumber(problem.gstar)}` + (free ? "" : "; the data see every direction");
  element("nesterov").checked = state.nesterov === 1;
  element("theme").value = state.theme;
  const share = state.upto >= lastStep(scene) ? 1
    : Math.log(state.upto + 1) / Math.log(lastStep(scene) + 1);
  element("upto").value = String(Math.round(1000 * share));
  element("upto-step").textContent = share >= 1 ? "the end" : state.upto.toLocaleString("en");
  element("upto").setAttribute("aria-valuetext", element("upto-step").textContent);
  document.body.classList.toggle("embed", state.embed === 1);
  const step = TOUR[state.tour - 1];
  element("tour-title").textContent = step ? `${state.tour}. ${step.title}` : "A tour in six steps";
  const text = step ? step.text(scene)
    : "Press → for a guided tour of what this page shows, or drag the start right away.";
  if (element("tour-text").textContent !== text) element("tour-text").textContent = text;
  for (const [i, button] of [...element("tour-steps").children].entries()) {
    if (i + 1 === state.tour) button.setAttribute("aria-current", "step");
    else button.removeAttribute("aria-current");
  }
}

function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
  requestFrame(false);
}

function listenToTaking() {
  const say = (words) => (element("taken").textContent = words);
  element("copy-link").addEventListener("click", async () => {
    settleFrame();
    say((await copyText(location.href)) ? "The link is copied." : `The link: ${location.href}`);
  });
  const dialog = element("python-dialog");
  element("show-python").addEventListener("click", () => {
    element("python-code").value = pythonCode(scene, views.plane);
    element("python-copied").textContent = "";
    dialog.showModal();
  });
  element("copy-python").addEventListener("click", async () => {
    const done = await copyText(element("python-code").value);
    if (!done) element("python-code").select();
    element("python-copied").textContent = done ? "Copied." : "Selected: press Ctrl-C.";
  });
  element("close-python").addEventListener("click", () => dialog.close());
  for (const kind of ["png", "svg"]) {
    element(`export-${kind}`).addEventListener("click", () => {
      const name = element("export-view").value;
      const canvas = canvases[name];
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      const paint = (painter) => paintView(name, painter, width, height, currentColors(), false);
      exportPicture(kind, name, width, height, paint);
      say(`weightnorm-${name}.${kind} is in your downloads.`);
    });
  }
}

window.addEventListener("hashchange", () => {
  state = decodeState(location.hash, given);
  problem = problemOf(state, given);
  applyTheme(state.theme);
});
window.addEventListener("resize", () => requestFrame(false));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => requestFrame(false));
// a page that embeds this one may say which theme it has
window.addEventListener("message", ({ data }) => {
  if (["light", "dark"].includes(data?.weightnormTheme)) applyTheme(data.weightnormTheme);
});
if (given) element("problem-kind").querySelector("[value=data]").hidden = false;
listenToControls();
listenToTour();
listenToPlane();
listenToPhase();
listenToTaking();
document.documentElement.dataset.theme = state.theme;
drawFrame(false);
settleFrame();

// for tests, and for whoever opens the console
window.weightnorm = {
  computeScene, criticalRatio, distanceOf, finiteStepLimit, flowIsCloser, flowLimit, gradientLimit, integrateFlow,
  isStable, labelNoise, limitPerp, madeProblem, maxDirectionStep, maxGradientStep, maxScaleStep,
  noiseNorm, normBracket, printedError, printedLimit, printedPerp, reducedProblem, runMethod,
  stableBelow, startAt, update, frameTimes,
  get firstPicture() { return firstPicture; },
  get state() { return state; },
  get scene() { return scene; },
  get views() { return views; },
  get startAt2d() { return startPoint(scene); },
};
