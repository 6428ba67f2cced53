// The track of batches: start, end and text of each.

import { css } from "../../draw/colour";
import { counted, duration, visible } from "../../draw/format";
import type { Batches } from "../../api/types";
import { batchIndex, summary } from "../../state/trace";
import { otherToken, selectedToken } from "../../state/selection";
import { other } from "./other";
import { cut, inRow, LETTER, type Pen } from "./pen";
import type { Layout, Row } from "./rows";

const PROMPT = [86, 180, 233] as const;
const GENERATE = [110, 118, 128] as const;
/** Batches narrower than this are drawn together. */
const NARROW = 3;

/** The first batch that begins at that time or later. */
export function batchFrom(b: Batches, ns: number): number {
  let low = 0;
  let high = b.batch_id.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((b.start_relative_ns[middle] ?? -Infinity) < ns) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The batch computed at that time, or the last one before; -1: none. */
export function batchAt(b: Batches, ns: number): number {
  return batchFrom(b, ns + 1e-3) - 1;
}

function end(b: Batches, i: number): number {
  return b.end_relative_ns[i] ?? b.start_relative_ns[i + 1] ?? summary.peek()?.end_relative_ns ?? 0;
}

export function batchText(b: Batches, i: number): string {
  const text = b.text[i];
  return text === null || text === undefined ? counted(b.n_tokens[i] ?? 0, "token") : visible(text);
}

export function drawTokens(pen: Pen, l: Layout, row: Row): void {
  const b = summary.peek()?.batches;
  if (!b) return;
  const { c } = pen;
  const perPixel = (pen.range.to - pen.range.from) / pen.width;
  const chosen = selectedToken.peek();
  const other = otherToken.peek();
  const inks = { prompt: css(PROMPT, 0.45), other: css(GENERATE, 0.45) };
  inRow(pen, l, row, (top) => {
    let i = Math.max(0, batchAt(b, pen.range.from));
    while (i < b.batch_id.length && (b.start_relative_ns[i] ?? 0) < pen.range.to) {
      const from = pen.x(b.start_relative_ns[i] ?? 0);
      const to = pen.x(end(b, i));
      if (to < 0) {
        i++;
        continue;
      }
      if (to - from < NARROW) {
        // All that begin within a few pixels are one block.
        const next = Math.max(i + 1, batchFrom(b, (b.start_relative_ns[i] ?? 0) + perPixel * NARROW));
        const until = Math.max(from + 1, Math.min(pen.x(end(b, next - 1)), from + NARROW));
        c.fillStyle = b.phase[i] === "prompt" ? inks.prompt : inks.other;
        c.fillRect(from, top, until - from, row.height);
        i = next;
        continue;
      }
      drawOne(pen, b, i, { from, to, top, height: row.height }, b.batch_id[i] === chosen, b.batch_id[i] === other);
      i++;
    }
    // Also in a block with others.
    for (const token of [chosen, other]) {
      const k = token === null ? -1 : batchIndex(token);
      const [from, to] = k < 0 ? [0, NARROW] : [pen.x(b.start_relative_ns[k] ?? 0), pen.x(end(b, k))];
      if (to - from >= NARROW) continue;
      c.fillStyle = pen.accent;
      c.fillRect((from + to - NARROW) / 2, top, NARROW, row.height);
    }
  });
}

/** The second token: its bar, and what it stands beside. */
export function drawOtherToken(pen: Pen, l: Layout, row: Row): void {
  const o = other.peek();
  const b = summary.peek()?.batches;
  const i = o ? batchIndex(o.token) : -1;
  if (!o || !b || i < 0) return;
  const [from, to] = [pen.x(o.from + o.shift_ns), pen.x(o.to + o.shift_ns)];
  inRow(pen, l, row, (top) => {
    drawOne(pen, b, i, { from, to, top, height: row.height }, false, true);
    const words = `${duration(o.to - o.from)}, drawn from where token ${o.beside} begins; F fits both`;
    const right = Math.max(0, to) + 6;
    const left = Math.min(pen.width, from) - 6;
    // At the side with more room.
    const text = cut(words, Math.max(pen.width - right, left) - 4);
    pen.c.fillStyle = pen.ink2;
    pen.c.fillText(text, pen.width - right >= left ? right : left - pen.c.measureText(text).width, top + row.height / 2);
  });
}

interface Box {
  readonly from: number;
  readonly to: number;
  readonly top: number;
  readonly height: number;
}

function drawOne(pen: Pen, b: Batches, i: number, box: Box, chosen: boolean, other: boolean): void {
  const { c } = pen;
  const { from, to, top, height } = box;
  c.fillStyle = css(b.phase[i] === "prompt" ? PROMPT : GENERATE, chosen ? 0.6 : 0.25);
  c.fillRect(from, top, to - from - 1, height);
  if (chosen || other) {
    c.strokeStyle = pen.accent;
    c.lineWidth = 2;
    c.setLineDash(other ? [4, 3] : []);
    c.strokeRect(from + 1, top + 1, to - from - 3, height - 2);
    c.setLineDash([]);
  }
  const left = Math.max(0, from) + 4;
  const room = Math.min(to, pen.width) - left - 4;
  const number = `${b.batch_id[i]} `;
  const text = cut(room > 80 ? number + batchText(b, i) : batchText(b, i), room);
  c.fillStyle = pen.ink;
  if (text && height >= LETTER * 2) c.fillText(text, left, top + height / 2);
}
