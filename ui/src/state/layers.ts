// Layers. What the page calls a layer is its key (docs/api-http.md): a number that tells it from layers of other
// stacks and models, and is the layer's number where there are no others.

import { summary, tensors } from "./trace";

const NUMBERS = 65536;

/** Its number in its stack and model. */
export function numberOf(layer: number): number {
  return layer % NUMBERS;
}

function stackOf(layer: number): string | null {
  return summary.value?.layer_stacks[Math.floor(layer / NUMBERS) % 32] ?? null;
}

/** Its number, stack and model, and its key, with the names of the server's JSON. */
export function layerFields(layer: number | null) {
  return layer === null || layer < 0
    ? { layer_id: null, stack: null, model: null, layer_key: null }
    : { layer_id: numberOf(layer), stack: stackOf(layer), model: summary.value?.models[modelOf(layer)] ?? null, layer_key: layer };
}

/** "3", "enc 3": without its model. */
export function layerNumber(layer: number): string {
  const stack = stackOf(layer);
  return stack === null ? String(numberOf(layer)) : `${stack} ${numberOf(layer)}`;
}

/** "3", "enc 3", "3 of draft.gguf". */
export function layerName(layer: number): string {
  const models = summary.value?.models ?? [];
  const name = layerNumber(layer);
  return models.length < 2 ? name : `${name} of ${models[modelOf(layer)] ?? "?"}`;
}

/** "layer 3", "no layer". */
export function layerWords(layer: number | null | undefined): string {
  return layer === null || layer === undefined || layer < 0 ? "no layer" : `layer ${layerName(layer)}`;
}

/** Whether its key is its number. */
export function isPlain(layer: number): boolean {
  return layer < NUMBERS;
}

/** The longest of its names that fits; "" of none does. */
export function layerThatFits(layer: number | null, fits: (text: string) => boolean): string {
  if (layer === null) return "no layer";
  return [layerWords(layer), layerName(layer), layerNumber(layer)].find(fits) ?? "";
}

/** The layer of that layerName; null: none. */
export function layerNamed(name: string): number | null {
  return tensors.value?.layer_id.find((layer) => layer !== null && layerName(layer) === name) ?? null;
}

export function modelOf(layer: number): number {
  return Math.floor(layer / (NUMBERS * 32));
}

/** As filters take it: "3", "enc 3", "none", and "@2097155" where there are several models. */
export function layerTerm(layer: number): string {
  if (layer < 0) return "none";
  return (summary.value?.models.length ?? 0) < 2 ? layerName(layer) : `@${layer}`;
}
