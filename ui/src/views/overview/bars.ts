// The bars of the tokens: one each, as high as the token took long; the usual time as a line, and the
// slow ones marked with their cause. Where several share a pixel the longest one is drawn.

import { drawOn } from "../../draw/canvas";
import { css, themeColour } from "../../draw/colour";
import { duration } from "../../draw/format";
import type { Batches } from "../../api/types";
import { duration_ns, PHASE_COLOURS } from "../../shell/scrubber/strip";
import { causeWords, slowTime, type Slow, type Usual } from "./answer";

export const LEFT = 62;
const RIGHT = 8;
/** Room for the marks. */
const TOP = 34;
const BOTTOM = 16;
const BAR_MOST = 64;
/** A token so much slower than the usual one is cut off: the others would be flat. */
const TIMES_MOST = 4;
const FONT = "11px system-ui, sans-serif";

export interface Bars {
  readonly batches: Batches;
  readonly width: number;
  readonly height: number;
  readonly usual: Usual | null;
  readonly slow: readonly Slow[];
  /** Indices; -1: none. */
  readonly selected: number;
  readonly pointed: number;
}

export function pitch(b: Pick<Bars, "batches" | "width">): number {
  return Math.min(BAR_MOST, Math.max(0, b.width - LEFT - RIGHT) / Math.max(1, b.batches.batch_id.length));
}

/** The batch at that x; -1: none. */
export function barAt(b: Bars, x: number): number {
  const i = Math.floor((x - LEFT) / pitch(b));
  return i >= 0 && i < b.batches.batch_id.length ? i : -1;
}

function full_ns(b: Pick<Bars, "batches" | "usual">): number {
  const times: number[] = [];
  const generated: number[] = [];
  b.batches.phase.forEach((phase, i) => {
    const d = duration_ns(b.batches, i);
    if (d === null) return;
    times.push(d);
    if (phase === "generate") generated.push(d);
  });
  const sorted = (generated.length > 0 ? generated : times).sort((x, y) => x - y);
  const most = sorted.at(-1) ?? 1;
  const median = b.usual?.median_ns ?? sorted[Math.floor((sorted.length - 1) / 2)] ?? most;
  return Math.max(1, Math.min(most * 1.05, median * TIMES_MOST));
}

/** The time from which on bars are cut off; null: none is. */
export function cutAbove(b: Pick<Bars, "batches" | "usual">): number | null {
  const full = full_ns(b);
  return b.batches.batch_id.some((_, i) => (duration_ns(b.batches, i) ?? 0) > full) ? full : null;
}

interface Scale {
  readonly full: number;
  readonly base: number;
  readonly room: number;
  readonly y: (ns: number) => number;
}

function scaleOf(b: Bars): Scale {
  const full = full_ns(b);
  const base = b.height - BOTTOM;
  const room = base - TOP;
  return { full, base, room, y: (ns) => base - Math.min(1, ns / full) * room };
}

function bar(c: CanvasRenderingContext2D, b: Bars, s: Scale, i: number, x: number, width: number): void {
  const d = duration_ns(b.batches, i);
  const phase = b.batches.phase[i]!;
  c.fillStyle = css(PHASE_COLOURS[phase] ?? PHASE_COLOURS.unknown!);
  if (d === null) {
    // Not observed: a foot, not a bar of no height.
    c.fillRect(x, s.base - 2, width, 2);
    return;
  }
  const top = Math.min(s.y(d), s.base - 2);
  c.fillRect(x, top, width, s.base - top);
  if (phase !== "generate" && width >= 4) {
    c.fillStyle = css([0, 0, 0], 0.3);
    for (let y = top; y < s.base; y += 4) c.fillRect(x, y, width, 1);
  }
  if (d <= s.full) return;
  // Cut off: a gap in the ground's colour near its top.
  c.fillStyle = themeColour("--ground");
  c.fillRect(x, top + 5, width, 2);
}

function drawBars(c: CanvasRenderingContext2D, b: Bars, s: Scale): void {
  const n = b.batches.batch_id.length;
  const step = pitch(b);
  if (step >= 2) {
    for (let i = 0; i < n; i++) bar(c, b, s, i, LEFT + i * step, Math.max(1, step - (step >= 4 ? 1 : 0.5)));
    return;
  }
  for (let x = 0; x < b.width - LEFT - RIGHT; x++) {
    const from = Math.floor(x / step);
    const to = Math.min(n, Math.max(from + 1, Math.floor((x + 1) / step)));
    let longest = from;
    for (let i = from; i < to; i++)
      if ((duration_ns(b.batches, i) ?? -1) > (duration_ns(b.batches, longest) ?? -1)) longest = i;
    if (longest < n) bar(c, b, s, longest, LEFT + x, 1);
  }
}

function drawAxis(c: CanvasRenderingContext2D, b: Bars, s: Scale): void {
  c.fillStyle = themeColour("--ink-2");
  c.textAlign = "right";
  c.textBaseline = "middle";
  const usual = b.usual?.median_ns ?? null;
  if (usual === null || s.base - s.y(usual) > 30) c.fillText("0", LEFT - 6, s.base - 4);
  if (usual === null || Math.abs(s.y(s.full) - s.y(usual)) > 26) c.fillText(duration(s.full), LEFT - 6, TOP + 4);
  c.fillRect(LEFT - 3, s.base, b.width - LEFT - RIGHT + 3, 1);
  c.textAlign = "left";
  c.textBaseline = "alphabetic";
  const ids = b.batches.batch_id;
  c.fillText(`token ${ids[0]}`, LEFT, b.height - 3);
  const last = `${ids.at(-1)}`;
  const end = LEFT + pitch(b) * ids.length;
  if (end - LEFT > 110) {
    c.textAlign = "right";
    c.fillText(last, end, b.height - 3);
  }
}

function drawUsual(c: CanvasRenderingContext2D, b: Bars, s: Scale): void {
  if (!b.usual) return;
  const y = Math.round(s.y(b.usual.median_ns)) + 0.5;
  c.strokeStyle = themeColour("--ink");
  c.setLineDash([5, 3]);
  c.lineWidth = 1;
  c.beginPath();
  c.moveTo(LEFT - 3, y);
  c.lineTo(b.width - RIGHT, y);
  c.stroke();
  c.setLineDash([]);
  c.fillStyle = themeColour("--ink");
  c.textAlign = "right";
  c.textBaseline = "bottom";
  c.fillText("median", LEFT - 6, y - 1);
  c.textBaseline = "top";
  c.fillText(duration(b.usual.median_ns), LEFT - 6, y + 1);
}

/** A triangle above each slow one, with its time and cause where there is room. */
function drawSlow(c: CanvasRenderingContext2D, b: Bars): void {
  const step = pitch(b);
  const ink = themeColour("--mark");
  const placed = b.slow
    .map((slow) => ({ slow, i: b.batches.batch_id.indexOf(slow.batch_id) }))
    .filter(({ i }) => i >= 0)
    .sort((p, q) => p.i - q.i);
  let until = [-Infinity, -Infinity];
  for (const { slow, i } of placed) {
    const x = LEFT + (i + 0.5) * step;
    const width = Math.max(3, step - 1);
    c.fillStyle = ink;
    c.fillRect(x - width / 2, TOP - 1, width, 3);
    c.beginPath();
    c.moveTo(x - 5, TOP - 8);
    c.lineTo(x + 5, TOP - 8);
    c.lineTo(x, TOP - 2);
    c.fill();
    const text = slow.late_ns === null ? `${slowTime(slow)}, ${causeWords(slow.cause)}` : slowTime(slow);
    const wide = c.measureText(text).width;
    const left = Math.min(Math.max(LEFT, x - wide / 2), b.width - RIGHT - wide);
    const row = left > until[0]! + 8 ? 0 : left > until[1]! + 8 ? 1 : -1;
    if (row < 0) continue;
    until = until.map((end, k) => (k === row ? left + wide : end));
    c.textAlign = "left";
    c.textBaseline = "alphabetic";
    c.fillText(text, left, TOP - 11 - 12 * row);
  }
}

function frame(c: CanvasRenderingContext2D, b: Bars, s: Scale, i: number, ink: string, width: number): void {
  if (i < 0) return;
  const step = pitch(b);
  c.strokeStyle = themeColour(ink);
  c.lineWidth = width;
  const wide = Math.max(4, step + 1);
  c.strokeRect(LEFT + (i + 0.5) * step - wide / 2 - 0.5, TOP, wide, s.room + 1);
}

export function drawTokens(canvas: HTMLCanvasElement, b: Bars): void {
  if (b.width < LEFT + RIGHT + 10 || b.height < TOP + BOTTOM + 10) return;
  drawOn(canvas, b.width, b.height, (c) => paint(c, b));
}

function paint(c: CanvasRenderingContext2D, b: Bars): void {
  c.font = FONT;
  const s = scaleOf(b);
  drawBars(c, b, s);
  drawAxis(c, b, s);
  drawUsual(c, b, s);
  drawSlow(c, b);
  frame(c, b, s, b.pointed, "--ink-2", 1);
  frame(c, b, s, b.selected, "--ink", 2);
}
