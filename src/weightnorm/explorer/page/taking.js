// What people take away: text on the clipboard, pictures as files.

import { CanvasPainter, SvgPainter } from "./paint.js";
import { pythonCode } from "./python.js";
import { app, currentColors, element, paintView, settleFrame } from "./store.js";

const SHARP = 3; // pixels of a PNG per pixel of the screen

/** Put a text on the clipboard; whether that worked. */
async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // no permission, or an old browser: the caller shows the text instead
  }
}

/** Save a view as a file; `paint` draws it with any painter. */
function exportPicture(kind, name, width, height, paint) {
  if (kind === "svg") {
    const painter = new SvgPainter(width, height);
    paint(painter);
    download(`weightnorm-${name}.svg`, new Blob([String(painter)], { type: "image/svg+xml" }));
    return;
  }
  const canvas = document.createElement("canvas");
  canvas.width = SHARP * width;
  canvas.height = SHARP * height;
  const context = canvas.getContext("2d");
  context.scale(SHARP, SHARP);
  paint(new CanvasPainter(context));
  canvas.toBlob((blob) => download(`weightnorm-${name}.png`, blob));
}

function download(name, blob) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** The buttons that copy and save. */
export function listenToTaking() {
  const say = (words) => (element("taken").textContent = words);
  element("copy-link").addEventListener("click", async () => {
    settleFrame();
    const copied = await copyText(location.href);
    const local = location.protocol === "file:" ? " It leads to this file: send that along." : "";
    say((copied ? "The link is copied." : `The link: ${location.href}`) + local);
  });
  const dialog = element("python-dialog");
  const copyPython = async () => {
    const done = await copyText(element("python-code").value);
    if (!done) element("python-code").select();
    element("python-copied").textContent = done ? "Copied." : "Selected: press Ctrl-C.";
  };
  element("show-python").addEventListener("click", () => {
    element("python-code").value = pythonCode(app.scene, app.views.plane);
    dialog.showModal();
    element("python-code").scrollTop = 0;
    copyPython();
  });
  element("copy-python").addEventListener("click", copyPython);
  element("close-python").addEventListener("click", () => dialog.close());
  for (const kind of ["png", "svg"]) {
    element(`export-${kind}`).addEventListener("click", () => {
      const name = element("export-view").value;
      const canvas = app.canvases[name];
      const [width, height] = [canvas.clientWidth, canvas.clientHeight];
      const paint = (painter) => paintView(name, painter, width, height, currentColors(), false);
      exportPicture(kind, name, width, height, paint);
      say(`weightnorm-${name}.${kind} is in your downloads.`);
    });
  }
}
