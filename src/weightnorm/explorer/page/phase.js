// The phase diagram: where the WN flow ends, over the scale of the start and the ratio of rates.

import { criticalRatio, limitPerp, printedError, turningScale } from "./limits.js";
import { axisTicks, plainNumber, powerLabel, powerTicks } from "./paint.js";

const MARGIN = { left: 46, right: 12, top: 26, bottom: 40 };
const PRINTED_OFF = 0.01; // the printed limit counts as off beyond this share
const RANGE = 6; // powers of ten that the colours tell apart
// dark blue to yellow, as even for the colour-blind as matplotlib's cividis, which the paper has
const RAMP = [[0, 34, 78], [53, 69, 108], [102, 105, 112], [148, 142, 119], [200, 184, 102],
  [254, 232, 56]];

/** The part of the (g0, c) plane that is shown. */
export function phaseWindow(scene, width, height) {
  const { gstar } = scene.problem;
  const g = Math.abs(scene.state.g);
  const right = Math.max(2 * gstar, 1.25 * g);
  const unit = Math.log10((gstar / 3) ** 2);
  const c = Math.log10(scene.ratio);
  const low = Math.min(unit - 1.7, c - 0.3);
  const high = Math.max(unit + 2.3, c + 0.3);
  const w = width - MARGIN.left - MARGIN.right;
  const h = height - MARGIN.top - MARGIN.bottom;
  return {
    right, low, high, w, h,
    x: (v) => MARGIN.left + (v / right) * w,
    y: (v) => MARGIN.top + h - ((Math.log10(v) - low) / (high - low)) * h,
    back: (px, py) => [
      Math.min(Math.max(0, ((px - MARGIN.left) / w) * right), right),
      10 ** (low + Math.min(1, Math.max(0, (MARGIN.top + h - py) / h)) * (high - low)),
    ],
  };
}

/** Whether there is anything to show: something that the data cannot see, and a part of it. */
export function hasPhase({ problem, start }) {
  return problem.free && start.unseen !== 0;
}

/** log10 of the distance over a grid: rows from high c to low, columns from g0 = 0 up. */
function phaseGrid(gstar, q0, view, columns, rows) {
  const values = new Float32Array(columns * rows);
  const logQ2 = 2 * Math.log(q0);
  for (let row = 0; row < rows; row++) {
    const c = 10 ** (view.high - ((row + 0.5) / rows) * (view.high - view.low));
    for (let column = 0; column < columns; column++) {
      const g0 = ((column + 0.5) / columns) * view.right;
      values[row * columns + column] = Math.log10(limitPerp(g0, gstar, logQ2, c));
    }
  }
  return values;
}

function rampColor(share) {
  const place = Math.min(0.9999, Math.max(0, share)) * (RAMP.length - 1);
  const i = Math.floor(place);
  return RAMP[i].map((v, k) => Math.round(v + (place - i) * (RAMP[i + 1][k] - v)));
}

const gridImages = { key: "", canvas: null };

/** The grid as a small picture, which is stretched; drawn anew only when its numbers change. */
function gridImage(problem, q0, view, coarse) {
  const [columns, rows] = coarse ? [56, 42] : [140, 105];
  const key = [problem.gstar, q0, view.right, view.low, view.high, columns].join();
  if (gridImages.key === key) return gridImages.canvas;
  const canvas = document.createElement("canvas");
  canvas.width = columns;
  canvas.height = rows;
  const context = canvas.getContext("2d");
  const image = context.createImageData(columns, rows);
  const values = phaseGrid(problem.gstar, q0, view, columns, rows);
  const top = Math.log10(view.right);
  for (let i = 0; i < values.length; i++) {
    image.data.set([...rampColor((values[i] - top + RANGE) / RANGE), 255], 4 * i);
  }
  context.putImageData(image, 0, 0);
  Object.assign(gridImages, { key, canvas });
  return canvas;
}

/** Draw the phase diagram. */
export function drawPhase(painter, scene, view, width, height, colors, { coarse = false } = {}) {
  const { problem, start } = scene;
  const q0 = Math.abs(start.unseen);
  painter.rect(0, 0, width, height, { fill: colors.paper });
  const { left, top } = MARGIN;
  if (!hasPhase(scene)) {
    const words = problem.free ? "A start with nothing unseen keeps nothing."
      : "These data see everything: every method ends at x*.";
    painter.text(words, width / 2, height / 2, { color: colors.quiet, align: "center" });
    return;
  }
  painter.image(gridImage(problem, q0, view, coarse), left, top, view.w, view.h);
  painter.inside(left, top, view.w, view.h, () => {
    drawPrintedFailure(painter, problem, q0, view);
    drawBoundary(painter, problem, q0, view);
    drawCursor(painter, scene, view);
  });
  drawPhaseAxes(painter, problem, view, width, height, colors);
}

/** Strokes where the paper's printed limit is off by more than a percent. */
function drawPrintedFailure(painter, problem, q0, view) {
  const step = 17;
  for (let px = step / 2; px < view.w; px += step) {
    for (let py = step / 2; py < view.h; py += step) {
      const [g0, c] = view.back(MARGIN.left + px, MARGIN.top + py);
      if (!(printedError(g0, problem.gstar, q0, c) > PRINTED_OFF)) continue;
      const [x, y] = [MARGIN.left + px, MARGIN.top + py];
      const stroke = [[x - 3, y + 3], [x + 3, y - 3]];
      painter.line(stroke, { color: "#000000", width: 2.6, alpha: 0.5 });
      painter.line(stroke, { color: "#ffffff", width: 1.3 });
    }
  }
}

/** Where WN and gradient descent end equally close: c = c*(g0), and g0 = ‖x*‖/‖w0∥‖. */
function drawBoundary(painter, problem, q0, view) {
  const points = [];
  for (let i = 1; i <= 160; i++) {
    const g0 = (i / 160) * view.right;
    points.push([view.x(g0), view.y(criticalRatio(g0, problem.gstar, q0))]);
  }
  const turn = turningScale(problem.gstar, q0);
  const lines = [points];
  if (turn < view.right) lines.push([[view.x(turn), 0], [view.x(turn), 1e4]]);
  for (const line of lines) {
    painter.line(line, { color: "#000000", width: 4, alpha: 0.6 });
    painter.line(line, { color: "#ffffff", width: 2 });
  }
  nameRegions(painter, problem, q0, view, Math.min(turn, view.right));
}

/** Which of the two ends closer, in each region that has room for the words. */
function nameRegions(painter, problem, q0, view, turn) {
  const style = { color: "#ffffff", size: 12, halo: "#000000", align: "center" };
  for (const [from, to, below, above] of [[0, turn, "WN", "GD"], [turn, view.right, "GD", "WN"]]) {
    const middle = 0.5 * (from + to);
    const edge = Math.log10(criticalRatio(middle, problem.gstar, q0));
    const room = view.x(to) - view.x(from);
    for (const [name, limit] of [[below, view.low], [above, view.high]]) {
      const words = `${name} ends closer`;
      if (room < 7 * words.length || Math.abs(edge - limit) < 0.35) continue;
      painter.text(words, view.x(middle), view.y(10 ** (0.4 * edge + 0.6 * limit)), style);
    }
  }
}

function drawCursor(painter, scene, view) {
  const [x, y] = [view.x(Math.abs(scene.state.g)), view.y(scene.ratio)];
  for (const [color, width] of [["#000000", 5], ["#ffffff", 2.5]]) {
    painter.circle(x, y, 8, { stroke: color, width });
    painter.line([[x - 15, y], [x - 5, y]], { color, width });
    painter.line([[x + 5, y], [x + 15, y]], { color, width });
    painter.line([[x, y - 15], [x, y - 5]], { color, width });
    painter.line([[x, y + 5], [x, y + 15]], { color, width });
  }
}

function drawPhaseAxes(painter, problem, view, width, height, colors) {
  const style = { color: colors.quiet, size: 11 };
  const bottom = MARGIN.top + view.h;
  for (const g0 of axisTicks(0, view.right, 6)) {
    painter.text(plainNumber(g0, 3), view.x(g0), bottom + 14, { ...style, align: "center" });
  }
  for (const power of powerTicks(view.low, view.high, 6)) {
    painter.text(powerLabel(power), MARGIN.left - 6, view.y(10 ** power), {
      ...style, align: "right", base: "middle",
    });
  }
  painter.text("scale of the start, |g₀|", MARGIN.left + view.w / 2, height - 6, {
    ...style, align: "center",
  });
  painter.text("c = γ/η", 4, 14, style);
  drawKey(painter, view, width, colors);
}

/** The colours' meaning: distance to the minimum-norm solution. */
function drawKey(painter, view, width, colors) {
  const length = 70;
  const x = width - 24 - length;
  for (let i = 0; i < 14; i++) {
    const color = `rgb(${rampColor(i / 13).join()})`;
    painter.rect(x + (i * length) / 14, 8, length / 14 + 0.5, 9, { fill: color });
  }
  const words = width > 340 ? "the flow ends near x*" : "near x*";
  painter.text(words, x - 6, 16, { color: colors.quiet, size: 11, align: "right" });
  painter.text("far", width - 2, 16, { color: colors.quiet, size: 11, align: "right" });
}
