// Describes a region or one of its experts.

import { bytes, count, counted, duration, moment, percent, plainName, shape } from "../../draw/format";
import type { Tensors } from "../../api/types";
import type { Known, Metric, Scale, Shown } from "./heat";
import { segmentTitle, type Atlas } from "./map";

export type Fact = readonly [name: string, value: string];

const KIND_WORDS = {
  gap: "nothing known is here",
  head: "metadata of the model file",
  weight: "weight",
  kv_cache: "KV cache",
  compute: "results of ops",
  input: "input of a graph",
} as const;

/** The tensor's name, or the content. */
export function regionTitle(map: Atlas, region: number): string {
  const name = map.regions.tensor[region];
  if (name === null || name === undefined)
    return map.regions.kind[region] === "head" ? "metadata" : "gap";
  const others = map.regions.n_tensors[region]! - 1;
  return plainName(name) + (others > 0 ? ` and ${counted(others, "other tensor")}` : "");
}

/** Where ops read the bytes of a weight: in the file's mapping, or in a copy. */
export function originOf(map: Atlas, region: number): string {
  const segment = map.segmentOf[region]!;
  const weight = map.regions.weight[region];
  const copies = weight === null || weight === undefined ? [] : (map.copies.get(weight) ?? []);
  if (map.segments.kind[segment] === "file") {
    const copy = copies[0];
    if (copy === undefined) return "the mapped file: read there";
    return `copied to ${segmentTitle(map, map.segmentOf[copy]!)}, and read there`;
  }
  if (map.segments.backing[segment] === "file") return "a mapping of the file";
  if (map.regions.kind[region] !== "weight") return "a buffer of the engine";
  const repacked = /repack/i.test(map.segments.name[segment]!);
  return repacked ? "repacked from the file when it was loaded" : "copied from the file when it was loaded";
}

function token(n: number): string {
  return Number.isNaN(n) ? "outside of tokens" : `token ${n}`;
}

function use(ns: number, n: number, step_ns: number): string {
  return Number.isNaN(ns) ? token(n) : `${token(n)}, ${moment(ns, step_ns)}`;
}

function maybe(n: number): number | null {
  return Number.isNaN(n) ? null : n;
}

/** Accesses to the unit in the shown part. */
export function heatFacts(k: Known, unit: number, size_bytes: number): Fact[] {
  const h = k.heat;
  if (!h) return [["Use", "being counted"]];
  if (h.accesses[unit] === 0) return [["Accesses", "none: never touched in this part"]];
  const most = h.atMost[unit] ? "at most " : "";
  const facts: Fact[] = [
    ["Accesses", most + count(h.accesses[unit]!)],
    ["Read", most + bytes(h.readBytes[unit]!)],
  ];
  if (h.writtenBytes[unit]! > 0) facts.push(["Written", bytes(h.writtenBytes[unit]!)]);
  const share = h.touchedBytes[unit]! / size_bytes;
  if (h.touchedBytes[unit]! > 0) facts.push(["Touched", `${h.touchedAtMost[unit] ? "at most " : ""}${bytes(h.touchedBytes[unit]!)} (${percent(share)})`]);
  facts.push(["Time of these ops", duration(maybe(h.timeNs[unit]!))]);
  facts.push(["First use", use(h.firstNs[unit]!, h.firstToken[unit]!, 1e3)]);
  facts.push(["Last use", use(h.lastNs[unit]!, h.lastToken[unit]!, 1e3)]);
  return facts;
}

function pageFacts(k: Known, unit: number): Fact[] {
  const observed = k.residency?.observed[unit] ?? NaN;
  if (!(observed > 0)) return [];
  const resident = k.residency!.resident[unit]!;
  return [["In RAM", `${bytes(resident)} of ${bytes(observed)} (${percent(resident / observed)})`]];
}

function faultFacts(k: Known, region: number, expert: number | null): Fact[] {
  const f = k.faults?.of(k.map.regions.weight[region], expert) ?? null;
  if (f === null || Number.isNaN(f.major)) return [];
  const shared = f.shared ? `, some divided among ${expert === null ? "the tensors" : "what else was read"} of an op` : "";
  const facts: Fact[] = [["Page faults", `${count(f.major)} major, ${count(f.minor)} minor${shared}`]];
  if (!Number.isNaN(f.diskBytes)) facts.push(["Read from disk", bytes(f.diskBytes)]);
  return facts;
}

/** expert: of a tensor with several, or null. */
export function factsOf(k: Known, tensors: Tensors | null, region: number, expert: number | null): Fact[] {
  const { regions } = k.map;
  const weight = regions.weight[region];
  const all = regions.size_bytes[region]!;
  const n = regions.n_slices[region]!;
  const each = n ? Math.floor(all / n) : 0;
  const size = expert === null ? all : expert + 1 < n ? each : all - each * (n - 1);
  const from = regions.offset_bytes[region]! + (expert === null ? 0 : expert * each);
  const unit = expert === null ? region : regions.first_slice[region]! + expert;
  const facts: Fact[] = [];
  if (expert !== null) facts.push(["Expert", `${expert} (0 to ${n - 1})`]);
  const ne = weight === null || weight === undefined ? null : tensors?.ne[weight];
  facts.push(["What", KIND_WORDS[regions.kind[region]!]]);
  if (regions.type[region]) facts.push(["Type", regions.type[region]! + (ne ? `, ${shape(ne)}` : "")]);
  facts.push(["In", segmentTitle(k.map, k.map.segmentOf[region]!)]);
  facts.push(["Offset", `${count(from)} (${bytes(from)})`], ["Size", `${bytes(size)} (${count(size)} B)`]);
  if (regions.kind[region] === "gap" || regions.kind[region] === "head") return facts;
  facts.push(["Origin", originOf(k.map, region)]);
  return [...facts, ...heatFacts(k, unit, size), ...pageFacts(k, unit), ...faultFacts(k, region, expert)];
}

/** A value of the metric as the legend and the table write it. */
export function valueWords(metric: Metric, value: Shown): string {
  if (value === "never") return "never";
  if (value === "unknown") return "not observed";
  if (value === "pending") return "being counted";
  if (metric === "bytes") return bytes(value);
  if (metric === "time" || metric === "recency") return duration(value);
  return metric === "residency" ? percent(value) : count(Math.round(value));
}

export function scaleWords(s: Scale): string {
  return s.metric === "residency" ? "linear" : s.log ? "logarithmic" : "linear";
}

/** One sentence, for screen readers. */
export function sentence(k: Known, tensors: Tensors | null, region: number, expert: number | null): string {
  return [regionTitle(k.map, region), ...factsOf(k, tensors, region, expert).map(([name, value]) => `${name}: ${value}`)].join(". ");
}
