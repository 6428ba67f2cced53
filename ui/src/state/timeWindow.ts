// The visible time range: in the address, moved by the timeline and by the minimap under every
// view.

import { effect, signal } from "@preact/signals";
import { Axis, type Range } from "../draw/axis";
import { summary } from "./trace";
import { rawParam } from "./url";

/** 20 ns: less than any op takes. */
const LEAST_NS = 20;

export const timeAxis = new Axis(LEAST_NS);
/** Whether the extent is known. */
export const hasExtent = signal(false);

const shown = rawParam("window");
let written: string | null = null;

/** In the address: all of the run, where that is not what is shown at first. */
const ALL = "all";
/** Of the time, from which on the prompt is left out at first: the tokens that follow would be slivers. */
const PROMPT_MOST = 0.5;

/** What is shown at first: all, or the generated tokens where the prompt takes most of the time. */
function atFirst(): Range {
  const all = timeAxis.extent;
  const batches = summary.peek()?.batches;
  const first = batches?.phase.indexOf("generate") ?? -1;
  const from = first > 0 ? batches!.start_relative_ns[first] : null;
  if (from === null || from === undefined || from - all.from <= PROMPT_MOST * (all.to - all.from)) return all;
  return { from, to: all.to };
}

function isAtFirst(): boolean {
  const { from, to } = timeAxis.target;
  const first = atFirst();
  return Math.abs(from - first.from) < 1 && Math.abs(to - first.to) < 1;
}

function parse(text: string | null): Range | null {
  if (text === ALL) return timeAxis.extent;
  const match = /^(-?\d+(?:\.\d+)?)~(-?\d+(?:\.\d+)?)$/.exec(text ?? "");
  const from = Number(match?.[1]);
  const to = Number(match?.[2]);
  return match && from < to ? { from, to } : null;
}

function whole(): boolean {
  const { from, to } = timeAxis.target;
  return from <= timeAxis.extent.from && to >= timeAxis.extent.to;
}

/** Follows the trace and the address; called once. */
export function startWindow(): void {
  effect(() => {
    const s = summary.value;
    const first = !hasExtent.peek();
    const follows = !first && isAtFirst();
    hasExtent.value = false;
    if (!s?.clock) return;
    timeAxis.setExtent(s.start_relative_ns, s.end_relative_ns, first);
    const wanted = parse(shown.peek()) ?? (first || follows ? atFirst() : null);
    if (wanted) timeAxis.go(wanted, true);
    hasExtent.value = true;
  });
  effect(() => {
    const text = shown.value;
    if (text === written || !hasExtent.peek()) return;
    timeAxis.go(parse(text) ?? atFirst());
  });
  effect(() => {
    const { from, to } = timeAxis.range.value;
    if (!hasExtent.value) return;
    written = isAtFirst() ? null : whole() ? ALL : `${from.toFixed(1)}~${to.toFixed(1)}`;
    shown.value = written;
  });
}
