// What the methods are called, and how their lines look, wherever they are drawn.

/** The short names, in the order of the table. */
export const METHOD_NAMES = { gd: "GD", wn: "WN", rpgd: "rPGD", flow: "flow" };

/** What the short names stand for. */
export const LONG_NAMES = {
  gd: "gradient descent", wn: "weight normalization", rpgd: "projected descent",
  flow: "WN of tiny steps",
};

/** The dashes of their lines. */
export const LINE_DASHES = { gd: [], wn: [], rpgd: [7, 4], flow: [2, 3] };

/** Which line is whose, from the bottom left corner up, so many in a row. */
export function drawLegend(painter, shown, x, y, colors, inRow = 4) {
  const names = Object.keys(METHOD_NAMES).filter((each) => shown.includes(each));
  const rows = Math.ceil(names.length / inRow);
  names.forEach((name, i) => {
    const left = x + (i % inRow) * 62;
    const base = y - 15 * (rows - 1 - Math.floor(i / inRow));
    painter.line([[left, base - 4], [left + 22, base - 4]], {
      color: colors[name], width: 2.4, dash: LINE_DASHES[name],
    });
    painter.text(METHOD_NAMES[name], left + 26, base, {
      color: colors.ink, size: 11, halo: colors.paper,
    });
  });
}
