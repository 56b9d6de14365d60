// The picture as Python: code that runs the same with weightnorm, and draws it.

import { cosSin } from "./problems.js";
import { NOISE_SEED, significant } from "./state.js";
import { toleranceOf } from "./scene.js";

const NOISY_RECORD = 7; // every step of a noisy run takes Python long to record

function pythonList(values) {
  return `[${Array.from(values, pythonNumber).join(", ")}]`;
}

/** A float as Python writes it. */
function pythonNumber(value) {
  const text = String(value);
  return /[.e]/.test(text) ? text : `${text}.0`;
}

/** A name as it may stand in a comment: what would end the line would be code. */
function inOneLine(name) {
  return name.replace(/[\p{C}\p{Z}]+/gu, " ");
}

/** The lines that make the problem and the unit vectors `along`, `across` and `away`. */
function problemLines(problem) {
  if (problem.kind === "plane") {
    return [
      "problem = wn.LeastSquares([[1.0, 0.0]], [1.0])  # one equation, two unknowns",
      "along, away = np.eye(2)  # towards x*, and what the data cannot see",
    ];
  }
  const towards = [
    "target = problem.min_norm_solution()",
    "along = target / np.linalg.norm(target)  # towards x*",
  ];
  if (problem.kind === "made") {
    const { samples, features, condition, norm, seed } = problem;
    return [
      "problem = wn.datasets.make_regression(",
      `    num_samples=${samples}, num_features=${features}, ` +
        `condition_number=${pythonNumber(condition)},`,
      `    solution_norm=${pythonNumber(norm)}, seed=${seed},`,
      ")",
      ...towards,
      `random = wn.datasets.random_direction(${features}, seed=${seed})`,
      "seen, unseen = problem.split(random)",
      ...(problem.rank > 1
        ? ["across = seen - (seen @ along) * along", "across /= np.linalg.norm(across)"] : []),
      problem.free ? "away = unseen / np.linalg.norm(unseen)  # what the data cannot see"
        : `away = ${problem.rank > 1 ? "across" : "0.0 * along"}  # these data see everything`,
    ];
  }
  const rank = problem.rank;
  const padded = (name) => (problem.free ? `np.append(${name}, 0.0)` : name);
  const matrix = problem.free
    ? `np.column_stack([np.diag(singular), np.zeros(${rank})])` : "np.diag(singular)";
  return [
    `# ${inOneLine(problem.name)}: ${problem.samples} samples, ${problem.features} features,`,
    "# in coordinates of its own",
    `singular = np.array(${pythonList(problem.curvatures.map(Math.sqrt))})`,
    `solution = np.array(${pythonList(problem.target)})`,
    `problem = wn.LeastSquares(${matrix}, singular * solution)`,
    ...towards,
    ...(rank > 1 ? [`across = ${padded(`np.array(${pythonList(problem.across)})`)}`] : []),
    problem.free ? `away = np.eye(${rank + 1})[-1]  # what the data cannot see`
      : `away = ${rank > 1 ? "across" : "0.0 * along"}  # these data see everything`,
  ];
}

/** The line that makes the direction. */
function directionLine(state, problem) {
  const own = problem.start;
  if (problem.kind === "made" && state.a === own.angle && state.t === own.tilt) {
    return "direction = random";
  }
  const [seen, unseen] = cosSin(state.a);
  const [along, across] = cosSin(state.t);
  const terms = [[seen * along, "along"], [seen * across, "across"]];
  if (problem.free) terms.push([unseen, "away"]);
  const kept = terms.filter(([value]) => value !== 0);
  return `direction = ${kept.map(([v, name]) => `${pythonNumber(v)} * ${name}`).join(" + ")}`;
}

/** The lines that predict the end of steps of this size, where the page does. */
function stepLines({ state, predicted, ratio }) {
  const extras = [];
  if (state.beta > 0) extras.push(`, momentum=${pythonNumber(state.beta)}`);
  if (state.nesterov === 1) extras.push(", nesterov=True");
  if (predicted.why === "noise" && predicted.rpgd) {
    return [
      "settled = wn.theory.noise_equilibrium(",
      `    problem, ${pythonNumber(state.eta)}, ratio=${pythonNumber(ratio)}, ` +
        `label_noise=${pythonNumber(state.noise)}`,
      ")",
      'print(f"rpgd with this noise, in the long run: norm {settled.norm:.6g}")',
    ];
  }
  if (predicted.why !== "first order") return [];
  return [
    "for method in (\"wn\", \"rpgd\"):  # with steps of this size, to first order",
    "    stepped = wn.theory.finite_step_limit(",
    `        problem, **start, method=method, step=${pythonNumber(state.eta)}, ` +
      `ratio=${pythonNumber(ratio)}${extras.join("")}`,
    "    )",
    '    print(f"    {method}: {stepped.distance:.6g}, give or take {stepped.error:.2g}")',
  ];
}

/** Code that reproduces a scene; `view` is the part of the plane that is shown. */
export function pythonCode(scene, view) {
  const { state, problem, ratio } = scene;
  const extras = [];
  if (state.beta > 0) extras.push(`momentum=${pythonNumber(state.beta)}`);
  if (state.nesterov === 1) extras.push("nesterov=True");
  if (state.noise > 0) {
    extras.push(`label_noise=${pythonNumber(state.noise)}`, `seed=${NOISE_SEED}`);
  }
  const more = extras.length ? `, ${extras.join(", ")}` : "";
  const scaleStep = state.freeze > 0 ? "thaw" : pythonNumber(state.gamma);
  const steps = `${pythonNumber(state.eta)}, ${scaleStep}${more}`;
  const record = state.noise > 0 ? NOISY_RECORD : 1;
  const frozen = (state.freeze * state.eta) / (1 - state.beta);
  const flowLines = state.freeze > 0 ? [
    "# the flow with its scale frozen, then free",
    "frozen = wn.flow(",
    `    problem, **start, ratio=0.0, tolerance=0.0, max_time=${pythonNumber(frozen)}`,
    ")",
    'after = {"scale": frozen.scale[-1], "direction": frozen.direction[-1]}',
  ] : [];
  const from = state.freeze > 0 ? "after" : "start";
  const window = [view.left, view.right, view.bottom, view.top].map((v) => significant(v));
  return [
    "import matplotlib.pyplot as plt",
    "import numpy as np",
    "import weightnorm as wn",
    "",
    ...problemLines(problem),
    directionLine(state, problem),
    `start = {"scale": ${pythonNumber(state.g)}, "direction": direction}`,
    "",
    ...(state.freeze > 0
      ? [`thaw = wn.schedules.two_phase(0.0, ${pythonNumber(state.gamma)}, switch=${state.freeze})`]
      : []),
    "methods = {",
    `    "gd": wn.GradientDescent(${pythonNumber(state.gd)}${more}),`,
    `    "wn": wn.WeightNorm(${steps}),`,
    `    "rpgd": wn.RPGD(${steps}),`,
    "}",
    `stop = {"tolerance": ${pythonNumber(toleranceOf(problem))}, "max_steps": ${state.steps}}`,
    "runs = {",
    `    name: wn.run(method, problem, **start, **stop, record=${record}, keep=("weights",))`,
    "    for name, method in methods.items()",
    "}",
    ...flowLines,
    `flow = wn.flow(problem, **${from}, ratio=${pythonNumber(ratio)}, ` +
      `tolerance=${pythonNumber(1e-18 * problem.zeroLoss)})`,
    "",
    "# where they end, predicted before any run",
    "gd_limit = wn.theory.gd_limit(problem, **start)",
    `limit = wn.theory.flow_limit(problem, **${from}, ratio=${pythonNumber(ratio)})`,
    'print(f"distance to x*, predicted: gd {gd_limit.distance:.6g}, flow {limit.distance:.6g}")',
    ...stepLines(scene),
    "for name, run in runs.items():",
    '    print(f"{name}: {run.status.value}, {run.num_steps} steps, distance {run.distance:.6g}")',
    "",
    "paths = {name: run.history.weights for name, run in runs.items()}",
    state.freeze > 0 ? 'paths["flow"] = np.vstack([frozen.weights, flow.weights])'
      : 'paths["flow"] = flow.weights',
    "for name, path in paths.items():",
    '    plt.plot(path @ along, path @ away, ":" if name == "flow" else "-", label=name)',
    "solution_norm = np.linalg.norm(problem.min_norm_solution())",
    ...(problem.free ? ['plt.axvline(solution_norm, color="black", linewidth=1)  # all solutions']
      : []),
    "for end in (gd_limit, limit):",
    '    plt.plot(end.weights @ along, end.weights @ away, "o", mfc="none", ms=12, color="black")',
    `plt.axis((${window.map(pythonNumber).join(", ")}))`,
    'plt.gca().set_aspect("equal", adjustable="box")',
    'plt.xlabel("weights along x*")',
    `plt.ylabel("${problem.free ? "weights that the data cannot see" : "weights across x*"}")`,
    "plt.legend()",
    "plt.show()",
    "",
  ].join("\n");
}
