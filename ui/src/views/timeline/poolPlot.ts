// Lines and text of the pool: its size, bytes read, the selected reads.

import { css } from "../../draw/colour";
import { bytes, rate } from "../../draw/format";
import { counterBucket } from "./counters";
import { inRow, type Pen } from "./pen";
import { columnsOf, drawText, TEXT_HEIGHT, drawValue } from "./plot";
import { isChosen, pool, type Bins } from "./pool";
import { CAUSE_SIGNS, readSums, slotHeight } from "./poolShapes";
import type { Layout, Row } from "./rows";

function sight(pen: Pen, b: Bins): [number, number] {
  const width_ns = (b.to_ns - b.from_ns) / b.buckets;
  const at = (ns: number) => (ns - b.from_ns) / width_ns;
  return [Math.max(0, Math.floor(at(pen.range.from))), Math.min(b.buckets, Math.ceil(at(pen.range.to)))];
}

function fullText(b: Bins, i: number): string {
  const present = b.present[i];
  if (present === null || present === undefined) return "not observed";
  return `${bytes(Math.round(present))} of ${bytes(b.budget[i])}`;
}

/** A filled line, below it the budget as a line of its own. */
export function drawFull(pen: Pen, l: Layout, row: Row): void {
  const b = pool.peek()?.bins;
  if (!b) return;
  const [first, last] = sight(pen, b);
  let most = 0;
  for (let i = first; i < last; i++) most = Math.max(most, b.present[i] ?? 0, b.budget[i] ?? 0);
  const ink = CAUSE_SIGNS[0]![1];
  inRow(pen, l, row, (top) => {
    const { c } = pen;
    const bottom = top + row.height - 1;
    const room = row.folded ? row.height - 3 : row.height - TEXT_HEIGHT;
    const y = (value: number) => (most ? bottom - (value / most) * room : bottom);
    for (const [alpha, high] of [[0.3, null], [1, 1.5]] as const) {
      c.fillStyle = css(ink, alpha);
      for (const each of columnsOf(pen, b, b.present, first, last))
        c.fillRect(each.from, y(each.value), each.to - each.from, high ?? bottom - y(each.value) + 1);
    }
    c.fillStyle = pen.ink;
    for (const each of columnsOf(pen, b, b.budget, first, last)) {
      // Dashed, unlike what was present.
      for (let x = each.from - (each.from % 8); x < each.to; x += 8) {
        const from = Math.max(x, each.from);
        c.fillRect(from, y(each.value), Math.max(0, Math.min(x + 5, each.to) - from), 1);
      }
    }
    if (row.folded) return;
    let fullest = first;
    for (let i = first; i < last; i++) if ((b.present[i] ?? 0) > (b.present[fullest] ?? 0)) fullest = i;
    drawText(pen, top, `up to ${fullText(b, fullest)} (dashed)`);
    if (pen.pointer_ns !== null) drawValue(pen, row, top, fullText(b, counterBucket(b, pen.pointer_ns)));
  });
}

/** Merged reads show their share; selected ones have a frame. */
export function drawReads(pen: Pen, l: Layout, row: Row): void {
  const p = pool.peek();
  if (!p) return;
  inRow(pen, l, row, (top) => {
    if (p.reads) {
      const high = slotHeight(row, p.slots);
      pen.c.strokeStyle = pen.mark;
      pen.c.lineWidth = 1.5;
      for (let i = 0; i < p.reads.n; i++) {
        if (!isChosen(p.reads, i)) continue;
        const left = pen.x(p.reads.begin_ns[i]!);
        const width = Math.max(2, pen.x(p.reads.begin_ns[i]! + p.reads.duration_ns[i]!) - left);
        if (left > pen.width || left + width < 0) continue;
        pen.c.strokeRect(left - 1, top + p.reads.slot[i]! * high, width + 2, high + 1);
      }
      return;
    }
    if (row.folded) return;
    const sums = readSums(p.bins);
    const seconds = (p.bins.to_ns - p.bins.from_ns) / p.bins.buckets / 1e9;
    const [first, last] = sight(pen, p.bins);
    const most = sums.subarray(first, last).reduce((a, b) => Math.max(a, b), 0);
    drawText(pen, top, `up to ${rate(most / seconds)}; zoom in to see each read`);
    const at = pen.pointer_ns === null ? -1 : counterBucket(p.bins, pen.pointer_ns);
    if (at >= 0) drawValue(pen, row, top, rate(sums[at]! / seconds));
  });
}
