// Keeping up: with a trace that is still being recorded, and with a server that went away.

import { effect, signal } from "@preact/signals";
import { serverReachable } from "../api/client";
import { goToIndex, playing } from "./playback";
import { selectedTrace } from "./selection";
import { loadIndex, loadTrace, summary, traceError } from "./trace";

const GROWING_MS = 2000;
const RETRY_MS_FIRST = 2000;
const RETRY_MS_MOST = 15000;

/** The newest token of a growing trace stays the selected one. */
export const following = signal(false);

function whileGrowing(): (() => void) | undefined {
  if (!summary.value?.growing || !serverReachable.value) return undefined;
  // Hidden pages ask when they are looked at again.
  const timer = setTimeout(() => {
    if (document.hidden) document.addEventListener("visibilitychange", ask, { once: true });
    else ask();
  }, GROWING_MS);
  const ask = () => void loadTrace(selectedTrace.peek());
  return () => {
    clearTimeout(timer);
    document.removeEventListener("visibilitychange", ask);
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
  effect(whileGrowing);
  effect(whileGone);
  // Who comes back to the page learns at once whether the server is still there.
  addEventListener("focus", () => void loadIndex());
  effect(() => {
    const n = summary.value?.batches.token.length ?? 0;
    if (following.value && summary.value?.growing && n > 0 && !playing.peek()) goToIndex(n - 1, true);
  });
}
