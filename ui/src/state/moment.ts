// The ops at the playhead: which one runs now, for all views that show it.

import { computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import { getBinary, isAbort, ofTrace } from "../api/client";
import { decodeColumns, NO_U32 } from "../api/columns";
import { playhead_ns, selectedIndex, setPlayhead, stepPlayhead } from "./playback";
import { selectedTrace } from "./selection";
import { generation, summary } from "./trace";

/** GET log/ops of one token: in the order in which they began. */
export interface TokenOps {
  readonly trace: number;
  readonly token: number;
  readonly n: number;
  /** Index in the trace. */
  readonly run: Uint32Array;
  readonly node: Uint32Array;
  /** Row of `tensors` of the first weight that it reads; NO_U32: none. */
  readonly weight: Uint32Array;
  /** NO_U32: none. */
  readonly layer: Uint32Array;
  readonly start_ns: Float64Array;
  /** NaN: not observed. */
  readonly end_ns: Float64Array;
}

/** An op of a token, by its index. */
export interface Moment {
  readonly ops: TokenOps;
  readonly i: number;
  /** It works at that time; false: it was the last one before it. */
  readonly running: boolean;
}

/** The last op that began at that time or before: -1: none. */
export function opIndexAt(ops: TokenOps, ns: number): number {
  let low = 0;
  let high = ops.n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (ops.start_ns[middle]! <= ns) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The playhead goes to the begin of the next op (1), or of the one before (-1). */
export function stepOp(by: 1 | -1): void {
  const ops = tokenOps.peek();
  const ns = playhead_ns.peek();
  if (!ops || ns === null) return stepPlayhead(0);
  // In the address are whole ns: an op begins in the one in which it can be seen to run.
  const begin = (i: number) => Math.ceil(ops.start_ns[i]!);
  let i = opIndexAt(ops, ns) + (by > 0 ? 1 : 0);
  if (by < 0) while (i >= 0 && begin(i) >= ns) i--;
  else while (i < ops.n && begin(i) <= ns) i++;
  const edge = summary.peek()!.batches[by > 0 ? "end_relative_ns" : "start_relative_ns"][selectedIndex.peek()]!;
  return setPlayhead(i >= 0 && i < ops.n ? begin(i) : edge + by);
}

const KEPT = 8;
const kept = new Map<string, Promise<TokenOps>>();

/** Of a token that is near the playhead; the last few are kept. */
async function load(trace: number, token: number): Promise<TokenOps> {
  const key = `${trace} ${generation.peek()} ${token}`;
  const known = kept.get(key);
  if (known) return known;
  const answer = getBinary(ofTrace(trace, "log/ops"), { batch: token }).then((data) => {
    const c = decodeColumns<{ cut: boolean }>(data);
    const start_ns = c.f64("start_relative_ns");
    return { trace, token, n: start_ns.length, run: c.u32("run"), node: c.u32("node"), weight: c.u32("weight"), layer: c.u32("layer_key"), start_ns, end_ns: c.f64("end_relative_ns") };
  });
  kept.set(key, answer);
  answer.catch(() => kept.delete(key));
  const oldest = kept.size > KEPT ? kept.keys().next().value : undefined;
  if (oldest !== undefined) kept.delete(oldest);
  return answer;
}

const loaded = signal<TokenOps | null>(null);

/** Of the token that the playhead is in; null: there is no playhead, or they are being read. */
export const tokenOps: ReadonlySignal<TokenOps | null> = computed(() => {
  const token = summary.value?.batches.batch_id[selectedIndex.value];
  return playhead_ns.value !== null && loaded.value?.token === token && loaded.value?.trace === selectedTrace.value ? loaded.value : null;
});

/** The op at the playhead; null: no playhead, or nothing began before it in this token. */
export const momentOp: ReadonlySignal<Moment | null> = computed(() => {
  const ops = tokenOps.value;
  const ns = playhead_ns.value;
  if (!ops || ns === null) return null;
  const i = opIndexAt(ops, ns);
  return i < 0 ? null : { ops, i, running: !(ops.end_ns[i]! < ns) };
});

/** The same op as one that does not change within it: "run.node"; null: none. */
export const momentKey = computed(() => {
  const at = momentOp.value;
  return at && `${at.ops.run[at.i]}.${at.ops.node[at.i]}`;
});

/** The weight that is read at the playhead: row of `tensors`; null: none. */
export const momentWeight = computed(() => {
  const at = momentOp.value;
  const weight = at ? at.ops.weight[at.i]! : NO_U32;
  return weight === NO_U32 ? null : weight;
});

/** Loads the ops of the playhead's token, and the next one's; called once. */
export function startMoments(): void {
  const inside = computed(() => playhead_ns.value !== null);
  effect(() => {
    const batches = summary.value?.batches;
    const i = selectedIndex.value;
    const token = batches?.batch_id[i];
    const trace = selectedTrace.value;
    generation.value;
    if (!inside.value || token === undefined) return;
    load(trace, token)
      .then((ops) => {
        if (trace === selectedTrace.peek() && token === summary.peek()?.batches.batch_id[selectedIndex.peek()]) loaded.value = ops;
        const next = batches?.batch_id[i + 1];
        if (next !== undefined) return load(trace, next);
        return undefined;
      })
      // The views show why the server does not answer.
      .catch((reason: unknown) => isAbort(reason));
  });
}
