// Four curves against the step number: loss, scale, the unseen part of the direction, invariant.

import { drawLegend, LINE_DASHES } from "./looks.js";
import { axisTicks, plainNumber, powerLabel, powerTicks } from "./paint.js";

const PANELS = [
  { key: "loss", title: "loss", log: true },
  { key: "scale", title: "scale g", log: false },
  { key: "perp", title: "‖w⊥‖, unseen part of w", log: true },
  { key: "invariant", title: "log‖w⊥‖ + g²/2c, less its start", log: false },
];
const DEEPEST = 12; // powers of ten under the start that a logarithmic panel shows
const PAD = { left: 44, right: 10, top: 22, bottom: 22 };

/** Which method has a curve in a panel: gradient descent keeps neither a scale nor an invariant. */
function hasCurve(name, key) {
  return !(name === "gd" && (key === "invariant" || key === "scale"));
}

/** The values of a run in a panel. */
function curveValues(run, { key, log }) {
  const values = run.trace[key];
  if (key === "invariant") return values.map((v) => v - values[0]);
  return log ? values.map((v) => Math.log10(v)) : values;
}

/** The largest step number shown: where the last of the runs has ended. */
export function lastStep(scene) {
  const shown = scene.state.shown.split(".");
  const ends = ["gd", "wn", "rpgd"].filter((name) => shown.includes(name))
    .map((name) => scene.runs[name].steps);
  return Math.max(10, ...(ends.length ? ends : [Math.min(scene.state.steps, 1000)]));
}

/** The places of the four panels. */
function panelBoxes(width, height) {
  const columns = width >= 860 ? 4 : width >= 440 ? 2 : 1;
  const [w, h] = [width / columns, height / Math.ceil(PANELS.length / columns)];
  return PANELS.map((_, i) => ({
    left: (i % columns) * w, top: Math.floor(i / columns) * h, w, h,
  }));
}

/** Places on a panel's logarithmic axis of steps, and back. */
function stepAxis(box, end) {
  const [first, length] = [box.left + PAD.left, box.w - PAD.left - PAD.right];
  const span = Math.log10(end + 1);
  return {
    x: (step) => first + (Math.log10(step + 1) / span) * length,
    step: (px) => 10 ** (Math.min(1, Math.max(0, (px - first) / length)) * span) - 1,
  };
}

/** The step under a place of the view, and how many pixels away the thaw of the scale is. */
export function stepUnder(scene, width, height, px, py) {
  const inside = ({ left, top, w, h }) => px >= left && px < left + w && py >= top && py < top + h;
  const box = panelBoxes(width, height).find(inside);
  if (!box) return null;
  const axis = stepAxis(box, lastStep(scene));
  const { freeze } = scene.state;
  return {
    step: Math.round(axis.step(px)),
    fromThaw: freeze > 0 ? Math.abs(px - axis.x(freeze)) : Infinity,
  };
}

/** Draw the four panels. */
export function drawCurves(painter, scene, width, height, colors) {
  painter.rect(0, 0, width, height, { fill: colors.paper });
  const end = lastStep(scene);
  for (const [i, box] of panelBoxes(width, height).entries()) {
    drawPanel(painter, scene, PANELS[i], box, end, colors);
  }
}

/** The curves of a panel that are shown, each with its name, steps and values. */
function panelCurves(scene, panel) {
  const shown = scene.state.shown.split(".");
  return ["flow", "gd", "wn", "rpgd"]
    .filter((name) => shown.includes(name) && hasCurve(name, panel.key))
    .map((name) => ({
      name, steps: scene.runs[name].trace.step, values: curveValues(scene.runs[name], panel),
    }));
}

/** Why a panel has nothing to draw; an empty text where it has. */
function emptyReason(scene, panel, curves) {
  const unseen = panel.key === "perp" || panel.key === "invariant";
  if (unseen && scene.start.unseen === 0) return "nothing of this start is unseen";
  if (curves.length) return "";
  return scene.state.shown === "gd" ? "gradient descent has none" : "no method is shown";
}

function panelRange(curves, panel, end) {
  const finite = curves.flatMap(({ steps, values }) =>
    values.filter((v, i) => Number.isFinite(v) && steps[i] <= end));
  if (!finite.length) return [0, 1];
  let low = finite.reduce((a, b) => Math.min(a, b), Infinity);
  let high = finite.reduce((a, b) => Math.max(a, b), -Infinity);
  if (panel.key === "invariant") {
    low = Math.max(low, -DEEPEST / 2);
    high = Math.min(high, DEEPEST / 2);
  }
  if (panel.log) {
    const first = curves.map(({ values }) => values[0]).filter(Number.isFinite);
    high = Math.min(high, Math.max(...first, low) + 4);
    if (panel.key === "perp") high = Math.min(high, 0);
    low = Math.max(low, high - DEEPEST);
  }
  const least = panel.log ? 1 : panel.key === "invariant" ? 0.1 : 1e-3 * Math.abs(high) || 1;
  if (high - low < least) [low, high] = [low - least / 2, high + least / 2];
  if (panel.key === "perp" && high > 0) [low, high] = [low - high, 0];
  const space = 0.06 * (high - low);
  return [low - space, high + space];
}

/** Where a panel has grid lines, and their words; few powers of ten are not enough. */
function panelTicks(panel, low, high) {
  if (!panel.log) return axisTicks(low, high, 3).map((v) => [v, plainNumber(v, 3)]);
  const powers = powerTicks(low, high, 4);
  if (powers.length > 1) return powers.map((v) => [v, powerLabel(v)]);
  const between = axisTicks(10 ** low, 10 ** high, 3).filter((v) => v > 0);
  return between.map((v) => [Math.log10(v), plainNumber(v, 3)]);
}

function drawPanel(painter, scene, panel, box, end, colors) {
  const curves = panelCurves(scene, panel);
  const floored = panel.key === "loss" && scene.problem.floor > 0;
  const title = floored ? "loss above its smallest" : panel.title;
  painter.text(title, box.left + PAD.left, box.top + 14, { color: colors.ink, size: 12 });
  const nothing = emptyReason(scene, panel, curves);
  if (nothing) {
    painter.text(nothing, box.left + PAD.left, box.top + 0.5 * box.h, {
      color: colors.quiet, size: 11,
    });
    return;
  }
  const [low, high] = panelRange(curves, panel, end);
  const [w, h] = [box.w - PAD.left - PAD.right, box.h - PAD.top - PAD.bottom];
  const { x } = stepAxis(box, end);
  const y = (value) => box.top + PAD.top + h - ((value - low) / (high - low)) * h;
  const small = { color: colors.quiet, size: 10.5 };
  for (const [tick, words] of panelTicks(panel, low, high)) {
    painter.line([[x(0), y(tick)], [x(end), y(tick)]], { color: colors.grid });
    painter.text(words, x(0) - 5, y(tick), {
      ...small, align: "right", base: "middle",
    });
  }
  for (const power of powerTicks(0, Math.log10(end + 1), 5)) {
    const place = x(10 ** power - 1);
    if (x(end) - place < 36) continue; // "step" stands there
    painter.text(power === 0 ? "0" : powerLabel(power), place, box.top + PAD.top + h + 14, {
      ...small, align: "center",
    });
  }
  painter.text("step", x(end), box.top + PAD.top + h + 14, {
    ...small, align: "right", halo: colors.paper,
  });
  painter.inside(x(0), box.top + PAD.top, w, h, () => {
    if (scene.state.freeze > 0 && scene.state.freeze < end) {
      const place = x(scene.state.freeze);
      painter.line([[place, 0], [place, box.top + box.h]], { color: colors.quiet, dash: [3, 3] });
      painter.text("thaw", place + 4, box.top + PAD.top + 12, small);
    }
    if (scene.state.upto < end) {
      const place = x(scene.state.upto);
      painter.line([[place, 0], [place, box.top + box.h]], { color: colors.ink, width: 1.5 });
    }
    for (const { name, steps, values } of curves) {
      const points = [];
      for (let i = 0; i < steps.length; i++) {
        if (steps[i] > end * 1.5) break;
        const value = Math.max(values[i], low - 2 * (high - low));
        if (Number.isFinite(value)) points.push([x(steps[i]), y(value)]);
      }
      painter.line(points, { color: colors[name], width: 1.8, dash: LINE_DASHES[name] });
    }
    if (panel.key !== "loss") return;
    const shown = scene.state.shown.split(".");
    drawLegend(painter, shown, x(0) + 4, box.top + PAD.top + h - 6, colors, 2);
  });
}
