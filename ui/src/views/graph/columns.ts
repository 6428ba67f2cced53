// Breaks chains of parts, such as layers, into columns: fifty boxes in one column would be
// unreadable.

import type { Layout } from "./layoutTypes";

/** The target aspect ratio, width by height. */
const ASPECT = 1.5;
const COLUMNS_MAX = 24;
/** Between boxes of a column, and between columns (where the line to the next one goes up). */
const GAP = 26;
const GUTTER = 60;

interface Packed {
  /** By box. */
  readonly column: number[];
  readonly widths: number[];
  readonly height: number;
  readonly width: number;
}

function pack(sizes: Float32Array, most: number): Packed {
  const column: number[] = [];
  const widths: number[] = [];
  let height = 0;
  let y = 0;
  for (let i = 0; i < sizes.length / 2; i++) {
    const [w, h] = [sizes[i * 2]!, sizes[i * 2 + 1]!];
    if (!widths.length || y + h > most) {
      widths.push(0);
      y = 0;
    }
    column.push(widths.length - 1);
    widths[widths.length - 1] = Math.max(widths.at(-1)!, w);
    y += h + GAP;
    height = Math.max(height, y - GAP);
  }
  return { column, widths, height, width: widths.reduce((sum, w) => sum + w + GUTTER, -GUTTER) };
}

/** The packing that can be shown largest. */
function bestPacking(sizes: Float32Array): Packed {
  let total = 0;
  let highest = 0;
  for (let i = 1; i < sizes.length; i += 2) {
    total += sizes[i]! + GAP;
    highest = Math.max(highest, sizes[i]!);
  }
  const shown = (p: Packed) => Math.min(ASPECT / p.width, 1 / p.height);
  let best = pack(sizes, Infinity);
  for (let n = 2; n <= COLUMNS_MAX; n++) {
    const other = pack(sizes, Math.max(highest, total / n));
    if (shown(other) > shown(best)) best = other;
  }
  return best;
}

/** The foot of one box, the head of the next. */
function routeOf(at: Float32Array, sizes: Float32Array, from: number, p: Packed): Float32Array {
  const to = from + 1;
  const x0 = at[from * 2]! + sizes[from * 2]! / 2;
  const y0 = at[from * 2 + 1]! + sizes[from * 2 + 1]!;
  const x1 = at[to * 2]! + sizes[to * 2]! / 2;
  const y1 = at[to * 2 + 1]!;
  if (p.column[from] === p.column[to]) return Float32Array.of(x0, y0, x1, y1);
  const gutter = p.widths.slice(0, p.column[to]).reduce((sum, w) => sum + w + GUTTER, 0) - GUTTER / 2;
  const low = y0 + GAP / 2;
  const high = -GAP / 2;
  return Float32Array.of(x0, y0, x0, low, gutter, low, gutter, high, x1, high, x1, y1);
}

/** Whether every edge leads to the next box; edges: from and to by turns. */
export function isChain(edges: Uint32Array): boolean {
  for (let e = 0; e < edges.length; e += 2) if (edges[e + 1] !== edges[e]! + 1) return false;
  return edges.length > 0;
}

export function layoutInColumns(sizes: Float32Array, edges: Uint32Array): Layout {
  const p = bestPacking(sizes);
  const at = new Float32Array(sizes.length);
  let x = 0;
  let y = 0;
  p.column.forEach((column, i) => {
    if (i > 0 && column !== p.column[i - 1]) {
      x += p.widths[column - 1]! + GUTTER;
      y = 0;
    }
    at.set([x + (p.widths[column]! - sizes[i * 2]!) / 2, y], i * 2);
    y += sizes[i * 2 + 1]! + GAP;
  });
  const routes: Float32Array[] = [];
  for (let e = 0; e < edges.length; e += 2) routes.push(routeOf(at, sizes, edges[e]!, p));
  return { at, routes, width: p.width, height: p.height, simple: false, ms: 0 };
}
