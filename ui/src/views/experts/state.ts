// State of the expert matrix, kept in the address.

import type { Params } from "../../api/client";
import type { Layer } from "../../api/experts";
import { bytes, count, percent } from "../../draw/format";
import { selectedLayer } from "../../state/selection";
import { rawParam, urlParam } from "../../state/url";

export type Of = "token" | "upto" | "all";
export const OFS: readonly { id: Of; title: string; about: string }[] = [
  { id: "all", title: "Whole run", about: "The choices of all tokens" },
  { id: "upto", title: "Up to the token", about: "The choices from the first token to the selected one" },
  { id: "token", title: "The token", about: "The choices of the selected token only" },
];

const ofParam = urlParam("experts_of", "all");
const colourParam = urlParam("experts_by", "count");
const expertParam = rawParam("expert");

/** Without a token only the whole run is available. */
export function of(token: number | null): Of {
  return token === null ? "all" : (OFS.find((o) => o.id === ofParam.value)?.id ?? "all");
}
export function setOf(o: Of): void {
  ofParam.value = o;
}

export function paramsOf(o: Of, token: number | null): Params {
  if (o === "token") return { batch: token };
  return o === "upto" ? { batch: 0, batch_to: token } : {};
}

export interface Measure {
  readonly id: string;
  readonly title: string;
  readonly about: string;
  readonly value: (l: Layer, expert: number) => number | null;
  readonly text: (value: number | null) => string;
  /** For a cell. */
  readonly short: (value: number | null) => string;
}

export const MEASURES: readonly Measure[] = [
  {
    id: "count",
    title: "how often chosen",
    about: "Tokens that chose the expert",
    value: (l, e) => l.count[e] ?? 0,
    text: (v) => (v === null ? "not observed" : `chosen ${count(v)} ×`),
    short: (v) => String(v ?? ""),
  },
  {
    id: "bytes",
    title: "bytes read",
    about: "Bytes of its slices, for each batch in which a token chose it",
    value: (l, e) => (l.expert_bytes === null ? null : (l.batches[e] ?? 0) * l.expert_bytes),
    text: (v) => `${bytes(v)} read`,
    short: (v) => (v === null ? "" : bytes(v)),
  },
  {
    id: "weight",
    title: "router's weight",
    about: "The mean weight that the router gave it when it was chosen",
    value: (l, e) => l.mean_weight[e] ?? null,
    text: (v) => (v === null ? "no weight observed" : `mean weight ${percent(v)}`),
    short: (v) => (v === null ? "" : percent(v)),
  },
  {
    id: "last",
    title: "last used",
    about: "The last token that chose it",
    value: (l, e) => l.last_batch_id[e] ?? null,
    text: (v) => (v === null ? "never chosen" : `last chosen by token ${v}`),
    short: (v) => String(v ?? ""),
  },
  {
    id: "disk",
    title: "disk reads",
    about: "Bytes read from disk while ops read it: an op's reads, divided among its experts by size",
    value: (l, e) => l.disk_read_bytes?.[e] ?? null,
    text: (v) => (v === null ? "disk reads not observed" : `about ${bytes(v)} from disk`),
    short: (v) => (v === null ? "" : bytes(v)),
  },
];

export function measure(): Measure {
  return MEASURES.find((m) => m.id === colourParam.value) ?? MEASURES[0]!;
}
export function setMeasure(id: string): void {
  colourParam.value = id;
}

/** The selected expert of the selected layer; null: none, or it was chosen in another layer. */
export function expert(): number | null {
  const match = /^(\d{1,6})\.(\d{1,6})$/.exec(expertParam.value ?? "");
  return match && Number(match[1]) === selectedLayer.value ? Number(match[2]) : null;
}
export function setExpert(layer: number | null, e: number | null): void {
  expertParam.value = layer === null || e === null ? null : `${layer}.${e}`;
}

export type Show = "matrix" | "keep";
export const SHOWS: readonly { id: Show; title: string; about: string }[] = [
  { id: "matrix", title: "Matrix", about: "Layers and experts, and their figures" },
  { id: "keep", title: "What to keep", about: "Which experts to keep in so much memory, and what it costs" },
];
const showParam = urlParam("experts_show", "matrix");
export function shown(): Show {
  return SHOWS.find((s) => s.id === showParam.value)?.id ?? "matrix";
}
export function setShown(show: Show): void {
  showParam.value = show;
}

/** Sizes that can be chosen: up to all bytes that are read. */
export const STEPS = 40;
const stepParam = urlParam("keep", String(STEPS / 2));
export function keepStep(): number {
  const step = Number(stepParam.value);
  return Number.isInteger(step) && step >= 1 && step <= STEPS ? step : STEPS / 2;
}
export function setKeepStep(step: number): void {
  stepParam.value = String(step);
}

/** As `tensortrace whatif --policy` names them. */
export const POLICIES = [
  { id: "pin-hot", title: "the most used", about: "Those that the most batches read stay, the others are read when they are needed (pin-hot)" },
  { id: "lru", title: "the last used", about: "The one used longest ago makes room for the next (lru)" },
] as const;
const policyParam = urlParam("keep_by", "pin-hot");
export function keepPolicy(): (typeof POLICIES)[number] {
  return POLICIES.find((p) => p.id === policyParam.value) ?? POLICIES[0];
}
export function setKeepPolicy(id: string): void {
  policyParam.value = id;
}
