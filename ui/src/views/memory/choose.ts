// Selecting from the map.

import { select } from "../../state/selection";
import type { Known } from "./heat";
import type { Spot } from "./magnifier";
import type { Picture } from "./scene";

export function regionOf(p: Picture, spot: Spot): number {
  return p.geometry.input.lines[spot.line]!.row!.regions[spot.item]!;
}

/** Selects what lies there: its tensor, its layer, its bytes. */
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
