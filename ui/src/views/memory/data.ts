// Data of the memory view and its bar: the map, and figures for the selected part of the trace.

import { batch, computed, effect, signal, type ReadonlySignal } from "@preact/signals";
import { getBinary, getJson, isAbort, Latest, ofTrace, type Params } from "../../api/client";
import { decodeColumns } from "../../api/columns";
import { momentKey, momentOp } from "../../state/moment";
import { playhead_ns } from "../../state/playback";
import { selectedToken, selectedTrace, selection } from "../../state/selection";
import { batchIndex, generation, summary } from "../../state/trace";
import { urlParam } from "../../state/url";
import { firstMetric, type First } from "./first";
import { faultsOf, heatOf, METRICS, residencyOf, type Faults, type Heat, type Known, type Metric, type Residency, type Sample } from "./heat";
import { atlasOf, type Atlas, type MemoryMap } from "./map";

const metricParam = urlParam("memory_by", "");
/** The measure that a trace starts with, and why; null: its heat is not here yet. */
const first = signal<(First & { readonly trace: number }) | null>(null);
/** Colour by. */
export const metric = computed<Metric>(() => METRICS.find((m) => m === metricParam.value) ?? first.value?.metric ?? "accesses");
export function showMetric(m: Metric): void {
  metricParam.value = m;
}
/** Why the measure is another one than accesses, which nobody chose; null: it is not so. */
export const firstReason = computed(() => (METRICS.some((m) => m === metricParam.value) ? null : (first.value?.reason ?? null)));

const PARTS = ["token", "until", "glow"] as const;
/** With a token selected: that one alone, all up to it, or the last few, the older the paler. */
export type PartOfRun = (typeof PARTS)[number];
const partParam = urlParam("memory_part", "token");
export const partOfRun = computed<PartOfRun>(() => PARTS.find((p) => p === partParam.value) ?? "token");
export function setPartOfRun(to: PartOfRun): void {
  partParam.value = to;
}
export const GLOWS = [2, 4, 8, 16] as const;
const glowParam = urlParam("memory_glow", "4");
/** Tokens that glow, with the selected one. */
export const glow = computed(() => GLOWS.find((n) => String(n) === glowParam.value) ?? 4);
export function setGlow(n: number): void {
  glowParam.value = String(n);
}

export const logScale = urlParam("memory_scale", "log");
/** "bytes" or "rank" (equal widths). */
export const widths = urlParam("memory_widths", "bytes");

/** The part of the trace that the colours are about, as the endpoints take it. */
interface Part {
  readonly trace: number;
  readonly generation: number;
  readonly params: Params;
}

/** The first and the last token of the part; null: no token is selected. */
export const tokensShown = computed<readonly [number, number] | null>(() => {
  const token = selectedToken.value;
  return token === null ? null : [{ token, until: 0, glow: Math.max(0, token - glow.value + 1) }[partOfRun.value], token];
});

/** When the last op began that the film has reached inside of the token; null: the token as a whole. */
const momentEnd = computed(() => {
  const key = momentKey.value;
  const at = key === null ? null : momentOp.peek();
  return at ? at.ops.start_ns[at.i]! : null;
});

export const part = computed<Part>(() => {
  const { trace, token, time } = selection.value;
  let params: Params = {};
  if (time) params = { from_ns: time[0], to_ns: time[1] };
  else if (token !== null) {
    const from = tokensShown.value![0];
    // Inside of the token: as far as the film got, op by op.
    const end = momentEnd.value;
    params = { batch: from, batch_to: token, ...(end === null ? {} : { to_ns: end }) };
  }
  return { trace, generation: generation.value, params };
});

/** In words: "the whole run", "token 7". */
export const partWords = computed(() => {
  const { token, time } = selection.value;
  if (time) return "the selected time";
  if (token === null) return "the whole run";
  const last = partOfRun.value === "token" ? `token ${token}` : `tokens ${tokensShown.value![0]} to ${token}`;
  return momentEnd.value === null ? last : `${last}, up to the playhead`;
});

/** End of that part, ns: the reference of "last use". */
export const nowNs = computed(() => {
  const { time } = selection.value;
  const s = summary.value;
  if (time) return time[1];
  const at = playhead_ns.value;
  if (at !== null) return at;
  const i = selectedToken.value === null ? -1 : batchIndex(selectedToken.value);
  return (i >= 0 ? (s?.batches.end_relative_ns[i] ?? s?.batches.start_relative_ns[i]) : null) ?? s?.end_relative_ns ?? 0;
});

export const atlas = signal<Atlas | null>(null);
const heat = signal<Heat | null>(null);
const residency = signal<Residency | null>(null);
const faults = signal<Faults | null>(null);
export const loadingHeat = signal(false);
/** Of the large map, page by page. */
export const loadingBins = signal(false);
export const failure = signal<Error | null>(null);

/** By unit, of the heat: how strongly it still glows; null: everything as it is. */
const fade = signal<Float64Array | null>(null);

/** 1 for what the last token used, a step less for each token before. */
function fadeOf(h: Heat, token: number, tokens: number): Float64Array {
  return h.lastToken.map((t) => (Number.isNaN(t) ? 0 : Math.max(0, 1 - (token - t) / tokens)));
}

export const known: ReadonlySignal<Known | null> = computed(() =>
  atlas.value
    ? { map: atlas.value, heat: heat.value, residency: residency.value, faults: faults.value, fade: fade.value }
    : null,
);

function fail(reason: unknown): void {
  if (isAbort(reason)) return;
  failure.value = reason instanceof Error ? reason : new Error(String(reason));
}

/** Caches the replies of a few parts: playback back and forth requests each once. */
const KEPT = 48;
const kept = new Map<string, Promise<ArrayBuffer>>();

function ask(name: string, p: Part, params: Params): Promise<ArrayBuffer> {
  const key = JSON.stringify([name, p.trace, p.generation, params]);
  let answer = kept.get(key);
  if (answer) kept.delete(key);
  answer ??= getBinary(ofTrace(p.trace, name), params);
  kept.set(key, answer);
  answer.catch(() => kept.delete(key));
  const oldest = kept.size > KEPT ? kept.keys().next().value : undefined;
  if (oldest !== undefined) kept.delete(oldest);
  return answer;
}

interface Ask {
  readonly part: Part;
  readonly map: Atlas;
  readonly metric: Metric;
  readonly glows: boolean;
}

interface Answer {
  heat: Heat | null;
  residency: Residency | null;
  faults: Faults | null;
}

/** Heat is always loaded: tooltips show it for every measure. */
async function load({ part: p, map, metric: m }: Ask): Promise<Answer> {
  const { batch, batch_to, to_ns } = p.params;
  const wantsPages = m === "residency" && map.observed.residency;
  const wantsFaults = m === "faults" && map.observed.faults;
  const [h, r, f] = await Promise.all([
    ask("memory/heat", p, p.params),
    wantsPages ? ask("memory/residency", p, { batch_to, to_ns }) : null,
    // Faults are known for whole tokens only.
    wantsFaults ? ask("memory/faults", p, to_ns === undefined ? { batch, batch_to } : {}) : null,
  ]);
  return {
    heat: heatOf(map, decodeColumns<{ ops: number }>(h)),
    residency: r && residencyOf(map, decodeColumns<{ samples: Sample[] }>(r)),
    faults: f && faultsOf(decodeColumns(f)),
  };
}

const requests = new Latest<Ask, Answer>(
  load,
  (answer, asked) => {
    if (asked.map !== atlas.value) return;
    batch(() => {
      heat.value = answer.heat;
      const { batch: begin, batch_to: end } = asked.part.params;
      fade.value = answer.heat && asked.glows && typeof begin === "number" && typeof end === "number" ? fadeOf(answer.heat, end, glow.peek()) : null;
      if (answer.heat && !first.value) first.value = { ...firstMetric(asked.map, answer.heat), trace: asked.part.trace };
      if (answer.residency || asked.metric === "residency") residency.value = answer.residency;
      if (answer.faults || asked.metric === "faults") faults.value = answer.faults;
      loadingHeat.value = false;
      failure.value = null;
    });
  },
  (reason) => {
    loadingHeat.value = false;
    fail(reason);
  },
);

async function loadMap(trace: number): Promise<void> {
  try {
    const map = await getJson<MemoryMap>(ofTrace(trace, "memory"));
    if (trace !== selectedTrace.peek()) return;
    batch(() => {
      heat.value = residency.value = faults.value = null;
      fade.value = null;
      if (first.value?.trace !== trace) first.value = null;
      atlas.value = atlasOf(map);
    });
  } catch (reason) {
    fail(reason);
  }
}

/** Retries what failed. */
export function reload(): void {
  failure.value = null;
  void loadMap(selectedTrace.peek());
}

let users = 0;
let stop: (() => void) | null = null;

/** Follows the selection while the map is shown; the returned function ends that. */
export function followMap(): () => void {
  if (users++ === 0) {
    const stopMap = effect(() => {
      generation.value;
      atlas.value = null;
      void loadMap(selectedTrace.value);
    });
    const stopHeat = effect(() => {
      const map = atlas.value;
      if (!map) return;
      loadingHeat.value = true;
      requests.ask({ part: part.value, map, metric: metric.value, glows: partOfRun.value === "glow" && selection.value.time === null });
    });
    stop = () => {
      stopMap();
      stopHeat();
    };
  }
  return () => {
    if (--users === 0) stop?.();
  };
}
