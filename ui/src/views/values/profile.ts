// A cut through the grid as lines: over the layers for a token, over the tokens for a layer.

import type { Grid } from "../../api/values";
import { isPlain, layerWords } from "../../state/layers";
import { badOf, number } from "./measures";

export interface Profile {
  readonly along: "layers" | "tokens";
  readonly title: string;
  /** By point: its position on the axis, its name, and its cell in the grid. */
  readonly x: readonly number[];
  readonly names: readonly string[];
  readonly cells: readonly number[];
  /** null: nothing is finite, or nothing was measured. */
  readonly rms: readonly (number | null)[];
  readonly maxAbs: readonly (number | null)[];
  readonly min: readonly (number | null)[];
  readonly max: readonly (number | null)[];
  readonly mean: readonly (number | null)[];
  readonly bad: readonly ("NaN" | "Inf" | null)[];
}

function orNull(v: number): number | null {
  return Number.isNaN(v) ? null : v;
}

function make(g: Grid, along: Profile["along"], title: string, cells: number[], x: number[], names: string[]): Profile {
  const column = (values: Float64Array) => cells.map((i) => orNull(values[i]!));
  return {
    along,
    title,
    x,
    names,
    cells,
    rms: column(g.rms),
    maxAbs: cells.map((i) => orNull(Math.max(Math.abs(g.min[i]!), Math.abs(g.max[i]!)))),
    min: column(g.min),
    max: column(g.max),
    mean: column(g.mean),
    bad: cells.map((i) => badOf(g, i)),
  };
}

/** Outputs without layer are before the first one; layers of several stacks or models one after the other. */
export function overLayers(g: Grid, token: number): Profile {
  const cells = g.layers.map((_, i) => i * g.batches.length + token);
  const plain = g.layers.every((l) => l === null || isPlain(l));
  const x = g.layers.map((l, i) => (plain ? (l ?? -1) : i));
  return make(g, "layers", `Token ${g.batches[token]}, over the layers`, cells, x, g.layers.map(layerWords));
}

export function overTokens(g: Grid, layer: number): Profile {
  const cells = g.batches.map((_, i) => layer * g.batches.length + i);
  const what = layerWords(g.layers[layer]);
  return make(g, "tokens", `${what[0]!.toUpperCase()}${what.slice(1)}, over the tokens`, cells, [...g.batches], g.batches.map((t) => `token ${t}`));
}

export function pointWords(p: Profile, i: number): string {
  const figures = p.rms[i] === null ? (p.bad[i] ? "no finite element" : "not measured") : `RMS ${number(p.rms[i])}, ${number(p.min[i])} to ${number(p.max[i])}, mean ${number(p.mean[i])}`;
  return `${p.names[i]}: ${p.bad[i] ? `${p.bad[i]}! ` : ""}${figures}`;
}
