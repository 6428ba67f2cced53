// Shapes of pages: a lane per measure, so that nothing is encoded by colour alone.

import { css, type Rgb } from "../../draw/colour";
import type { Cell, Paged } from "./pages";
import type { Shape } from "./shapes";

interface Lane {
  readonly title: string;
  /** Of the mark's height. */
  readonly share: number;
  /** Numbers of the kinds that it shows, with their colours and words. */
  readonly kinds: readonly { readonly kind: number; readonly colour: Rgb; readonly words: string }[];
}

export const LANES: Record<Paged, readonly Lane[]> = {
  pages: [
    { title: "upper lane", share: 0.5, kinds: [{ kind: 0, colour: [230, 110, 20], words: "major faults: waited for a device" }] },
    { title: "lower lane", share: 0.5, kinds: [{ kind: 1, colour: [86, 180, 233], words: "minor faults" }] },
  ],
  loading: [
    {
      title: "upper lane: before the first batch",
      share: 0.38,
      kinds: [
        { kind: 0, colour: [128, 134, 142], words: "resident when opened" },
        { kind: 1, colour: [0, 114, 178], words: "fetched by mapping" },
        { kind: 2, colour: [86, 180, 233], words: "fetched after that" },
      ],
    },
    {
      title: "middle: its later use",
      share: 0.38,
      kinds: [
        { kind: 3, colour: [0, 158, 115], words: "used" },
        { kind: 4, colour: [230, 159, 0], words: "not used" },
        { kind: 5, colour: [213, 94, 0], words: "evicted before use" },
      ],
    },
    { title: "lower lane", share: 0.24, kinds: [{ kind: 6, colour: [204, 121, 167], words: "fetched again" }] },
  ],
};

/** How strongly a column is drawn of which few pages faulted. */
const WEAKEST = 0.45;
const STEPS = 4;

/** Share of a column's pages with faults: in few steps, so that equal ones are drawn as one. */
function strengthOf(cell: Cell, faults: number, pageBytes: number): number {
  const pages = Math.max(1, Math.round(cell.bytes / pageBytes));
  return WEAKEST + (1 - WEAKEST) * (Math.ceil(Math.min(1, faults / pages) * STEPS) / STEPS);
}

interface Box {
  y: number;
  h: number;
}

type Rect = Extract<Shape, { t: "rect" }>;

/** Adds a rectangle, or widens the one beside it that looks the same. */
function put(out: Shape[], open: Map<string, Rect>, key: string, rect: Rect): void {
  const last = open.get(key);
  if (last && last.fill === rect.fill && last.y === rect.y && last.h === rect.h && Math.abs(last.x + last.w - rect.x) < 0.01 && rect.w < 2) {
    last.w += rect.w;
    return;
  }
  open.set(key, rect);
  out.push(rect);
}

/** cells: of a row, from left to right; box: of the lanes. */
export function pageShapes(paged: Paged, cells: readonly Cell[], pageBytes: number, box: Box, out: Shape[]): void {
  const open = new Map<string, Rect>();
  for (const cell of cells) {
    // Single pages that are wide enough are drawn singly.
    const w = cell.width >= 4 ? cell.width - 1 : cell.width;
    let top = box.y;
    LANES[paged].forEach((lane, l) => {
      const bottom = l === LANES[paged].length - 1 ? box.y + box.h : Math.round(top + box.h * lane.share);
      const h = bottom - top - (bottom < box.y + box.h ? 1 : 0);
      const shown = lane.kinds.filter(({ kind }) => cell.values[kind]! > 0);
      const all = shown.reduce((sum, { kind }) => sum + cell.values[kind]!, 0);
      let y = top;
      shown.forEach(({ kind, colour }, i) => {
        const value = cell.values[kind]!;
        const room = h - (shown.length - 1 - i) - (y - top);
        const part = i === shown.length - 1 ? room : Math.max(1, Math.min(room, Math.round((h * value) / all)));
        const alpha = paged === "pages" ? strengthOf(cell, value, pageBytes) : 1;
        put(out, open, `${l}.${kind}`, { t: "rect", x: cell.x, y, w, h: part, fill: css(colour, alpha) });
        y += part;
      });
      top = bottom;
    });
  }
}
