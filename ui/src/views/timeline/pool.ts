// What `tensortrace boost` held and read in the visible range and around it, and the ops that
// waited for it.

import { effect, signal } from "@preact/signals";
import { getBinary, Latest, ofTrace } from "../../api/client";
import { decodeColumns, NO_U32 } from "../../api/columns";
import type { Range } from "../../draw/axis";
import { select, selectedTrace, selection } from "../../state/selection";
import { generation, summary, tensors } from "../../state/trace";
import { around } from "./counters";
import { hasExtent, timeAxis } from "../../state/timeWindow";

/** Why a range of the model was read, by the server's number. */
export const CAUSES = ["kept", "ahead", "chosen", "at op"] as const;
export const CAUSE_WORDS: Record<string, string> = {
  kept: "kept in the pool",
  ahead: "in graph order",
  chosen: "an expert, after it was chosen",
  "at op": "an expert, at the start of its op",
};
const KEYS = ["kept", "ahead", "chosen", "at_op"] as const;
const BUCKETS = 1536;
/** If there are more reads or waits than these, they are drawn as time intervals. */
const SINGLE_MAX = 4096;

/** GET pool/bins */
export interface Bins {
  readonly from_ns: number;
  readonly to_ns: number;
  readonly buckets: number;
  /** By bin; null: not known. */
  readonly present: (number | null)[];
  readonly budget: (number | null)[];
  /** By cause, by bin. */
  readonly read: Float64Array[];
}

/** GET pool/reads: one entry per read, by start. */
export interface Reads {
  readonly n: number;
  readonly read: Uint32Array;
  readonly cause: Uint8Array;
  readonly slot: Uint8Array;
  /** Row of the trace's tensors; NO_U32. */
  readonly weight: Uint32Array;
  /** NaN: of no expert. */
  readonly expert: Float64Array;
  readonly begin_ns: Float64Array;
  readonly duration_ns: Float64Array;
  readonly queued_ns: Float64Array;
  readonly batch_id: Uint32Array;
  readonly size_bytes: Float64Array;
  readonly waiters: Uint32Array;
  /** NaN: no op waited. */
  readonly waited_ns: Float64Array;
  readonly failed: Uint8Array;
  readonly discarded: Uint8Array;
}

/** GET pool/waits: one entry per op and lane; or, if they are too many, per interval of a lane. */
export interface Waits {
  readonly n: number;
  readonly start_ns: Float64Array;
  readonly end_ns: Float64Array;
  readonly track: Uint32Array;
  readonly run: Uint32Array;
  readonly node: Uint32Array;
  readonly read: Uint32Array;
  readonly cause: Uint8Array;
  readonly bucket_ns: number;
  readonly merged: {
    readonly n: number;
    readonly track: Uint32Array;
    readonly bucket: Uint32Array;
    /** By cause. */
    readonly ns: Float64Array[];
  };
}

export interface Pool {
  readonly bins: Bins;
  /** null: they are too many to be shown one by one. */
  readonly reads: Reads | null;
  readonly n_reads: number;
  /** Simultaneous reads that are drawn separately. */
  readonly slots: number;
  readonly waits: Waits;
}

export const pool = signal<Pool | null>(null);
export const poolError = signal<Error | null>(null);

const known = (values: Float64Array) => Array.from(values, (v) => (Number.isNaN(v) ? null : v));

function binsOf(data: ArrayBuffer): Bins {
  const c = decodeColumns<{ from_ns: number; to_ns: number; buckets: number }>(data);
  return {
    ...c.header,
    present: known(c.f64("present_bytes")),
    budget: known(c.f64("budget_bytes")),
    read: KEYS.map((cause) => c.f64(`${cause}_bytes`)),
  };
}

function readsOf(data: ArrayBuffer): Pick<Pool, "reads" | "n_reads" | "slots"> {
  const c = decodeColumns<{ n: number; slots: number }>(data);
  const { n, slots } = c.header;
  const read = c.u32("read");
  const reads: Reads = {
    n: read.length,
    read,
    cause: c.u8("cause"),
    slot: c.u8("slot"),
    weight: c.u32("weight"),
    expert: c.f64("expert_id"),
    begin_ns: c.f64("start_relative_ns"),
    duration_ns: c.f64("duration_ns"),
    queued_ns: c.f64("queued_ns"),
    batch_id: c.u32("batch_id"),
    size_bytes: c.f64("size_bytes"),
    waiters: c.u32("waiters"),
    waited_ns: c.f64("waited_ns"),
    failed: c.u8("failed"),
    discarded: c.u8("discarded"),
  };
  return { reads: n > 0 && reads.n === 0 ? null : reads, n_reads: n, slots: Math.max(1, slots) };
}

function waitsOf(data: ArrayBuffer): Waits {
  const c = decodeColumns<{ from_ns: number; to_ns: number; buckets: number }>(data);
  const track = c.u32("track");
  const merged = c.u32("merged_track");
  return {
    n: track.length,
    start_ns: c.f64("start_relative_ns"),
    end_ns: c.f64("end_relative_ns"),
    track,
    run: c.u32("run"),
    node: c.u32("node"),
    read: c.u32("read"),
    cause: c.u8("cause"),
    bucket_ns: (c.header.to_ns - c.header.from_ns) / c.header.buckets,
    merged: { n: merged.length, track: merged, bucket: c.u32("merged_bucket"), ns: KEYS.map((cause) => c.f64(`${cause}_ns`)) },
  };
}

interface Ask extends Range {
  readonly trace: number;
}

async function load({ trace, from, to }: Ask): Promise<Pool> {
  const window = { from_ns: from, to_ns: to };
  const get = (name: string, more: object) => getBinary(ofTrace(trace, `pool/${name}`), { ...window, ...more });
  const [bins, reads, waits] = await Promise.all([
    get("bins", { buckets: BUCKETS }),
    get("reads", { limit: SINGLE_MAX }),
    get("waits", { buckets: BUCKETS, limit: SINGLE_MAX }),
  ]);
  return { bins: binsOf(bins), ...readsOf(reads), waits: waitsOf(waits) };
}

const latest = new Latest<Ask, Pool>(
  load,
  (result, ask) => {
    if (ask.trace === selectedTrace.peek()) pool.value = result;
    poolError.value = null;
  },
  (reason) => {
    poolError.value = reason instanceof Error ? reason : new Error(String(reason));
  },
);

/** Follows the window of a trace that has a pool; stops when the function that is returned is
 * called. */
export function followPool(): () => void {
  let asked = "";
  return effect(() => {
    const trace = selectedTrace.value;
    timeAxis.range.value;
    if (!summary.value?.pool_recorded) {
      pool.value = null;
      asked = "";
      return;
    }
    if (!hasExtent.value) return;
    const { from, to } = around(timeAxis.target);
    const key = `${trace} ${generation.value} ${from} ${to}`;
    if (key === asked) return;
    asked = key;
    latest.ask({ trace, from, to });
  });
}

/** "blk.0.ffn_up_exps.weight[3]". */
export function readName(r: Reads, i: number): string {
  const weight = r.weight[i]!;
  const name = weight === NO_U32 ? undefined : tensors.peek()?.name[weight];
  if (name === undefined) return "between tensors";
  return Number.isNaN(r.expert[i]!) ? name : `${name}[${r.expert[i]}]`;
}

/** Index of the read with that number; -1: not in view. */
export function readIndex(r: Reads | null, read: number): number {
  return r ? r.read.indexOf(read) : -1;
}

/** The wait of an op on a lane, and the reads it waited for; null: none. */
export function waitOf(track: number, run: number, node: number): { ns: number; cause: string; name: string | null } | null {
  const p = pool.value;
  if (!p) return null;
  const w = p.waits;
  for (let i = 0; i < w.n; i++) {
    if (w.run[i] !== run || w.node[i] !== node || w.track[i] !== track) continue;
    const at = readIndex(p.reads, w.read[i]!);
    return {
      ns: w.end_ns[i]! - w.start_ns[i]!,
      cause: CAUSES[w.cause[i]!] ?? "unknown",
      name: p.reads && at >= 0 ? readName(p.reads, at) : null,
    };
  }
  return null;
}

/** Whether it is of the selected tensor, and of its slice if there is one; null: none is
 * selected. */
export function isChosen(r: Reads, i: number): boolean | null {
  const { tensor, slice } = selection.peek();
  if (tensor === null) return null;
  const weight = r.weight[i]!;
  if (weight === NO_U32 || tensors.peek()?.name[weight] !== tensor) return false;
  return slice === null || r.expert[i] === slice;
}

/** Whether it began in the time of the selected token, if there is one. */
export function isOfToken(r: Reads, i: number): boolean {
  const { token } = selection.peek();
  return token === null || r.batch_id[i] === token;
}

/** Its tensor, slice, layer and token; also the op that waited for it. */
export function selectRead(r: Reads, i: number): void {
  const weight = r.weight[i]!;
  const t = tensors.peek();
  const w = pool.peek()?.waits;
  const wait = w && r.waiters[i]! > 0 ? w.read.indexOf(r.read[i]!) : -1;
  select({
    tensor: weight === NO_U32 ? null : (t?.name[weight] ?? null),
    slice: Number.isNaN(r.expert[i]!) ? null : r.expert[i]!,
    layer: weight === NO_U32 ? null : (t?.layer_id[weight] ?? null),
    token: r.batch_id[i] === NO_U32 ? null : r.batch_id[i]!,
    op: w && wait >= 0 ? { run: w.run[wait]!, node: w.node[wait]! } : null,
  });
}

/** The read in that slot that covers the time, or begins or ends within `slack` of it; -1: none. */
export function readAt(r: Reads, slot: number, at_ns: number, slack: number): number {
  let best = -1;
  let distance = slack;
  for (let i = 0; i < r.n; i++) {
    if (r.slot[i] !== slot) continue;
    const begin = r.begin_ns[i]!;
    if (begin > at_ns + slack) break;
    const off = at_ns < begin ? begin - at_ns : Math.max(0, at_ns - begin - r.duration_ns[i]!);
    if (off > distance) continue;
    best = i;
    distance = off;
  }
  return best;
}
