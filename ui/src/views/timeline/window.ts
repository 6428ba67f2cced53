// The visible time range: in the address, moved by the timeline and by the minimap under every
// view.

import { effect, signal } from "@preact/signals";
import { Axis, type Range } from "../../draw/axis";
import { summary } from "../../state/trace";
import { rawParam } from "../../state/url";

/** 20 ns: less than any op takes. */
const LEAST_NS = 20;

export const timeAxis = new Axis(LEAST_NS);
/** Whether the extent is known. */
export const hasExtent = signal(false);

const shown = rawParam("window");
let written: string | null = null;

function parse(text: string | null): Range | null {
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
    hasExtent.value = false;
    if (!s?.clock) return;
    timeAxis.setExtent(s.begin_ns, s.end_ns, !hasExtent.peek());
    const wanted = parse(shown.peek());
    if (wanted) timeAxis.go(wanted, true);
    hasExtent.value = true;
  });
  effect(() => {
    const text = shown.value;
    if (text === written || !hasExtent.peek()) return;
    timeAxis.go(parse(text) ?? timeAxis.extent);
  });
  effect(() => {
    const { from, to } = timeAxis.range.value;
    if (!hasExtent.value) return;
    written = whole() ? null : `${from.toFixed(1)}~${to.toFixed(1)}`;
    shown.value = written;
  });
}
