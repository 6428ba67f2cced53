// A column of numbers becomes as wide as the widest number seen in it: a number that is cut off looks
// like another one.

import { signal, type ReadonlySignal } from "@preact/signals";
import { useLayoutEffect, useMemo, type MutableRef } from "preact/hooks";
import type { Column } from "./VirtualTable";

const WIDTH_MAX = 400;

/** Of a cell: left and right padding. */
const PADDING = 13;

function textWidth(cell: Element): number {
  const range = document.createRange();
  range.selectNodeContents(cell);
  // The handle of a header is at the end of its column.
  const handle = cell.querySelector(".vt-handle");
  if (handle) range.setEndBefore(handle);
  return Math.ceil(range.getBoundingClientRect().width);
}

/** Widths needed so far, by column. */
export function useRoomForNumbers<R>(
  table: MutableRef<HTMLElement | null>,
  columns: readonly Column<R>[],
): ReadonlySignal<Readonly<Record<string, number>>> {
  const widths = useMemo(() => signal<Readonly<Record<string, number>>>({}), []);
  // Of the longest text that was measured: shorter ones need no measuring, which is slow.
  const longest = useMemo(() => new Map<string, number>(), []);
  useLayoutEffect(() => {
    const rows = table.current?.querySelectorAll(".vt-head, .vt-rows > [role=row]") ?? [];
    const found: Record<string, number> = {};
    columns.forEach((c, k) => {
      if (!c.number) return;
      for (const row of rows) {
        const cell = row.children[k];
        const length = cell?.textContent?.length ?? 0;
        const what = row.classList.contains("vt-head") ? `${c.id} title` : c.id;
        if (!cell || length <= (longest.get(what) ?? 0)) continue;
        longest.set(what, length);
        found[c.id] = Math.min(WIDTH_MAX, Math.max(found[c.id] ?? widths.peek()[c.id] ?? 0, textWidth(cell) + PADDING));
      }
    });
    if (Object.entries(found).some(([id, w]) => w > (widths.peek()[id] ?? 0))) widths.value = { ...widths.peek(), ...found };
  });
  return widths;
}
