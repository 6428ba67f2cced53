// Names of the tracks and the legend of a saved picture.

import { CATEGORIES, css } from "../../draw/colour";
import { PATTERN } from "../../draw/rects";
import { categoryColour, PATTERN_OF, type Rgb } from "./look";
import { cut, LETTER, type Ink, type Pen } from "./pen";
import { pool } from "./pool";
import { CAUSE_SIGNS } from "./poolShapes";
import { AXIS_HEIGHT, topOf, type Layout } from "./rows";

export const FRAME_LEFT = 116;
export const FRAME_BOTTOM = 28;
const WAIT: Rgb = [128, 134, 142];
const SWATCH = 18;

type Fill = Ink["fillStyle"];

function drawNames(c: Ink, pen: Pen, l: Layout): void {
  c.fillStyle = pen.ink;
  for (const row of l.rows) {
    const top = topOf(row, pen.scroll);
    const middle = top + row.height / 2;
    const from = row.pinned ? AXIS_HEIGHT : l.fixed;
    if (middle >= from && middle <= pen.height) c.fillText(cut(row.title, FRAME_LEFT - 12), 8, middle);
  }
}

/** For a picture with FRAME_LEFT pixels beside the canvases and FRAME_BOTTOM below them. hatch:
 * fills an area with that pattern. */
export function drawFrame(c: Ink, pen: Pen, l: Layout, title: string, hatch: (pattern: number) => Fill | null): void {
  drawNames(c, pen, l);
  const y = pen.height + FRAME_BOTTOM / 2;
  let x = 8;
  const signs: [string, Rgb, number][] = CATEGORIES.map((each) => [each, categoryColour(each), PATTERN_OF[each] ?? 0]);
  signs.push(["waits", WAIT, PATTERN.sparse]);
  if (pool.peek()) for (const [name, ink, pattern] of CAUSE_SIGNS) signs.push([`read: ${name}`, ink, pattern]);
  for (const [name, ink, pattern] of signs) {
    c.fillStyle = css(ink);
    c.fillRect(x, y - 6, SWATCH, 12);
    const lines = pattern ? hatch(pattern) : null;
    if (lines) {
      c.fillStyle = lines;
      c.fillRect(x, y - 6, SWATCH, 12);
    }
    c.fillStyle = pen.ink;
    c.fillText(name, x + SWATCH + 4, y);
    x += SWATCH + 16 + name.length * LETTER;
  }
  c.fillStyle = pen.ink2;
  c.fillText(cut(title, FRAME_LEFT + pen.width - x - 12), x + 4, y);
}
