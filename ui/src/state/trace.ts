// The served traces, and the state of the shown one.

import { computed, effect, signal } from "@preact/signals";
import { getJson, isAbort, ofTrace } from "../api/client";
import type { Index, Summary, Tensors } from "../api/types";
import { selectedTrace } from "./selection";

export const index = signal<Index | null>(null);
export const summary = signal<Summary | null>(null);
export const tensors = signal<Tensors | null>(null);
const indexError = signal<Error | null>(null);
const loadError = signal<Error | null>(null);
/** Why there are no data, or no newer ones. */
export const traceError = computed(() => loadError.value ?? indexError.value);
/** Incremented when a live trace has grown: caches are then cleared. */
export const generation = computed(() => summary.value?.generation ?? 0);

export async function loadIndex(): Promise<void> {
  try {
    index.value = await getJson<Index>("");
    indexError.value = null;
  } catch (reason) {
    indexError.value = reason instanceof Error ? reason : new Error(String(reason));
  }
}

let underWay: AbortController | null = null;

/** Loads the summary and the tensors of a trace, again when it has grown. */
export async function loadTrace(trace: number): Promise<void> {
  underWay?.abort();
  const controller = new AbortController();
  underWay = controller;
  try {
    const [s, t] = await Promise.all([
      getJson<Summary>(ofTrace(trace, "summary"), {}, controller.signal),
      getJson<Tensors>(ofTrace(trace, "tensors"), {}, controller.signal),
    ]);
    if (controller.signal.aborted) return;
    summary.value = s;
    tensors.value = t;
    loadError.value = null;
  } catch (reason) {
    if (isAbort(reason)) return;
    loadError.value = reason instanceof Error ? reason : new Error(String(reason));
  }
}

/** Follows the selected trace; called once. */
export function startTrace(): void {
  void loadIndex();
  effect(() => {
    const trace = selectedTrace.value;
    summary.value = null;
    tensors.value = null;
    void loadTrace(trace);
  });
}

/** Index in `summary.batches` of the batch with that number, or -1. */
export function batchIndex(token: number): number {
  const numbers = summary.value?.batches.batch_id ?? [];
  let low = 0;
  let high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle]! < token) low = middle + 1;
    else high = middle;
  }
  return numbers[low] === token ? low : -1;
}

/** When a batch was computed, by its number; null: it is not there, or its time was not observed. */
export function tokenStretch(token: number | null): readonly [number, number] | null {
  const b = summary.peek()?.batches;
  const i = token === null ? -1 : batchIndex(token);
  const begin = b?.start_relative_ns[i];
  return begin == null ? null : [begin, b?.end_relative_ns[i] ?? begin];
}
