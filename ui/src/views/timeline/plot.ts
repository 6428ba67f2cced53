// A counter as a filled line, with its value under the pointer.

import { css, seriesColour } from "../../draw/colour";
import { counterBucket, counters, counterText } from "./counters";
import { inRow, LETTER, type Pen } from "./pen";
import type { Layout, Row } from "./rows";

/** Above the line. */
const TEXT_HEIGHT = 14;

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
    const fill = (low: (y: number) => number) => {
      c.beginPath();
      for (let i = first; i < last; i++) {
        const v = values[i];
        if (v === null || v === undefined) continue;
        const x = pen.x(data.from_ns + i * width_ns);
        const y = most ? bottom - (v / most) * room : bottom;
        c.rect(x, y, pen.x(data.from_ns + (i + 1) * width_ns) - x + 0.4, low(y));
      }
      c.fill();
    };
    c.fillStyle = css(colour, 0.3);
    fill((y) => bottom - y + 1);
    c.fillStyle = css(colour);
    fill(() => 1.5);
    if (row.folded) return;
    c.fillStyle = pen.ink2;
    c.fillText(`up to ${counterText(row.id, most)}`, 4, top + TEXT_HEIGHT / 2);
    if (pen.pointer_ns !== null) drawValue(pen, row, top, counterText(row.id, values[counterBucket(data, pen.pointer_ns)]));
  });
}

function drawValue(pen: Pen, row: Row, top: number, text: string): void {
  const { c } = pen;
  const x = Math.min(pen.width - text.length * LETTER - 8, pen.x(pen.pointer_ns ?? 0) + 6);
  c.fillStyle = pen.ground;
  c.fillRect(x - 3, top + row.height - 17, text.length * LETTER + 6, 14);
  c.fillStyle = pen.ink;
  c.fillText(text, x, top + row.height - 10);
}
