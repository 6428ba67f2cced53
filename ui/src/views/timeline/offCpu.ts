// How long threads were off CPU in the ops of the visible range and around it.

import { effect, signal, type Signal } from "@preact/signals";
import { getBinary, Latest, ofTrace } from "../../api/client";
import { decodeColumns } from "../../api/columns";
import type { Range } from "../../draw/axis";
import type { Rgb } from "../../draw/colour";
import { PATTERN } from "../../draw/rects";
import { selectedTrace } from "../../state/selection";
import { generation, summary } from "../../state/trace";
import { around } from "./counters";
import { other } from "./other";
import type { Layout, Row } from "./rows";
import { Builder, type Shapes } from "./shapes";
import { hasExtent, timeAxis } from "../../state/timeWindow";

const BUCKETS = 1536;
/** If there are more ops than these, they are merged by bucket. */
const SINGLE_MAX = 4096;

/** GET timeline/off_cpu: an entry per op and lane that was off CPU; or one per track and bucket. */
export interface OffCpu {
  readonly from_ns: number;
  readonly n: number;
  readonly start_ns: Float64Array;
  readonly end_ns: Float64Array;
  readonly off_ns: Float64Array;
  readonly track: Uint32Array;
  readonly run: Uint32Array;
  readonly node: Uint32Array;
  readonly bucket_ns: number;
  readonly merged: { readonly n: number; readonly track: Uint32Array; readonly bucket: Uint32Array; readonly off_ns: Float64Array };
}

/** null: not recorded, or not loaded yet. */
export const offCpu = signal<OffCpu | null>(null);
/** Of all of the second token. */
export const offCpuBelow = signal<OffCpu | null>(null);

/** Why it is not shown, with the option that records it; null: it was recorded. */
export function offCpuLack(): string | null {
  const s = summary.value;
  if (!s || s.off_cpu_recorded) return null;
  return s.off_cpu_option ? `not recorded: run with ${s.off_cpu_option}` : "not recorded: the program reports its ops itself";
}

interface Ask extends Range {
  readonly trace: number;
}

async function load({ trace, from, to }: Ask): Promise<OffCpu> {
  const data = await getBinary(ofTrace(trace, "timeline/off_cpu"), { from_ns: from, to_ns: to, buckets: BUCKETS, limit: SINGLE_MAX });
  const c = decodeColumns<{ from_ns: number; to_ns: number; buckets: number }>(data);
  const track = c.u32("track");
  const merged = c.u32("merged_track");
  return {
    from_ns: c.header.from_ns,
    n: track.length,
    start_ns: c.f64("start_relative_ns"),
    end_ns: c.f64("end_relative_ns"),
    off_ns: c.f64("off_cpu_ns"),
    track,
    run: c.u32("run"),
    node: c.u32("node"),
    bucket_ns: (c.header.to_ns - c.header.from_ns) / c.header.buckets,
    merged: { n: merged.length, track: merged, bucket: c.u32("merged_bucket"), off_ns: c.f64("merged_off_cpu_ns") },
  };
}

function latestOf(into: Signal<OffCpu | null>): Latest<Ask, OffCpu> {
  return new Latest<Ask, OffCpu>(
    load,
    (result, ask) => {
      if (ask.trace === selectedTrace.peek()) into.value = result;
    },
    // The lanes are there without it.
    () => (into.value = null),
  );
}

/** Asks for the range when it changes; null: there is none. */
function follow(into: Signal<OffCpu | null>, range: () => Range | null): () => void {
  const latest = latestOf(into);
  let asked = "";
  return effect(() => {
    const trace = selectedTrace.value;
    const r = summary.value?.off_cpu_recorded && hasExtent.value ? range() : null;
    const key = r ? `${trace} ${generation.value} ${r.from} ${r.to}` : "";
    if (key === asked) return;
    asked = key;
    if (r) latest.ask({ trace, from: r.from, to: r.to });
    else into.value = null;
  });
}

/** Follows the window of a trace that has it, and the second token; stops when the function that is
 * returned is called. */
export function followOffCpu(): () => void {
  const stops = [
    follow(offCpu, () => {
      timeAxis.range.value;
      return around(timeAxis.target);
    }),
    follow(offCpuBelow, () => other.value),
  ];
  return () => stops.forEach((stop) => stop());
}

/** Of an op on a track; null: not at all, or it is merged with others. */
export function offCpuOf(track: number, run: number, node: number): number | null {
  for (const o of [offCpu.value, offCpuBelow.value])
    for (let i = 0; o && i < o.n; i++) if (o.run[i] === run && o.node[i] === node && o.track[i] === track) return o.off_ns[i]!;
  return null;
}

/** Of a track in that range: the time of an op counts evenly over it. below: of the second token. */
export function offCpuBetween(track: number, from: number, to: number, below: boolean): number {
  const o = below ? offCpuBelow.value : offCpu.value;
  if (!o) return 0;
  let sum = 0;
  const share = (a: number, b: number) => Math.max(0, Math.min(b, to) - Math.max(a, from)) / (b - a);
  for (let i = 0; i < o.n; i++) if (o.track[i] === track) sum += o.off_ns[i]! * share(o.start_ns[i]!, o.end_ns[i]!);
  for (let i = 0; i < o.merged.n; i++) {
    if (o.merged.track[i] !== track) continue;
    const at = o.from_ns + o.merged.bucket[i]! * o.bucket_ns;
    sum += o.merged.off_ns[i]! * share(at, at + o.bucket_ns);
  }
  return sum;
}

/** Of no category and no cause of a read. */
export const OFF_CPU_INK: Rgb = [240, 228, 66];

/** At the bottom of an op, over all of it, since when exactly is not known: as high as its share of
 * the op is large. Its edge parts it from an op of a similar colour. */
function addBand(row: Row, start: number, length: number, share: number, ground: Rgb, to: Builder): void {
  const room = Math.min(14, row.height / 4);
  const high = Math.max(3, Math.min(1, share) * room);
  const top = row.top + row.height - high;
  to.add(start, length, top - 1, 1, ground, 255, PATTERN.plain);
  to.add(start, length, top, high, OFF_CPU_INK, 255, PATTERN.rising);
}

/** ground: the page's, below it all. */
export function offCpuShapes(o: OffCpu, l: Layout, ground: Rgb): Shapes {
  const room = 2 * (o.n + o.merged.n);
  const fixed = new Builder(o.from_ns, room);
  const scrolling = new Builder(o.from_ns, room);
  const add = (track: number, start: number, length: number, off_ns: number) => {
    const row = l.byTrack.get(track);
    if (row) addBand(row, start, length, off_ns / length, ground, row.pinned ? fixed : scrolling);
  };
  for (let i = 0; i < o.n; i++) add(o.track[i]!, o.start_ns[i]!, o.end_ns[i]! - o.start_ns[i]!, o.off_ns[i]!);
  for (let i = 0; i < o.merged.n; i++)
    add(o.merged.track[i]!, o.from_ns + o.merged.bucket[i]! * o.bucket_ns, o.bucket_ns, o.merged.off_ns[i]!);
  return { fixed: fixed.done(), scrolling: scrolling.done() };
}
