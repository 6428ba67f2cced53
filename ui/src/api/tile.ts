// A picture of a window of the timeline, as the server sends it (docs/api-http.md, "timeline").

import { ApiError } from "./client";
import { CATEGORIES } from "../draw/colour";

export const NONE = 0xffffffff;
export const OPEN = 1;
export const MARKED = 2;
export const FUSED = 4;

/** A length to draw: 0 if not observed (NaN). */
export function known(ns: number): number {
  return Number.isNaN(ns) ? 0 : ns;
}

/** One op on one lane each. */
export interface Slices {
  readonly n: number;
  readonly start_ns: Float64Array;
  readonly busy_ns: Float64Array;
  /** NaN: not observed. */
  readonly wait_ns: Float64Array;
  readonly run: Uint32Array;
  readonly node: Uint32Array;
  /** In names. */
  readonly name: Uint32Array;
  /** Index among the trace's tensors; NONE. */
  readonly weight: Uint32Array;
  /** Batch number; NONE. */
  readonly batch: Uint32Array;
  /** -1: none. */
  readonly layer_id: Int32Array;
  readonly track: Uint16Array;
  readonly kind: Uint8Array;
  readonly flags: Uint8Array;
}

/** All other ops of one bucket on one track each. */
export interface Merged {
  readonly n: number;
  readonly busy_ns: Float64Array;
  /** NaN: not observed. */
  readonly wait_ns: Float64Array;
  readonly bucket: Uint32Array;
  readonly count: Uint32Array;
  readonly marked: Uint32Array;
  readonly track: Uint16Array;
  /** That worked longest. */
  readonly kind: Uint8Array;
  /** CATEGORIES.length each: the share of the bucket in which it worked, in 255ths. */
  readonly shares: Uint8Array;
}

/** When layers were computed. */
export interface Layers {
  readonly n: number;
  readonly start_ns: Float64Array;
  readonly end_ns: Float64Array;
  readonly batch: Uint32Array;
  /** -1: ops of no layer. */
  readonly first: Int32Array;
  readonly last: Int32Array;
  readonly count: Uint32Array;
  readonly row: Uint16Array;
}

export interface Tile {
  readonly from_ns: number;
  readonly to_ns: number;
  readonly bucket_ns: number;
  /** Later ops are not included yet; Infinity: all are. */
  readonly until_ns: number;
  readonly left_out: number;
  readonly from_overview: boolean;
  readonly marks_known: boolean;
  readonly slices: Slices;
  readonly merged: Merged;
  readonly layers: Layers;
  readonly kinds: readonly { op: string; category: string }[];
  readonly names: readonly string[];
}

/** Reads columns from a reply; each begins at a multiple of 8. */
class Reader {
  at = 0;
  private readonly view: DataView;
  constructor(private readonly data: ArrayBuffer) {
    this.view = new DataView(data);
  }
  u32(): number {
    this.at += 4;
    return this.view.getUint32(this.at - 4, true);
  }
  f64(): number {
    this.at += 8;
    return this.view.getFloat64(this.at - 8, true);
  }
  private place(bytes: number): number {
    const begin = this.at;
    if (begin + bytes > this.data.byteLength) throw new ApiError(0, "the server sent an incomplete tile; reload the page");
    this.at = Math.ceil((begin + bytes) / 8) * 8;
    return begin;
  }
  f64s(n: number): Float64Array {
    return new Float64Array(this.data, this.place(n * 8), n);
  }
  u32s(n: number): Uint32Array {
    return new Uint32Array(this.data, this.place(n * 4), n);
  }
  i32s(n: number): Int32Array {
    return new Int32Array(this.data, this.place(n * 4), n);
  }
  u16s(n: number): Uint16Array {
    return new Uint16Array(this.data, this.place(n * 2), n);
  }
  u8s(n: number): Uint8Array {
    return new Uint8Array(this.data, this.place(n), n);
  }
}

function readSlices(r: Reader, n: number): Slices {
  return {
    n,
    start_ns: r.f64s(n),
    busy_ns: r.f64s(n),
    wait_ns: r.f64s(n),
    run: r.u32s(n),
    node: r.u32s(n),
    name: r.u32s(n),
    weight: r.u32s(n),
    batch: r.u32s(n),
    layer_id: r.i32s(n),
    track: r.u16s(n),
    kind: r.u8s(n),
    flags: r.u8s(n),
  };
}

function readMerged(r: Reader, n: number): Merged {
  return {
    n,
    busy_ns: r.f64s(n),
    wait_ns: r.f64s(n),
    bucket: r.u32s(n),
    count: r.u32s(n),
    marked: r.u32s(n),
    track: r.u16s(n),
    kind: r.u8s(n),
    shares: r.u8s(n * CATEGORIES.length),
  };
}

function readLayers(r: Reader, n: number): Layers {
  return {
    n,
    start_ns: r.f64s(n),
    end_ns: r.f64s(n),
    batch: r.u32s(n),
    first: r.i32s(n),
    last: r.i32s(n),
    count: r.u32s(n),
    row: r.u16s(n),
  };
}

const TILE = 0x4c545454; // "TTTL"

export function readTile(data: ArrayBuffer): Tile {
  const r = new Reader(data);
  if (data.byteLength < 72 || r.u32() !== TILE || r.u32() !== 1)
    throw new ApiError(0, "the server sent an unknown kind of tile; reload the page");
  const [from_ns, to_ns, until_ns, left_out] = [r.f64(), r.f64(), r.f64(), r.f64()] as const;
  const [n_buckets, n_slices, n_merged, n_layers, n_kinds, n_names, flags] = Array.from({ length: 7 }, () =>
    r.u32(),
  ) as [number, number, number, number, number, number, number];
  r.at = Math.ceil(r.at / 8) * 8;
  const slices = readSlices(r, n_slices);
  const merged = readMerged(r, n_merged);
  const layers = readLayers(r, n_layers);
  const kindEnds = r.u32s(n_kinds);
  const categories = r.u8s(n_kinds);
  const nameEnds = r.u32s(n_names);
  const text = new Uint8Array(data, r.at);
  const utf8 = new TextDecoder();
  const piece = (ends: Uint32Array, i: number, before: number) =>
    utf8.decode(text.subarray(i ? ends[i - 1] : before, ends[i]));
  return {
    from_ns,
    to_ns,
    bucket_ns: (to_ns - from_ns) / n_buckets,
    until_ns,
    left_out,
    from_overview: (flags & 1) !== 0,
    marks_known: (flags & 2) !== 0,
    slices,
    merged,
    layers,
    kinds: Array.from({ length: n_kinds }, (_, i) => ({
      op: piece(kindEnds, i, 0),
      category: CATEGORIES[categories[i]!] ?? "other",
    })),
    names: Array.from({ length: n_names }, (_, i) => piece(nameEnds, i, kindEnds[n_kinds - 1] ?? 0)),
  };
}
