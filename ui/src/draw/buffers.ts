// How buffers are drawn: a colour for each kind, hatching for mappings, which are not memory of
// their own, and the order of their stack.

import type { Backing, CurveSeries, Kind } from "../api/buffers";
import { css, seriesColour, type Rgb } from "./colour";

const COLOURS: Record<Kind, Rgb> = {
  weights: seriesColour(1),
  kv_cache: seriesColour(0),
  compute: seriesColour(2),
  output: seriesColour(4),
  other: seriesColour(7),
};

export function kindColour(kind: Kind): Rgb {
  return COLOURS[kind] ?? COLOURS.other;
}

/** A fill for a canvas: hatched for mappings. */
export function kindFill(c: CanvasRenderingContext2D, kind: Kind, backing: Backing): string | CanvasPattern {
  const colour = kindColour(kind);
  if (backing === "allocated") return css(colour, 0.85);
  const tile = document.createElement("canvas");
  tile.width = tile.height = 8;
  const t = tile.getContext("2d");
  const pattern = t && c.createPattern(tile, "repeat");
  if (!t || !pattern) return css(colour, 0.4);
  t.fillStyle = css(colour, 0.3);
  t.fillRect(0, 0, 8, 8);
  t.strokeStyle = css(colour);
  t.lineWidth = 1.5;
  t.beginPath();
  for (const shift of [-8, 0, 8]) {
    t.moveTo(shift, 8);
    t.lineTo(shift + 8, 0);
  }
  t.stroke();
  return c.createPattern(tile, "repeat") ?? css(colour, 0.4);
}

const ORDER: readonly Kind[] = ["weights", "kv_cache", "compute", "output", "other"];

/** Mappings at the bottom, then allocations, always in the same order. */
export function inOrder(series: readonly CurveSeries[]): CurveSeries[] {
  const place = (s: CurveSeries) => (s.backing === "file" ? 0 : 10) + ORDER.indexOf(s.kind);
  return [...series].sort((a, b) => place(a) - place(b));
}

/** Bytes of all series at a point of the curve. */
export function totals(series: readonly { size_bytes: readonly number[] }[], i: number): number {
  return series.reduce((sum, s) => sum + (s.size_bytes[i] ?? 0), 0);
}
