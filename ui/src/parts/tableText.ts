// Rows of a table as text.

import { isValidElement, type ComponentChildren, type VNode } from "preact";
import { asText, type Cell } from "./clipboard";
import type { Column } from "./VirtualTable";

/** The text of what a cell shows. */
export function textOf(content: ComponentChildren): string {
  if (content === null || content === undefined || typeof content === "boolean") return "";
  if (Array.isArray(content)) return content.map(textOf).join("");
  if (!isValidElement(content)) return String(content);
  const props = (content as VNode<{ text?: string; children?: ComponentChildren }>).props;
  return props.children === undefined && typeof props.text === "string" ? props.text : textOf(props.children);
}

/** What is copied of a cell: the plain value if the column has one, else what it shows. */
export function cellOf<R>(column: Column<R>, row: R): Cell {
  return column.value ? column.value(row) : textOf(column.cell(row)).trim();
}

/** Tab-separated, with the columns' names. */
export function rowsText<R>(columns: readonly Column<R>[], rows: readonly R[]): string {
  const named = columns.filter((c) => !c.drawn);
  return asText(
    named.map((c) => (c.value && c.key) || c.title),
    rows.map((r) => named.map((c) => cellOf(c, r))),
    "\t",
  );
}
