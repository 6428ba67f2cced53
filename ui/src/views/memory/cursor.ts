// Moves through the map: by tensor, by row, to the selection.

import type { Axis, Range } from "../../draw/axis";
import type { Geometry } from "./geometry";
import { hasData } from "./heat";
import { markAt, markOf } from "./layout";
import type { Spot } from "./magnifier";
import { placeInRow, type Atlas } from "./map";

/** The item at a point of the canvas; in a merged mark by the pointer's position in it. */
export function spotAt(g: Geometry, range: Range, scrollY: number, x: number, y: number): Spot | null {
  const line = g.lineAt(y, scrollY);
  const row = line < 0 ? null : g.input.lines[line]!.row;
  if (!row || x < g.input.labelWidth || x > g.input.labelWidth + g.plotWidth) return null;
  const layout = g.layout(line, range);
  const at = g.fromX(x, range);
  const mark = layout.marks[markAt(layout, at)];
  if (!mark) return null;
  const n = mark.last - mark.first + 1;
  const item = mark.first + Math.min(n - 1, Math.floor(((at - mark.x) / mark.width) * n));
  return { line, item };
}

/** The expert at that point, of a tensor with n of them. */
export function expertAt(g: Geometry, range: Range, spot: Spot, x: number, n: number): number | null {
  const layout = g.layout(spot.line, range);
  const mark = layout.marks[markOf(layout, spot.item)];
  if (!mark || mark.first !== mark.last || mark.width < 8) return null;
  return Math.min(n - 1, Math.max(0, Math.floor(((g.fromX(x, range) - mark.x) / mark.width) * n)));
}

/** The middle of the item's mark on the canvas. */
export function middleOf(g: Geometry, range: Range, spot: Spot): number {
  const layout = g.layout(spot.line, range);
  const mark = layout.marks[markOf(layout, spot.item)];
  return mark ? g.toX(mark.x + mark.width / 2, range) : g.input.labelWidth;
}

/** The first spot of the map. */
export function firstSpot(map: Atlas, g: Geometry): Spot | null {
  const line = g.input.lines.findIndex((l) => l.row && l.row.regions.some((r) => hasData(map, r)));
  const row = g.input.lines[line]?.row;
  return row ? { line, item: row.regions.findIndex((r) => hasData(map, r)) } : null;
}

/** The next item of the row that has data; the same one at the end. */
export function along(map: Atlas, g: Geometry, spot: Spot, step: 1 | -1): Spot {
  const { regions } = g.input.lines[spot.line]!.row!;
  for (let i = spot.item + step; i >= 0 && i < regions.length; i += step)
    if (hasData(map, regions[i]!)) return { line: spot.line, item: i };
  return spot;
}

/** The item of the next row that is nearest to this one on the screen. */
export function across(map: Atlas, g: Geometry, range: Range, spot: Spot, step: 1 | -1): Spot {
  const x = middleOf(g, range, spot);
  for (let line = spot.line + step; line >= 0 && line < g.input.lines.length; line += step) {
    const row = g.input.lines[line]!.row;
    if (!row) continue;
    let best = -1;
    let distance = Infinity;
    row.regions.forEach((r, item) => {
      if (!hasData(map, r)) return;
      const d = Math.abs(middleOf(g, range, { line, item }) - x);
      if (d < distance) [best, distance] = [item, d];
    });
    if (best >= 0) return { line, item: best };
  }
  return spot;
}

/** Where a region is drawn; the row of its layer before that of its whole segment. */
export function spotOf(g: Geometry, region: number): Spot | null {
  for (let line = g.input.lines.length - 1; line >= 0; line--) {
    const row = g.input.lines[line]!.row;
    const item = row ? placeInRow(row, region) : -1;
    if (item >= 0) return { line, item };
  }
  return null;
}

/** Scrolls so that the line is seen; the new scrollY. */
export function scrolledTo(g: Geometry, line: number, scrollY: number): number {
  const { lineHeight, top } = g.input;
  const from = line * lineHeight;
  if (line >= g.firstPinned) return scrollY;
  return from < scrollY ? from : Math.max(scrollY, from + lineHeight - (g.bottom - top));
}

/** Pans, when the item is not to be seen at the present zoom. */
export function bringIntoView(g: Geometry, axis: Axis, spot: Spot): void {
  const { from, to } = g.range(spot.line, spot.item);
  const shown = axis.target;
  if (to < shown.from || from > shown.to) axis.centre(from, to);
}
