// Load of the whole run, and its tracks; read in steps while the server works on it.

import { effect, signal } from "@preact/signals";
import { getJson, isAbort, ofTrace } from "../api/client";
import { selectedTrace } from "./selection";
import { generation, summary } from "./trace";

/** GET .../timeline/overview */
export interface Overview {
  from_ns: number;
  to_ns: number;
  lanes: number;
  /** More than one where computations overlap: row r has the tracks r x lanes and on. */
  rows: number;
  runs_done: number;
  runs: number;
  /** Records of lanes and nodes that are not known. */
  left_out: number;
  busy_share: (number | null)[];
  wait_share: (number | null)[];
}

const BUCKETS = 1024;

export const overview = signal<Overview | null>(null);
export const overviewError = signal<Error | null>(null);

async function follow(trace: number, abort: AbortSignal): Promise<void> {
  try {
    for (;;) {
      const next = await getJson<Overview>(ofTrace(trace, "timeline/overview"), { buckets: BUCKETS }, abort);
      overview.value = next;
      overviewError.value = null;
      if (next.runs_done >= next.runs) return;
    }
  } catch (reason) {
    if (!isAbort(reason)) overviewError.value = reason instanceof Error ? reason : new Error(String(reason));
  }
}

let underWay: AbortController | null = null;

export function loadOverview(): void {
  underWay?.abort();
  underWay = new AbortController();
  void follow(selectedTrace.peek(), underWay.signal);
}

/** Follows the selected trace; called once. */
export function startOverview(): void {
  let before = -1;
  effect(() => {
    const trace = selectedTrace.value;
    generation.value;
    if (!summary.value?.clock) return;
    if (trace !== before) overview.value = null;
    before = trace;
    loadOverview();
  });
}
