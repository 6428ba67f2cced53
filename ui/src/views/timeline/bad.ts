// Marks on the ops that have NaN or infinities in their outputs.

import { badOutputs, type BadOutputs } from "../../state/bad";
import { inRow, LETTER, type Pen } from "./pen";
import type { Layout } from "./rows";

const HIGH = 4;
/** CSS pixels of a mark, so that none vanishes. */
const LEAST = 2;

interface Mark {
  readonly from: number;
  readonly to: number;
  /** Of the first one of a run; "" of others: names of layers stay to be read. */
  readonly word: string;
}

/** The first of those in time that begins at that time or later. */
function firstFrom(all: BadOutputs, ns: number, from: number): number {
  let low = from;
  let high = all.inTime.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (all.start_ns[all.inTime[middle]!]! < ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** At most one per pixel, however many ops there are. Of those that began before the window only
 * the last is visible. */
function marksIn(pen: Pen, all: BadOutputs): Mark[] {
  const marks: Mark[] = [];
  const perPixel = (pen.range.to - pen.range.from) / pen.width;
  let at = Math.max(0, firstFrom(all, pen.range.from, 0) - 1);
  let run = -1;
  while (at < all.inTime.length) {
    const i = all.inTime[at]!;
    const begin = all.start_ns[i]!;
    if (begin > pen.range.to) break;
    const from = pen.x(begin);
    const to = Math.max(from + LEAST, pen.x(all.end_ns[i]!));
    if (to > 0) {
      marks.push({ from, to, word: all.run[i] === run ? "" : all.kind(i) });
      run = all.run[i]!;
    }
    at = Math.max(at + 1, firstFrom(all, begin + perPixel * LEAST, at));
  }
  return marks;
}

/** A bar at the top of each lane, and a label above if there is room. */
export function drawBadOps(pen: Pen, l: Layout): void {
  const all = badOutputs.peek();
  if (!all) return;
  const marks = marksIn(pen, all);
  for (const row of l.rows) {
    if (row.kind === "lane")
      inRow(pen, l, row, (top) => {
        for (const { from, to } of marks) {
          pen.c.fillStyle = pen.bad;
          pen.c.fillRect(from, top, to - from, HIGH);
          // An edge, which separates it from an op of a similar colour.
          pen.c.fillStyle = pen.ground;
          pen.c.fillRect(from, top + HIGH, to - from, 1);
        }
      });
    if (row.kind !== "layers" || row.folded) continue;
    inRow(pen, l, row, (top) => {
      let behind = -Infinity;
      for (const { from, word } of marks) {
        const width = word.length * LETTER + 8;
        if (!word || from < behind) continue;
        behind = from + width + 6;
        pen.c.fillStyle = pen.bad;
        pen.c.fillRect(from, top + 1, width, row.height - 2);
        pen.c.fillStyle = pen.ground;
        pen.c.fillText(word, from + 4, top + row.height / 2);
      }
    });
  }
}
