// What hands do on the three canvases: drag, click, touch, use the arrow keys.

import { stepUnder } from "./curves.js";
import { hasPhase } from "./phase.js";
import { startPoint } from "./plane.js";
import { startAt } from "./problems.js";
import { significant, startAtPoint } from "./state.js";
import { app, requestFrame, update } from "./store.js";

const HANDLE = 26; // pixels around the start that take hold of it
const THAW_HANDLE = 9; // and around the line of the thaw

function placeOn(event, canvas) {
  const box = canvas.getBoundingClientRect();
  return [event.clientX - box.left, event.clientY - box.top];
}

function nearStart(px, py) {
  const [x, y] = startPoint(app.scene);
  return Math.hypot(app.views.plane.x(x) - px, app.views.plane.y(y) - py) <= HANDLE;
}

/** Move the start to a point of the plane; what is not in the plane stays as it is. */
function moveStart(x, y, live) {
  const seen = app.state.g * Math.cos((app.state.a * Math.PI) / 180);
  const across = seen * Math.sin((app.state.t * Math.PI) / 180);
  const hidden = Math.abs(across) < 1e-9 * app.problem.gstar ? 0 : across;
  const point = app.problem.free ? [x, hidden, y] : [x, y, 0];
  const next = startAtPoint(app.state, ...point);
  update({ g: next.g, a: next.a, t: next.t }, live);
}

/** Drag, click, touch and keys on the plane. */
export function listenToPlane() {
  const canvas = app.canvases.plane;
  let dragging = false;
  let pressed = null;
  canvas.addEventListener("touchstart", (event) => {
    const [px, py] = placeOn(event.touches[0], canvas);
    if (nearStart(px, py)) event.preventDefault(); // the page scrolls unless the start is held
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    const [px, py] = placeOn(event, canvas);
    pressed = [px, py];
    dragging = nearStart(px, py);
    if (!dragging) return;
    app.heldWindow = app.views.plane;
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", (event) => {
    const [px, py] = placeOn(event, canvas);
    canvas.style.cursor = dragging ? "grabbing" : nearStart(px, py) ? "grab" : "crosshair";
    if (dragging) moveStart(...app.views.plane.back(px, py), true);
  });
  const release = (event) => {
    if (pressed === null) return;
    const [px, py] = placeOn(event, canvas);
    const still = Math.hypot(px - pressed[0], py - pressed[1]) < 5;
    if (event.type === "pointerup" && !dragging && still) {
      moveStart(...app.views.plane.back(px, py), false);
    }
    dragging = false;
    pressed = null;
    app.heldWindow = null;
    requestFrame(false);
  };
  canvas.addEventListener("pointerup", release);
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("keydown", (event) => {
    const step = (event.shiftKey ? 0.25 : 0.05) * app.problem.gstar;
    const move = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1] }[
      event.key];
    if (!move) return;
    event.preventDefault();
    const { g, a, t } = app.state; // not what is drawn: keys may come faster than pictures
    const [x, y] = startPoint({ problem: app.problem, start: startAt(app.problem, g, a, t) });
    moveStart(x + step * move[0], y + step * move[1], false);
  });
}

/** Click, drag and keys on the phase diagram. */
export function listenToPhase() {
  const canvas = app.canvases.phase;
  let held = false;
  const move = (event, live) => {
    const [g, c] = (app.heldPhase ?? app.views.phase).back(...placeOn(event, canvas));
    const sign = app.state.g < 0 ? -1 : 1;
    update({ g: sign * significant(g), gamma: significant(c * app.state.eta, 3) }, live);
  };
  canvas.addEventListener("pointerdown", (event) => {
    held = event.pointerType === "mouse" && hasPhase(app.scene);
    if (!held) return;
    app.heldPhase = app.views.phase; // it grows with the scale: not under the hand
    canvas.setPointerCapture(event.pointerId);
    move(event, true);
  });
  const release = () => {
    held = false;
    app.heldPhase = null;
    requestFrame(false);
  };
  canvas.addEventListener("pointermove", (event) => held && move(event, true));
  canvas.addEventListener("pointerup", (event) => {
    if (hasPhase(app.scene)) move(event, false);
    release();
  });
  canvas.addEventListener("pointercancel", release);
  canvas.addEventListener("keydown", (event) => {
    const far = event.shiftKey ? 5 : 1;
    const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const upwards = { ArrowDown: -1, ArrowUp: 1 }[event.key];
    if ((sideways === undefined && upwards === undefined) || !hasPhase(app.scene)) return;
    event.preventDefault();
    if (sideways !== undefined) {
      const g = Math.max(0, Math.abs(app.state.g) + 0.02 * far * sideways * app.problem.gstar);
      update({ g: significant((app.state.g < 0 ? -1 : 1) * g) });
    } else update({ gamma: significant(app.state.gamma * 1.1 ** (far * upwards), 3) });
  });
}

/** On the curves: drag the moment of the thaw, or choose up to which step the paths are shown. */
export function listenToCurves() {
  const canvas = app.canvases.curves;
  let held = null; // "freeze" or "upto"
  const under = (event) => {
    const [px, py] = placeOn(event, canvas);
    return stepUnder(app.scene, canvas.clientWidth, canvas.clientHeight, px, py);
  };
  const move = (event) => {
    const found = under(event);
    if (found) update({ [held]: Math.min(app.state.steps, Math.max(1, found.step)) }, true);
  };
  canvas.addEventListener("pointerdown", (event) => {
    const found = under(event);
    if (!found || event.pointerType !== "mouse") return; // a finger may be about to scroll
    held = found.fromThaw <= THAW_HANDLE ? "freeze" : "upto";
    canvas.setPointerCapture(event.pointerId);
    move(event);
  });
  canvas.addEventListener("pointermove", (event) => {
    if (held) return move(event);
    const near = (under(event)?.fromThaw ?? Infinity) <= THAW_HANDLE;
    canvas.style.cursor = near ? "ew-resize" : "crosshair";
    return undefined;
  });
  const release = () => {
    held = null;
    requestFrame(false);
  };
  canvas.addEventListener("pointerup", (event) => {
    if (event.pointerType !== "mouse") {
      held = "upto";
      move(event);
    }
    release();
  });
  canvas.addEventListener("pointercancel", release);
}
