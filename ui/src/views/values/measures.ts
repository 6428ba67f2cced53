// Measures of values for colour and lines, and their numbers as text.

import type { Grid } from "../../api/values";
import { layerWords } from "../../state/layers";

export interface Measure {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  /** Logarithmic; 0 has no position then. */
  readonly log: boolean;
  /** NaN: none. */
  readonly of: (g: Grid, i: number) => number;
}

export const MEASURES: readonly Measure[] = [
  { id: "rms", title: "RMS", about: "The root of the mean square of the finite elements", log: true, of: (g, i) => g.rms[i]! },
  { id: "max_abs", title: "largest magnitude", about: "Of the finite elements", log: true, of: (g, i) => Math.max(Math.abs(g.min[i]!), Math.abs(g.max[i]!)) },
  { id: "range", title: "range", about: "The largest finite element minus the smallest one", log: true, of: (g, i) => g.max[i]! - g.min[i]! },
  { id: "mean", title: "mean", about: "Of the finite elements", log: false, of: (g, i) => g.mean[i]! },
  { id: "min", title: "smallest element", about: "Of the finite elements", log: false, of: (g, i) => g.min[i]! },
  { id: "max", title: "largest element", about: "Of the finite elements", log: false, of: (g, i) => g.max[i]! },
  { id: "bad", title: "NaN and Inf", about: "Number of elements that are not finite", log: false, of: (g, i) => g.n_nan[i]! + g.n_inf[i]! },
];

/** "0.1234", "1.235e-7"; NaN: "none". */
export function number(v: number | null | undefined): string {
  if (v === null || v === undefined || Number.isNaN(v)) return "none";
  if (v === 0 || Number.isInteger(v)) return Math.abs(v) < 1e7 ? String(v) : v.toExponential(3);
  const size = Math.abs(v);
  return size >= 1e-3 && size < 1e6 ? v.toPrecision(4) : v.toExponential(3);
}

export interface Extent {
  readonly least: number;
  readonly most: number;
}

/** Extent of the coloured measure; both NaN: none. */
export function extentOf(g: Grid, m: Measure): Extent {
  let least = Infinity;
  let most = -Infinity;
  for (let i = 0; i < g.outputs.length; i++) {
    const v = m.of(g, i);
    if (Number.isNaN(v) || (m.log && v <= 0)) continue;
    if (v < least) least = v;
    if (v > most) most = v;
  }
  if (most < least) return { least: NaN, most: NaN };
  return { least: m.id === "bad" ? 0 : least, most };
}

/** Position of a value in the extent, 0 to 1; NaN: none. */
export function shareOf(m: Measure, x: Extent, v: number): number {
  if (Number.isNaN(v)) return NaN;
  if (x.most === x.least) return 1;
  if (!m.log) return (v - x.least) / (x.most - x.least);
  return v <= 0 ? 0 : Math.log(v / x.least) / Math.log(x.most / x.least);
}

/** "NaN" or "Inf", whichever is worse; null: all finite. */
export function badOf(g: Grid, i: number): "NaN" | "Inf" | null {
  if (g.outputs[i] === 0) return null;
  if (g.n_nan[i]! > 0) return "NaN";
  return g.n_inf[i]! > 0 && !g.masking[i] ? "Inf" : null;
}

/** A cell as a sentence. */
export function cellWords(g: Grid, i: number): string {
  const layer = g.layers[Math.floor(i / g.batches.length)];
  const where = `${layerWords(layer)}, token ${g.batches[i % g.batches.length]}`;
  if (g.outputs[i] === 0) return `${where}: not measured`;
  const bad = badOf(g, i);
  const figures = Number.isNaN(g.rms[i]!) ? "no finite element" : `RMS ${number(g.rms[i])}, ${number(g.min[i])} to ${number(g.max[i])}, mean ${number(g.mean[i])}`;
  const not = [g.n_nan[i]! > 0 && `${number(g.n_nan[i])} NaN`, g.n_inf[i]! > 0 && `${number(g.n_inf[i])} Inf${g.masking[i] ? " (of a mask)" : ""}`].filter(Boolean).join(", ");
  return `${where}: ${bad ? `${bad}! ` : ""}${figures}${not ? `; ${not} of ${number(g.elements[i])} elements` : ""}`;
}
