// The heat map: a row per layer, a column per token, or per several if there are more than pixels.

import type { Grid } from "../../api/values";
import { css, sequence, themeColour, inkOn } from "../../draw/colour";
import { drawOn } from "../../draw/canvas";
import { layerThatFits } from "../../state/layers";
import { badOf, number, shareOf, type Extent, type Measure } from "./measures";

export const LEFT = 66;
const TOP = 20;
const RIGHT = 8;
const ROW_MOST = 30;
const ROW_LEAST = 6;
const HEIGHT_MOST = 286;
const CELL_MOST = 84;
/** From these sizes on a cell has room for its figure. */
const TEXT_CELL = 52;
const TEXT_ROW = 16;
/** Distinct colours: styles are cached by these. */
const STEPS = 64;

export interface Geometry {
  readonly width: number;
  readonly height: number;
  /** Columns, and tokens in each. */
  readonly columns: number;
  readonly each: number;
  readonly cell: number;
  readonly row: number;
}

export function geometryOf(g: Grid, width: number, room: number): Geometry {
  const space = Math.max(1, Math.floor(width - LEFT - RIGHT));
  const n = Math.max(1, g.batches.length);
  const each = Math.ceil(n / space);
  const columns = Math.ceil(n / each);
  const cell = Math.min(CELL_MOST, space / columns);
  const row = Math.min(ROW_MOST, Math.max(ROW_LEAST, Math.floor((room - TOP - 4) / Math.max(1, g.layers.length))));
  return { width, height: TOP + row * g.layers.length + 4, columns, each, cell, row };
}

/** Preferred height; with many layers, the minimum. */
export function heightOf(g: Grid): number {
  const n = g.layers.length;
  return TOP + 4 + Math.max(n * ROW_LEAST, Math.min(n * ROW_MOST, HEIGHT_MOST));
}

export interface Place {
  /** Indexes in the grid's layers and tokens. */
  readonly layer: number;
  readonly token: number;
}

/** Cells of a column in a row: indexes in the grid. */
function cellsOf(g: Grid, geometry: Geometry, layer: number, column: number): [number, number] {
  const from = layer * g.batches.length + column * geometry.each;
  return [from, Math.min(from + geometry.each, (layer + 1) * g.batches.length)];
}

/** The cell that represents its column: the worst, else the largest. */
function standing(g: Grid, m: Measure, from: number, to: number): number {
  let best = -1;
  for (let i = from; i < to; i++) {
    if (g.outputs[i] === 0) continue;
    if (badOf(g, i) === "NaN") return i;
    if (best < 0 || (badOf(g, i) && !badOf(g, best)) || (!badOf(g, best) && m.of(g, i) > m.of(g, best))) best = i;
  }
  return best;
}

/** The cell at a position of the canvas; null: none. */
export function placeAt(g: Grid, m: Measure, geometry: Geometry, x: number, y: number): Place | null {
  const layer = Math.floor((y - TOP) / geometry.row);
  const column = Math.floor((x - LEFT) / geometry.cell);
  if (layer < 0 || layer >= g.layers.length || column < 0 || column >= geometry.columns) return null;
  const [from, to] = cellsOf(g, geometry, layer, column);
  const at = standing(g, m, from, to);
  return { layer, token: (at < 0 ? from : at) % g.batches.length };
}

export function layerAt(geometry: Geometry, y: number): number {
  return Math.floor((y - TOP) / geometry.row);
}

/** NaN is crossed out, infinity struck through: encoded by shape, too. */
export function drawBad(c: CanvasRenderingContext2D, what: "NaN" | "Inf", x: number, y: number, w: number, h: number, bad: string, ground: string): void {
  c.fillStyle = bad;
  c.fillRect(x, y, w, h);
  if (w < 5 || h < 5) return;
  c.strokeStyle = ground;
  c.lineWidth = 1.5;
  c.beginPath();
  c.moveTo(x + 1.5, y + h - 1.5);
  c.lineTo(x + w - 1.5, y + 1.5);
  if (what === "NaN") {
    c.moveTo(x + 1.5, y + 1.5);
    c.lineTo(x + w - 1.5, y + h - 1.5);
  }
  c.stroke();
}

function drawAxes(c: CanvasRenderingContext2D, g: Grid, geometry: Geometry): void {
  c.font = "11px system-ui, sans-serif";
  c.textBaseline = "middle";
  c.fillStyle = themeColour("--ink-2");
  c.textAlign = "right";
  const everyRow = Math.max(1, Math.ceil(13 / geometry.row));
  g.layers.forEach((layer, i) => {
    if (i % everyRow === 0) c.fillText(layerThatFits(layer, (text) => c.measureText(text).width <= LEFT - 8), LEFT - 6, TOP + (i + 0.5) * geometry.row);
  });
  c.textAlign = "center";
  const wide = String(g.batches.at(-1) ?? 0).length * 7 + 8;
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000].find((s) => (s * geometry.cell) / geometry.each >= wide) ?? 20000;
  g.batches.forEach((token, i) => {
    if (token % step === 0) c.fillText(String(token), LEFT + (Math.floor(i / geometry.each) + 0.5) * geometry.cell, TOP / 2);
  });
}

/** Dims everything but the selection. */
export function drawCells(canvas: HTMLCanvasElement, g: Grid, geometry: Geometry, m: Measure, x: Extent, dark: boolean): void {
  drawOn(canvas, geometry.width, geometry.height, (c) => paintCells(c, g, geometry, m, x, dark));
}

function paintCells(c: CanvasRenderingContext2D, g: Grid, geometry: Geometry, m: Measure, x: Extent, dark: boolean): void {
  drawAxes(c, g, geometry);
  const { cell, row } = geometry;
  const gap = cell >= 5 && row >= 5 ? 1 : 0;
  const [none, bad, ground] = [themeColour("--ground-3"), themeColour("--bad"), themeColour("--ground")];
  const colours = Array.from({ length: STEPS + 1 }, (_, i) => sequence(0.08 + (0.92 * i) / STEPS, dark));
  const styles = colours.map((colour) => css(colour));
  const texts = cell >= TEXT_CELL && row >= TEXT_ROW;
  c.textAlign = "center";
  for (let layer = 0; layer < g.layers.length; layer++)
    for (let column = 0; column < geometry.columns; column++) {
      const at = standing(g, m, ...cellsOf(g, geometry, layer, column));
      const [left, top, w, h] = [LEFT + column * cell, TOP + layer * row, Math.max(1, cell - gap), row - gap];
      const what = at < 0 ? null : badOf(g, at);
      if (what) {
        drawBad(c, what, left, top, w, h, bad, ground);
        continue;
      }
      const share = at < 0 ? NaN : shareOf(m, x, m.of(g, at));
      const shade = Number.isNaN(share) ? -1 : Math.round(Math.min(1, Math.max(0, share)) * STEPS);
      c.fillStyle = styles[shade] ?? none;
      // Unmeasured cells are a line, not a rectangle.
      if (at < 0) c.fillRect(left, top + row / 2 - 1, w, 1);
      else c.fillRect(left, top, w, h);
      if (!texts || shade < 0) continue;
      c.fillStyle = inkOn(colours[shade]!);
      c.fillText(number(m.of(g, at)), left + w / 2, top + h / 2);
    }
}

export interface Marks {
  readonly layer: number | null;
  readonly token: number | null;
  /** Where the keyboard is. */
  readonly cursor: Place | null;
}

function columnOf(geometry: Geometry, token: number): number {
  return LEFT + Math.floor(token / geometry.each) * geometry.cell;
}

/** The selection: a row, a column, and their crossing. */
export function drawMarks(canvas: HTMLCanvasElement, g: Grid, geometry: Geometry, marks: Marks): void {
  drawOn(canvas, geometry.width, geometry.height, (c) => paintMarks(c, g, geometry, marks));
}

function paintMarks(c: CanvasRenderingContext2D, g: Grid, geometry: Geometry, marks: Marks): void {
  const { cell, row, columns } = geometry;
  const layer = marks.layer === null ? -1 : g.layers.indexOf(marks.layer);
  const token = marks.token === null ? -1 : g.batches.indexOf(marks.token);
  const wide = Math.max(4, cell);
  const frame = (x: number, y: number, w: number, h: number, ink: string, width: number, dash: number[]) => {
    c.lineWidth = width;
    c.strokeStyle = themeColour(ink);
    c.setLineDash(dash);
    c.strokeRect(x - 1, y - 1, w + 1, h + 1);
    c.setLineDash([]);
  };
  if (layer >= 0) frame(LEFT, TOP + layer * row, columns * cell, row, "--accent", 1.5, []);
  if (token >= 0) frame(columnOf(geometry, token), TOP, wide, row * g.layers.length, "--accent", 1.5, []);
  if (layer >= 0 && token >= 0) frame(columnOf(geometry, token), TOP + layer * row, wide, row, "--mark", 3, []);
  if (marks.cursor) frame(columnOf(geometry, marks.cursor.token), TOP + marks.cursor.layer * row, wide, row, "--focus", 2, [3, 2]);
}
