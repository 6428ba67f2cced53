// The plot of how much memory there was: steps, stacked by kind.

import type { Curve, CurveSeries } from "../../api/buffers";
import { ticks, type Range } from "../../draw/axis";
import { bytes, moment } from "../../draw/format";
import { css, themeColour } from "../../draw/colour";
import { drawOn } from "../../draw/canvas";
import { kindColour, kindFill, totals } from "../../draw/buffers";

export const LEFT = 76;
export const RIGHT = 10;
const TOP = 8;
const BOTTOM = 20;

export interface Marks {
  /** The moment that is looked at. */
  readonly at: number | null;
  readonly time: readonly [number, number] | null;
  readonly peak: number | null;
}

export interface Frame {
  readonly width: number;
  readonly height: number;
  readonly range: Range;
}

export function xOf(f: Frame, ns: number): number {
  return LEFT + ((ns - f.range.from) / (f.range.to - f.range.from)) * (f.width - LEFT - RIGHT);
}

export function timeAt(f: Frame, x: number): number {
  return f.range.from + ((x - LEFT) / Math.max(1, f.width - LEFT - RIGHT)) * (f.range.to - f.range.from);
}

/** Round binary sizes up to the most. */
function sizeTicks(most: number): number[] {
  const step = 2 ** Math.max(0, Math.ceil(Math.log2(most / 7)));
  const list: number[] = [];
  for (let v = 0; v <= most && list.length < 10; v += step) list.push(v);
  return list;
}

function drawAxes(c: CanvasRenderingContext2D, f: Frame, most: number, y: (v: number) => number): void {
  c.font = "11px system-ui, sans-serif";
  c.textBaseline = "middle";
  for (const v of sizeTicks(most)) {
    c.fillStyle = themeColour("--ground-3");
    c.fillRect(LEFT, Math.round(y(v)), f.width - LEFT - RIGHT, 1);
    c.fillStyle = themeColour("--ink-2");
    c.textAlign = "right";
    c.fillText(bytes(v), LEFT - 6, Math.max(y(v), TOP));
  }
  const { values, step } = ticks(f.range, f.width - LEFT - RIGHT);
  c.textAlign = "center";
  for (const v of values) {
    c.fillStyle = themeColour("--ground-3");
    c.fillRect(Math.round(xOf(f, v)), TOP, 1, f.height - TOP - BOTTOM);
    c.fillStyle = themeColour("--ink-2");
    const text = moment(v, step);
    const half = c.measureText(text).width / 2;
    c.fillText(text, Math.min(xOf(f, v), f.width - half - 1), f.height - BOTTOM / 2);
  }
}

function drawSteps(c: CanvasRenderingContext2D, f: Frame, curve: Curve, series: readonly CurveSeries[], y: (v: number) => number): void {
  const n = curve.time_relative_ns.length;
  const before = new Array<number>(n).fill(0);
  for (const s of series) {
    c.fillStyle = kindFill(c, s.kind, s.backing);
    c.strokeStyle = css(kindColour(s.kind));
    for (let i = 0; i < n; i++) {
      const from = Math.max(LEFT, xOf(f, curve.time_relative_ns[i]!));
      const to = i + 1 < n ? xOf(f, curve.time_relative_ns[i + 1]!) : f.width - RIGHT;
      const size = s.size_bytes[i] ?? 0;
      const low = before[i]!;
      before[i] = low + size;
      if (size === 0 || to <= LEFT || from >= f.width - RIGHT) continue;
      // At least a pixel, so that short-lived buffers are visible.
      const width = Math.max(1, Math.min(to, f.width - RIGHT) - from);
      const top = y(low + size);
      const height = Math.max(1, y(low) - top);
      c.fillRect(from, top, width, height);
      c.fillRect(from, top, width, 1);
    }
  }
}

function drawMarks(c: CanvasRenderingContext2D, f: Frame, m: Marks): void {
  if (m.time) {
    const from = Math.max(LEFT, xOf(f, m.time[0]));
    const to = Math.min(f.width - RIGHT, xOf(f, m.time[1]));
    c.fillStyle = themeColour("--mark");
    c.globalAlpha = 0.18;
    if (to > LEFT && from < f.width) c.fillRect(from, TOP, Math.max(2, to - from), f.height - TOP - BOTTOM);
    c.globalAlpha = 1;
  }
  const lines: [number | null, string, number[]][] = [
    [m.peak, "--mark", [2, 3]],
    [m.at, "--ink", [6, 3]],
  ];
  for (const [at, ink, dash] of lines) {
    if (at === null || at < f.range.from || at > f.range.to) continue;
    c.strokeStyle = themeColour(ink);
    c.lineWidth = 1.5;
    c.setLineDash(dash);
    c.beginPath();
    c.moveTo(xOf(f, at), TOP);
    c.lineTo(xOf(f, at), f.height - BOTTOM);
    c.stroke();
    c.setLineDash([]);
  }
}

export function draw(canvas: HTMLCanvasElement, f: Frame, curve: Curve, series: readonly CurveSeries[], marks: Marks): void {
  drawOn(canvas, f.width, f.height, (c) => paint(c, f, curve, series, marks));
}

function paint(c: CanvasRenderingContext2D, f: Frame, curve: Curve, series: readonly CurveSeries[], marks: Marks): void {
  const most = Math.max(1, ...curve.time_relative_ns.map((_, i) => totals(series, i)));
  const y = (v: number) => f.height - BOTTOM - (v / most) * (f.height - TOP - BOTTOM);
  drawAxes(c, f, most, y);
  c.save();
  c.beginPath();
  c.rect(LEFT, 0, f.width - LEFT - RIGHT, f.height - BOTTOM);
  c.clip();
  drawSteps(c, f, curve, series, y);
  c.restore();
  drawMarks(c, f, marks);
}
