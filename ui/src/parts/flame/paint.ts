// Draws a flame chart: rows from the run down, time to the right.

import { categoryColour, css, inkOn, isDark, themeColour, type Rgb } from "../../draw/colour";
import { duration } from "../../draw/format";
import type { Range } from "../../draw/axis";
import { nameOf, type Bar, type FlameNodes } from "./answer";

/** Bars that are narrower are not drawn one by one. */
const LEAST_PX = 0.5;
const LETTER = 6.2;
const GAP = 1;

export interface Look {
  readonly width: number;
  readonly row: number;
  /** Shares of the run. */
  readonly shown: Range;
  readonly chosen: ReadonlySet<number>;
  /** Keys work on it; null: the table has the focus, or nothing. */
  readonly cursor: Bar | null;
}

function colourOf(n: FlameNodes, i: number): Rgb {
  const category = n.category[i];
  if (category) return categoryColour(category);
  const even = (n.first_id[i] ?? 0) % 2 === 0;
  if (isDark.peek()) return even ? [62, 74, 90] : [78, 92, 110];
  return even ? [196, 204, 214] : [178, 188, 200];
}

/** Waits: lines over the end of the bar. */
function hatch(c: CanvasRenderingContext2D, x: number, y: number, w: number, h: number): void {
  c.save();
  c.beginPath();
  c.rect(x, y, w, h);
  c.clip();
  c.fillStyle = themeColour("--ground");
  c.globalAlpha = 0.45;
  c.fillRect(x, y, w, h);
  c.globalAlpha = 1;
  c.strokeStyle = themeColour("--ink-2");
  c.lineWidth = 1;
  c.beginPath();
  for (let at = Math.floor((x - h) / 6) * 6; at < x + w; at += 6) {
    c.moveTo(at, y + h);
    c.lineTo(at + h, y);
  }
  c.stroke();
  c.restore();
}

function drawBar(c: CanvasRenderingContext2D, n: FlameNodes, bar: Bar, look: Look): void {
  const scale = look.width / (look.shown.to - look.shown.from);
  const left = Math.max(0, (bar.from - look.shown.from) * scale);
  const right = Math.min(look.width, (bar.to - look.shown.from) * scale);
  if (right - left < LEAST_PX) return;
  const y = bar.depth * look.row;
  const width = Math.max(1, right - left - (right - left > 4 ? GAP : 0));
  const height = look.row - GAP;
  const colour = colourOf(n, bar.i);
  c.fillStyle = css(colour);
  c.fillRect(left, y, width, height);
  const waits = n.time_ns[bar.i]! > 0 ? n.wait_ns[bar.i]! / n.time_ns[bar.i]! : 0;
  // Of the part in view: the waits are at the end of the bar.
  const from = Math.max(left, (bar.to - (bar.to - bar.from) * waits - look.shown.from) * scale);
  if (left + width - from > 1.5) hatch(c, from, y, left + width - from, height);
  const name = nameOf(n, bar.i);
  const text = width > (name.length + 12) * LETTER ? `${name}  ${duration(n.time_ns[bar.i])}` : name;
  const letters = Math.floor((width - 8) / LETTER);
  if (letters >= 3) {
    c.fillStyle = inkOn(colour);
    c.fillText(text.length > letters ? `${text.slice(0, letters - 1)}…` : text, left + 4, y + height / 2 + 0.5);
  }
  if (look.chosen.has(bar.i) || bar === look.cursor) {
    c.strokeStyle = themeColour(look.chosen.has(bar.i) ? "--mark" : "--focus");
    c.lineWidth = 2;
    c.strokeRect(left + 1, y + 1, Math.max(1, width - 2), height - 2);
  }
}

export function paintFlame(c: CanvasRenderingContext2D, n: FlameNodes, bars: readonly Bar[], look: Look): void {
  c.font = "12px system-ui, sans-serif";
  c.textBaseline = "middle";
  for (const bar of bars) if (bar.to > look.shown.from && bar.from < look.shown.to) drawBar(c, n, bar, look);
  // Frames above their neighbours.
  for (const bar of bars) if (look.chosen.has(bar.i) || bar === look.cursor) drawBar(c, n, bar, look);
}
