// A counter as a filled line, with its value under the pointer.

import { css, seriesColour } from "../../draw/colour";
import { constants, counterBucket, counters, counterText, type Counters } from "./counters";
import { cut, inRow, LETTER, type Pen } from "./pen";
import { counterTitle, type Layout, type Row } from "./rows";

/** Above the line. */
export const TEXT_HEIGHT = 14;

const LABEL_HEIGHT = 14;

type Buckets = Pick<Counters, "from_ns" | "to_ns" | "buckets">;

interface Column {
  readonly from: number;
  to: number;
  value: number;
}

/** Each pixel has its largest value, and equal neighbours are merged: rectangles, since a path of
 * thousands of points takes a hundred times as long without a GPU. */
export function columnsOf(pen: Pen, data: Buckets, values: readonly (number | null)[], first: number, last: number): Column[] {
  const columns: Column[] = [];
  const width_ns = (data.to_ns - data.from_ns) / data.buckets;
  const x = (i: number) => Math.round(pen.x(data.from_ns + i * width_ns));
  let before: Column | undefined;
  for (let i = first; i < last; i++) {
    const value = values[i];
    if (value === null || value === undefined) {
      before = undefined;
      continue;
    }
    let from = x(i);
    const to = Math.max(x(i + 1), from + 1);
    // Part of a pixel that has begun already.
    if (before && from < before.to) {
      if (value <= before.value) from = before.to;
      else if (before.to - before.from > 1) before.to = from;
      else {
        before.value = value;
        from = before.to;
      }
    }
    if (from >= to) continue;
    if (before?.value === value) before.to = to;
    else columns.push((before = { from, to, value }));
  }
  return columns;
}

export function drawCounter(pen: Pen, l: Layout, row: Row, nth: number): void {
  const data = counters.peek();
  const values = data?.counters[row.id];
  if (!data || !values) return;
  const width_ns = (data.to_ns - data.from_ns) / data.buckets;
  const first = Math.max(0, Math.floor((pen.range.from - data.from_ns) / width_ns));
  const last = Math.min(data.buckets, Math.ceil((pen.range.to - data.from_ns) / width_ns));
  let most = 0;
  for (let i = first; i < last; i++) most = Math.max(most, values[i] ?? 0);
  const colour = seriesColour(nth);
  inRow(pen, l, row, (top) => {
    const { c } = pen;
    const bottom = top + row.height - 1;
    const room = row.folded ? row.height - 2 : row.height - TEXT_HEIGHT;
    const columns = columnsOf(pen, data, values, first, last);
    c.fillStyle = css(colour, 0.3);
    for (const each of columns) {
      const y = most ? bottom - (each.value / most) * room : bottom;
      c.fillRect(each.from, y, each.to - each.from, bottom - y + 1);
    }
    c.fillStyle = css(colour);
    for (const each of columns)
      c.fillRect(each.from, most ? bottom - (each.value / most) * room : bottom, each.to - each.from, 1.5);
    if (row.folded) return;
    drawScale(pen, row, top, most, room);
    if (pen.pointer_ns !== null) drawValue(pen, row, top, counterText(row.id, values[counterBucket(data, pen.pointer_ns)]));
  });
}

/** Two values of the y axis, with lines: round ones, of which one is near the largest value. */
function drawScale(pen: Pen, row: Row, top: number, most: number, room: number): void {
  const bottom = top + row.height - 1;
  const high = roundBelow(row.id, most);
  pen.c.fillStyle = pen.ink2;
  // In a low row there is room for one.
  const values = most > 0 ? ((high / 2 / most) * room < LABEL_HEIGHT ? [high] : [high / 2, high]) : [0];
  for (const value of values) {
    const y = most > 0 ? bottom - (value / most) * room : bottom;
    pen.c.globalAlpha = 0.4;
    pen.c.fillRect(0, Math.round(y), pen.width, 1);
    pen.c.globalAlpha = 1;
    const text = counterText(row.id, value);
    const at = Math.max(y - 6, top + TEXT_HEIGHT / 2);
    pen.c.fillStyle = pen.ground;
    pen.c.fillRect(2, at - 6, text.length * LETTER + 4, 12);
    pen.c.fillStyle = pen.ink2;
    pen.c.fillText(text, 4, at);
  }
}

/** The largest of 1, 2, 4, 5 and 8 times a power of ten (for bytes, of 1024 to 1 to 512) up to it: half of
 * it is round too. */
export function roundBelow(name: string, most: number): number {
  if (!(most > 0)) return 0;
  const base = name.includes("bytes") ? 1024 ** Math.floor(Math.log2(most) / 10) : 1;
  const power = 10 ** Math.floor(Math.log10(most / base));
  const factor = [8, 5, 4, 2, 1].find((f) => f * power * base <= most) ?? 1;
  return factor * power * base;
}

/** The counters that do not change, with their values. */
export function drawConstants(pen: Pen, l: Layout, row: Row): void {
  const pinned = new Set(l.rows.filter((r) => r.pinned).map((r) => r.id));
  const words = [...constants.peek()]
    .filter(([name]) => !pinned.has(name))
    .map(([name, value]) => `${counterTitle(name)} ${counterText(name, value)}`);
  inRow(pen, l, row, (top) => {
    pen.c.fillStyle = pen.ink2;
    pen.c.fillText(cut(words.join("  ·  "), pen.width - 8), 4, top + row.height / 2);
  });
}

/** Above the row's content. */
export function drawText(pen: Pen, top: number, text: string): void {
  pen.c.fillStyle = pen.ink2;
  pen.c.fillText(text, 4, top + TEXT_HEIGHT / 2);
}

/** At the pointer. */
export function drawValue(pen: Pen, row: Row, top: number, text: string): void {
  const { c } = pen;
  const x = Math.min(pen.width - text.length * LETTER - 8, pen.x(pen.pointer_ns ?? 0) + 6);
  c.fillStyle = pen.ground;
  c.fillRect(x - 3, top + row.height - 17, text.length * LETTER + 6, 14);
  c.fillStyle = pen.ink;
  c.fillText(text, x, top + row.height - 10);
}
