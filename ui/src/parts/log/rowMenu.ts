// The context menu of a row of the log.

import type { LogRow } from "../../api/log";
import { literal, timeText, type Term } from "../../state/logTerms";
import type { MenuItems } from "../ContextMenu";
import { menuOfThing } from "../thingMenu";
import { layerTerm } from "../../state/layers";

/** The first weight that the op reads. */
export function weightOf(row: LogRow): string | null {
  const source = row.sources.find((s) => s.file_offset_bytes !== undefined);
  return source ? (source.view_of ?? source.name) : null;
}

/** The filter that a cell's value stands for; null: none. */
function termOfCell(row: LogRow, column: string): Term | null {
  const term = (key: Term["key"], value: string | number, sign: Term["sign"] = ":"): Term => ({ key, value: String(value), sign });
  switch (column) {
    case "token":
      return row.batch_id === null ? null : term("token", row.batch_id);
    case "layer":
      return term("layer", layerTerm(row.layer_id ?? -1));
    case "op":
      return term("op", row.op);
    case "name":
      return term("text", row.name);
    case "threads":
      return row.thread_id === undefined ? null : term("thread", row.thread_id);
    case "duration":
      return row.duration_ns === null ? null : term("dur", timeText(row.duration_ns), ">");
    case "phase":
      return row.phase === "unknown" ? null : term("phase", row.phase);
    case "sources":
    case "bytes": {
      const weight = weightOf(row);
      return weight === null ? null : term("tensor", literal(weight));
    }
    case "destination":
      return term("tensor", literal(row.destination.name));
    default:
      return null;
  }
}

export function menuOf(row: LogRow, column: string): MenuItems {
  return menuOfThing({
    name: row.name,
    patch: { op: { run: row.run, node: row.node }, token: row.batch_id, layer: row.layer_id, tensor: weightOf(row) },
    terms: [column, "op", "layer", "token", "sources"].map((id) => termOfCell(row, id)),
    views: ["memory", "timeline", "graph", "log", "stats", "values"],
  });
}
