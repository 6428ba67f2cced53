// Stepping from token to token, manually or by playback, and through the inside of one.

import { batch, computed, effect, signal, untracked, type ReadonlySignal } from "@preact/signals";
import { select, selectedToken, selection } from "./selection";
import { batchIndex, summary } from "./trace";
import { rawParam, urlParam } from "./url";

/** Tokens a second at speed 1: slow enough to read along. */
export const TOKENS_PER_S = 4;

/** How fast the film runs: so many times TOKENS_PER_S from token to token, or a share of real time
 * through the inside of each. */
export interface Speed {
  /** In the address. */
  readonly id: string;
  readonly title: string;
  readonly tokensPerS?: number;
  /** Of the trace's time. */
  readonly realTime?: number;
}

const inside = (id: string, realTime: number, title: string): Speed => ({ id, title, realTime });
const byTokens = (times: number): Speed => ({
  id: String(times),
  title: `${times}× (${times * TOKENS_PER_S}/s)`,
  tokensPerS: times * TOKENS_PER_S,
});

/** From the slowest on. */
export const SPEEDS: readonly Speed[] = [
  inside("t1e-4", 1e-4, "1/10,000 of real time"),
  inside("t1e-3", 1e-3, "1/1,000 of real time"),
  inside("t1e-2", 1e-2, "1/100 of real time"),
  inside("t1e-1", 1e-1, "1/10 of real time"),
  inside("t1", 1, "real time"),
  byTokens(0.5),
  byTokens(1),
  byTokens(2),
  byTokens(4),
  byTokens(16),
];

const speedParam = urlParam("speed", "1");
export const playing = signal(false);
export const speed = computed(() => SPEEDS.find((s) => s.id === speedParam.value) ?? SPEEDS.find((s) => s.id === "1")!);

export function setSpeed(id: string): void {
  speedParam.value = id;
}

/** To the next faster or slower one. */
export function changeSpeed(step: number): void {
  const next = SPEEDS[SPEEDS.indexOf(speed.value) + step];
  if (next) setSpeed(next.id);
}

/** Index of the selected token among the batches; -1: none. */
export const selectedIndex = computed(() => (selectedToken.value === null ? -1 : batchIndex(selectedToken.value)));

/** Selects the i-th batch and clears what belongs to another token (an op, a time range
 * elsewhere). */
export function goToIndex(i: number, transient = false): void {
  const batches = summary.peek()?.batches;
  const token = batches?.batch_id[i];
  if (!batches || token === undefined) return;
  const begin = batches.start_relative_ns[i] ?? null;
  const end = batches.end_relative_ns[i] ?? null;
  const time = selection.peek().time;
  const apart = time !== null && begin !== null && end !== null && (time[1] < begin || time[0] > end);
  select({ token, op: null, ...(apart ? { time: null } : {}) }, transient);
}

const headParam = rawParam("at");

/** Where the film stands inside the selected token, in ns since the trace's zero; null: the token is
 * seen as a whole. All views show this moment at once. */
export const playhead_ns: ReadonlySignal<number | null> = computed(() => {
  const text = headParam.value;
  const ns = text === null || text === "" ? NaN : Number(text);
  const range = tokenRange(selectedIndex.value);
  return range && ns >= range[0] && ns <= range[1] ? ns : null;
});

/** When the i-th batch was computed; null: not observed. */
function tokenRange(i: number): readonly [number, number] | null {
  const batches = summary.value?.batches;
  const begin = batches?.start_relative_ns[i] ?? null;
  const end = batches?.end_relative_ns[i] ?? null;
  return begin === null || end === null || end <= begin ? null : [begin, end];
}

/** The selected token's begin and end; null: none, or not observed. */
export const playheadRange = computed(() => tokenRange(selectedIndex.value));

/** The smallest step of the playhead: 0.01 ms. */
export const STEP_NS = 10_000;

/** Moves the playhead to that time of the selected token, or into the token after (or before) it if
 * that is beyond its end; null: the token as a whole. */
export function setPlayhead(ns: number | null): void {
  const range = playheadRange.peek();
  if (ns === null || !range) {
    headParam.value = null;
    return;
  }
  const at = selectedIndex.peek();
  if (ns > range[1] && tokenRange(at + 1)) return enter(at + 1, 0);
  if (ns < range[0] && tokenRange(at - 1)) return enter(at - 1, 1);
  headParam.value = String(Math.min(Math.floor(range[1]), Math.max(Math.ceil(range[0]), Math.round(ns))));
}

/** Into the i-th batch: at its begin (0) or end (1). */
function enter(i: number, end: 0 | 1): void {
  batch(() => {
    goToIndex(i, true);
    headParam.value = String(Math[end ? "floor" : "ceil"](tokenRange(i)![end]));
  });
}

/** By so many ns; without a playhead, from the begin of the selected (or the first) token on. */
export function stepPlayhead(by_ns: number): void {
  if (selectedIndex.peek() < 0) step(1);
  const range = playheadRange.peek();
  if (!range) return;
  const now = playhead_ns.peek();
  setPlayhead(now === null ? Math.ceil(range[0]) : now + by_ns);
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
  const at = selectedIndex.value;
  const inside = speed.peek().realTime !== undefined;
  const range = playheadRange.peek();
  const atEnd = at === n - 1 && (!inside || !range || (playhead_ns.peek() ?? range[0]) >= Math.floor(range[1]));
  if (at < 0 || atEnd) goToIndex(0);
  else if (!inside || playhead_ns.peek() === null) goToIndex(at);
  playing.value = true;
}

/** One frame inside a token: false at the end of the last one. */
function advance(by_ns: number): boolean {
  const range = playheadRange.peek();
  // A token without times is passed over.
  if (!range) return selectedIndex.peek() >= 0 && step(1, true);
  const next = (exact ?? playhead_ns.peek() ?? range[0]) + by_ns;
  const last = selectedIndex.peek() === (summary.peek()?.batches.batch_id.length ?? 0) - 1;
  setPlayhead(next);
  exact = next > range[1] ? null : next;
  return !(last && next >= range[1]);
}

/** The address has whole ns: what a slow film adds is less. */
let exact: number | null = null;

function runInside(realTime: number): () => void {
  let before = performance.now();
  let frame = requestAnimationFrame(function each(now) {
    const seconds = Math.min(0.1, (now - before) / 1000);
    before = now;
    if (!advance(seconds * 1e9 * realTime)) playing.value = false;
    else frame = requestAnimationFrame(each);
  });
  exact = null;
  return () => cancelAnimationFrame(frame);
}

function runByTokens(tokensPerS: number): () => void {
  setPlayhead(null);
  const timer = setInterval(() => {
    // An empty selection shows the whole run.
    if (selectedIndex.peek() < 0 || !step(1, true)) playing.value = false;
  }, 1000 / tokensPerS);
  return () => clearInterval(timer);
}

/** Plays while `playing`; called once. */
export function startPlayback(): void {
  effect(() => {
    if (!playing.value) return undefined;
    const { realTime, tokensPerS } = speed.value;
    return untracked(() => (realTime === undefined ? runByTokens(tokensPerS!) : runInside(realTime)));
  });
  effect(() => {
    if (!summary.value) playing.value = false;
  });
  // A playhead is inside the selected token: of another one, it is gone. From an address, too, which is
  // written only after it has been read.
  const isLeft = () => summary.value !== null && headParam.value !== null && playhead_ns.value === null;
  effect(() => {
    if (isLeft()) queueMicrotask(() => isLeft() && (headParam.value = null));
  });
}
