// The matrix: a row a layer, a cell an expert.

import type { Layer } from "../../api/experts";
import { inkOn, sequence, themeColour, css, type Rgb } from "../../draw/colour";
import { drawOn } from "../../draw/canvas";
import type { Measure } from "./state";
import { layerThatFits } from "../../state/layers";

export const LEFT = 66;
const TOP = 20;
const ROW_MOST = 34;
const CELL_MOST = 84;
/** From these sizes on a cell has room for its figure. */
const TEXT_CELL = 38;
const TEXT_ROW = 18;

export interface Grid {
  readonly width: number;
  readonly height: number;
  readonly columns: number;
  readonly cell: number;
  readonly row: number;
}

/** least: minimum height of rows; the canvas may be higher than its container. */
export function gridOf(layers: readonly Layer[], width: number, room: number, least = 5): Grid {
  const columns = Math.max(1, ...layers.map((l) => l.n_experts));
  const cell = Math.min(CELL_MOST, Math.max(2, (width - LEFT - 8) / columns));
  const row = Math.min(ROW_MOST, Math.max(least, Math.floor((room - TOP - 4) / Math.max(1, layers.length))));
  return { width: Math.max(width, LEFT + columns * cell + 8), height: TOP + row * layers.length + 4, columns, cell, row };
}

export function cellAt(g: Grid, layers: readonly Layer[], x: number, y: number): { layer: number; expert: number } | null {
  const layer = Math.floor((y - TOP) / g.row);
  const expert = Math.floor((x - LEFT) / g.cell);
  const l = layers[layer];
  return l && expert >= 0 && expert < l.n_experts ? { layer, expert } : null;
}

export function layerAt(g: Grid, y: number): number {
  return Math.floor((y - TOP) / g.row);
}

export interface Extent {
  readonly least: number;
  readonly most: number;
}

/** Extent of the coloured figure. Counts and bytes begin at 0. */
export function extentOf(layers: readonly Layer[], m: Measure): Extent {
  let least = m.id === "last" ? Infinity : 0;
  let most = -Infinity;
  for (const l of layers)
    for (let e = 0; e < l.n_experts; e++) {
      const v = m.value(l, e);
      if (v === null) continue;
      if (v < least) least = v;
      if (v > most) most = v;
    }
  return most < least || !Number.isFinite(most) ? { least: 0, most: 0 } : { least, most };
}

/** null: no colour. */
export function colourOf(l: Layer, e: number, m: Measure, x: Extent, dark: boolean): Rgb | null {
  const v = m.value(l, e);
  if (v === null || l.count[e] === 0) return null;
  return sequence(x.most > x.least ? 0.12 + (0.88 * (v - x.least)) / (x.most - x.least) : 1, dark);
}

export interface Marks {
  readonly selectedLayer: number | null;
  readonly selectedExpert: number | null;
  /** In layers and experts; where the keyboard is. */
  readonly cursor: { readonly layer: number; readonly expert: number } | null;
  /** The experts chosen for the selected token, by layer. */
  readonly chosen: ReadonlyMap<number | null, ReadonlySet<number>>;
}

function drawHead(c: CanvasRenderingContext2D, g: Grid, layers: readonly Layer[], m: Marks): void {
  c.font = "11px system-ui, sans-serif";
  c.textBaseline = "middle";
  c.textAlign = "right";
  const every = Math.max(1, Math.ceil(13 / g.row));
  layers.forEach((l, i) => {
    const selected = m.selectedLayer !== null && l.layer_id === m.selectedLayer;
    if (i % every && !selected) return;
    c.fillStyle = themeColour(selected ? "--ink" : "--ink-2");
    c.font = `${selected ? "bold " : ""}11px system-ui, sans-serif`;
    c.fillText((selected ? "▸ " : "") + (l.layer_id === null ? "?" : layerThatFits(l.layer_id, (text) => c.measureText(text).width <= LEFT - 20)), LEFT - 6, TOP + (i + 0.5) * g.row);
  });
  c.font = "11px system-ui, sans-serif";
  c.textAlign = "center";
  c.fillStyle = themeColour("--ink-2");
  const step = [1, 2, 4, 8, 16, 32, 64, 128, 256].find((s) => s * g.cell >= 26) ?? 512;
  for (let e = 0; e < g.columns; e += step) c.fillText(String(e), LEFT + (e + 0.5) * g.cell, TOP / 2);
}

function drawCells(c: CanvasRenderingContext2D, g: Grid, layers: readonly Layer[], m: Measure, x: Extent, marks: Marks, dark: boolean): void {
  const gap = g.cell >= 5 && g.row >= 5 ? 1 : 0;
  const ground = themeColour("--ground-3");
  layers.forEach((l, i) => {
    const y = TOP + i * g.row;
    const chosen = marks.chosen.get(l.layer_id);
    for (let e = 0; e < l.n_experts; e++) {
      const colour = colourOf(l, e, m, x, dark);
      const left = LEFT + e * g.cell;
      c.fillStyle = colour ? css(colour) : ground;
      c.fillRect(left, y, Math.max(1, g.cell - gap), g.row - gap);
      if (g.cell >= TEXT_CELL && g.row >= TEXT_ROW && colour) {
        c.fillStyle = inkOn(colour);
        c.fillText(m.short(m.value(l, e)), left + (chosen?.has(e) ? 0.62 : 0.5) * g.cell, y + (g.row - 1) / 2);
      }
      if (chosen?.has(e)) drawChosen(c, left, y, g, colour);
    }
  });
}

/** A diamond if there is room, else a bar across the cell. */
function drawChosen(c: CanvasRenderingContext2D, x: number, y: number, g: Grid, under: Rgb | null): void {
  c.fillStyle = under ? inkOn(under) : themeColour("--ink");
  const r = Math.min(g.cell, g.row) / 2 - 2;
  if (r < 2) {
    c.fillRect(x, y + g.row / 2 - 1, Math.max(2, g.cell), 2);
    return;
  }
  // Beside the figure, if there is one.
  const share = g.cell >= TEXT_CELL && g.row >= TEXT_ROW ? 0.2 : 0.5;
  const [cx, cy] = [x + (g.cell - 1) * share, y + (g.row - 1) / 2];
  const size = Math.min(r, 6);
  c.beginPath();
  c.moveTo(cx, cy - size);
  c.lineTo(cx + size, cy);
  c.lineTo(cx, cy + size);
  c.lineTo(cx - size, cy);
  c.fill();
}

function outline(c: CanvasRenderingContext2D, g: Grid, layer: number, from: number, n: number, ink: string, dash: number[]): void {
  c.strokeStyle = themeColour(ink);
  c.lineWidth = 2;
  c.setLineDash(dash);
  c.strokeRect(LEFT + from * g.cell - 1, TOP + layer * g.row - 1, Math.max(4, n * g.cell + 1), g.row + 1);
  c.setLineDash([]);
}

export function draw(canvas: HTMLCanvasElement, g: Grid, layers: readonly Layer[], m: Measure, x: Extent, marks: Marks, dark: boolean): void {
  drawOn(canvas, g.width, g.height, (c) => paint(c, g, layers, m, x, marks, dark));
}

function paint(c: CanvasRenderingContext2D, g: Grid, layers: readonly Layer[], m: Measure, x: Extent, marks: Marks, dark: boolean): void {
  drawHead(c, g, layers, marks);
  drawCells(c, g, layers, m, x, marks, dark);
  layers.forEach((l, i) => {
    if (marks.selectedLayer === null || l.layer_id !== marks.selectedLayer) return;
    outline(c, g, i, 0, l.n_experts, "--accent", []);
    if (marks.selectedExpert !== null && marks.selectedExpert < l.n_experts) outline(c, g, i, marks.selectedExpert, 1, "--mark", []);
  });
  if (marks.cursor) outline(c, g, marks.cursor.layer, marks.cursor.expert, 1, "--focus", [3, 2]);
}
