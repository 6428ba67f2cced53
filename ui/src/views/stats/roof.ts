// Positions of a roofline's points and edges: both axes logarithmic.

import type { Machine, RoofPoint, Roofline } from "../../api/stats";

export interface Place {
  readonly point: RoofPoint;
  /** In the table: from 1, the longest first. */
  readonly number: number;
  /** FLOP per byte, and a second. */
  readonly intensity: number;
  readonly speed: number;
}

/** Points with FLOPs and time; the others are in the table only. */
export function places(roofline: Roofline): Place[] {
  return roofline.ops.flatMap((point, i) => {
    if (!point.flops || !point.moved_bytes || !point.total_ns) return [];
    return [{ point, number: i + 1, intensity: point.flops / point.moved_bytes, speed: (point.flops / point.total_ns) * 1e9 }];
  });
}

export interface Edge {
  readonly name: string;
  readonly int8: boolean;
  readonly bandwidth: number;
  readonly peak: number;
}

export function edges(machine: Machine | null): Edge[] {
  const m = machine?.measured;
  if (!m?.bandwidth_bytes_per_s) return [];
  const list: Edge[] = [];
  if (m.peak_flops_per_s)
    list.push({ name: "float32", int8: false, bandwidth: m.bandwidth_bytes_per_s, peak: m.peak_flops_per_s });
  if (m.peak_int8_ops_per_s)
    list.push({ name: "8-bit integers", int8: true, bandwidth: m.bandwidth_bytes_per_s, peak: m.peak_int8_ops_per_s });
  return list;
}

export interface LogAxis {
  readonly from: number;
  readonly to: number;
  /** 0 .. 1 */
  readonly at: (value: number) => number;
  readonly ticks: readonly number[];
}

/** Whole powers of ten around the values. */
export function logAxis(values: readonly number[]): LogAxis {
  const good = values.filter((v) => v > 0 && Number.isFinite(v)).map(Math.log10);
  const low = good.length ? Math.floor(Math.min(...good)) : 0;
  const high = good.length ? Math.ceil(Math.max(...good) + 0.05) : 1;
  const top = high > low ? high : low + 1;
  return {
    from: 10 ** low,
    to: 10 ** top,
    at: (value) => (Math.log10(value) - low) / (top - low),
    ticks: Array.from({ length: top - low + 1 }, (_, i) => 10 ** (low + i)),
  };
}

const PREFIXES: readonly [number, string][] = [
  [1e12, "T"],
  [1e9, "G"],
  [1e6, "M"],
  [1e3, "k"],
];

/** "12.4 GFLOP/s" */
export function flopRate(v: number | null): string {
  if (v === null) return "not known";
  const [unit, prefix] = PREFIXES.find(([u]) => v >= u) ?? [1, ""];
  const n = v / unit;
  return `${n >= 100 ? n.toFixed(0) : n.toPrecision(3)} ${prefix}FLOP/s`;
}
