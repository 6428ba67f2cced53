// Replies about sums (docs/api-http.md: stats, series, roofline, machine).

import { layerName } from "../state/layers";
import { summary } from "../state/trace";

/** Dimension of the rows. */
export type By = "op" | "layer" | "component" | "category" | "tensor" | "thread" | "batch" | "phase";

export type Key = "op" | "layer_id" | "component" | "category" | "tensor" | "thread_id" | "batch_id" | "phase";

type Keyed = { readonly [K in Key]?: string | number | null } & {
  /** Of a layer that is not of the only stack: "enc". */
  readonly stack?: string | null;
  /** Of a layer or a tensor. */
  readonly model_file?: string | null;
};

export interface Sums {
  readonly count: number;
  readonly share: number | null;
  readonly work_ns: number | null;
  readonly total_ns: number | null;
  readonly mean_ns: number | null;
  readonly median_ns: number | null;
  readonly p95_ns: number | null;
  readonly max_ns: number | null;
  readonly busy_ns: number | null;
  readonly wait_ns: number | null;
  readonly off_cpu_ns: number | null;
  readonly wait_inside_ns: number | null;
  /** Not by thread. */
  readonly weight_bytes?: number;
  readonly weight_bytes_at_most?: boolean;
  readonly bytes_per_s?: number | null;
}

export interface StatsRow extends Sums, Keyed {}

export interface Stats {
  readonly by: By;
  readonly rows: readonly StatsRow[];
  readonly total: Sums;
  readonly rows_total: number;
  readonly orphan_records: number;
}

export interface SeriesCells {
  readonly total_ns: readonly (number | null)[];
  readonly weight_bytes?: readonly (number | null)[];
}

export interface SeriesRow extends SeriesCells, Keyed {}

export interface Series {
  readonly by: By;
  readonly batches_total: number;
  readonly first_batch_id: readonly number[];
  readonly last_batch_id: readonly number[];
  /** How many batches each step is of. */
  readonly batches: readonly number[];
  readonly rows: readonly SeriesRow[];
  /** Not there when no batch passes the filter. */
  readonly other?: { readonly rows: number; readonly total_ns: readonly (number | null)[] };
  readonly all?: SeriesCells;
  readonly rows_total: number;
}

export interface RoofPoint {
  readonly op: string;
  readonly category: string;
  readonly phase: string;
  readonly integers: boolean;
  readonly count: number;
  readonly total_ns: number | null;
  readonly flops: number | null;
  readonly flops_at_most: boolean;
  readonly moved_bytes: number;
  readonly weight_bytes: number;
  readonly bytes_at_most: boolean;
  readonly bound: "memory" | "compute" | "neither" | "unknown";
  readonly edge_share: number | null;
}

export interface Roofline {
  readonly ops: readonly RoofPoint[];
  readonly total_ns: number;
  readonly flops_not_known: number;
  readonly flops_not_known_ns: number;
}

export interface Machine {
  readonly cpus: number;
  readonly measured: {
    readonly threads: number;
    readonly bandwidth_bytes_per_s: number | null;
    readonly peak_flops_per_s: number | null;
    readonly peak_int8_ops_per_s: number | null;
    readonly vectors: string | null;
    readonly int8: string | null;
    readonly took_ns: number;
  } | null;
}

export interface Dimension {
  readonly id: By;
  readonly key: Key;
  readonly title: string;
}

export const DIMENSIONS: readonly Dimension[] = [
  { id: "op", key: "op", title: "Op" },
  { id: "layer", key: "layer_id", title: "Layer" },
  { id: "component", key: "component", title: "Component" },
  { id: "category", key: "category", title: "Category" },
  { id: "tensor", key: "tensor", title: "Tensor" },
  { id: "thread", key: "thread_id", title: "Thread" },
  { id: "batch", key: "batch_id", title: "Token" },
  { id: "phase", key: "phase", title: "Phase" },
];

/** For a legend: "layer 3", "ffn". */
export function keyName(dimension: Dimension, text: string): string {
  return /^([a-z.]+ )?\d+( of .*)?$/.test(text) ? `${dimension.id} ${text}` : text;
}

/** Name of a row; also of rows without layer or token. */
export function keyText(dimension: Dimension, row: Keyed): string {
  const key = row[dimension.key];
  if (key !== null && key !== undefined)
    return dimension.id === "layer" ? layerName(Number(key)) : String(key);
  return dimension.id === "layer" ? "no layer" : "outside any";
}

/** The same for people: with the model where a layer or a tensor of another one has the same name. */
export function rowName(dimension: Dimension, row: Keyed): string {
  const text = keyText(dimension, row);
  const isWhole = dimension.id === "layer" && typeof row.layer_id === "number";
  if (isWhole || !row.model_file || (summary.value?.models.length ?? 0) < 2) return text;
  return `${text} of ${row.model_file.replace(/^.*\//, "")}`;
}
