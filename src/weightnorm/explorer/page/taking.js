// What people take away: text on the clipboard, pictures as files.

import { CanvasPainter, SvgPainter } from "./paint.js";

const SHARP = 3; // pixels of a PNG per pixel of the screen

/** Put a text on the clipboard; whether that worked. */
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false; // no permission, or an old browser: the caller shows the text instead
  }
}

/** Save a view as a file; `paint` draws it with any painter. */
export function exportPicture(kind, name, width, height, paint) {
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
