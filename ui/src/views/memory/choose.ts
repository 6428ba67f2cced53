// Selecting from the map.

import { plainName } from "../../draw/format";
import type { MenuItems } from "../../parts/ContextMenu";
import { menuOfThing, tensorTerm, termFor } from "../../parts/thingMenu";
import { layerWords } from "../../state/layers";
import { select, type Selection } from "../../state/selection";
import { regionTitle } from "./describe";
import type { Known } from "./heat";
import type { Spot } from "./magnifier";
import type { Cell } from "./pages";
import type { Picture } from "./scene";

export function regionOf(p: Picture, spot: Spot): number {
  return p.geometry.input.lines[spot.line]!.row!.regions[spot.item]!;
}

/** The tensor, layer and bytes at a point. */
function ofRegion(k: Known, region: number, expert: number | null): Partial<Selection> {
  const { regions, segments } = k.map;
  const n = regions.n_slices[region]!;
  const size = regions.size_bytes[region]!;
  const each = expert === null ? size : Math.floor(size / n);
  const from = regions.offset_bytes[region]! + (expert ?? 0) * each;
  const to = expert === null || expert + 1 < n ? from + each : regions.offset_bytes[region]! + size;
  return {
    tensor: regions.tensor[region] ?? null,
    slice: regions.tensor[region] ? expert : null,
    layer: regions.layer_id[region] ?? null,
    region: { segment: segments.segment[k.map.segmentOf[region]!]!, from, to },
    op: null,
  };
}

export function selectRegion(k: Known, region: number, expert: number | null): void {
  select(ofRegion(k, region, expert));
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

/** The pages, and the tensor and the expert in which they begin. */
function ofCell(k: Known, near: number, cell: Cell): Partial<Selection> {
  const { regions } = k.map;
  const region = regionOfCell(k, near, cell);
  const tensor = regions.tensor[region] ?? null;
  return {
    tensor,
    slice: tensor === null ? null : expertOfByte(k, region, cell.from),
    layer: regions.layer_id[region] ?? null,
    region: { segment: cell.segment, from: cell.from, to: cell.to },
    op: null,
  };
}

export function selectCell(k: Known, near: number, cell: Cell): void {
  select(ofCell(k, near, cell));
}

const VIEWS_OF_TENSOR = ["memory", "timeline", "graph", "log", "stats"];

/** The context menu of what is there. */
export function menuOfRegion(k: Known, near: number, expert: number | null, cell: Cell | null): { label: string; items: MenuItems } {
  const region = cell ? regionOfCell(k, near, cell) : near;
  const patch = cell ? ofCell(k, near, cell) : ofRegion(k, region, expert);
  const { tensor = null, slice = null, layer } = patch;
  const name = (tensor ?? regionTitle(k.map, region)) + (slice === null ? "" : `[${slice}]`);
  const terms = [tensorTerm(tensor, slice), slice === null ? null : tensorTerm(tensor), termFor("layer", layer)];
  return {
    label: plainName(name),
    items: menuOfThing({ name, patch, terms, views: slice === null ? VIEWS_OF_TENSOR : [...VIEWS_OF_TENSOR, "experts"] }),
  };
}

/** The same of a layer's row, at its name. */
export function menuOfLayer(layer: number): { label: string; items: MenuItems } {
  const name = layerWords(layer);
  return { label: name, items: menuOfThing({ name, patch: { layer, tensor: null, region: null, op: null }, terms: [termFor("layer", layer)], views: VIEWS_OF_TENSOR }) };
}
