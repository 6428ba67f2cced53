// Text into the clipboard; tables as text, for spreadsheets.

import { counted } from "../draw/format";
import { announce } from "./announce";
import { saveFile } from "./saveFile";

export type Cell = string | number | boolean | null | undefined;

function field(cell: Cell, separator: string): string {
  if (cell === null || cell === undefined) return "";
  const text = String(cell);
  if (separator === "\t") return text.replace(/[\t\r\n]/g, " ");
  return /[",\r\n]/.test(text) ? `"${text.replace(/"/g, '""')}"` : text;
}

/** RFC 4180 with ","; with a tab one line per row; unobserved values are empty. */
export function asText(head: readonly string[], rows: readonly (readonly Cell[])[], separator: "," | "\t"): string {
  const end = separator === "," ? "\r\n" : "\n";
  return [head, ...rows].map((row) => row.map((c) => field(c, separator)).join(separator)).join(end) + end;
}

/** Into the clipboard; where the browser refuses that, as a file to save. said: what was copied. */
export async function copy(text: string, name: string, said = counted(text.split("\n").length - 2, "row")): Promise<void> {
  try {
    await navigator.clipboard.writeText(text);
    announce(`Copied ${said}`);
  } catch {
    saveFile(new Blob([text], { type: "text/plain;charset=utf-8" }), name);
    announce(`Saved as ${name}: the clipboard cannot be used`);
  }
}

/** A line of text; what: "Link". */
export function copyWords(text: string, what: string): void {
  navigator.clipboard.writeText(text).then(
    () => announce(`${what} copied`),
    () => announce("The browser did not allow copying"),
  );
}
