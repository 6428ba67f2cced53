// Texts about pages: of a cell of the picture, and about what was not recorded.

import { bytes, count, counted, percent } from "../../draw/format";
import { expertOfByte } from "./choose";
import { segmentTitle, type Atlas } from "./map";
import type { Known } from "./heat";
import type { Fact } from "./describe";
import { LANES } from "./pageScene";
import type { Bins, Cell, Paged } from "./pages";

/** Accesses to the pages of a cell; null: none. */
export function cellFacts(k: Known, paged: Paged, region: number, cell: Cell | null, pageBytes: number): Fact[] {
  const { regions } = k.map;
  const where: Fact = ["In", segmentTitle(k.map, k.map.segmentOf[region]!)];
  const missing = missingWords(k.map, paged);
  if (missing) return [where, ["Pages", missing]];
  if (!cell) return [where, ["Size", bytes(regions.size_bytes[region]!)], ["Pages", paged === "pages" ? "no fault here in this part" : "nothing here was in RAM before the first batch, or it was not observed"]];
  // Pages that are partly in it count.
  const pages = Math.ceil(cell.to / pageBytes) - Math.floor(cell.from / pageBytes);
  const expert = expertOfByte(k, region, cell.from);
  const facts: Fact[] = [
    where,
    ["File offset", `${count(cell.from)} to ${count(cell.to)} (${bytes(cell.to - cell.from)})`],
  ];
  if (k.map.segments.kind[k.map.segmentOf[region]!] !== "file") facts[1] = ["Offset in the buffer", facts[1]![1]];
  if (expert !== null) facts.push(["Expert", `${expert} of ${regions.n_slices[region]}`]);
  if (paged === "pages")
    return [
      ...facts,
      ["Pages", `${count(cell.values[2]!)} of ${count(Math.max(pages, cell.values[2]!))} faulted`],
      ["Faults", `${count(cell.values[0]!)} major, ${count(cell.values[1]!)} minor`],
    ];
  for (const lane of LANES.loading)
    for (const { kind, words } of lane.kinds) {
      const value = cell.values[kind]!;
      if (value > 0) facts.push([words, value >= cell.bytes ? bytes(value) : `${bytes(value)} (${percent(value / cell.bytes)})`]);
    }
  return facts;
}

export function cellSentence(k: Known, paged: Paged, region: number, cell: Cell | null, pageBytes: number): string {
  return cellFacts(k, paged, region, cell, pageBytes).map(([name, value]) => `${name}: ${value}`).join(". ");
}

/** Why there are no data; null: there are. */
export function missingWords(map: Atlas, paged: Paged): string | null {
  if (paged === "pages" && !map.observed.pages) return "single page faults were not recorded: record with `run --faults`";
  if (paged === "loading" && !map.observed.loading) return "pages in RAM were not recorded before the first batch: record with `run --residency`";
  return null;
}

/** What the picture leaves out, and why. */
export function notes(bins: Bins): string[] {
  const { header, paged } = bins;
  const out: string[] = [];
  if (paged === "pages") {
    const elsewhere = (header.faults ?? 0) - (header.on_map ?? 0);
    if (elsewhere > 0) out.push(`${count(elsewhere)} of the run's ${counted(header.faults!, "fault")} in memory that is not on this map: see \`faults --mappings\``);
    if (header.faults_lost) out.push(`${counted(header.faults_lost, "fault")} came too fast to be recorded`);
    if (header.faults_lost === null) out.push("unknown whether faults were lost");
    return out;
  }
  const files = header.model_files ?? [];
  if (files.some((f) => f.known.some((known, i) => known && !f.judged[i]))) out.push("the later use of these pages is unknown: no pages were observed afterwards");
  if (files.some((f) => !f.known[1] && !f.known[2])) out.push("fetches before the first batch were not recorded: an older trace, or the model was not mapped");
  if (bins.map.copies.size > 0) out.push("bytes that ops read from a copy (corner mark) count as not used: their pages in the file were not read");
  return out;
}
