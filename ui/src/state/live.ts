// Keeping up: with a trace that is still being recorded, and with a server that went away.

import { effect, signal } from "@preact/signals";
import { ApiError, getJson, ofTrace, serverReachable } from "../api/client";
import type { TraceState } from "../api/types";
import { goToIndex, playing } from "./playback";
import { selectedTrace } from "./selection";
import { index, loadIndex, loadTrace, summary, traceError } from "./trace";

const OPENING_MS = 500;
const GROWING_MS = 1000;
/** The same file may be recorded once more. */
const RESTARTED_MS = 4000;
const RETRY_MS_FIRST = 2000;
const RETRY_MS_MOST = 15000;

/** The newest token of a growing trace stays the selected one. */
export const following = signal(false);

/** How the shown trace stands; null: it was not asked, since nothing was open. */
export const traceState = signal<TraceState | null>(null);

/** The trace is there, or will be, but cannot be read yet. */
export function isNotYet(error: Error | null): boolean {
  return error instanceof ApiError && error.status === 503;
}

/** Asks for the trace again only when it has grown: what is shown of it is computed anew then. */
async function look(): Promise<void> {
  const trace = selectedTrace.peek();
  try {
    const state = await getJson<TraceState>(ofTrace(trace, "state"));
    if (trace !== selectedTrace.peek()) return;
    traceState.value = state;
    if (state.generation !== (summary.peek()?.generation ?? 0) || state.state === "failed") await loadTrace(trace);
  } catch {
    // The client has told that the server is gone.
  }
}

function whileUnsettled(): (() => void) | undefined {
  const opening = !summary.value && isNotYet(traceError.value);
  const wait_ms = opening ? OPENING_MS : summary.value?.growing ? GROWING_MS : RESTARTED_MS;
  if (!serverReachable.value || !(opening || index.value?.live)) return undefined;
  let ended = false;
  const again = () => void ask();
  let timer = setTimeout(again, wait_ms);
  async function ask(): Promise<void> {
    // Hidden pages ask when they are looked at again.
    if (document.hidden) return document.addEventListener("visibilitychange", again, { once: true });
    await look();
    if (!ended) timer = setTimeout(again, wait_ms);
  }
  return () => {
    ended = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", again);
  };
}

/** Asks whether the server is back. */
export async function tryAgain(): Promise<void> {
  await loadIndex();
  if (serverReachable.value && (!summary.value || traceError.value)) await loadTrace(selectedTrace.peek());
}

function whileGone(): (() => void) | undefined {
  if (serverReachable.value) return undefined;
  let wait_ms = RETRY_MS_FIRST;
  let timer = setTimeout(again, wait_ms);
  function again() {
    void tryAgain();
    wait_ms = Math.min(RETRY_MS_MOST, wait_ms * 1.5);
    timer = setTimeout(again, wait_ms);
  }
  return () => clearTimeout(timer);
}

/** Called once. */
export function startLive(): void {
  effect(whileUnsettled);
  effect(whileGone);
  // Who comes back to the page learns at once whether the server is still there.
  addEventListener("focus", () => void loadIndex());
  effect(() => {
    const n = summary.value?.batches.token.length ?? 0;
    if (following.value && summary.value?.growing && n > 0 && !playing.peek()) goToIndex(n - 1, true);
  });
}
