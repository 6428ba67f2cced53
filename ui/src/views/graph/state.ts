// State of this view in the address.

import { urlParam } from "../../state/url";
import type { Eye } from "./camera";
import { COLOUR_BYS, type ColourBy } from "./colours";

const open = urlParam("graph.open", "");
const colour = urlParam("graph.color", "time");
const weights = urlParam("graph.weights", "1");
const path = urlParam("graph.path", "1");
const at = urlParam("graph.at", "");
const query = urlParam("graph.q", "");

/** Which parts are open, by their keys (TokenGraph.partKey). */
export function openParts(): ReadonlySet<string> {
  return new Set(open.value ? open.value.split(".") : []);
}

export function setOpenParts(keys: Iterable<string>): void {
  open.value = [...keys].join(".");
}

export function colourBy(): ColourBy {
  return COLOUR_BYS.find((by) => by === colour.value) ?? "time";
}

export function setColourBy(by: string): void {
  colour.value = by;
}

export function weightsShown(): boolean {
  return weights.value !== "0";
}

export function pathShown(): boolean {
  return path.value !== "0";
}

export function showWeights(shown: boolean): void {
  weights.value = shown ? "1" : "0";
}

export function showPath(shown: boolean): void {
  path.value = shown ? "1" : "0";
}

export function searchText(): string {
  return query.value;
}

export function setSearchText(text: string): void {
  query.value = text;
}

/** null: not in the address. */
export function keptEye(): Eye | null {
  const [x, y, scale, more] = at.value.split("_").map(Number);
  if (x === undefined || y === undefined || scale === undefined || more !== undefined) return null;
  return [x, y, scale].every(Number.isFinite) && scale > 0 ? { x, y, scale } : null;
}

export function keepEye(eye: Eye): void {
  at.value = `${Math.round(eye.x)}_${Math.round(eye.y)}_${eye.scale.toPrecision(3)}`;
}

const run = urlParam("graph.run", "");

/** Of several runs of a token the one that the user wants to see; null: the largest. */
export function wantedRun(): number | null {
  return /^\d{1,10}$/.test(run.value) ? Number(run.value) : null;
}

export function wantRun(index: number | null): void {
  run.value = index === null ? "" : String(index);
}
