// Shapes of the map: marks with colours and names, the selection.

import type { Range } from "../../draw/axis";
import { css, inkOn, sequence, themeColour } from "../../draw/colour";
import { bytes, count, plainName } from "../../draw/format";
import type { Geometry } from "./geometry";
import { hasData, shareOf, sideOf, valueOf, type Known, type Scale, type Scales, type Shown } from "./heat";
import type { Mark } from "./layout";
import { pageShapes } from "./pageScene";
import { pagedOf, USUAL_PAGE_BYTES, type Bins, type Cells } from "./pages";
import type { Row } from "./map";
import { fitted, type Pattern, type Shape } from "./shapes";

export interface Palette {
  readonly dark: boolean;
  readonly ground: string;
  readonly ground2: string;
  readonly ground3: string;
  readonly line: string;
  readonly ink: string;
  readonly ink2: string;
  readonly accent: string;
  readonly mark: string;
}

export function paletteOf(dark: boolean): Palette {
  const [ground, ground2, ground3, line, ink, ink2, accent, mark] = [
    "--ground", "--ground-2", "--ground-3", "--line", "--ink", "--ink-2", "--accent", "--mark",
  ].map(themeColour) as [string, string, string, string, string, string, string, string];
  return { dark, ground, ground2, ground3, line, ink, ink2, accent, mark };
}

export interface Picture {
  readonly known: Known;
  readonly geometry: Geometry;
  readonly range: Range;
  readonly scrollY: number;
  readonly height: number;
  readonly scales: Scales;
  readonly nowNs: number;
  readonly palette: Palette;
  readonly compact: boolean;
  /** By page: none yet, or of a measure without pages. */
  readonly cells: Cells | null;
  readonly bins: Bins | null;
  readonly selected: { readonly tensor: string | null; readonly layer: number | null; readonly region: number | null };
}

export interface Fill {
  readonly colour: string;
  readonly pattern?: Pattern;
  /** Of text on it. */
  readonly ink: string;
}

/** In an afterglow the least value is that strong, so that it has something to lose. */
const GLOW_LEAST = 0.4;

/** Of the colours. fade: what is left of an afterglow, 0 to 1; null: there is none. */
function strengthOf(share: number, fade: number | null): number {
  return fade === null ? share : fade * (GLOW_LEAST + (1 - GLOW_LEAST) * share);
}

export function fillOf(shown: Shown, p: Palette, scale: Scale, fade: number | null = null): Fill {
  if (typeof shown === "number") {
    const colour = sequence(strengthOf(shareOf(scale, shown), fade), p.dark);
    return { colour: css(colour), ink: inkOn(colour) };
  }
  if (shown === "pending") return { colour: p.ground3, ink: p.ink };
  return { colour: shown === "never" ? p.ground3 : p.ground2, pattern: shown, ink: p.ink };
}

export function scaleFor(p: Picture, region: number): Scale {
  return p.scales[sideOf(p.known.map, region)];
}

/** A unit's value, and how much of its colour. */
interface Seen {
  readonly shown: Shown;
  readonly fade: number | null;
}

function seenOf(p: Picture, unit: number, region: number): Seen {
  const fade = p.scales.metric === "residency" || p.scales.metric === "faults" ? null : p.known.fade;
  return { shown: valueOf(p.known, p.scales.metric, unit, region, p.nowNs), fade: fade?.[unit] ?? null };
}

/** How a region looks. */
export function regionFill(p: Picture, region: number): Fill {
  const { shown, fade } = seenOf(p, region, region);
  return fillOf(shown, p.palette, scaleFor(p, region), fade);
}

/** The maximum of several units: a merged mark must not look colder than its content. */
function strongest(values: Iterable<Seen>, scale: Scale): Seen {
  let best: Seen = { shown: "unknown", fade: null };
  let most = -1;
  for (const v of values) {
    if (typeof v.shown !== "number") {
      if (typeof best.shown !== "number" && (v.shown === "never" || best.shown === "unknown")) best = v;
      continue;
    }
    const share = strengthOf(shareOf(scale, v.shown), v.fade);
    if (share > most) [best, most] = [v, share];
  }
  return best;
}

function* itemsOf(p: Picture, row: Row, mark: Mark): Generator<number> {
  for (let i = mark.first; i <= mark.last; i++) {
    const region = row.regions[i]!;
    if (hasData(p.known.map, region)) yield region;
  }
}

/** Whether pages of that region's kind were recorded at all: only files are looked at when a model is loaded. */
function isRecorded(p: Picture, region: number): boolean {
  const { map } = p.known;
  if (p.scales.metric === "pages") return map.observed.pages;
  const s = map.segmentOf[region]!;
  return map.observed.loading && (map.segments.kind[s] === "file" || map.segments.model_file_id[s] !== null);
}

/** null: only gaps. */
function markFill(p: Picture, row: Row, mark: Mark): Fill | null {
  // A page may be outside of all tensors: it is drawn, too.
  if (pagedOf(p.scales.metric)) return { colour: p.palette.ground3, ink: p.palette.ink, ...(isRecorded(p, row.regions[mark.first]!) ? {} : { pattern: "unknown" as const }) };
  const regions = [...itemsOf(p, row, mark)];
  if (regions.length === 0) return null;
  const scale = scaleFor(p, regions[0]!);
  const { shown, fade } = strongest(regions.map((r) => seenOf(p, r, r)), scale);
  return fillOf(shown, p.palette, scale, fade);
}

/** Experts of a tensor are separate if their choices were observed. */
export function slicesShown(k: Known, region: number): number {
  const n = k.map.regions.n_slices[region]!;
  return n > 0 && k.map.observed.experts && !k.heat?.atMost[region] ? n : 0;
}

/** Narrower ones are adjacent without a line between them. */
const APART_PX = 10;

function addSlices(p: Picture, region: number, x: number, width: number, y: number, h: number, out: Shape[]): void {
  const n = p.scales.metric === "faults" || pagedOf(p.scales.metric) ? 0 : slicesShown(p.known, region);
  if (!n || width < 8) return;
  const { labelWidth, width: end } = p.geometry.input;
  const first = p.known.map.regions.first_slice[region]!;
  const columns = Math.min(n, Math.floor(width / 2));
  const each = width / columns;
  const scale = scaleFor(p, region);
  const gap = each > APART_PX ? 1 : 0;
  const from = Math.max(0, Math.floor((labelWidth - x) / each));
  const to = Math.min(columns, Math.ceil((end - x) / each));
  let last: Extract<Shape, { t: "rect" }> | null = null;
  for (let c = from; c < to; c++) {
    const begin = Math.floor((c * n) / columns);
    const values: Seen[] = [];
    for (let s = begin; s < Math.max(begin + 1, Math.floor(((c + 1) * n) / columns)); s++)
      values.push(seenOf(p, first + s, region));
    const best = strongest(values, scale);
    const fill = fillOf(best.shown, p.palette, scale, best.fade);
    if (!gap && last && last.fill === fill.colour && last.pattern === fill.pattern) {
      last.w += each;
      continue;
    }
    last = { t: "rect", x: x + c * each, y, w: each - gap, h, fill: fill.colour, pattern: fill.pattern, ink: p.palette.ink2 };
    out.push(last);
  }
}

/** Short names: the layer is on the row's label. */
export function shortName(p: Known, region: number): string {
  const { component, tensor, kind } = p.map.regions;
  if (kind[region] === "head") return "metadata";
  if (kind[region] === "gap") return "gap";
  return plainName(component[region] ?? tensor[region] ?? "");
}

/** Marks of experts have no room for a name as well when they are lower. */
const NAMED_PX = 18;

function addMark(p: Picture, row: Row, mark: Mark, top: number, out: Shape[]): void {
  const { geometry, palette, compact, known } = p;
  const x = geometry.toX(mark.x, p.range);
  const left = geometry.input.labelWidth;
  const end = left + geometry.plotWidth;
  if (x + mark.width < left || x > end) return;
  const h = geometry.input.lineHeight - (compact ? 4 : 3);
  const y = top + (compact ? 2 : 1);
  const from = Math.max(x, left);
  const to = Math.min(x + mark.width, end);
  const w = Math.max(1, to - from - (mark.width > 3 && to < end ? 1 : 0));
  const fill = markFill(p, row, mark);
  const region = row.regions[mark.first]!;
  if (row.breaks[mark.first] && mark.first > 0)
    out.push({ t: "line", x1: x - 1, y1: top, x2: x - 1, y2: y + h + 2, ink: palette.ink2, width: 1 });
  if (!fill) {
    out.push({ t: "rect", x: from, y: y + h / 2 - 1, w, h: 2, fill: palette.line, pattern: "gap" });
    if (w > 46 && h > 20)
      out.push({ t: "text", x: from + w / 2, y: y + h / 2 - 5, text: fitted(shortName(known, region), w, 10), ink: palette.ink2, size: 10, align: "center" });
    return;
  }
  out.push({ t: "rect", x: from, y, w, h, fill: fill.colour, pattern: fill.pattern, ink: palette.ink2 });
  const single = mark.first === mark.last;
  const strip = h < NAMED_PX ? 3 : Math.ceil(h / 2);
  if (single && !compact) addSlices(p, region, x, mark.width, y + strip, h - strip, out);
  addSigns(p, row, mark, { x: from, y, w, h }, fill, out);
}

interface Box {
  x: number;
  y: number;
  w: number;
  h: number;
}

/** Attributes of a mark besides its colour: its number of items, its name, whether there is a
 * copy. */
function addSigns(p: Picture, row: Row, mark: Mark, b: Box, fill: Fill, out: Shape[]): void {
  const { known, palette, compact } = p;
  const region = row.regions[mark.first]!;
  const items = mark.last - mark.first + 1;
  if (items > 1) {
    out.push({ t: "rect", x: b.x, y: b.y, w: b.w, h: 2, fill: palette.mark });
    if (b.w >= 14 && !compact)
      out.push({ t: "text", x: b.x + b.w / 2, y: b.y + b.h / 2 + 1, text: fitted(String(items), b.w, 9), ink: fill.ink, size: 9, align: "center" });
    return;
  }
  if (compact) return;
  const weight = known.map.regions.weight[region];
  if (row.track === "file" && weight !== null && weight !== undefined && known.map.copies.has(weight) && b.w >= 8)
    out.push({ t: "triangle", points: [b.x + b.w - 6, b.y, b.x + b.w, b.y, b.x + b.w, b.y + 6], fill: palette.accent });
  const paged = pagedOf(p.scales.metric) !== null;
  const sliced = paged || (slicesShown(known, region) > 0 && b.w >= 8);
  const text = b.w > 34 && (!sliced || b.h >= NAMED_PX) ? fitted(shortName(known, region), b.w - 8, sliced ? 9 : 11) : "";
  if (!text) return;
  const y = b.y + (paged ? NAMES_PX / 2 + 1 : sliced ? b.h / 4 : b.h / 2);
  // Letters on hatching need a ground of their own.
  if (fill.pattern) out.push({ t: "rect", x: b.x + 2, y: b.y + 2, w: Math.min(b.w - 4, text.length * 6.4 + 4), h: b.h - 4, fill: fill.colour });
  out.push({ t: "text", x: b.x + 4, y, text, ink: fill.ink, size: sliced ? 9 : 11, align: "left" });
  addCount(p, region, b, b.x + 4 + text.length * 6.4, y, fill, out);
}

/** How often it was used, at the right end where there is room beside the name. */
function addCount(p: Picture, region: number, b: Box, from: number, y: number, fill: Fill, out: Shape[]): void {
  const { heat } = p.known;
  const times = heat?.accesses[region] ?? 0;
  if (!times || pagedOf(p.scales.metric)) return;
  const text = `${heat!.atMost[region] ? "≤" : ""}${count(times)}×`;
  if (b.x + b.w - 8 - text.length * 5.6 < from + 6) return;
  out.push({ t: "text", x: b.x + b.w - 8, y, text, ink: fill.ink, size: 10, align: "right" });
}

/** Of a mark, above the lanes of its pages. */
const NAMES_PX = 11;

function addPages(p: Picture, line: number, top: number, out: Shape[]): void {
  const paged = pagedOf(p.scales.metric);
  const cells = p.cells?.get(line);
  if (!paged || !cells) return;
  const above = p.compact ? 2 : NAMES_PX + 2;
  const h = p.geometry.input.lineHeight - above - 2;
  pageShapes(paged, cells, p.bins?.pageBytes ?? USUAL_PAGE_BYTES, { y: top + above, h }, out);
}

function isSelected(p: Picture, region: number): boolean {
  const { tensor, region: chosen } = p.selected;
  return region === chosen || (tensor !== null && p.known.map.regions.tensor[region] === tensor);
}

/** A frame around the selection, and a caret where a frame is too small to be visible. */
function addSelected(p: Picture, line: number, row: Row, top: number, out: Shape[]): void {
  const layout = p.geometry.layout(line, p.range);
  const h = p.geometry.input.lineHeight;
  for (const mark of layout.marks) {
    let hit = false;
    for (let i = mark.first; i <= mark.last && !hit; i++) hit = isSelected(p, row.regions[i]!);
    if (!hit) continue;
    const x = p.geometry.toX(mark.x, p.range);
    if (x + mark.width < p.geometry.input.labelWidth || x > p.geometry.input.width) continue;
    const w = Math.max(2, mark.width - 1);
    out.push({ t: "frame", x, y: top + 1.5, w, h: h - 3, ink: p.palette.ground, width: 4 });
    out.push({ t: "frame", x, y: top + 1.5, w, h: h - 3, ink: p.palette.ink, width: 2 });
    const middle = x + w / 2;
    if (w < 12)
      out.push({ t: "triangle", points: [middle - 4, top - 3, middle + 4, top - 3, middle, top + 3], fill: p.palette.ink });
  }
}

function addLabel(p: Picture, row: Row, line: number, top: number, out: Shape[]): void {
  const { palette, geometry, compact } = p;
  const { labelWidth, lineHeight } = geometry.input;
  const middle = top + lineHeight / 2;
  const chosen = p.selected.layer !== null && row.layer === p.selected.layer;
  out.push({ t: "rect", x: 0, y: top, w: labelWidth - 3, h: lineHeight, fill: palette.ground });
  if (chosen) out.push({ t: "rect", x: 0, y: top + 1, w: labelWidth - 4, h: lineHeight - 2, fill: palette.ground3 }, { t: "rect", x: 0, y: top + 1, w: 3, h: lineHeight - 2, fill: palette.ink });
  const sign = row.opens && !row.id.includes(".") ? "▸ " : row.opens ? "   " : "";
  const size = compact ? "" : bytes(row.starts[row.regions.length]!);
  out.push({ t: "text", x: 8, y: middle, text: fitted(sign + plainName(row.label), labelWidth - 16 - size.length * 6, 12), ink: palette.ink, size: 12, align: "left", bold: chosen || compact });
  if (size) out.push({ t: "text", x: labelWidth - 8, y: middle, text: size, ink: palette.ink2, size: 10, align: "right" });
  if (!compact && !geometry.layout(line, p.range).toScale)
    out.push({ t: "text", x: labelWidth + geometry.plotWidth + 12, y: middle, text: "≈", ink: palette.ink2, size: 13, align: "center" });
}

function addLine(p: Picture, line: number, out: Shape[]): void {
  const { geometry, palette } = p;
  const { lines, lineHeight } = geometry.input;
  const top = geometry.lineTop(line, p.scrollY);
  const { row, head } = lines[line]!;
  if (!row) {
    out.push({ t: "text", x: 8, y: top + lineHeight / 2 + 2, text: plainName(head!), ink: palette.ink2, size: 11, align: "left", bold: true });
    return;
  }
  for (const mark of geometry.layout(line, p.range).marks) addMark(p, row, mark, top, out);
  addPages(p, line, top, out);
  addSelected(p, line, row, top, out);
  addLabel(p, row, line, top, out);
}

/** All lines that are to be seen. */
export function mapShapes(p: Picture): Shape[] {
  const { geometry, palette } = p;
  const { lines, lineHeight, top, width } = geometry.input;
  const { bottom, firstPinned } = geometry;
  const out: Shape[] = [];
  for (let line = Math.max(0, Math.floor(p.scrollY / lineHeight)); line < firstPinned; line++) {
    if (geometry.lineTop(line, p.scrollY) > bottom) break;
    addLine(p, line, out);
  }
  // Clips what scrolled under the ruler and under the fixed lines.
  if (top > 0) out.push({ t: "rect", x: 0, y: 0, w: width, h: top, fill: palette.ground });
  if (firstPinned < lines.length) {
    out.push({ t: "rect", x: 0, y: bottom, w: width, h: p.height - bottom, fill: palette.ground });
    out.push({ t: "line", x1: 0, y1: bottom + 0.5, x2: width, y2: bottom + 0.5, ink: palette.line, width: 1 });
  }
  for (let line = firstPinned; line < lines.length; line++) addLine(p, line, out);
  return out;
}
