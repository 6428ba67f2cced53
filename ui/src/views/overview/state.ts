// The reply of the endpoint `overview` for the selected trace, asked again while the trace grows.

import { effect, signal } from "@preact/signals";
import { comebacks, getJson, isAbort, ofTrace } from "../../api/client";
import { selectedTrace } from "../../state/selection";
import { generation, summary } from "../../state/trace";
import type { Overview } from "./answer";

/** The server reads all ops for a reply: of a trace that grows it is not asked for each new token. */
const AGAIN_MS = 3000;

export const answer = signal<Overview | null>(null);
export const failure = signal<Error | null>(null);

/** What the reply is of, and what it should be of. */
let shown = "";
let wanted = { trace: -1, key: "" };
let pending: { readonly trace: number; readonly abort: AbortController } | null = null;
let last_ms = -Infinity;
let timer: ReturnType<typeof setTimeout> | undefined;

async function ask(): Promise<void> {
  const { trace, key } = wanted;
  const mine = { trace, abort: new AbortController() };
  pending = mine;
  last_ms = performance.now();
  try {
    const next = await getJson<Overview>(ofTrace(trace, "overview"), {}, mine.abort.signal);
    if (pending !== mine) return;
    answer.value = next;
    failure.value = null;
  } catch (reason) {
    if (isAbort(reason) || pending !== mine) return;
    failure.value = reason instanceof Error ? reason : new Error(String(reason));
  }
  pending = null;
  shown = key;
  follow();
}

function follow(): void {
  if (pending?.trace === wanted.trace || shown === wanted.key) return;
  pending?.abort.abort();
  pending = null;
  clearTimeout(timer);
  timer = setTimeout(() => void ask(), Math.max(0, last_ms + AGAIN_MS - performance.now()));
}

export function retry(): void {
  shown = "";
  last_ms = -Infinity;
  failure.value = null;
  follow();
}

/** Follows the selected trace; stops when the returned function is called. */
export function followAnswer(): () => void {
  const stop = effect(() => {
    const trace = selectedTrace.value;
    const key = `${trace} ${generation.value} ${comebacks.value}`;
    if (!summary.value) return;
    if (trace !== wanted.trace) {
      answer.value = null;
      failure.value = null;
      last_ms = -Infinity;
    }
    wanted = { trace, key };
    follow();
  });
  return () => {
    stop();
    clearTimeout(timer);
    pending?.abort.abort();
    pending = null;
  };
}
