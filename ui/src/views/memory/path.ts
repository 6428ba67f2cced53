// The order of reads (endpoint memory/path): its data, and how they are drawn.

import type { Params } from "../../api/client";
import { getBinary, ofTrace } from "../../api/client";
import { decodeColumns, NO_U32 } from "../../api/columns";
import { byteTicks, ticks, type Range } from "../../draw/axis";
import { Cells, shade } from "../../draw/cells";
import { css, type Rgb } from "../../draw/colour";
import { count, moment, percent } from "../../draw/format";
import type { Palette } from "./scene";

export interface PathHeader {
  from_ns: number;
  to_ns: number;
  from_bytes: number;
  to_bytes: number;
  grid_columns: number;
  grid_rows: number;
  listed: boolean;
  reads: number;
  read_bytes: number;
  /** Left out: where in their tensor they are was not observed. */
  unplaced_reads: number;
  faults: boolean;
  adjacent: number;
  forward: number;
  backward: number;
  again: number;
  other_file: number;
  all_bytes: number;
  model_files: number[];
}

export interface Reads {
  readonly start: Float64Array;
  readonly end: Float64Array;
  readonly offset: Float64Array;
  readonly size: Float64Array;
  readonly weight: Uint32Array;
  readonly expert: Uint32Array;
  readonly run: Uint32Array;
  readonly node: Uint32Array;
  readonly batch: Uint32Array;
  readonly phase: Uint8Array;
  readonly step: Uint8Array;
  readonly copied: Uint8Array;
  readonly major: Uint32Array;
  readonly minor: Uint32Array;
}

export interface Path {
  readonly head: PathHeader;
  /** null: there are too many, and sums by cell instead. */
  readonly reads: Reads | null;
  readonly cells: { readonly cell: Uint32Array; readonly reads: Uint32Array; readonly prompt: Uint32Array; readonly major: Uint32Array; readonly minor: Uint32Array } | null;
}

/** Single reads are of all offsets: a jump begins or ends beyond the part that is shown. Their sums by cell are
 * of that part. */
export async function loadPath(trace: number, params: Params, part: Range | null): Promise<Path> {
  const whole = await askPath(trace, params);
  const all = whole.head.all_bytes;
  if (whole.reads || !part) return whole;
  return askPath(trace, { ...params, from_bytes: Math.floor(part.from * all), to_bytes: Math.max(Math.floor(part.from * all) + 1, Math.ceil(part.to * all)) });
}

async function askPath(trace: number, params: Params): Promise<Path> {
  const c = decodeColumns<PathHeader>(await getBinary(ofTrace(trace, "memory/path"), params));
  if (!c.header.listed)
    return { head: c.header, reads: null, cells: { cell: c.u32("cell"), reads: c.u32("reads"), prompt: c.u32("prompt"), major: c.u32("major_faults"), minor: c.u32("minor_faults") } };
  return {
    head: c.header,
    cells: null,
    reads: {
      start: c.f64("start_relative_ns"), end: c.f64("end_relative_ns"), offset: c.f64("offset_bytes"), size: c.f64("size_bytes"), weight: c.u32("weight"), expert: c.u32("expert"),
      run: c.u32("run"), node: c.u32("node"), batch: c.u32("batch_id"), phase: c.u8("phase"), step: c.u8("step"), copied: c.u8("copied"), major: c.u32("major_faults"), minor: c.u32("minor_faults"),
    },
  };
}

/** "27.1 % of reads continue where the previous one ended, 57.8 % jump forward, 15.1 % back." */
export function stepWords(h: PathHeader): string {
  const n = h.adjacent + h.forward + h.backward + h.again + h.other_file;
  if (n === 0) return h.reads === 0 ? "Nothing was read in this part" : "One read";
  const more = [
    [h.again, "begin within it"],
    [h.other_file, "go to another file"],
  ] as const;
  const rest = more.filter(([times]) => times > 0).map(([times, words]) => `, ${percent(times / n)} ${words}`);
  return `${percent(h.adjacent / n)} of reads continue where the previous one ended, ${percent(h.forward / n)} jump forward, ${percent(h.backward / n)} back${rest.join("")}`;
}

const STEPS = ["first", "adjacent", "forward", "backward", "again", "other_file"] as const;

/** The reads that touch these bytes, and their figures, as the server has them of a part. */
export function partOf(path: Path, part: Range): { head: PathHeader; list: readonly number[] } {
  const r = path.reads;
  if (!r) return { head: path.head, list: [] };
  const head = { ...path.head, reads: 0, read_bytes: 0, adjacent: 0, forward: 0, backward: 0, again: 0, other_file: 0 };
  const list: number[] = [];
  for (let i = 0; i < r.start.length; i++) {
    const shown = Math.min(part.to, r.offset[i]! + r.size[i]!) - Math.max(part.from, r.offset[i]!);
    if (shown <= 0) continue;
    list.push(i);
    head.reads++;
    head.read_bytes += Math.round(shown);
    const step = STEPS[r.step[i]!];
    if (step && step !== "first") head[step]++;
  }
  return { head, list };
}

export const PROMPT: Rgb = [204, 121, 167];
export const GENERATED: Rgb = [86, 180, 233];
export const FAULTED: Rgb = [230, 110, 20];
const PHASE_GENERATE = 2;
/** Steps of a read: jumps. */
const FORWARD = 2;
const BACKWARD = 3;

export const LEFT = 74;
export const BOTTOM = 22;
const RIGHT = 10;
const TOP = 6;

export interface Plot {
  readonly width: number;
  readonly height: number;
  readonly range: Range;
  /** From the bottom to the top. */
  readonly bytes: Range;
}

export const plotWidth = (p: Plot) => Math.max(1, p.width - LEFT - RIGHT);
export const plotHeight = (p: Plot) => Math.max(1, p.height - BOTTOM - TOP);
export const xOf = (p: Plot, ns: number) => LEFT + ((ns - p.range.from) / (p.range.to - p.range.from)) * plotWidth(p);
export const nsOf = (p: Plot, x: number) => p.range.from + ((x - LEFT) / plotWidth(p)) * (p.range.to - p.range.from);
export const yOf = (p: Plot, byte: number) => p.height - BOTTOM - ((byte - p.bytes.from) / (p.bytes.to - p.bytes.from)) * plotHeight(p);
export const byteOf = (p: Plot, y: number) => p.bytes.from + ((p.height - BOTTOM - y) / plotHeight(p)) * (p.bytes.to - p.bytes.from);

function drawAxes(c: CanvasRenderingContext2D, p: Plot, palette: Palette): void {
  c.font = "10px system-ui, sans-serif";
  c.textBaseline = "middle";
  c.fillStyle = palette.ink2;
  c.strokeStyle = palette.line;
  c.lineWidth = 1;
  const line = (x1: number, y1: number, x2: number, y2: number) => {
    c.beginPath();
    c.moveTo(x1, y1);
    c.lineTo(x2, y2);
    c.stroke();
  };
  c.textAlign = "right";
  for (const { at, text } of byteTicks(p.bytes, plotHeight(p), 60)) {
    const y = Math.round(yOf(p, at)) + 0.5;
    c.fillText(text, LEFT - 6, y);
    line(LEFT, y, p.width - RIGHT, y);
  }
  c.textAlign = "center";
  const { values, step } = ticks(p.range, plotWidth(p));
  for (const v of values) {
    const x = Math.round(xOf(p, v)) + 0.5;
    c.fillText(moment(v, step), Math.min(x, p.width - 30), p.height - BOTTOM / 2);
    line(x, p.height - BOTTOM, x, p.height - BOTTOM + 4);
  }
}

/** Where each read of the list is: with at least a pixel each way. */
export function boxOf(p: Plot, r: Reads, i: number): { x: number; y: number; w: number; h: number } {
  const x = xOf(p, r.start[i]!);
  const y = yOf(p, r.offset[i]! + r.size[i]!);
  return { x, y, w: Math.max(1.5, xOf(p, r.end[i]!) - x), h: Math.max(1.5, yOf(p, r.offset[i]!) - y) };
}

export function colourOf(r: Reads, i: number): Rgb {
  if (r.major[i] !== NO_U32 && r.major[i]! > 0) return FAULTED;
  return r.phase[i] === PHASE_GENERATE ? GENERATED : PROMPT;
}

/** Jumps are drawn where they can be seen apart. */
const JUMPS_MOST = 6000;

function drawReads(c: CanvasRenderingContext2D, p: Plot, r: Reads, whole: boolean, palette: Palette): void {
  const n = r.start.length;
  // Of a part of the offsets, it is not known where a read came from.
  if (whole && n <= JUMPS_MOST) {
    c.strokeStyle = palette.ink2;
    c.globalAlpha = 0.45;
    c.lineWidth = 0.6;
    c.beginPath();
    for (let i = 1; i < n; i++) {
      if (r.step[i] !== FORWARD && r.step[i] !== BACKWARD) continue;
      if (r.start[i]! < p.range.from || r.end[i - 1]! > p.range.to) continue;
      c.moveTo(xOf(p, r.end[i - 1]!), yOf(p, r.offset[i - 1]! + r.size[i - 1]!));
      c.lineTo(xOf(p, r.start[i]!), yOf(p, r.offset[i]!));
    }
    c.stroke();
    c.globalAlpha = 1;
  }
  // A colour is set once, not for each read; faults are on top.
  for (const colour of [PROMPT, GENERATED, FAULTED]) {
    c.fillStyle = css(colour);
    for (let i = 0; i < n; i++) {
      if (colourOf(r, i) !== colour) continue;
      const b = boxOf(p, r, i);
      if (b.x < p.width && b.x + b.w > LEFT) c.fillRect(b.x, b.y, b.w, b.h);
    }
  }
}

function colourOfCell(path: Path, i: number, most: number, dark: boolean): Rgb {
  const { reads, major } = path.cells!;
  return major[i] !== NO_U32 && major[i]! > 0 ? FAULTED : shade(Math.log1p(reads[i]!) / Math.log1p(most), dark);
}

/** By dark. */
const pictures = new WeakMap<Path, Map<boolean, Cells>>();

function cellsOf(path: Path, dark: boolean): Cells {
  let kept = pictures.get(path);
  if (!kept) pictures.set(path, (kept = new Map()));
  let made = kept.get(dark);
  if (!made) {
    const { grid_columns, grid_rows } = path.head;
    const { cell, reads } = path.cells!;
    const most = reads.reduce((a, b) => Math.max(a, b), 1);
    made = new Cells(grid_columns, grid_rows);
    // The first row is at the bottom.
    for (let i = 0; i < cell.length; i++) made.set(cell[i]! % grid_columns, grid_rows - 1 - Math.floor(cell[i]! / grid_columns), colourOfCell(path, i, most, dark));
    kept.set(dark, made.end());
  }
  return made;
}

function drawCells(c: CanvasRenderingContext2D, p: Plot, path: Path, palette: Palette): void {
  const { head } = path;
  if (!path.cells) return;
  const [x1, x2] = [xOf(p, head.from_ns), xOf(p, head.to_ns)];
  const [y1, y2] = [yOf(p, head.to_bytes), yOf(p, head.from_bytes)];
  cellsOf(path, palette.dark).draw(c, x1, y1, x2 - x1, y2 - y1);
}

export interface Marked {
  /** Bytes of the selected tensor. */
  readonly band: readonly [number, number] | null;
  /** The selected time or token, or the brush. */
  readonly time: readonly [number, number] | null;
  readonly playhead: number | null;
}

function drawMarked(c: CanvasRenderingContext2D, p: Plot, m: Marked, palette: Palette): void {
  c.fillStyle = c.strokeStyle = palette.accent;
  if (m.band) {
    const [y2, y1] = [yOf(p, m.band[0]), yOf(p, m.band[1])];
    c.globalAlpha = 0.18;
    c.fillRect(LEFT, y1, plotWidth(p), Math.max(2, y2 - y1));
    c.globalAlpha = 1;
  }
  if (m.time) {
    const [x1, x2] = [xOf(p, m.time[0]), xOf(p, m.time[1])];
    c.globalAlpha = 0.14;
    c.fillRect(x1, TOP, Math.max(1, x2 - x1), plotHeight(p));
    c.globalAlpha = 1;
    c.lineWidth = 1;
    c.strokeRect(x1, TOP, Math.max(1, x2 - x1), plotHeight(p));
  }
  if (m.playhead !== null) {
    c.fillStyle = palette.mark;
    c.fillRect(xOf(p, m.playhead) - 1, TOP, 2, plotHeight(p));
  }
}

function inPlot(c: CanvasRenderingContext2D, p: Plot, draw: () => void): void {
  c.save();
  c.beginPath();
  c.rect(LEFT, TOP - 1, plotWidth(p), plotHeight(p) + 1);
  c.clip();
  draw();
  c.restore();
}

export function drawPath(c: CanvasRenderingContext2D, p: Plot, path: Path | null, palette: Palette): void {
  drawAxes(c, p, palette);
  inPlot(c, p, () => {
    if (path?.reads) drawReads(c, p, path.reads, path.head.from_bytes <= 0 && path.head.to_bytes >= path.head.all_bytes, palette);
    else if (path) drawCells(c, p, path, palette);
  });
}

/** On a canvas of its own: it changes with each token that is played. */
export function drawMarks(c: CanvasRenderingContext2D, p: Plot, m: Marked, palette: Palette): void {
  inPlot(c, p, () => drawMarked(c, p, m, palette));
}

/** The read that is drawn at that point, the last one on top; -1: none. */
export function readAt(p: Plot, r: Reads | null, x: number, y: number): number {
  let near = -1;
  let distance = 5;
  if (x < LEFT || y > p.height - BOTTOM) return -1;
  for (let i = (r?.start.length ?? 0) - 1; r && i >= 0; i--) {
    const b = boxOf(p, r, i);
    const d = Math.max(b.x - x, x - b.x - b.w, b.y - y, y - b.y - b.h, 0);
    if (d < distance) [near, distance] = [i, d];
    if (d === 0) break;
  }
  return near;
}

export function expertWords(r: Reads, i: number): string {
  return r.expert[i] === NO_U32 ? "" : `, expert ${count(r.expert[i]!)}`;
}
