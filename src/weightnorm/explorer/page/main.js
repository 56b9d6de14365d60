// Opens the page: the state from the address, the listeners, the first picture.

import { syncSliders } from "./controls.js";
import { finiteStepLimit } from "./drift.js";
import { showEnds, wordsFor } from "./ends.js";
import { listenToControls, listenToTour, stopPlaying, syncFields } from "./fields.js";
import { integrateFlow } from "./flow.js";
import { listenToCurves, listenToPhase, listenToPlane } from "./gestures.js";
import { criticalRatio, flowIsCloser, limitPerp } from "./limits.js";
import { printedError, printedPerp, turningScale } from "./limits.js";
import { excessLoss, runMethod } from "./methods.js";
import { startPoint } from "./plane.js";
import { flowLimit, gradientLimit, phasedFlow, printedLimit } from "./predict.js";
import { labelNoise, madeProblem, planeProblem, reducedProblem, startAt } from "./problems.js";
import { Generator, purpose } from "./random.js";
import { computeScene, distanceOf } from "./scene.js";
import { isStable, maxDirectionStep, maxGradientStep, maxScaleStep } from "./stability.js";
import { noiseNorm, normBracket, stableBelow } from "./stability.js";
import { decodeState, encodeState, problemOf } from "./state.js";
import { app, applyTheme, drawFrame, element, requestFrame, settleFrame, update } from "./store.js";
import { listenToTaking } from "./taking.js";
import { recordedSteps } from "./trace.js";

function readAddress() {
  app.state = decodeState(location.hash, app.given);
  app.problem = problemOf(app.state, app.given);
  const lost = /(^#|&)problem=data(&|$)/.test(location.hash) && !app.given;
  element("refused").textContent = lost ? "This link is for data that are not in this page." : "";
}

app.given = JSON.parse(element("given").textContent);
for (const name of ["plane", "phase", "curves"]) app.canvases[name] = element(name);
readAddress();
app.shows.push(syncSliders, syncFields, showEnds);
app.settles.push((scene) => {
  element("announce").textContent = wordsFor(scene);
  const whole = encodeState({ ...app.state, embed: 0 }, app.given);
  element("whole").firstElementChild.href = `#${whole}`;
});
if (app.given) element("problem-kind").querySelector("[value=data]").hidden = false;
listenToControls();
listenToTour();
listenToPlane();
listenToPhase();
listenToCurves();
listenToTaking();
window.addEventListener("hashchange", () => {
  stopPlaying();
  readAddress();
  applyTheme(app.state.theme);
});
window.addEventListener("resize", () => requestFrame(false));
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => requestFrame(false));
// a page that embeds this one may say which theme it has
window.addEventListener("message", ({ data }) => {
  if (["light", "dark"].includes(data?.weightnormTheme)) applyTheme(data.weightnormTheme);
});
document.documentElement.dataset.theme = app.state.theme;
drawFrame(false);
settleFrame();

// for tests, and for whoever opens the console
window.weightnorm = {
  Generator, computeScene, criticalRatio, distanceOf, excessLoss, finiteStepLimit, flowIsCloser,
  flowLimit, gradientLimit, integrateFlow, isStable, labelNoise, limitPerp, madeProblem,
  maxDirectionStep, maxGradientStep, maxScaleStep, noiseNorm, normBracket, phasedFlow,
  planeProblem, printedError, printedLimit, printedPerp, purpose, recordedSteps, reducedProblem,
  runMethod, stableBelow, startAt, turningScale, update, frameTimes: app.frameTimes,
  get firstPicture() { return app.firstPicture; },
  get settled() { return app.settled; },
  get state() { return app.state; },
  get scene() { return app.scene; },
  get views() { return app.views; },
  get startAt2d() { return startPoint(app.scene); },
};
