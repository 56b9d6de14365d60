// The plane: x along the solution (across the page) and along what the data cannot see (up).

import { drawLegend, LINE_DASHES } from "./looks.js";
import { axisTicks, plainNumber } from "./paint.js";

const WIDTH = { gd: 2, wn: 2.4, rpgd: 2, flow: 1.6 };
const ORDER = ["flow", "gd", "wn", "rpgd"];
const LEVELS = [0.04, 0.16, 0.36, 0.64, 1, 1.44, 1.96, 2.56, 4];
const FAR = 3.2; // what lies further out, in units of the rest, does not widen the window

/** The vertical axis: what the data cannot see, or where they see all, the second seen axis. */
function upOf(problem) {
  return problem.free ? "unseen" : "across";
}

/** Where the start stands: [x, y] in weights. */
export function startPoint(scene) {
  const { problem, start } = scene;
  let along = 0;
  let across = 0;
  for (let i = 0; i < problem.rank; i++) {
    along += problem.axis[i] * start.seen[i];
    across += problem.across[i] * start.seen[i];
  }
  return [start.scale * along, start.scale * (problem.free ? start.unseen : across)];
}

/** How much of the start lies along directions that the plane does not show. */
export function hiddenPart(scene) {
  const { problem, start } = scene;
  if (!problem.free) return 0;
  let across = 0;
  for (let i = 0; i < problem.rank; i++) across += problem.across[i] * start.seen[i];
  return Math.abs(start.scale * across);
}

/** The part of the plane that is shown: from the start, the solution and the predicted ends. */
export function planeWindow(scene, width, height) {
  const { problem, limits, runs } = scene;
  const { gstar } = problem;
  const points = [[0, 0], [gstar, 0], startPoint(scene)];
  for (const limit of [limits.gd, limits.flow]) {
    if (problem.free) points.push([gstar, limit.unseen]);
  }
  const reach = FAR * Math.max(...points.map(([x, y]) => Math.hypot(x, y)));
  for (const run of Object.values(runs)) {
    const { along } = run.trace;
    const up = run.trace[upOf(problem)];
    for (let i = 0; i < along.length; i += Math.max(1, Math.floor(along.length / 60))) {
      if (Math.hypot(along[i], up[i]) <= reach) points.push([along[i], up[i]]);
    }
  }
  const xs = points.map(([x]) => x);
  const ys = points.map(([, y]) => y);
  const quarter = 0.25 * gstar; // in steps, so that the window does not tremble
  const down = (v) => Math.floor(v / quarter - 0.6) * quarter;
  const over = (v) => Math.ceil(v / quarter + 0.6) * quarter;
  let [left, right] = [down(Math.min(...xs)), over(Math.max(...xs))];
  let [bottom, top] = [down(Math.min(...ys)), over(Math.max(...ys))];
  const per = Math.max((right - left) / width, (top - bottom) / height);
  const wider = 0.5 * (per * width - (right - left));
  const taller = 0.5 * (per * height - (top - bottom));
  [left, right, bottom, top] = [left - wider, right + wider, bottom - taller, top + taller];
  return {
    left, right, bottom, top,
    x: (v) => (v - left) / per,
    y: (v) => height - (v - bottom) / per,
    back: (px, py) => [left + px * per, bottom + (height - py) * per],
    per,
  };
}

/** Draw the plane. */
export function drawPlane(painter, scene, view, width, height, colors) {
  painter.rect(0, 0, width, height, { fill: colors.paper });
  drawContours(painter, scene, view, height, colors);
  drawAxes(painter, view, width, height, colors, scene.problem);
  drawSolutions(painter, scene, view, height, colors);
  const shown = scene.state.shown.split(".");
  const [sx, sy] = startPoint(scene);
  painter.circle(view.x(0), view.y(0), Math.abs(scene.start.scale) / view.per, {
    stroke: colors.faint, dash: [2, 4],
  });
  for (const name of ORDER.filter((each) => shown.includes(each))) {
    drawPath(painter, scene, name, view, width, height, colors);
  }
  drawStationary(painter, view, colors);
  drawStar(painter, view.x(scene.problem.gstar), view.y(0), 9, colors);
  painter.text("x*", view.x(scene.problem.gstar) - 12, view.y(0) + 18, {
    color: colors.ink, size: 14, halo: colors.paper, align: "right",
  });
  drawRings(painter, scene, view, width, colors, shown);
  drawPrinted(painter, scene, view, width, height, colors, shown);
  drawLegend(painter, shown, 8, height - 26, colors);
  painter.circle(view.x(sx), view.y(sy), 9, { fill: colors.ink, stroke: colors.paper, width: 2 });
  const below = sy < 0 ? 24 : -16;
  painter.text("start", view.x(sx), view.y(sy) + below, {
    color: colors.ink, size: 13, align: "center", halo: colors.paper,
  });
}

function drawContours(painter, scene, view, height, colors) {
  const { problem } = scene;
  let steep = 0;
  for (let i = 0; i < problem.rank; i++) steep += problem.curvatures[i] * problem.axis[i] ** 2;
  for (const level of LEVELS) {
    const away = Math.sqrt((2 * level * problem.zeroLoss) / steep);
    for (const x of [problem.gstar - away, problem.gstar + away]) {
      if (x < view.left || x > view.right) continue;
      painter.line([[view.x(x), 0], [view.x(x), height]], { color: colors.grid });
    }
  }
}

function drawAxes(painter, view, width, height, colors, problem) {
  const style = { color: colors.quiet, size: 11, halo: colors.paper };
  for (const x of axisTicks(view.left, view.right, width / 90)) {
    painter.text(plainNumber(x, 3), view.x(x), height - 6, { ...style, align: "center" });
  }
  for (const y of axisTicks(view.bottom, view.top, height / 70)) {
    if (view.y(y) > height - 24 || view.y(y) < 20) continue;
    painter.text(plainNumber(y, 3), 6, view.y(y), { ...style, base: "middle" });
  }
  painter.line([[0, view.y(0)], [width, view.y(0)]], { color: colors.faint });
  painter.text("along x* →", view.x(0) + 12, view.y(0) + 14, style);
  const up = problem.free ? "what the data cannot see ↑" : "across x* ↑";
  painter.text(up, 6, 14, style);
}

/** The line of minimisers, and the part of it where rPGD with these steps can settle. */
function drawSolutions(painter, scene, view, height, colors) {
  const { problem, edges, state } = scene;
  if (!problem.free) return;
  const x = view.x(problem.gstar);
  painter.line([[x, 0], [x, height]], { color: colors.ink, width: 1.5 });
  const words = problem.floor > 0 ? "all best fits" : "all solutions";
  const tight = x > view.x(view.right) - 84;
  painter.text(words, tight ? x - 6 : x + 6, 14, {
    color: colors.ink, size: 12, halo: colors.paper, align: tight ? "right" : "left",
  });
  const settles = edges.bracket !== null && state.noise === 0 &&
    state.shown.split(".").includes("rpgd");
  if (!settles) return;
  const off = (norm) => Math.sqrt(Math.max(0, norm ** 2 - problem.gstar ** 2));
  const far = Math.max(Math.abs(view.top), Math.abs(view.bottom));
  const [low, high] = [off(edges.bracket[0]), Math.min(off(edges.bracket[1]), far)];
  if (!(off(edges.bracket[1]) < far || low > 0)) return; // all that is shown is stable
  const side = scene.start.unseen < 0 ? -1 : 1;
  for (const each of [1, -1]) {
    painter.line([[x, view.y(each * low)], [x, view.y(each * high)]], {
      color: colors.rpgd, width: 7, alpha: 0.3,
    });
  }
  const middle = view.y(side * 0.5 * (low + high));
  besideLine(painter, "rPGD can settle here", x, middle, view.x(view.right), colors.rpgd, colors);
}

function drawPath(painter, scene, name, view, width, height, colors) {
  const { trace } = scene.runs[name];
  const up = trace[upOf(scene.problem)];
  const points = [];
  for (let i = 0; i < trace.step.length && trace.step[i] <= scene.state.upto; i++) {
    const x = view.x(trace.along[i]);
    const y = view.y(up[i]);
    if (!(Math.abs(x) < 20 * width && Math.abs(y) < 20 * height)) break;
    points.push([x, y]);
  }
  const style = { color: colors[name], width: WIDTH[name], dash: LINE_DASHES[name] };
  painter.line(points, style);
  if (points.length < 2) return;
  const [x, y] = points[points.length - 1];
  painter.circle(x, y, 4, { fill: colors[name], stroke: colors.paper });
}

/** S: the rest points that are no solutions, x = 0 with a direction that no pull is along. */
function drawStationary(painter, view, colors) {
  const [x, y] = [view.x(0), view.y(0)];
  painter.line([[x, y - 12], [x, y + 12]], { color: colors.ink, width: 2 });
  painter.circle(x, y, 3, { fill: colors.ink });
  painter.text("S", x - 6, y + 4, {
    color: colors.ink, size: 13, align: "right", halo: colors.paper,
  });
}

function drawStar(painter, x, y, radius, colors) {
  const points = [];
  for (let i = 0; i < 10; i++) {
    const size = i % 2 ? 0.42 * radius : radius;
    const angle = (Math.PI * i) / 5 - Math.PI / 2;
    points.push([x + size * Math.cos(angle), y + size * Math.sin(angle)]);
  }
  painter.line(points, { color: colors.paper, width: 1.5, close: true, fill: colors.ink });
}

/** The predicted ends, as rings. */
function drawRings(painter, scene, view, width, colors, shown) {
  const { problem, predicted, state } = scene;
  if (!problem.free) return;
  const x = view.x(problem.gstar);
  for (const [name, radius] of [["gd", 11], ["wn", 11], ["rpgd", 14], ["flow", 8]]) {
    if (!shown.includes(name) || !predicted[name]) continue;
    const y = view.y(predicted[name].unseen);
    painter.circle(x, y, radius, { stroke: colors[name], width: 2.2 });
    if (name === "rpgd" && state.noise > 0) {
      besideLine(painter, "noise leads here", x, y + 4, width, colors.rpgd, colors);
    }
  }
}

/** The end as the paper prints it: a cross, or an arrow where it is out of the picture. */
function drawPrinted(painter, scene, view, width, height, colors, shown) {
  const { problem, printed, limits } = scene;
  const any = ["wn", "rpgd", "flow"].some((name) => shown.includes(name));
  if (!printed || !any || !problem.free) return;
  const x = view.x(problem.gstar);
  const wanted = view.y(printed.unseen);
  const y = Math.max(30, Math.min(height - 34, wanted));
  const style = { color: colors.printed, width: 2 };
  if (wanted !== y) {
    const tip = wanted < y ? -7 : 7;
    painter.line([[x - 6, y], [x, y + tip], [x + 6, y]], style);
    const words = `as printed: ${plainNumber(printed.unseen, 3)}`;
    besideLine(painter, words, x, y + 4, width, colors.printed, colors);
    return;
  }
  painter.line([[x - 5, y - 5], [x + 5, y + 5]], style);
  painter.line([[x - 5, y + 5], [x + 5, y - 5]], style);
  const crowded = Math.abs(view.y(limits.flow.unseen) - y) < 16 || Math.abs(view.y(0) - y) < 24;
  const place = crowded ? y - 18 : y + 4;
  besideLine(painter, "as printed", x, place, width, colors.printed, colors);
}

/** Words to the right of the line of solutions, or to its left where there is no room. */
function besideLine(painter, words, x, y, width, color, colors) {
  const left = x + 20 + 6.4 * words.length > width;
  painter.text(words, left ? x - 20 : x + 20, y, {
    color, size: 12, halo: colors.paper, align: left ? "right" : "left",
  });
}
