// Rectangles of the pool: reads, single or merged, and on the lanes the ops' waits for them.

import type { Rgb } from "../../draw/colour";
import { PATTERN } from "../../draw/rects";
import { CAUSES, isChosen, isOfToken, type Bins, type Pool, type Reads, type Waits } from "./pool";
import type { Layout, Row } from "./rows";
import { Builder, DIM, type Shapes } from "./shapes";

const INKS: readonly Rgb[] = [
  [86, 180, 233],
  [0, 114, 178],
  [170, 150, 30],
  [213, 94, 0],
];
const PATTERNS = [PATTERN.plain, PATTERN.rising, PATTERN.upright, PATTERN.falling];

/** How causes look: name, colour, way of hatching. */
export const CAUSE_SIGNS: readonly (readonly [string, Rgb, number])[] = CAUSES.map(
  (name, i) => [name, INKS[i]!, PATTERNS[i]!] as const,
);

/** At the bottom of an op, below its name: its wait for reads. */
const STRIP = 4;
/** At the top of merged reads: their maximum number. */
export const READS_TEXT = 14;

/** Part of the row for each of the reads at one time. */
export function slotHeight(row: Row, slots: number): number {
  return (row.height - 2) / slots;
}

/** By bin: the bytes of all causes. */
export function readSums(b: Bins): Float64Array {
  const sums = new Float64Array(b.buckets);
  for (const values of b.read) for (let i = 0; i < sums.length; i++) sums[i]! += values[i]!;
  return sums;
}

function addReads(r: Reads, row: Row, slots: number, to: Builder): void {
  const high = slotHeight(row, slots);
  for (let i = 0; i < r.n; i++) {
    const cause = r.cause[i]!;
    const alpha = (isChosen(r, i) ?? isOfToken(r, i)) ? 255 : DIM;
    const top = row.top + 1 + r.slot[i]! * high;
    to.add(r.begin_ns[i]!, r.duration_ns[i]!, top, Math.max(1, high - 1), INKS[cause]!, alpha, PATTERNS[cause]!);
  }
}

function addSums(b: Bins, row: Row, to: Builder): void {
  const width = (b.to_ns - b.from_ns) / b.buckets;
  const most = readSums(b).reduce((x, y) => Math.max(x, y), 0);
  const room = row.folded ? row.height - 1 : row.height - READS_TEXT;
  for (let i = 0; i < b.buckets && most > 0; i++) {
    let bottom = row.top + row.height;
    for (let cause = 0; cause < INKS.length; cause++) {
      const high = (b.read[cause]![i]! / most) * room;
      if (high <= 0) continue;
      bottom -= high;
      to.add(b.from_ns + i * width, width, bottom, high, INKS[cause]!, 255, PATTERNS[cause]!);
    }
  }
}

/** With an edge above, which separates it from an op of a similar colour. */
function addStrip(row: Row, start: number, length: number, high: number, cause: number, ground: Rgb, to: Builder): void {
  const top = row.top + row.height - high;
  if (high > 2) to.add(start, length, top - 1, 1, ground, 255, PATTERN.plain);
  to.add(start, length, top, high, INKS[cause]!, 255, PATTERNS[cause]!);
}

function addWaits(w: Waits, from_ns: number, l: Layout, ground: Rgb, pick: (row: Row) => Builder): void {
  for (let i = 0; i < w.n; i++) {
    const row = l.byTrack.get(w.track[i]!);
    if (!row) continue;
    addStrip(row, w.start_ns[i]!, w.end_ns[i]! - w.start_ns[i]!, STRIP, w.cause[i]!, ground, pick(row));
  }
  for (let i = 0; i < w.merged.n; i++) {
    const row = l.byTrack.get(w.merged.track[i]!);
    if (!row) continue;
    const parts = w.merged.ns.map((values) => values[i]!);
    const cause = parts.indexOf(Math.max(...parts));
    const share = Math.min(1, parts.reduce((a, b) => a + b, 0) / w.bucket_ns);
    const high = Math.max(1.5, share * STRIP);
    addStrip(row, from_ns + w.merged.bucket[i]! * w.bucket_ns, w.bucket_ns, high, cause, ground, pick(row));
  }
}

/** ground: the page's, below it all. */
export function poolShapes(p: Pool, l: Layout, ground: Rgb): Shapes {
  const row = l.rows.find((each) => each.kind === "reads");
  const room = (p.reads ? p.reads.n : p.bins.buckets * INKS.length) + 2 * (p.waits.n + p.waits.merged.n);
  const fixed = new Builder(p.bins.from_ns, room);
  const scrolling = new Builder(p.bins.from_ns, room);
  const pick = (of: Row) => (of.pinned ? fixed : scrolling);
  if (row && p.reads) addReads(p.reads, row, p.slots, pick(row));
  else if (row) addSums(p.bins, row, pick(row));
  addWaits(p.waits, p.bins.from_ns, l, ground, pick);
  return { fixed: fixed.done(), scrolling: scrolling.done() };
}
