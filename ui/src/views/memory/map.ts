// The memory map (endpoint `memory`), and its rows on the screen.

import { layerNumber } from "../../state/layers";

/** One of `segments.kind`; a model file is "file". */
export type SegmentKind = "file" | "weights" | "kv_cache" | "compute" | "output" | "other";
export type RegionKind = "gap" | "head" | "weight" | "kv_cache" | "compute" | "input";

export interface MemoryMap {
  n_units: number;
  segments_left_out: number;
  observed: { experts: boolean; faults: boolean; residency: boolean; pages: boolean; loading: boolean };
  segments: {
    segment: string[];
    name: string[];
    buffer_id: (number | null)[];
    kind: SegmentKind[];
    backing: ("allocated" | "file" | "unknown")[];
    allocator: (string | null)[];
    size_bytes: number[];
    model_file_id: (number | null)[];
    file_offset_bytes: (number | null)[];
    allocated_relative_ns: (number | null)[];
    freed_relative_ns: (number | null)[];
    first_region: number[];
    n_regions: number[];
    coarse: boolean[];
  };
  regions: {
    kind: RegionKind[];
    offset_bytes: number[];
    size_bytes: number[];
    tensor: (string | null)[];
    n_tensors: number[];
    /** Row of `tensors`. */
    weight: (number | null)[];
    type: (string | null)[];
    layer_id: (number | null)[];
    component: (string | null)[];
    n_slices: number[];
    first_slice: (number | null)[];
  };
}

/** The map with indices for look-ups. */
export interface Atlas extends MemoryMap {
  /** By region: its segment. */
  readonly segmentOf: Uint32Array;
  /** Regions of a tensor's name: in the files first. */
  readonly byName: ReadonlyMap<string, readonly number[]>;
  /** Regions of a weight that are copies: in a buffer with memory of its own. */
  readonly copies: ReadonlyMap<number, readonly number[]>;
}

function push<K>(map: Map<K, number[]>, key: K, value: number): void {
  const list = map.get(key);
  if (list) list.push(value);
  else map.set(key, [value]);
}

export function atlasOf(map: MemoryMap): Atlas {
  const n = map.regions.kind.length;
  const segmentOf = new Uint32Array(n);
  const byName = new Map<string, number[]>();
  const copies = new Map<number, number[]>();
  map.segments.first_region.forEach((first, s) => {
    for (let r = first; r < first + map.segments.n_regions[s]!; r++) {
      segmentOf[r] = s;
      const name = map.regions.tensor[r];
      if (name !== null && name !== undefined) push(byName, name, r);
      const weight = map.regions.weight[r];
      if (weight !== null && weight !== undefined && map.segments.backing[s] !== "file") push(copies, weight, r);
    }
  });
  return { ...map, segmentOf, byName, copies };
}

export type Track = "file" | "buffer";

/** One line of the map: regions one after the other. */
export interface Row {
  readonly id: string;
  readonly track: Track;
  readonly label: string;
  readonly segment: number;
  readonly layer: number | null;
  /** Ascending by offset. */
  readonly regions: readonly number[];
  /** Start of each in the row, in bytes; followed by the row's length. */
  readonly starts: Float64Array;
  /** By region of the row: preceded by bytes of others that the row leaves out. */
  readonly breaks: Uint8Array;
  /** It can be shown as one row a layer (or is one of these). */
  readonly opens: boolean;
}

/** Other bytes than padding between two regions of a row are not drawn. */
const PADDING_BYTES = 4096;

function makeRow(map: Atlas, row: Omit<Row, "starts" | "breaks">): Row {
  const { offset_bytes, size_bytes } = map.regions;
  const starts = new Float64Array(row.regions.length + 1);
  const breaks = new Uint8Array(row.regions.length);
  let at = 0;
  row.regions.forEach((r, i) => {
    const before = row.regions[i - 1];
    const gap = before === undefined ? 0 : offset_bytes[r]! - offset_bytes[before]! - size_bytes[before]!;
    if (gap > PADDING_BYTES) breaks[i] = 1;
    else at += Math.max(0, gap);
    starts[i] = at;
    at += size_bytes[r]!;
  });
  starts[row.regions.length] = at;
  return { ...row, starts, breaks };
}

function regionsOf(map: Atlas, segment: number): number[] {
  const first = map.segments.first_region[segment]!;
  return Array.from({ length: map.segments.n_regions[segment]! }, (_, i) => first + i);
}

/** If more components are outside of layers, they are grouped by purpose. */
const COMPONENTS_MAX = 12;

/** "L3", "enc 3"; without its model, which is the segment's. */
function labelOf(layer: number | null, group: string): string {
  if (layer === null) return group;
  const name = layerNumber(layer);
  return /^\d/.test(name) ? `L${name}` : name;
}

/** The rows of a segment, one a layer and one a part outside of layers, in the order of the segment. */
function rowsByLayer(map: Atlas, track: Track, segment: number): Row[] {
  const { layer_id, component, kind } = map.regions;
  const all = regionsOf(map, segment);
  const outside = new Set(all.filter((r) => layer_id[r] === null).map((r) => component[r]));
  const groups = new Map<string, number[]>();
  for (const r of all) {
    if (kind[r] === "gap" && component[r] === null) continue;
    const layer = layer_id[r];
    const part = kind[r] === "head" ? "metadata" : (component[r] ?? kind[r]!);
    push(groups, layer !== null && layer !== undefined ? `L${layer}` : outside.size > COMPONENTS_MAX ? "others" : part, r);
  }
  return [...groups].map(([group, regions]) =>
    makeRow(map, {
      id: `${map.segments.segment[segment]}.${group}`,
      track,
      label: labelOf(layer_id[regions[0]!] ?? null, group),
      segment,
      layer: layer_id[regions[0]!] ?? null,
      regions,
      opens: track === "buffer",
    }),
  );
}

const KIND_WORDS: Record<SegmentKind, string> = {
  file: "file",
  weights: "weights",
  kv_cache: "KV cache",
  compute: "compute",
  output: "output",
  other: "other",
};

/** "weights, buffer 2 (CPU_REPACK)" */
export function segmentTitle(map: Atlas, segment: number): string {
  const { kind, name, buffer_id, backing } = map.segments;
  if (kind[segment] === "file") return name[segment]!;
  const mapped = backing[segment] === "file" ? ", mapped" : "";
  return `${KIND_WORDS[kind[segment]!]}, buffer ${buffer_id[segment]} (${name[segment]}${mapped})`;
}

function segmentLabel(map: Atlas, segment: number): string {
  const { kind, name, buffer_id } = map.segments;
  return kind[segment] === "file" ? name[segment]! : `${KIND_WORDS[kind[segment]!]} ${buffer_id[segment]}`;
}

function wholeSegment(map: Atlas, segment: number): Row {
  const regions = regionsOf(map, segment);
  const track = map.segments.kind[segment] === "file" ? "file" : "buffer";
  const layers = new Set(regions.map((r) => map.regions.layer_id[r]).filter((l) => l !== null));
  return makeRow(map, {
    id: map.segments.segment[segment]!,
    track,
    label: segmentLabel(map, segment),
    segment,
    layer: null,
    regions,
    opens: track === "buffer" && layers.size > 1,
  });
}

function segmentsOf(map: Atlas, track: Track): number[] {
  return map.segments.kind.flatMap((kind, s) => ((kind === "file") === (track === "file") ? [s] : []));
}

/** The minimised map: a row per track with all of its segments in sequence. */
export function barRows(map: Atlas): Row[] {
  const tracks: Track[] = ["file", "buffer"];
  return tracks.flatMap((track) => {
    const rows = segmentsOf(map, track).map((s) => wholeSegment(map, s));
    if (rows.length === 0) return [];
    const regions = rows.flatMap((r) => r.regions);
    const starts = new Float64Array(regions.length + 1);
    const breaks = new Uint8Array(regions.length);
    let at = 0;
    let i = 0;
    for (const row of rows) {
      if (i) breaks[i] = 1;
      row.regions.forEach((_, k) => (starts[i++] = at + row.starts[k]!));
      at += row.starts[row.regions.length]!;
    }
    starts[i] = at;
    return [{ id: track, track, label: track === "file" ? "FILE" : "MEMORY", segment: rows[0]!.segment, layer: null, regions, starts, breaks, opens: false }];
  });
}

/** The full map: files by layer, then the buffers; those named in `open` by layer too. */
export function fullRows(map: Atlas, open: ReadonlySet<string>): Row[] {
  const file = segmentsOf(map, "file").flatMap((s) => rowsByLayer(map, "file", s));
  const buffers = segmentsOf(map, "buffer").flatMap((s) => {
    const whole = wholeSegment(map, s);
    return open.has(whole.id) && whole.opens ? [whole, ...rowsByLayer(map, "buffer", s)] : [whole];
  });
  return [...file, ...buffers];
}

/** Index of a region in a row, or -1. */
export function placeInRow(row: Row, region: number): number {
  let low = 0;
  let high = row.regions.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row.regions[middle]! < region) low = middle + 1;
    else high = middle;
  }
  return row.regions[low] === region ? low : -1;
}
