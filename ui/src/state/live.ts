// Follows a trace that is still being read or recorded, and reconnects to the server.

import { computed, effect, signal } from "@preact/signals";
import { ApiError, getJson, ofTrace, serverReachable } from "../api/client";
import { goToIndex, playing } from "./playback";
import { selectedTrace } from "./selection";
import { index, loadIndex, loadTrace, summary, traceError } from "./trace";

const LOOK_MS = 250;
/** Of a trace that has ended: it may be recorded anew. */
const LOOK_MS_ENDED = 5000;
const RETRY_MS_FIRST = 2000;
const RETRY_MS_MOST = 15000;
const NOT_YET = 503;

/** The endpoint `state`. */
export interface TraceState {
  state: "waiting" | "opening" | "live" | "ended" | "failed";
  generation: number;
  /** Why there are no data, or no newer ones. */
  error: string | null;
}

/** Of the selected trace, while it is followed; null: it is not. */
export const traceState = signal<TraceState | null>(null);
/** The server has no data yet, but will. */
export const notYet = computed(
  () => !summary.value && traceError.value instanceof ApiError && traceError.value.status === NOT_YET,
);
/** The newest token of a growing trace stays the selected one. */
export const following = signal(false);

async function look(trace: number): Promise<void> {
  const news = await getJson<TraceState>(ofTrace(trace, "state"));
  if (trace !== selectedTrace.peek()) return;
  traceState.value = news;
  if (news.generation > 0 && news.generation !== summary.peek()?.generation) await loadTrace(trace);
}

function whileFollowed(): (() => void) | undefined {
  const trace = selectedTrace.value;
  if (!(index.value?.live || notYet.value) || !serverReachable.value) return undefined;
  let timer: ReturnType<typeof setTimeout>;
  let ended = false;
  const now = async () => {
    // The banner or the views show the error; here the request is repeated.
    await look(trace).catch(() => undefined);
    again();
  };
  const again = () => {
    if (ended) return;
    const wait_ms = traceState.peek()?.state === "ended" ? LOOK_MS_ENDED : LOOK_MS;
    timer = setTimeout(() => {
      // A hidden page polls when it becomes visible again.
      if (document.hidden) document.addEventListener("visibilitychange", again, { once: true });
      else void now();
    }, wait_ms);
  };
  again();
  return () => {
    ended = true;
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", again);
    traceState.value = null;
  };
}

/** Polls for the server's return. */
export async function tryAgain(): Promise<void> {
  await loadIndex();
  if (serverReachable.value && (traceError.value || !summary.value)) await loadTrace(selectedTrace.peek());
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
  effect(whileFollowed);
  effect(whileGone);
  // A page that becomes visible checks the server at once.
  addEventListener("focus", () => void loadIndex());
  effect(() => {
    const n = summary.value?.batches.batch_id.length ?? 0;
    if (following.value && summary.value?.growing && n > 0 && !playing.peek()) goToIndex(n - 1, true);
  });
}
