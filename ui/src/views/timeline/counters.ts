// Counters of the visible range and some time around it.

import { effect, signal } from "@preact/signals";
import { getJson, Latest, ofTrace } from "../../api/client";
import type { Range } from "../../draw/axis";
import { bytes, count } from "../../draw/format";
import { selectedTrace } from "../../state/selection";
import { generation } from "../../state/trace";
import { hasExtent, timeAxis } from "../../state/timeWindow";

/** GET .../counters */
export interface Counters {
  from_ns: number;
  to_ns: number;
  buckets: number;
  /** By name; null: not observed then. Those that were never observed are not there. */
  counters: Record<string, (number | null)[]>;
}

const BUCKETS = 1536;

export const counters = signal<Counters | null>(null);
export const countersError = signal<Error | null>(null);

/** Counters with one value in all of the run, by name. */
export const constants = signal<ReadonlyMap<string, number>>(new Map());

function constantOf(values: readonly (number | null)[]): number | null {
  let first: number | null = null;
  for (const value of values) {
    if (value === null) continue;
    if (first !== null && value !== first) return null;
    first = value;
  }
  return first;
}

/** From all of the run; stops when the function that is returned is called. */
function followConstants(): () => void {
  let asked = "";
  return effect(() => {
    const trace = selectedTrace.value;
    const key = `${trace} ${generation.value}`;
    if (!hasExtent.value || key === asked) return;
    asked = key;
    const { from, to } = timeAxis.extent;
    getJson<Counters>(ofTrace(trace, "counters"), { from_ns: from, to_ns: to, buckets: BUCKETS })
      .then((all) => {
        if (key !== asked) return;
        const found = Object.entries(all.counters).map(([name, values]) => [name, constantOf(values)] as const);
        constants.value = new Map(found.filter((each): each is [string, number] => each[1] !== null));
      })
      // Those of the window fail too, and say why.
      .catch(() => undefined);
  });
}

interface Ask extends Range {
  readonly trace: number;
}

const latest = new Latest<Ask, Counters>(
  (ask) => getJson(ofTrace(ask.trace, "counters"), { from_ns: ask.from, to_ns: ask.to, buckets: BUCKETS }),
  (result) => {
    counters.value = result;
    countersError.value = null;
  },
  (reason) => {
    countersError.value = reason instanceof Error ? reason : new Error(String(reason));
  },
);

/** Three times the window, in whole steps: small moves send no requests. */
export function around(r: Range): Range {
  const step = 2 ** Math.ceil(Math.log2((r.to - r.from) / 2));
  return { from: Math.floor(r.from / step - 1) * step, to: Math.ceil(r.to / step + 1) * step };
}

/** Follows the window; stops when the function that is returned is called. */
export function followCounters(): () => void {
  let asked = "";
  const stop = followConstants();
  const stopWindow = effect(() => {
    const trace = selectedTrace.value;
    timeAxis.range.value;
    if (!hasExtent.value) return;
    const { from, to } = around(timeAxis.target);
    const key = `${trace} ${generation.value} ${from} ${to}`;
    if (key === asked) return;
    asked = key;
    latest.ask({ trace, from, to });
  });
  return () => {
    stop();
    stopWindow();
  };
}

/** The bucket at that time; -1: outside. */
export function counterBucket(c: Pick<Counters, "from_ns" | "to_ns" | "buckets">, at_ns: number): number {
  const bucket = Math.floor(((at_ns - c.from_ns) / (c.to_ns - c.from_ns)) * c.buckets);
  return bucket >= 0 && bucket < c.buckets ? bucket : -1;
}

export function counterText(name: string, value: number | null | undefined): string {
  if (value === null || value === undefined) return "not observed";
  if (name === "read_bytes_per_s") return `${bytes(Math.round(value))}/s`;
  if (name.endsWith("_bytes")) return bytes(value);
  const text = value === 0 ? "0" : value >= 100 ? count(Math.round(value)) : value.toFixed(value >= 10 ? 1 : 2);
  return name.endsWith("_per_s") ? `${text}/s` : text;
}
