// Two painters with the same few strokes: one on a canvas, one that writes SVG.

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "DejaVu Sans", sans-serif';

/** Paints on a canvas, in CSS pixels. */
export class CanvasPainter {
  constructor(context) {
    this.context = context;
  }

  rect(x, y, width, height, { fill }) {
    this.context.fillStyle = fill;
    this.context.fillRect(x, y, width, height);
  }

  line(points, { color, width = 1, dash = [], alpha = 1, close = false, fill = null }) {
    const { context } = this;
    if (points.length < 1) return;
    context.save();
    context.globalAlpha = alpha;
    context.beginPath();
    points.forEach(([x, y], i) => (i ? context.lineTo(x, y) : context.moveTo(x, y)));
    if (close) context.closePath();
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (color) {
      context.strokeStyle = color;
      context.lineWidth = width;
      context.lineJoin = "round";
      context.setLineDash(dash);
      context.stroke();
    }
    context.restore();
  }

  circle(x, y, radius, { fill = null, stroke = null, width = 1, dash = [], alpha = 1 }) {
    const { context } = this;
    context.save();
    context.globalAlpha = alpha;
    context.beginPath();
    context.arc(x, y, radius, 0, 2 * Math.PI);
    if (fill) {
      context.fillStyle = fill;
      context.fill();
    }
    if (stroke) {
      context.strokeStyle = stroke;
      context.lineWidth = width;
      context.setLineDash(dash);
      context.stroke();
    }
    context.restore();
  }

  text(words, x, y, style) {
    const { color, size = 12, align = "left", base = "alphabetic", halo = null } = style;
    const { context } = this;
    context.save();
    context.font = `${size}px ${FONT}`;
    context.textAlign = align;
    context.textBaseline = base;
    if (halo) {
      context.strokeStyle = halo;
      context.lineWidth = 3.5;
      context.lineJoin = "round";
      context.strokeText(words, x, y);
    }
    context.fillStyle = color;
    context.fillText(words, x, y);
    context.restore();
  }

  image(canvas, x, y, width, height) {
    this.context.imageSmoothingEnabled = true;
    this.context.drawImage(canvas, x, y, width, height);
  }

  inside(x, y, width, height, draw) {
    const { context } = this;
    context.save();
    context.beginPath();
    context.rect(x, y, width, height);
    context.clip();
    draw();
    context.restore();
  }
}

const ANCHOR = { left: "start", center: "middle", right: "end" };
const BASELINE = { alphabetic: "auto", middle: "central" };

const ENTITIES = { "<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;" };

function escaped(words) {
  return words.replace(/[<>&"]/g, (c) => ENTITIES[c]);
}

function short(value) {
  return String(Math.round(value * 100) / 100);
}

/** Writes the same strokes as SVG. */
export class SvgPainter {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.parts = [];
    this.clips = 0;
  }

  rect(x, y, width, height, { fill }) {
    this.parts.push(`<rect x="${short(x)}" y="${short(y)}" width="${short(width)}" ` +
      `height="${short(height)}" fill="${fill}"/>`);
  }

  line(points, { color, width = 1, dash = [], alpha = 1, close = false, fill = null }) {
    if (points.length < 1) return;
    const path = points.map(([x, y], i) => `${i ? "L" : "M"}${short(x)} ${short(y)}`).join("");
    this.parts.push(`<path d="${path}${close ? "Z" : ""}" fill="${fill ?? "none"}" ` +
      `stroke="${color ?? "none"}" stroke-width="${width}" stroke-linejoin="round" ` +
      `stroke-dasharray="${dash.join(" ") || "none"}" opacity="${alpha}"/>`);
  }

  circle(x, y, radius, { fill = null, stroke = null, width = 1, dash = [], alpha = 1 }) {
    this.parts.push(`<circle cx="${short(x)}" cy="${short(y)}" r="${short(radius)}" ` +
      `fill="${fill ?? "none"}" stroke="${stroke ?? "none"}" stroke-width="${width}" ` +
      `stroke-dasharray="${dash.join(" ") || "none"}" opacity="${alpha}"/>`);
  }

  text(words, x, y, style) {
    const { color, size = 12, align = "left", base = "alphabetic", halo = null } = style;
    const around = halo ? ` paint-order="stroke" stroke="${halo}" stroke-width="3.5"` : "";
    this.parts.push(`<text x="${short(x)}" y="${short(y)}" fill="${color}" font-size="${size}" ` +
      `text-anchor="${ANCHOR[align]}" dominant-baseline="${BASELINE[base]}"${around}>` +
      `${escaped(words)}</text>`);
  }

  image(canvas, x, y, width, height) {
    this.parts.push(`<image x="${short(x)}" y="${short(y)}" width="${short(width)}" ` +
      `height="${short(height)}" preserveAspectRatio="none" href="${canvas.toDataURL()}"/>`);
  }

  inside(x, y, width, height, draw) {
    const name = `clip${this.clips++}`;
    this.parts.push(`<clipPath id="${name}"><rect x="${short(x)}" y="${short(y)}" ` +
      `width="${short(width)}" height="${short(height)}"/></clipPath>`,
    `<g clip-path="url(#${name})">`);
    draw();
    this.parts.push("</g>");
  }

  /** The whole file. */
  toString() {
    const { width, height } = this;
    return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" ` +
      `viewBox="0 0 ${width} ${height}" font-family='${FONT}'>${this.parts.join("\n")}</svg>\n`;
  }
}

/** Round numbers for an axis from low to high, about `count` of them. */
export function axisTicks(low, high, count = 5) {
  const raw = (high - low) / Math.max(1, count);
  if (!(raw > 0) || !Number.isFinite(raw)) return [];
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 5, 10].map((v) => v * power).find((v) => v >= raw * 0.999);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + 1e-9 * step; i++) {
    ticks.push(Number((i * step).toPrecision(12)));
  }
  return ticks;
}

/** Powers of ten between two exponents, at most `count` of them. */
export function powerTicks(low, high, count = 5) {
  const first = Math.ceil(low - 1e-9);
  const last = Math.floor(high + 1e-9);
  const every = Math.max(1, Math.ceil((last - first + 1) / count));
  const ticks = [];
  for (let i = last; i >= first; i -= every) ticks.unshift(i);
  return ticks;
}

/** An exponent in small raised figures. */
function raised(exponent) {
  return String(exponent).replace(/-/, "⁻").replace(/\d/g, (digit) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit]);
}

/** 10³, or the number itself near 1. */
export function powerLabel(exponent) {
  if (exponent >= -2 && exponent <= 3) return String(Number((10 ** exponent).toPrecision(3)));
  return `10${raised(exponent)}`;
}

/** A number for people: four digits, powers of ten where it is very large or small. */
export function plainNumber(value, digits = 4) {
  if (value === Infinity) return "∞";
  if (!Number.isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size !== 0 && (size < 1e-3 || size >= 1e5)) {
    const [mantissa, exponent] = value.toExponential(Math.max(0, digits - 2)).split("e");
    return `${mantissa}·10${raised(Number(exponent))}`;
  }
  return String(Number(value.toPrecision(digits)));
}
