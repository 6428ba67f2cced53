// What the overlay is drawn with.

import type { Range } from "../../draw/axis";
import { themeColour } from "../../draw/colour";
import { AXIS_HEIGHT, topOf, type Layout, type Row } from "./rows";

export interface Pen {
  readonly c: CanvasRenderingContext2D;
  readonly range: Range;
  readonly width: number;
  readonly height: number;
  readonly scroll: number;
  /** Under the pointer; null: it is elsewhere. */
  readonly pointer_ns: number | null;
  /** CSS pixel of a moment. */
  readonly x: (ns: number) => number;
  readonly ink: string;
  readonly ink2: string;
  readonly ground: string;
  readonly line: string;
  readonly accent: string;
  readonly mark: string;
  readonly bad: string;
}

export const FONT = "11px system-ui, sans-serif";
/** Approximate width of a letter. */
export const LETTER = 6;

let inksOf: string | undefined;
let inks: Pick<Pen, "ink" | "ink2" | "ground" | "line" | "accent" | "mark" | "bad">;

/** Read from the style sheet once per theme. */
function themeInks(): typeof inks {
  const theme = document.documentElement.dataset.theme;
  if (!inks || inksOf !== theme) {
    inksOf = theme;
    inks = {
      ink: themeColour("--ink"),
      ink2: themeColour("--ink-2"),
      ground: themeColour("--ground"),
      line: themeColour("--line"),
      accent: themeColour("--accent"),
      mark: themeColour("--mark"),
      bad: themeColour("--bad"),
    };
  }
  return inks;
}

export function penOf(
  c: CanvasRenderingContext2D,
  range: Range,
  size: { width: number; height: number },
  scroll: number,
  pointer_x: number | null,
): Pen {
  const perNs = size.width / (range.to - range.from);
  return {
    c,
    range,
    ...size,
    scroll,
    pointer_ns: pointer_x === null ? null : range.from + pointer_x / perNs,
    x: (ns) => (ns - range.from) * perNs,
    ...themeInks(),
  };
}

/** The text, cut to `room` pixels; "" if they hold less than a few letters. */
export function cut(text: string, room: number): string {
  const letters = Math.floor(room / LETTER);
  if (text.length <= letters) return text;
  return letters >= 4 ? text.slice(0, letters - 1) + "…" : "";
}

/** Draws the visible part of the row: below the fixed rows, above the canvas's bottom. */
export function inRow(pen: Pen, l: Layout, row: Row, draw: (top: number) => void): void {
  const top = topOf(row, pen.scroll);
  const from = row.pinned ? AXIS_HEIGHT : l.fixed;
  if (top > pen.height || top + row.height < from) return;
  pen.c.save();
  pen.c.beginPath();
  pen.c.rect(0, Math.max(from, top), pen.width, row.height - Math.max(0, from - top));
  pen.c.clip();
  draw(top);
  pen.c.restore();
}
