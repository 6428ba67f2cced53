// Hit testing.

import { other } from "./other";
import { pool, readAt, type Reads } from "./pool";
import { slotHeight } from "./poolShapes";
import { placesOf, CHUNK, type Kept, type Tiles } from "./tiles";
import { rowAt, topOf, type Layout, type Row } from "./rows";
import { known, type Tile } from "../../api/tile";

export type Hit =
  | { kind: "slice"; row: Row; tile: Tile; i: number; at_ns: number }
  | { kind: "merged"; row: Row; tile: Tile; i: number; at_ns: number }
  | { kind: "layer"; row: Row; tile: Tile; i: number; at_ns: number }
  | { kind: "read"; row: Row; reads: Reads; i: number; at_ns: number }
  | { kind: "row"; row: Row; at_ns: number };

/** The slice of the track that covers the time, or begins within `slack` of it; -1: none. Slices of
 * a tile are sorted by track, then by time. */
export function sliceAt(tile: Tile, track: number, at_ns: number, slack: number): number {
  const s = tile.slices;
  let low = 0;
  let high = s.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (s.track[middle]! < track || (s.track[middle] === track && s.start_ns[middle]! <= at_ns + slack)) low = middle + 1;
    else high = middle;
  }
  let best = -1;
  let distance = slack;
  for (let i = low - 1; i >= 0 && i > low - 6 && s.track[i] === track; i--) {
    const begin = s.start_ns[i]!;
    const end = begin + s.busy_ns[i]! + known(s.wait_ns[i]!);
    const off = at_ns < begin ? begin - at_ns : Math.max(0, at_ns - end);
    if (off > distance || (best >= 0 && off === distance)) continue;
    best = i;
    distance = off;
  }
  return best;
}

function mergedAt(tile: Tile, track: number, at_ns: number): number {
  const bucket = Math.floor((at_ns - tile.from_ns) / tile.bucket_ns);
  const m = tile.merged;
  let low = 0;
  let high = m.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (m.track[middle]! < track || (m.track[middle] === track && m.bucket[middle]! < bucket)) low = middle + 1;
    else high = middle;
  }
  return low < m.n && m.track[low] === track && m.bucket[low] === bucket ? low : -1;
}

/** The tile of that level, or of the nearest available one. */
export function tileAt(tiles: Tiles, level: number, chunk: number, at_ns: number): Kept | null {
  for (const off of [0, 1, 2, 3, -1, 4, -2, 5, 6]) {
    const place = placesOf({ from: at_ns, to: at_ns + 1e-3 }, level + off, chunk)[0];
    const kept = place && tiles.get(place);
    if (kept) return kept;
  }
  return null;
}

function isInOther(at_ns: number): boolean {
  const o = other.peek();
  return o !== null && o.from <= at_ns && at_ns < o.to;
}

export function hitAt(
  tiles: Tiles,
  layout: Layout,
  level: number,
  at_ns: number,
  y: number,
  scroll: number,
  ns_per_pixel: number,
): Hit | null {
  const at = rowAt(layout, y, scroll);
  if (!at) return null;
  const row = layout.other?.rows.find((each) => each.id === at.id) ?? at;
  at_ns -= row.shift_ns;
  // Beside the second token its lanes show nothing.
  if (row !== at && !isInOther(at_ns)) return { kind: "row", row: at, at_ns };
  const kept = tileAt(tiles, level, row.kind === "lane" ? Math.floor(row.track / CHUNK) : 0, at_ns);
  const tile = kept?.tile;
  if (tile && row.kind === "lane") {
    const slice = sliceAt(tile, row.track, at_ns, ns_per_pixel);
    if (slice >= 0) return { kind: "slice", row, tile, i: slice, at_ns };
    const merged = mergedAt(tile, row.track, at_ns);
    if (merged >= 0) return { kind: "merged", row, tile, i: merged, at_ns };
  }
  if (tile && row.kind === "layers") {
    const l = tile.layers;
    for (let i = 0; i < l.n; i++)
      if (l.row[i] === row.of && l.start_ns[i]! <= at_ns && at_ns < l.end_ns[i]!)
        return { kind: "layer", row, tile, i, at_ns };
  }
  const p = row.kind === "reads" ? pool.peek() : null;
  if (p?.reads) {
    const slot = Math.floor((y - topOf(row, scroll) - 1) / slotHeight(row, p.slots));
    const i = readAt(p.reads, slot, at_ns, ns_per_pixel);
    if (i >= 0) return { kind: "read", row, reads: p.reads, i, at_ns };
  }
  return { kind: "row", row, at_ns };
}
