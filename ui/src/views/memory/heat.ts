// Figures of the map's units in a part of the trace, and their measures.

import type { Columns } from "../../api/columns";
import { NO_U32 } from "../../api/columns";
import type { Atlas } from "./map";

/** Dense, by unit; NaN: not known. A unit without accesses was not used in that part. */
export interface Heat {
  readonly ops: number;
  readonly accesses: Float64Array;
  readonly readBytes: Float64Array;
  readonly writtenBytes: Float64Array;
  readonly touchedBytes: Float64Array;
  readonly timeNs: Float64Array;
  readonly firstNs: Float64Array;
  readonly lastNs: Float64Array;
  /** NaN: outside of tokens. */
  readonly firstToken: Float64Array;
  readonly lastToken: Float64Array;
  /** Rows or experts were not observed: upper bounds. */
  readonly atMost: Uint8Array;
  /** Which of them were read or written was not observed: of what was touched an upper bound. */
  readonly touchedAtMost: Uint8Array;
}

function spread(n: number, units: Uint32Array, values: ArrayLike<number>, otherwise: number): Float64Array {
  const out = new Float64Array(n).fill(otherwise);
  for (let i = 0; i < units.length; i++) {
    const value = values[i]!;
    out[units[i]!] = values instanceof Uint32Array && value === NO_U32 ? NaN : value;
  }
  return out;
}

export function heatOf(map: Atlas, c: Columns<{ ops: number }>): Heat {
  const n = map.n_units;
  const units = c.u32("unit");
  const atMost = new Uint8Array(n);
  const flags = c.u8("at_most");
  const touchedAtMost = new Uint8Array(n);
  const touchedFlags = c.u8("touched_bytes_at_most");
  for (let i = 0; i < units.length; i++) {
    atMost[units[i]!] = flags[i]!;
    touchedAtMost[units[i]!] = touchedFlags[i]!;
  }
  return {
    ops: c.header.ops,
    accesses: spread(n, units, c.f64("accesses"), 0),
    readBytes: spread(n, units, c.f64("read_bytes"), 0),
    writtenBytes: spread(n, units, c.f64("written_bytes"), 0),
    touchedBytes: spread(n, units, c.f64("touched_bytes"), 0),
    timeNs: spread(n, units, c.f64("time_ns"), NaN),
    firstNs: spread(n, units, c.f64("first_relative_ns"), NaN),
    lastNs: spread(n, units, c.f64("last_relative_ns"), NaN),
    firstToken: spread(n, units, c.u32("first_batch_id"), NaN),
    lastToken: spread(n, units, c.u32("last_batch_id"), NaN),
    atMost,
    touchedAtMost,
  };
}

export interface Sample {
  model_file_id: number;
  batch_id: number | null;
  moment: string;
  start_relative_ns: number | null;
}

export interface Residency {
  readonly samples: readonly Sample[];
  /** By unit; NaN: not looked at. */
  readonly observed: Float64Array;
  readonly resident: Float64Array;
}

export function residencyOf(map: Atlas, c: Columns<{ samples: Sample[] }>): Residency {
  const units = c.u32("unit");
  return {
    samples: c.header.samples,
    observed: spread(map.n_units, units, c.f64("observed_bytes"), NaN),
    resident: spread(map.n_units, units, c.f64("resident_bytes"), NaN),
  };
}

/** NaN: not observed. */
export interface FaultCounts {
  major: number;
  minor: number;
  diskBytes: number;
  /** Some were of ops that read other weights or experts too. */
  shared: boolean;
}

export interface Faults {
  /** The tensor (a row of `tensors`), or one of its experts; null: nothing was counted of it, or of some ops it is
   * not known which experts they read. */
  of(weight: number | null | undefined, expert: number | null): FaultCounts | null;
}

export function faultsOf(c: Columns<unknown>): Faults {
  const [experts, major, minor, disk, shared] = [c.u32("expert"), c.f64("major_faults"), c.f64("minor_faults"), c.f64("read_bytes"), c.u8("shared")];
  const whole = new Map<number, FaultCounts>();
  const parts = new Map<number, Map<number, FaultCounts>>();
  c.u32("weight").forEach((w, i) => {
    const e = experts[i]!;
    if (!parts.has(w)) parts.set(w, new Map());
    for (const [map, key] of [[whole, w], [parts.get(w)!, e]] as const) {
      const sum = map.get(key) ?? { major: 0, minor: 0, diskBytes: 0, shared: false };
      map.set(key, {
        major: sum.major + major[i]!,
        minor: sum.minor + minor[i]!,
        diskBytes: sum.diskBytes + disk[i]!,
        shared: sum.shared || shared[i] === 1,
      });
    }
  });
  return {
    of(weight, expert) {
      const w = weight ?? -1;
      if (expert === null) return whole.get(w) ?? null;
      const of = parts.get(w);
      if (!of) return null;
      const found = of.get(expert);
      if (of.has(NO_U32)) return null;
      return found ?? { major: 0, minor: 0, diskBytes: Number.isNaN(whole.get(w)!.diskBytes) ? NaN : 0, shared: false };
    },
  };
}

/** Everything that the map is drawn from. */
export interface Known {
  readonly map: Atlas;
  readonly heat: Heat | null;
  readonly residency: Residency | null;
  readonly faults: Faults | null;
  /** By unit: of what its colour would be; null: all of it. */
  readonly fade: Float64Array | null;
}

export const METRICS = ["accesses", "bytes", "time", "recency", "residency", "faults", "pages", "loading"] as const;
export type Metric = (typeof METRICS)[number];

export const METRIC_TITLES: Record<Metric, string> = {
  accesses: "Accesses",
  bytes: "Bytes",
  time: "Time",
  recency: "Last use",
  residency: "In RAM",
  faults: "Page faults",
  pages: "Faults by page",
  loading: "Loading",
};

export const METRIC_ABOUT: Record<Metric, string> = {
  accesses: "ops that read or wrote it",
  bytes: "bytes read from it and written to it",
  time: "time of the ops that used it",
  recency: "time since its last use",
  residency: "share of its pages that were in RAM",
  faults: "page faults, major and minor, of the ops that read it",
  pages: "single pages that faulted, in ops and outside of them",
  loading: "pages that were in RAM before the first batch, and whether they were used",
};

/** A unit's value, or why it has none ("pending": the reply is not here yet). */
export type Shown = number | "never" | "unknown" | "pending";

/** A region's own unit is its number; others are its slices. */
export function valueOf(k: Known, metric: Metric, unit: number, region: number, now_ns: number): Shown {
  if (metric === "pages" || metric === "loading") return "unknown";
  if (metric === "residency") {
    if (!k.residency && k.map.observed.residency) return "pending";
    const observed = k.residency?.observed[unit] ?? NaN;
    return observed > 0 ? k.residency!.resident[unit]! / observed : "unknown";
  }
  if (metric === "faults") {
    if (!k.faults && k.map.observed.faults) return "pending";
    const f = k.faults?.of(k.map.regions.weight[region], unit === region ? null : unit - k.map.regions.first_slice[region]!) ?? null;
    return f === null || Number.isNaN(f.major) ? "unknown" : f.major + f.minor;
  }
  if (!k.heat) return "pending";
  if (k.heat.accesses[unit] === 0) return "never";
  if (metric === "accesses") return k.heat.accesses[unit]!;
  if (metric === "bytes") return k.heat.readBytes[unit]! + k.heat.writtenBytes[unit]!;
  const value = metric === "time" ? k.heat.timeNs[unit]! : now_ns - k.heat.lastNs[unit]!;
  return Number.isNaN(value) ? "unknown" : Math.max(0, value);
}

/** Whether any value is known. */
export function hasData(map: Atlas, region: number): boolean {
  const kind = map.regions.kind[region];
  return kind !== "gap" && kind !== "head";
}

export interface Scale {
  readonly metric: Metric;
  readonly log: boolean;
  readonly least: number;
  readonly most: number;
}

/** The scale of the visible values. Shares are always 0 to 1, and linear. */
export function scaleOf(metric: Metric, log: boolean, values: Iterable<Shown>): Scale {
  if (metric === "residency") return { metric, log: false, least: 0, most: 1 };
  let least = Infinity;
  let most = 0;
  for (const v of values) {
    if (typeof v !== "number") continue;
    if (v > most) most = v;
    if (v > 0 && v < least) least = v;
  }
  if (most === 0) return { metric, log: false, least: 0, most: 0 };
  return { metric, log, least: log || least === most ? least : 0, most };
}

/** Of the colours, where everything has the same value. */
const ALIKE = 0.7;

/** 0 to 1, for draw/colour's sequence; the most recent use gets the strongest colour, like the most
 * frequent. */
export function shareOf(s: Scale, value: number): number {
  if (s.most <= 0) return s.metric === "recency" ? 1 : 0;
  if (s.least === s.most) return ALIKE;
  const share = s.log
    ? Math.log(Math.max(value, s.least) / s.least) / Math.log(s.most / s.least)
    : (value - s.least) / (s.most - s.least);
  const clamped = Math.min(1, Math.max(0, share));
  return s.metric === "recency" ? 1 - clamped : clamped;
}

/** Weights are used a few times per token, memory of temporary tensors by very many ops: each has a
 * scale of its own, or one would hide the other. */
export interface Scales {
  readonly metric: Metric;
  readonly model: Scale;
  readonly work: Scale;
}

export type Side = "model" | "work";

export function sideOf(map: Atlas, region: number): Side {
  const kind = map.regions.kind[region];
  return kind === "weight" ? "model" : "work";
}

/** The value in the middle of the colours, for the legend. */
export function middleOf(s: Scale): number {
  return s.log ? Math.sqrt(s.least * s.most) : (s.least + s.most) / 2;
}
