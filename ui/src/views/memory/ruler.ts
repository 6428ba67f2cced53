// The ruler above the rows: offsets within the row that is looked at.

import { ticks } from "../../draw/axis";
import { bytes, count } from "../../draw/format";
import type { Picture } from "./scene";
import type { Shape } from "./shapes";

/** line: the row that is looked at, or null: the first layer's. */
export function rulerShapes(p: Picture, line: number | null): Shape[] {
  const { geometry, palette, range } = p;
  const { labelWidth, top, lines, widths } = geometry.input;
  const found = line !== null && lines[line]?.row ? line : Math.max(0, lines.findIndex((l) => l.row?.layer !== null && l.row !== null));
  const row = lines[found]?.row;
  if (!row) return [];
  const length = geometry.length(found) / geometry.share(found);
  const out: Shape[] = [
    { t: "line", x1: labelWidth, y1: top - 0.5, x2: labelWidth + geometry.plotWidth, y2: top - 0.5, ink: palette.line, width: 1 },
    { t: "text", x: 8, y: top / 2, text: widths === "rank" ? `in ${row.label}, by rank` : `offset in ${row.label}`, ink: palette.ink2, size: 10, align: "left" },
  ];
  const shown = { from: range.from * length, to: range.to * length };
  for (const v of binaryTicks(shown, geometry.plotWidth, widths === "bytes")) {
    const x = labelWidth + ((v - shown.from) / (shown.to - shown.from)) * geometry.plotWidth;
    out.push({ t: "line", x1: x, y1: top - 5, x2: x, y2: top, ink: palette.ink2, width: 1 });
    out.push({ t: "text", x: x + 3, y: top / 2, text: widths === "bytes" ? bytes(v) : count(v), ink: palette.ink2, size: 10, align: "left" });
  }
  return out;
}

/** Round sizes are powers of two and small multiples of them. */
function binaryTicks(shown: { from: number; to: number }, pixels: number, isBytes: boolean): number[] {
  if (!isBytes) return ticks(shown, pixels, 90).values.filter((v) => Number.isInteger(v));
  const rough = (shown.to - shown.from) / Math.max(1, pixels / 90);
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(rough)));
  const values: number[] = [];
  for (let v = Math.ceil(shown.from / step) * step; v <= shown.to && values.length < 200; v += step) values.push(v);
  return values;
}
