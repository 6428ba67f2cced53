// Selecting from the map.

import { select } from "../../state/selection";
import type { Known } from "./heat";
import type { Spot } from "./magnifier";
import type { Cell } from "./pages";
import type { Picture } from "./scene";

export function regionOf(p: Picture, spot: Spot): number {
  return p.geometry.input.lines[spot.line]!.row!.regions[spot.item]!;
}

/** Selects the tensor, layer and bytes at a point. */
export function selectRegion(k: Known, region: number, expert: number | null): void {
  const { regions, segments } = k.map;
  const n = regions.n_slices[region]!;
  const size = regions.size_bytes[region]!;
  const each = expert === null ? size : Math.floor(size / n);
  const from = regions.offset_bytes[region]! + (expert ?? 0) * each;
  const to = expert === null || expert + 1 < n ? from + each : regions.offset_bytes[region]! + size;
  select({
    tensor: regions.tensor[region] ?? null,
    slice: regions.tensor[region] ? expert : null,
    layer: regions.layer_id[region] ?? null,
    region: { segment: segments.segment[k.map.segmentOf[region]!]!, from, to },
    op: null,
  });
}

/** The region in which the cell begins, of those it may cover; `near` if unknown. */
export function regionOfCell(k: Known, near: number, cell: Cell): number {
  const { regions, segments } = k.map;
  const s = k.map.segmentOf[near]!;
  const first = segments.first_region[s]!;
  for (let r = first; r < first + segments.n_regions[s]!; r++) {
    const from = regions.offset_bytes[r]!;
    if (cell.from >= from && cell.from < from + regions.size_bytes[r]!) return r;
  }
  return near;
}

/** The expert of the region that contains that byte; null: none. */
export function expertOfByte(k: Known, region: number, byte: number): number | null {
  const { regions } = k.map;
  const n = regions.n_slices[region]!;
  if (!n) return null;
  const each = Math.floor(regions.size_bytes[region]! / n);
  return Math.min(n - 1, Math.floor((byte - regions.offset_bytes[region]!) / each));
}

/** Selects the pages, and the tensor and the expert in which they begin. */
export function selectCell(k: Known, near: number, cell: Cell): void {
  const { regions } = k.map;
  const region = regionOfCell(k, near, cell);
  const tensor = regions.tensor[region] ?? null;
  select({
    tensor,
    slice: tensor === null ? null : expertOfByte(k, region, cell.from),
    layer: regions.layer_id[region] ?? null,
    region: { segment: cell.segment, from: cell.from, to: cell.to },
    op: null,
  });
}
