// The commands that print what the views show: each view says its own, the dialog "Share" asks (share/command.ts).

import { layerNumber, modelOf } from "./layers";
import { index, summary } from "./trace";

/** Words of a command line after "tensortrace"; null: none there. */
export type CommandWords = readonly (string | null)[];

/** By view; reads signals. Set when the view's code is loaded. */
export const viewCommands = new Map<string, () => CommandWords>();

/** The path as `serve` was given it; it must not be taken for an option. */
export function pathOf(trace: number): string {
  const path = index.value?.traces.find((t) => t.id === trace)?.path ?? "FILE";
  return path.startsWith("-") ? `./${path}` : path;
}

export function option(name: string, value: string | number | null | undefined): string[] {
  return value === null || value === undefined ? [] : [`--${name}`, String(value)];
}

/** A layer as commands take it: its number, its stack, and its model where there are several. */
export function layerOptions(layer: number | null): string[] {
  if (layer === null || layer < 0) return option("layer", layer === null ? null : "none");
  const models = summary.value?.models ?? [];
  return [...option("layer", layerNumber(layer)), ...option("model", models.length < 2 ? null : models[modelOf(layer)])];
}
