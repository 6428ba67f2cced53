// Where the lines of the map are on the canvas.

import type { Range } from "../../draw/axis";
import { layoutRow, type Layout } from "./layout";
import type { Atlas, Row, Track } from "./map";

/** A heading or a row. */
export type Line = { readonly head: string; readonly row: null } | { readonly head: null; readonly row: Row };

const TRACK_TITLES: Record<Track, string> = {
  file: "FILE: the model file, by offset",
  buffer: "MEMORY: buffers of the engine",
};

/** Rows under headings: one per track, and one per file if there are several. */
export function linesOf(map: Atlas, rows: readonly Row[], headed: boolean): Line[] {
  if (!headed) return rows.map((row) => ({ head: null, row }));
  const lines: Line[] = [];
  const files = new Set(rows.filter((r) => r.track === "file").map((r) => r.segment)).size;
  rows.forEach((row, i) => {
    const before = rows[i - 1];
    if (row.track !== before?.track) lines.push({ head: TRACK_TITLES[row.track], row: null });
    if (row.track === "file" && files > 1 && row.segment !== before?.segment)
      lines.push({ head: map.segments.name[row.segment]!, row: null });
    lines.push({ head: null, row });
  });
  return lines;
}

export type Widths = "bytes" | "rank";
export type Fit = "row" | "same";

/** No mark is narrower. */
export const LEAST_PX = 5;
/** Narrower items are magnified when pointed at. */
export const MAGNIFY_PX = 10;

export interface GeometryInput {
  readonly map: Atlas;
  readonly lines: readonly Line[];
  readonly width: number;
  readonly labelWidth: number;
  readonly top: number;
  /** Of the canvas. */
  readonly height: number;
  readonly lineHeight: number;
  readonly widths: Widths;
  readonly fit: Fit;
}

/** Starts of a row's items: bytes, or one each where gaps have no size. */
function startsOf(map: Atlas, row: Row, widths: Widths): Float64Array {
  if (widths === "bytes") return row.starts;
  const starts = new Float64Array(row.regions.length + 1);
  row.regions.forEach((r, i) => (starts[i + 1] = starts[i]! + (map.regions.kind[r] === "gap" ? 0 : 1)));
  return starts;
}

/** Share of the canvas for lines at its bottom that do not scroll. */
const PINNED_SHARE = 0.45;

export class Geometry {
  readonly plotWidth: number;
  readonly longest: number;
  /** Lines from this one on stay at the bottom, so that both tracks are always visible, unless
   * there are too many buffers for that. */
  readonly firstPinned: number;
  private readonly starts: Float64Array[];
  private readonly layouts = new Map<Row, { width: number; layout: Layout }>();

  constructor(readonly input: GeometryInput) {
    const { map, lines, widths } = input;
    this.plotWidth = Math.max(1, input.width - input.labelWidth - 22);
    this.starts = lines.map((l) => (l.row ? startsOf(map, l.row, widths) : new Float64Array(1)));
    this.longest = Math.max(1, ...this.starts.map((s) => s[s.length - 1] ?? 0));
    const all = lines.length;
    const buffers = lines.findIndex((l, i) => lines[i + 1]?.row?.track === "buffer" && l.row === null);
    const pinned = buffers > 0 ? (all - buffers) * input.lineHeight : 0;
    const scrolls = input.top + this.height > input.height;
    this.firstPinned = scrolls && pinned > 0 && pinned < input.height * PINNED_SHARE ? buffers : all;
  }

  /** Of all lines. */
  get height(): number {
    return this.input.lines.length * this.input.lineHeight;
  }

  /** Bottom of the scrolled part on the canvas. */
  get bottom(): number {
    return this.input.height - (this.input.lines.length - this.firstPinned) * this.input.lineHeight;
  }

  get mostScroll(): number {
    return Math.max(0, this.firstPinned * this.input.lineHeight - (this.bottom - this.input.top));
  }

  lineTop(line: number, scrollY: number): number {
    const { top, lineHeight } = this.input;
    return line >= this.firstPinned ? this.bottom + (line - this.firstPinned) * lineHeight : top + line * lineHeight - scrollY;
  }

  lineAt(y: number, scrollY: number): number {
    const { top, lineHeight, lines } = this.input;
    if (y < top) return -1;
    const pinned = y >= this.bottom;
    const line = pinned ? this.firstPinned + Math.floor((y - this.bottom) / lineHeight) : Math.floor((y - top + scrollY) / lineHeight);
    return line < (pinned ? lines.length : this.firstPinned) ? line : -1;
  }

  /** The length of the line's row in the units of its scale. */
  length(line: number): number {
    const s = this.starts[line]!;
    return s[s.length - 1] ?? 0;
  }

  start(line: number, item: number): number {
    return this.starts[line]![item]!;
  }

  /** The row's share of the axis: all of it, or its share of the longest. */
  share(line: number): number {
    return this.input.fit === "row" ? 1 : this.length(line) / this.longest;
  }

  /** Pixels of the whole row at that zoom. */
  rowWidth(line: number, range: Range): number {
    return (this.plotWidth / (range.to - range.from)) * this.share(line);
  }

  /** Pixels from the row's start to the plot's left. */
  shift(range: Range): number {
    return (this.plotWidth / (range.to - range.from)) * range.from;
  }

  layout(line: number, range: Range): Layout {
    const row = this.input.lines[line]!.row!;
    const width = this.rowWidth(line, range);
    const was = this.layouts.get(row);
    if (was?.width === width) return was.layout;
    const { kind } = this.input.map.regions;
    const layout = layoutRow(
      { starts: this.starts[line]!, vanishes: (i) => kind[row.regions[i]!] === "gap" },
      width,
      LEAST_PX,
    );
    this.layouts.set(row, { width, layout });
    return layout;
  }

  /** The canvas's x of a position in a row's layout, and back. */
  toX(place: number, range: Range): number {
    return this.input.labelWidth + place - this.shift(range);
  }

  fromX(x: number, range: Range): number {
    return x - this.input.labelWidth + this.shift(range);
  }

  /** Range of the axis (0 to 1) of an item, for zooming to it. */
  range(line: number, item: number): Range {
    const all = this.length(line) / this.share(line);
    return { from: this.start(line, item) / all, to: this.start(line, item + 1) / all };
  }
}
