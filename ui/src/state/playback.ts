// Stepping from token to token, manually or by playback.

import { computed, effect, signal } from "@preact/signals";
import { select, selectedToken, selection } from "./selection";
import { batchIndex, summary } from "./trace";
import { urlParam } from "./url";

/** Tokens a second at speed 1: slow enough to read along. */
export const TOKENS_PER_S = 4;
export const SPEEDS = [0.5, 1, 2, 4] as const;

const speedParam = urlParam("speed", "1");
export const playing = signal(false);
/** How many times TOKENS_PER_S; always one of SPEEDS. */
export const speed = computed(() => SPEEDS.find((s) => String(s) === speedParam.value) ?? 1);

export function setSpeed(next: number): void {
  speedParam.value = String(next);
}

/** To the next faster or slower one. */
export function changeSpeed(step: number): void {
  const at = SPEEDS.indexOf(speed.value) + step;
  const next = SPEEDS[at];
  if (next !== undefined) setSpeed(next);
}

/** Index of the selected token among the batches; -1: none. */
export const selectedIndex = computed(() => (selectedToken.value === null ? -1 : batchIndex(selectedToken.value)));

/** Selects the i-th batch and clears what belongs to another token (an op, a time range
 * elsewhere). */
export function goToIndex(i: number, transient = false): void {
  const batches = summary.value?.batches;
  const token = batches?.batch_id[i];
  if (!batches || token === undefined) return;
  const begin = batches.begin_ns[i] ?? null;
  const end = batches.end_ns[i] ?? null;
  const time = selection.value.time;
  const apart = time !== null && begin !== null && end !== null && (time[1] < begin || time[0] > end);
  select({ token, op: null, ...(apart ? { time: null } : {}) }, transient);
}

/** The next (1) or previous (-1) token; without one, the first or the last. */
export function step(by: number, transient = false): boolean {
  const n = summary.value?.batches.batch_id.length ?? 0;
  if (n === 0) return false;
  const at = selectedIndex.value;
  const next = at < 0 ? (by > 0 ? 0 : n - 1) : at + by;
  if (next < 0 || next >= n) return false;
  goToIndex(next, transient);
  return true;
}

export function togglePlaying(): void {
  if (playing.value) {
    playing.value = false;
    return;
  }
  const n = summary.value?.batches.batch_id.length ?? 0;
  if (n === 0) return;
  // Restarts from the end: the play button must always have an effect. Back undoes all of it.
  if (selectedIndex.value < 0 || selectedIndex.value === n - 1) goToIndex(0);
  else goToIndex(selectedIndex.value);
  playing.value = true;
}

/** Plays while `playing`; called once. */
export function startPlayback(): void {
  effect(() => {
    if (!playing.value) return undefined;
    const period_ms = 1000 / (TOKENS_PER_S * speed.value);
    const timer = setInterval(() => {
      // An empty selection shows the whole run.
      if (selectedIndex.peek() < 0 || !step(1, true)) playing.value = false;
    }, period_ms);
    return () => clearInterval(timer);
  });
  effect(() => {
    if (!summary.value) playing.value = false;
  });
}
