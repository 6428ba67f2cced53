// Page faults and loading by page: the visible bytes, the server's bins (at most a pixel wide), and
// their position on the screen.

import { signal } from "@preact/signals";
import { getBinary, ofTrace, type Params } from "../../api/client";
import { decodeColumns, type Columns } from "../../api/columns";
import type { Range } from "../../draw/axis";
import type { Geometry } from "./geometry";
import type { Mark } from "./layout";
import type { Atlas, Row } from "./map";

export const PAGED = ["pages", "loading"] as const;
export type Paged = (typeof PAGED)[number];

export function pagedOf(metric: string): Paged | null {
  return PAGED.find((m) => m === metric) ?? null;
}

/** Columns of the bins. */
export const KINDS: Record<Paged, readonly string[]> = {
  pages: ["major_faults", "minor_faults", "pages"],
  loading: ["resident_bytes", "mapped_bytes", "loaded_bytes", "used_bytes", "unused_bytes", "evicted_bytes", "fetched_again_bytes"],
};

/** Bytes of a row that are to be seen, and how finely. */
interface Wanted {
  readonly row: string;
  readonly segment: string;
  readonly from: number;
  readonly to: number;
  /** Of a bin. */
  readonly pages: number;
}

/** A span with its bins, ascending. */
export interface Span extends Wanted {
  readonly binBytes: number;
  readonly offset: Float64Array;
  /** By kind. */
  readonly values: readonly ArrayLike<number>[];
}

export interface BinsHeader {
  page_bytes?: number;
  faults?: number;
  faults_lost?: number | null;
  on_map?: number;
  model_files?: { known: boolean[]; judged: boolean[] }[];
}

export interface Bins {
  readonly paged: Paged;
  readonly map: Atlas;
  /** The part of the run, as in the request. */
  readonly params: Params;
  readonly pageBytes: number;
  readonly header: BinsHeader;
  readonly spans: readonly Span[];
  readonly byRow: ReadonlyMap<string, readonly Span[]>;
}

/** Of the large map: for its legend and its table. */
export const shownBins = signal<Bins | null>(null);

/** Page size of the traced machine, once known. */
export const USUAL_PAGE_BYTES = 4096;
/** Small pans send no request: ranges begin and end at multiples of so many bins. */
const STRIDE = 256;

/** Adjacent parts of a mark: bytes from - to of a segment, at x - x + width of the row. */
interface Run {
  readonly segment: number;
  readonly from: number;
  readonly to: number;
  readonly x: number;
  readonly width: number;
}

/** next: the first item of the mark after it. Vanished gaps between the two belong to this one. */
function* runsOf(map: Atlas, g: Geometry, line: number, row: Row, mark: Mark, next: number): Generator<Run> {
  const { offset_bytes, size_bytes } = map.regions;
  const begin = g.start(line, mark.first);
  const scale = mark.width / Math.max(1e-9, g.start(line, mark.last + 1) - begin);
  for (let i = mark.first; i < next; ) {
    const first = i++;
    const segment = map.segmentOf[row.regions[first]!]!;
    while (i < next && !row.breaks[i] && map.segmentOf[row.regions[i]!] === segment) i++;
    const last = row.regions[i - 1]!;
    const x = mark.x + (g.start(line, first) - begin) * scale;
    yield { segment, from: offset_bytes[row.regions[first]!]!, to: offset_bytes[last]! + size_bytes[last]!, x, width: (g.start(line, i) - g.start(line, first)) * scale };
  }
}

interface View {
  readonly map: Atlas;
  readonly geometry: Geometry;
  readonly range: Range;
  readonly scrollY: number;
}

/** Runs that are to be seen, each with its line; all: also those of lines that are scrolled away. */
function* shownRuns({ map, geometry: g, range, scrollY }: View, all: boolean): Generator<{ line: number; row: Row; run: Run }> {
  const { lines, labelWidth, lineHeight, height, top } = g.input;
  for (let line = 0; line < lines.length; line++) {
    const row = lines[line]!.row;
    const y = g.lineTop(line, scrollY);
    if (!row || (!all && (y + lineHeight < top || y > height))) continue;
    const { marks } = g.layout(line, range);
    for (let m = 0; m < marks.length; m++) {
      const mark = marks[m]!;
      const x = g.toX(mark.x, range);
      if (x + mark.width < labelWidth || x > labelWidth + g.plotWidth) continue;
      for (const run of runsOf(map, g, line, row, mark, marks[m + 1]?.first ?? row.regions.length)) yield { line, row, run };
    }
  }
}

/** Data of a picture: all rows, so that scrolling and saving send no requests. */
export function wantedOf(view: View, pageBytes: number): Wanted[] {
  const { geometry: g, range, map } = view;
  const { labelWidth } = g.input;
  const out: Wanted[] = [];
  for (const { row, run } of shownRuns(view, true)) {
    const bytesAPixel = (run.to - run.from) / Math.max(0.01, run.width);
    const pages = 2 ** Math.max(0, Math.floor(Math.log2(bytesAPixel / pageBytes)));
    const stride = pages * pageBytes * STRIDE;
    const place = (x: number) => run.from + (g.fromX(x, range) - run.x) * bytesAPixel;
    const from = Math.max(run.from, Math.floor(place(labelWidth) / stride) * stride);
    const to = Math.min(run.to, Math.ceil(place(labelWidth + g.plotWidth) / stride) * stride);
    if (from < to) out.push({ row: row.id, segment: map.segments.segment[run.segment]!, from, to, pages });
  }
  return out;
}

const keyOf = (w: Wanted) => `${w.segment}-${w.from}-${w.to}-${w.pages}`;

/** Key of the request: if equal, nothing new is visible. */
export function keyOfAll(wanted: readonly Wanted[]): string {
  return wanted.map(keyOf).join("_");
}

/** The server takes no more spans at once. */
const SPANS_MAX = 200;

/** Answers are kept for film and for going back. */
const KEPT = 64;
const kept = new Map<string, Promise<ArrayBuffer>>();

function ask(trace: number, generation: number, name: string, params: Params): Promise<ArrayBuffer> {
  const key = JSON.stringify([trace, generation, name, params]);
  let answer = kept.get(key);
  if (answer) kept.delete(key);
  answer ??= getBinary(ofTrace(trace, name), params);
  kept.set(key, answer);
  answer.catch(() => kept.delete(key));
  const oldest = kept.size > KEPT ? kept.keys().next().value : undefined;
  if (oldest !== undefined) kept.delete(oldest);
  return answer;
}

function spansOf(paged: Paged, wanted: readonly Wanted[], pageBytes: number, c: Columns<BinsHeader>): Span[] {
  const span = c.u32("span");
  const offset = c.f64("offset_bytes");
  const values = KINDS[paged].map((kind) => (kind === "pages" ? c.u32(kind) : c.f64(kind)));
  let at = 0;
  return wanted.map((w, i) => {
    const first = at;
    while (at < span.length && span[at] === i) at++;
    return { ...w, binBytes: w.pages * pageBytes, offset: offset.subarray(first, at), values: values.map((v) => v.subarray(first, at)) };
  });
}

export interface AskBins {
  readonly trace: number;
  readonly generation: number;
  readonly paged: Paged;
  readonly map: Atlas;
  readonly params: Params;
  readonly wanted: readonly Wanted[];
}

export async function loadBins({ trace, generation, paged, map, params, wanted }: AskBins): Promise<Bins> {
  const parts: (readonly Wanted[])[] = [];
  for (let i = 0; i < wanted.length; i += SPANS_MAX) parts.push(wanted.slice(i, i + SPANS_MAX));
  const name = `memory/${paged}/bins`;
  const replies = await Promise.all(
    parts.map((part) => ask(trace, generation, name, { ...(paged === "pages" ? params : {}), spans: keyOfAll(part) })),
  );
  const columns = replies.map((reply) => decodeColumns<BinsHeader>(reply));
  const header = columns[0]?.header ?? {};
  const pageBytes = header.page_bytes ?? USUAL_PAGE_BYTES;
  const spans = columns.flatMap((c, i) => spansOf(paged, parts[i]!, pageBytes, c));
  const byRow = new Map<string, Span[]>();
  for (const s of spans) {
    const list = byRow.get(s.row);
    if (list) list.push(s);
    else byRow.set(s.row, [s]);
  }
  return { paged, map, params, pageBytes, header, spans, byRow };
}

/** A pixel's column of the picture, or a page or bin that is wider. */
export interface Cell {
  readonly x: number;
  width: number;
  readonly segment: string;
  /** Bytes of the segment. */
  readonly from: number;
  to: number;
  /** Of the bins that are in it. */
  readonly binBytes: number;
  /** Of all bytes of the pixel. */
  bytes: number;
  readonly values: number[];
}

/** Narrower ones share the pixel in which they begin. */
const WIDE_PX = 2;

function addBins(view: View, paged: Paged, run: Run, s: Span, cells: Cell[]): void {
  const { geometry: g, range } = view;
  const { labelWidth } = g.input;
  const end = labelWidth + g.plotWidth;
  const scale = run.width / (run.to - run.from);
  const left = g.toX(run.x, range);
  const right = left + run.width;
  const from = Math.max(run.from, s.from);
  const to = Math.min(run.to, s.to);
  for (let i = 0; i < s.offset.length; i++) {
    const b0 = Math.max(from, s.offset[i]!);
    const b1 = Math.min(to, s.offset[i]! + s.binBytes);
    if (b0 >= b1) continue;
    let x0 = left + (b0 - run.from) * scale;
    let x1 = left + (b1 - run.from) * scale;
    if (x1 < labelWidth || x0 > end) continue;
    x0 = Math.max(labelWidth, Math.min(x0, right - 1));
    x1 = Math.min(end, x1);
    // Whole pixels: the pointer finds exactly what is drawn.
    const isWide = x1 - x0 >= WIDE_PX;
    const last = cells[cells.length - 1];
    // The rest of a page at the end of a region begins where the whole page before it ends.
    const isRest = last?.segment === s.segment && last.to === b0 && (b0 - last.from) * scale >= WIDE_PX;
    const pixel = isWide || isRest ? Math.round : Math.floor;
    x0 = pixel(x0);
    x1 = Math.max(x0 + 1, pixel(x1));
    const reach = last ? last.x + last.width : -Infinity;
    if (last && reach > x0 && (!isWide || reach >= x1)) {
      // A page that two tensors share is in the bins of both.
      const isSame = last.to > s.offset[i]! && s.binBytes === last.binBytes;
      last.to = b1;
      last.bytes += b1 - b0;
      last.width = Math.max(last.width, x1 - last.x);
      if (!isSame || paged === "loading") s.values.forEach((v, k) => (last.values[k]! += v[i]!));
    } else {
      x0 = Math.max(x0, reach);
      cells.push({ x: x0, width: x1 - x0, segment: s.segment, from: b0, to: b1, bytes: b1 - b0, binBytes: s.binBytes, values: s.values.map((v) => v[i]!) });
    }
  }
}

/** By line, from left to right. */
export type Cells = ReadonlyMap<number, readonly Cell[]>;

export function cellsOf(view: View, bins: Bins): Cells {
  const out = new Map<number, Cell[]>();
  for (const { line, row, run } of shownRuns(view, false)) {
    let cells = out.get(line);
    if (!cells) out.set(line, (cells = []));
    const name = view.map.segments.segment[run.segment]!;
    for (const s of bins.byRow.get(row.id) ?? []) if (s.segment === name && s.from < run.to && s.to > run.from) addBins(view, bins.paged, run, s, cells);
  }
  return out;
}

/** A cell is as narrow as a pixel: the nearest one within a few pixels counts. */
const NEAR_PX = 2;

export function cellAt(cells: Cells | null, line: number, x: number): Cell | null {
  let best: Cell | null = null;
  let distance = NEAR_PX + 1e-9;
  for (const c of cells?.get(line) ?? []) {
    const d = x < c.x ? c.x - x : x >= c.x + c.width ? x - c.x - c.width : 0;
    if (d >= distance) continue;
    best = c;
    distance = d;
  }
  return best;
}
