// What each token read (endpoint memory/batches): its data, and how they are drawn.

import type { Params } from "../../api/client";
import { getBinary, ofTrace } from "../../api/client";
import { decodeColumns, NO_U32 } from "../../api/columns";
import { byteTicks, type Range } from "../../draw/axis";
import { Cells, shade } from "../../draw/cells";
import { css, type Rgb } from "../../draw/colour";
import { bytes, count, duration } from "../../draw/format";
import { urlParam } from "../../state/url";
import type { Palette } from "./scene";
import { layerWords } from "../../state/layers";

export const BYS = [
  { id: "file", title: "File", about: "Columns are ranges of the model file" },
  { id: "layer", title: "Layers", about: "Columns are layers" },
  { id: "expert", title: "Experts", about: "Columns are experts: of the selected layer, or of all layers together" },
] as const;
export type By = (typeof BYS)[number]["id"];

export const SHOWN = [
  { id: "accesses", title: "Accesses", about: "ops that read some of it" },
  { id: "read_bytes", title: "Bytes", about: "bytes read" },
  { id: "time_ns", title: "Time", about: "time of the ops that read some of it" },
  { id: "faults", title: "Page faults", about: "page faults of these ops" },
] as const;
export type What = (typeof SHOWN)[number]["id"];

/** The part of the columns that is shown, as shares of all. */
export const columnsParam = urlParam("memory_tokens_x", "");
const byParam = urlParam("memory_tokens_by", "file");
const whatParam = urlParam("memory_tokens", "read_bytes");
export const byShown = (): By => BYS.find((b) => b.id === byParam.value)?.id ?? "file";
export const whatShown = (): What => SHOWN.find((b) => b.id === whatParam.value)?.id ?? "read_bytes";
export function showBy(to: By): void {
  byParam.value = to;
  // A part of other columns means nothing.
  columnsParam.value = "";
}
export function showWhat(to: What): void {
  whatParam.value = to;
}

export interface Head {
  from_bytes: number;
  to_bytes: number;
  grid_rows: number;
  grid_columns: number;
  /** By layer: that of each column; null: outside any. */
  layers: (number | null)[] | null;
  batches_each: number;
  ops: number;
  at_most: boolean;
  /** Left out by file. */
  unplaced_reads: number;
  faults: boolean;
  experts: boolean;
}

export interface Grid {
  readonly by: By;
  readonly head: Head;
  /** Where column 0 begins and how wide each is: bytes, layers or experts. */
  readonly from: number;
  readonly each: number;
  readonly batches: Uint32Array;
  /** By cell, row by row; 0: nothing was read. */
  readonly values: Record<What, Float64Array>;
  /** By column: the sum over all rows. */
  readonly sums: Record<What, Float64Array>;
  readonly most: Record<What, number>;
}

/** Made when it is asked for: of a reply one measure is shown, and replies come while one zooms. */
function asNeeded<T>(make: (what: What) => T): Record<What, T> {
  const made: Partial<Record<What, T>> = {};
  const get = (what: What): T => (made[what] ??= make(what));
  return {
    get accesses() {
      return get("accesses");
    },
    get read_bytes() {
      return get("read_bytes");
    },
    get time_ns() {
      return get("time_ns");
    },
    get faults() {
      return get("faults");
    },
  };
}

export async function loadGrid(trace: number, by: By, params: Params): Promise<Grid> {
  const c = decodeColumns<Head>(await getBinary(ofTrace(trace, "memory/batches"), { by, ...params }));
  const { grid_rows, grid_columns } = c.header;
  const cells = c.u32("cell");
  const major = c.u32("major_faults");
  const minor = c.u32("minor_faults");
  const from: Record<What, ArrayLike<number>> = { accesses: c.u32("accesses"), read_bytes: c.f64("read_bytes"), time_ns: c.f64("time_ns"), faults: Array.from(major, (n, i) => (n === NO_U32 ? NaN : n + minor[i]!)) };
  const values = asNeeded((what) => {
    const out = new Float64Array(grid_rows * grid_columns);
    const list = from[what];
    for (let i = 0; i < cells.length; i++) out[cells[i]!] = list[i]!;
    return out;
  });
  const sums = asNeeded((what) => {
    const out = new Float64Array(grid_columns);
    const list = from[what];
    for (let i = 0; i < cells.length; i++) out[cells[i]! % grid_columns]! += list[i] || 0;
    return out;
  });
  const most = asNeeded((what) => {
    let greatest = 0;
    for (let i = 0; i < cells.length; i++) greatest = Math.max(greatest, from[what][i]!);
    return greatest;
  });
  const [begin, each] = by === "file" ? [c.header.from_bytes, (c.header.to_bytes - c.header.from_bytes) / grid_columns] : [0, 1];
  return { by, head: c.header, from: begin, each, batches: c.u32("batch_id"), values, sums, most };
}

export function whatWords(what: What, value: number): string {
  return what === "read_bytes" ? bytes(value) : what === "time_ns" ? duration(value) : count(Math.round(value));
}

export function columnWords(g: Grid, column: number): string {
  const layer = g.head.layers?.[column];
  if (g.by === "layer") return layer === null || layer === undefined ? "outside of layers" : layerWords(layer);
  if (g.by === "expert") return `expert ${column}`;
  return `${bytes(Math.round(g.from + column * g.each))} to ${bytes(Math.round(g.from + (column + 1) * g.each))}`;
}

export function rowWords(g: Grid, row: number): string {
  const first = g.batches[row * g.head.batches_each];
  const last = g.batches[Math.min(g.batches.length, (row + 1) * g.head.batches_each) - 1];
  return first === last ? `token ${first}` : `tokens ${first} to ${last}`;
}

export const LEFT = 60;
/** Of the curve on top. */
const CURVE = 56;
export const TOP = CURVE + 8;
export const BOTTOM = 20;
const RIGHT = 10;

export interface Plot {
  readonly width: number;
  readonly height: number;
  /** Of the bytes, layers or experts: what is shown. */
  readonly range: Range;
}

/** Of few rows: higher ones would be mistaken for bars. */
const ROW_MOST = 64;

export const plotWidth = (p: Plot) => Math.max(1, p.width - LEFT - RIGHT);
export const xOf = (p: Plot, unit: number) => LEFT + ((unit - p.range.from) / (p.range.to - p.range.from)) * plotWidth(p);
export const unitOf = (p: Plot, x: number) => p.range.from + ((x - LEFT) / plotWidth(p)) * (p.range.to - p.range.from);
const cellWidth = (p: Plot, g: Grid) => (g.each / (p.range.to - p.range.from)) * plotWidth(p);
export const rowHeight = (p: Plot, g: Grid) => Math.min(ROW_MOST, (p.height - TOP - BOTTOM) / Math.max(1, g.head.grid_rows));

export function cellAt(p: Plot, g: Grid, x: number, y: number): { row: number; column: number } | null {
  if (x < LEFT || x >= p.width - RIGHT) return null;
  const column = Math.floor((unitOf(p, x) - g.from) / g.each);
  const row = Math.floor((y - TOP) / rowHeight(p, g));
  return column >= 0 && column < g.head.grid_columns && row >= 0 && row < g.head.grid_rows ? { row, column } : null;
}

export interface Marked {
  readonly row: number;
  /** From and to: bytes, layers or experts. */
  readonly columns: readonly [number, number] | null;
}

/** Of few values each next colour is another factor; what was not read has the ground's. */
export function shareOf(value: number, most: number): number {
  return most <= 0 ? 0 : Math.sqrt(value / most);
}

function drawCurve(c: CanvasRenderingContext2D, p: Plot, g: Grid, what: What, palette: Palette): void {
  const sums = g.sums[what];
  const top = sums.reduce((a, b) => (b > a ? b : a), 0);
  const w = cellWidth(p, g);
  c.fillStyle = palette.accent;
  for (let i = 0; i < sums.length && top > 0; i++) {
    const h = (sums[i]! / top) * CURVE;
    const x = Math.round(xOf(p, g.from + i * g.each));
    c.fillRect(x, 4 + CURVE - h, Math.max(1, Math.round(xOf(p, g.from + (i + 1) * g.each)) - x - (w > 6 ? 1 : 0)), h);
  }
}

/** What the curve's height stands for. */
function drawCurveWords(c: CanvasRenderingContext2D, g: Grid, what: What, palette: Palette): void {
  const top = g.sums[what].reduce((a, b) => (b > a ? b : a), 0);
  c.fillStyle = palette.ink2;
  c.textAlign = "right";
  c.fillText(whatWords(what, top), LEFT - 6, 10);
  c.fillText("all", LEFT - 6, CURVE);
}

function drawAxes(c: CanvasRenderingContext2D, p: Plot, g: Grid, palette: Palette): void {
  const w = cellWidth(p, g);
  const h = rowHeight(p, g);
  c.fillStyle = palette.ink2;
  c.textAlign = "right";
  const every = Math.max(1, Math.ceil(14 / h));
  for (let row = 0; row < g.head.grid_rows; row += every) c.fillText(String(g.batches[row * g.head.batches_each]), LEFT - 6, TOP + (row + 0.5) * h);
  const y = TOP + g.head.grid_rows * h + 10;
  c.textAlign = "center";
  if (g.by === "file") {
    for (const { at, text } of byteTicks(p.range, plotWidth(p))) c.fillText(text, Math.min(p.width - 28, xOf(p, at)), y);
    return;
  }
  const each = Math.max(1, Math.ceil(34 / w));
  for (let i = 0; i < g.head.grid_columns; i += each) {
    const x = xOf(p, g.from + i + 0.5);
    if (x >= LEFT && x <= p.width - RIGHT) c.fillText(g.from + i < 0 ? "none" : String(g.from + i), x, y);
  }
}

/** Cells from this size on have a gap between them, in CSS pixels. */
const [GAP_FROM_WIDTH, GAP_FROM_HEIGHT] = [6, 5];
/** More cells than these are drawn as one picture, without gaps: one after the other they take longer than a frame. */
const GAPS_MOST = 8000;

function colourOf(g: Grid, what: What, i: number, dark: boolean): Rgb {
  return shade(shareOf(g.values[what][i] || 0, g.most[what]), dark);
}

/** By what and dark. */
const pictures = new WeakMap<Grid, Map<string, Cells>>();

function cellsOf(g: Grid, what: What, dark: boolean): Cells {
  let kept = pictures.get(g);
  if (!kept) pictures.set(g, (kept = new Map()));
  const key = `${what} ${dark}`;
  let made = kept.get(key);
  if (!made) {
    const { grid_columns, grid_rows } = g.head;
    made = new Cells(grid_columns, grid_rows);
    for (let i = 0; i < grid_rows * grid_columns; i++) if (g.values.accesses[i]! > 0) made.set(i % grid_columns, Math.floor(i / grid_columns), colourOf(g, what, i, dark));
    kept.set(key, made.end());
  }
  return made;
}

function drawCells(c: CanvasRenderingContext2D, p: Plot, g: Grid, what: What, dark: boolean): void {
  const [w, h] = [cellWidth(p, g), rowHeight(p, g)];
  const { grid_columns, grid_rows } = g.head;
  const first = Math.max(0, Math.floor((p.range.from - g.from) / g.each));
  const last = Math.min(grid_columns, Math.ceil((p.range.to - g.from) / g.each));
  for (let row = 0; row < grid_rows; row++)
    for (let column = first; column < last; column++) {
      const i = row * grid_columns + column;
      if (g.values.accesses[i] === 0) continue;
      // At whole pixels: no stripes between narrow cells.
      const x = Math.round(xOf(p, g.from + column * g.each));
      const end = Math.round(xOf(p, g.from + (column + 1) * g.each));
      c.fillStyle = css(colourOf(g, what, i, dark));
      c.fillRect(x, TOP + row * h, Math.max(1, end - x - (w > GAP_FROM_WIDTH ? 1 : 0)), Math.max(0.7, h - (h > GAP_FROM_HEIGHT ? 1 : 0)));
    }
}

export function drawGrid(c: CanvasRenderingContext2D, p: Plot, g: Grid, what: What, palette: Palette): void {
  const w = cellWidth(p, g);
  const h = rowHeight(p, g);
  c.font = "10px system-ui, sans-serif";
  c.textBaseline = "middle";
  drawCurveWords(c, g, what, palette);
  drawAxes(c, p, g, palette);
  c.save();
  c.beginPath();
  c.rect(LEFT - 1, 0, plotWidth(p) + 2, p.height);
  c.clip();
  drawCurve(c, p, g, what, palette);
  c.fillStyle = palette.ground2;
  c.fillRect(LEFT, TOP, plotWidth(p), g.head.grid_rows * h);
  const seen = (plotWidth(p) / w) * g.head.grid_rows;
  if ((w > GAP_FROM_WIDTH || h > GAP_FROM_HEIGHT) && seen < GAPS_MOST) drawCells(c, p, g, what, palette.dark);
  else cellsOf(g, what, palette.dark).draw(c, xOf(p, g.from), TOP, xOf(p, g.from + g.head.grid_columns * g.each) - xOf(p, g.from), g.head.grid_rows * h);
  c.restore();
}

/** On a canvas of its own: it changes with each token that is played. */
export function drawMarks(c: CanvasRenderingContext2D, p: Plot, g: Grid, m: Marked, palette: Palette): void {
  const h = rowHeight(p, g);
  c.save();
  c.beginPath();
  c.rect(LEFT - 1, 0, plotWidth(p) + 2, p.height);
  c.clip();
  c.strokeStyle = palette.ink;
  c.lineWidth = 2;
  if (m.row >= 0) c.strokeRect(LEFT, TOP + m.row * h, plotWidth(p), h);
  if (m.columns) c.strokeRect(xOf(p, m.columns[0]), TOP, Math.max(2, xOf(p, m.columns[1]) - xOf(p, m.columns[0])), g.head.grid_rows * h);
  c.restore();
}
