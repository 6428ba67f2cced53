// State of the statistics in the address, and their filters.

import type { Params } from "../../api/client";
import { DIMENSIONS, type By, type Dimension } from "../../api/stats";
import { ends, plainName } from "../../draw/format";
import type { Sorting } from "../../parts/VirtualTable";
import { select, selection } from "../../state/selection";
import { literal } from "../../state/logTerms";
import { rawParam, urlParam } from "../../state/url";
import { layerName, layerNamed, layerWords } from "../../state/layers";

export type Show = "table" | "tokens" | "flame" | "op" | "roofline";
export const SHOWS: readonly { id: Show; title: string; about: string }[] = [
  { id: "table", title: "Table", about: "Sums, sortable by any column" },
  { id: "tokens", title: "Over tokens", about: "Shares, token by token" },
  { id: "flame", title: "Flame", about: "Tokens, layers, components and ops, as wide as their time" },
  { id: "op", title: "One op", about: "The selected op over the tokens: its distribution, and its outliers" },
  { id: "roofline", title: "Roofline", about: "FLOPs per byte of ops, relative to the machine's limits" },
];

const byParam = urlParam("stats_by", "op");
const showParam = urlParam("stats_show", "table");
const sortParam = rawParam("stats_sort");
/** An op's name and a phase that rows were clicked for: they are no part of the selection. */
export const opFilter = rawParam("stats_op");
export const phaseFilter = rawParam("stats_phase");
/** The row that is followed over the tokens, if it is no selection. */
export const group = rawParam("stats_group");
/** The row that is followed over the tokens; by layer and by tensor it is the selected one. */
export function followed(by: By): string | null {
  const s = selection.value;
  if (by === "layer") return s.layer === null ? null : layerName(s.layer);
  return by === "tensor" ? s.tensor : group.value;
}

/** The same as requests take it. */
export function followedKey(by: By): string | null {
  const { layer } = selection.value;
  return by === "layer" && layer !== null ? `@${layer}` : followed(by);
}

/** Follows another row; null: none. */
export function follow(by: By, key: string | null): void {
  if (by === "layer") select({ layer: key === null ? null : layerNamed(key), tensor: null });
  else if (by === "tensor") select({ tensor: key });
  else group.value = key;
}
export const measure = urlParam("stats_measure", "share");

export function dimension(): Dimension {
  return DIMENSIONS.find((d) => d.id === byParam.value) ?? DIMENSIONS[0]!;
}

export function setDimension(by: By): void {
  byParam.value = by;
  sortParam.value = null;
  group.value = null;
}

export function shown(): Show {
  return SHOWS.find((s) => s.id === showParam.value)?.id ?? "table";
}

export function setShown(show: Show): void {
  showParam.value = show;
}

const COUNTED: readonly By[] = ["layer", "thread", "batch"];

/** From the address; else by the dimension: numbers by number, others by time. */
export function sorting(): Sorting {
  const text = sortParam.value;
  if (text) return { id: text.replace(/^-/, ""), descending: text.startsWith("-") };
  return COUNTED.includes(dimension().id) ? { id: "key", descending: false } : { id: "work_ns", descending: true };
}

export function sortBy(id: string): void {
  const now = sorting();
  const descending = now.id === id ? !now.descending : id !== "key";
  sortParam.value = (descending ? "-" : "") + id;
}

/** One thing that the sums are filtered by. */
export interface Filter {
  readonly id: string;
  readonly words: string;
  readonly params: Params;
  readonly remove: () => void;
}

/** The rows' own dimension does not filter them: a click would leave one row. */
function applies(id: string, by: By): boolean {
  if (id === "layer") return by !== "layer" && by !== "tensor";
  if (id === "tensor") return by !== "tensor" && by !== "layer";
  return id !== by;
}

/** by: null: for what has no dimension. */
export function filters(by: By | null): Filter[] {
  const s = selection.value;
  const all: Filter[] = [];
  if (s.token !== null)
    all.push({ id: "batch", words: `token ${s.token}`, params: { batch: s.token }, remove: () => select({ token: null }) });
  if (s.time !== null)
    all.push({
      id: "time",
      words: `ops with some time from ${ends(s.time).join(" to ")}`,
      params: { from_ns: s.time[0], to_ns: s.time[1] },
      remove: () => select({ time: null }),
    });
  if (s.layer !== null)
    all.push({ id: "layer", words: layerWords(s.layer), params: { layer: s.layer }, remove: () => select({ layer: null }) });
  if (s.tensor !== null)
    all.push({
      id: "tensor",
      words: `ops that read ${plainName(s.tensor)}`,
      params: { tensor: literal(s.tensor) },
      remove: () => select({ tensor: null }),
    });
  const op = opFilter.value;
  if (op !== null)
    all.push({ id: "op", words: `op ${plainName(op)}`, params: { op }, remove: () => (opFilter.value = null) });
  const phase = phaseFilter.value;
  if (phase !== null)
    all.push({ id: "phase", words: `phase ${phase}`, params: { phase }, remove: () => (phaseFilter.value = null) });
  return by === null ? all : all.filter((f) => applies(f.id, by));
}

export function filterParams(list: readonly Filter[]): Params {
  return Object.assign({}, ...list.map((f) => f.params)) as Params;
}
