// The store: one state, and the frame that computes and draws everything from it.

import { drawCurves } from "./curves.js";
import { CanvasPainter } from "./paint.js";
import { drawPhase, phaseWindow } from "./phase.js";
import { drawPlane, planeWindow } from "./plane.js";
import { computeScene } from "./scene.js";
import { carriedOver, encodeState, initialState } from "./state.js";
import { problemKey, problemOf, settled } from "./state.js";

const IDLE = 160; // milliseconds after which a coarse picture is drawn in full
const COLORS = ["paper", "ink", "quiet", "faint", "grid", "gd", "wn", "rpgd", "flow", "printed"];

/** What the page knows; `heldWindow` and `heldPhase` are the windows of the plane and the phase
 * diagram while something in them is dragged. */
export const app = {
  given: null, state: null, problem: null, scene: null, views: {}, canvases: {}, heldWindow: null,
  heldPhase: null, settled: false, frameTimes: [], firstPicture: null,
  shows: [], // called after every frame, with the scene
  settles: [], // called when nothing has moved for a while
};
let pending = null;
let idleTimer = 0;
let drawn = { state: null, live: false };

/** An element of the page by its id. */
export function element(id) {
  return document.getElementById(id);
}

/** Change some of the app.state; `live` while something is still being dragged. */
export function update(changes, live = false) {
  const before = app.state;
  let next = { ...before, ...changes };
  if ("steps" in changes && before.upto === before.steps) next.upto = next.steps;
  if (problemKey(next) !== problemKey(before)) {
    const problem = problemOf(next, app.given);
    if (next.problem === before.problem) next = carriedOver(next, app.problem, problem);
    else {
      const { theme, embed, shown } = next;
      next = { ...initialState(next.problem, app.given, next), theme, embed, shown, ...changes };
    }
    app.problem = problem;
  }
  app.state = settled(next, app.problem);
  requestFrame(live);
}

/** Draw in the next frame; in full a little later, if `live` says that more is to come. */
export function requestFrame(live) {
  app.settled = false;
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
export function settleFrame() {
  if (drawn.live || drawn.state !== app.state) drawFrame(false);
  const hash = `#${encodeState(app.state, app.given)}`;
  if (hash !== location.hash) history.replaceState(null, "", hash);
  for (const settle of app.settles) settle(app.scene);
  app.settled = true;
}

/** Compute and draw everything, coarsely while something is dragged. */
export function drawFrame(live) {
  const began = performance.now();
  drawn = { state: app.state, live };
  app.scene = computeScene(app.state, app.problem, { dragging: live });
  const colors = currentColors();
  for (const [name, canvas] of Object.entries(app.canvases)) {
    if (canvas.clientWidth === 0) continue;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const ratio = window.devicePixelRatio || 1;
    const [w, h] = [Math.round(width * ratio), Math.round(height * ratio)];
    if (canvas.width !== w || canvas.height !== h) [canvas.width, canvas.height] = [w, h];
    const context = canvas.getContext("2d");
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    paintView(name, new CanvasPainter(context), width, height, colors, live);
  }
  for (const show of app.shows) show(app.scene);
  app.frameTimes.push(performance.now() - began);
  app.firstPicture ??= performance.now();
  if (app.frameTimes.length > 2000) app.frameTimes.shift();
}

/** Draw one view with any painter. */
export function paintView(name, painter, width, height, colors, coarse) {
  if (name === "plane") {
    app.views.plane = app.heldWindow ?? planeWindow(app.scene, width, height);
    drawPlane(painter, app.scene, app.views.plane, width, height, colors);
  } else if (name === "phase") {
    app.views.phase = app.heldPhase ?? phaseWindow(app.scene, width, height);
    drawPhase(painter, app.scene, app.views.phase, width, height, colors, { coarse });
  } else drawCurves(painter, app.scene, width, height, colors);
}

/** The colours of the theme, by name. */
export function currentColors() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  return Object.fromEntries(COLORS.map((name) => [name, color(name)]));
}

/** Take a theme, for now: the state keeps the one that someone chose. */
export function applyTheme(theme) {
  document.documentElement.dataset.theme = theme;
  requestFrame(false);
}
