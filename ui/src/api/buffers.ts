// Replies about the engine's buffers (docs/api-http.md: buffers, buffers_curve).

export type Kind = "weights" | "kv_cache" | "compute" | "output" | "other";
export type Backing = "allocated" | "file" | "unknown";

export interface BufferRow {
  readonly buffer_index: number;
  readonly buffer_id: number;
  readonly name: string;
  readonly kind: Kind;
  readonly usage: string;
  readonly backing: Backing;
  readonly allocator: string | null;
  readonly size_bytes: number;
  readonly used_bytes: number;
  readonly tensors: number;
  readonly layer_ids: readonly number[];
  /** Their keys (state/layers.ts), where the numbers do not tell. */
  readonly layer_keys?: readonly number[];
  readonly allocation_seen: boolean;
  readonly allocated_relative_ns: number | null;
  /** null: it was not freed while traced. */
  readonly freed_relative_ns: number | null;
  readonly lifetime_ns: number | null;
  readonly lifetime_at_least: boolean;
  readonly model_file: string | null;
  readonly file_offset_bytes: number | null;
}

export interface Peak {
  readonly time_relative_ns: number | null;
  readonly size_bytes: number;
  readonly by_kind: Readonly<Partial<Record<Kind, number>>>;
  readonly buffer_ids: readonly number[];
}

export interface KvCache {
  readonly buffer_id: number | null;
  readonly size_bytes: number;
  readonly cells: number | null;
  readonly cells_written: number | null;
  readonly written_bytes: number | null;
  readonly written_at_least: boolean;
}

export interface Buffers {
  readonly buffers: readonly BufferRow[];
  readonly peak: Readonly<Record<Backing, Peak | null>>;
  readonly kv_caches: readonly KvCache[];
  readonly buffers_total: number;
  readonly events_total: number;
}

export interface CurveSeries {
  readonly kind: Kind;
  readonly backing: Backing;
  readonly size_bytes: readonly number[];
}

/** From each time on, until the next. */
export interface Curve {
  readonly time_relative_ns: readonly number[];
  readonly series: readonly CurveSeries[];
  readonly events_total: number;
}

const KINDS: Record<Kind, string> = {
  weights: "weights",
  kv_cache: "KV cache",
  compute: "compute",
  output: "output",
  other: "other",
};

export function kindText(kind: Kind): string {
  return KINDS[kind] ?? kind;
}

export function backingText(backing: Backing): string {
  return backing === "file" ? "mapped from a file" : backing === "allocated" ? "allocated" : "backing not observed";
}

/** Whether the buffer was there at that time, as far as was observed. */
export function livesAt(b: BufferRow, ns: number): boolean {
  return (b.allocated_relative_ns ?? -Infinity) <= ns && ns < (b.freed_relative_ns ?? Infinity);
}
