// Figures of a comparison as people write them, the same as `tensortrace diff` does.

import { duration } from "../../draw/format";
import { numberOf } from "../../state/layers";
import type { Row } from "./answer";

export const NOT_OBSERVED = "not observed";

/** "+1.25 ms". */
export function signedDuration(ns: number | null | undefined): string {
  if (ns === null || ns === undefined) return "";
  // Rates of two clocks differ in the last digits: less than half a nanosecond counts as zero.
  if (Math.abs(ns) < 0.5) return "0 ns";
  return (ns < 0 ? "-" : "+") + duration(Math.abs(ns));
}

/** "+12.3 %", from twice as long on "2.31 x"; "" for null. */
export function change(share: number | null | undefined): string {
  if (share === null || share === undefined) return "";
  if (share >= 1) return `${(1 + share).toFixed(share < 9 ? 2 : 0)} x`;
  const percent = Math.abs(100 * share).toFixed(1);
  return `${percent === "0.0" ? "" : share < 0 ? "-" : "+"}${percent} %`;
}

/** The change with its confidence interval. */
export function interval(row: Row): string {
  if (row.blocks === null) return "not tested";
  return `${change(row.change_low)} to ${change(row.change_high)}`;
}

export type Sureness = "matters" | "changed" | "open" | "untested";

export function sureness(row: Row): Sureness {
  if (row.matters) return "matters";
  if (row.significant) return "changed";
  return row.blocks === null ? "untested" : "open";
}

/** A sign and a word each: never colour alone. */
export const SURENESS: Record<Sureness, string> = {
  matters: "! yes, large",
  changed: "* yes, small",
  open: "no",
  untested: "not tested",
};

/** "< 0.0001", "0.0335", "1". */
export function probability(p: number | null): string {
  if (p === null) return "";
  return p < 0.0001 ? "< 0.0001" : String(Number(p.toFixed(4)));
}

/** As the row itself tells: the shown trace may number its models in another order. `models`: the table has several. */
export function layerOfRow(row: Row, models: boolean): string {
  if (row.layer_id === null || row.layer_id === undefined || row.layer_id < 0) return "(no layer)";
  const of = models && row.model_file ? ` of ${row.model_file.split("/").pop()}` : "";
  return `layer ${row.stack ? `${row.stack} ` : ""}${numberOf(row.layer_id)}${of}`;
}

export const PHASES: Record<string, string> = {
  generate: "Generated tokens",
  prompt: "Prompt batches",
  unknown: "Other computations",
};
