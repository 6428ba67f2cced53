// The map on a canvas: drawn, pointed at, worked with the keyboard.

import { useComputed, useSignal, type ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Axis } from "../../draw/axis";
import { isDark } from "../../draw/colour";
import { announce } from "../../parts/announce";
import { CanvasView, type CanvasMenu } from "../../parts/CanvasView";
import { useSize } from "../../parts/useSize";
import { selection } from "../../state/selection";
import { tensors } from "../../state/trace";
import { menuOfLayer, menuOfRegion, regionOf, regionOfCell, selectCell, selectRegion } from "./choose";
import { across, along, bringIntoView, firstSpot, middleOf, scrolledTo, spotOf } from "./cursor";
import { known, nowNs, widths } from "./data";
import { useBins } from "./bins";
import { cellsOf, pagedOf, USUAL_PAGE_BYTES, type Cell } from "./pages";
import { cellSentence } from "./pageWords";
import { regionTitle, sentence, valueWords } from "./describe";
import { drawing, overlay, wholeMap } from "./drawing";
import { Geometry, type Fit, type Line } from "./geometry";
import { valueOf, type Scales } from "./heat";
import { markOf } from "./layout";
import { isSmall, MAGNIFIER_HEIGHT, type Spot } from "./magnifier";
import type { Atlas, Row } from "./map";
import { MapTooltip } from "./MapTooltip";
import { mapShapes, paletteOf, slicesShown, type Picture } from "./scene";
import { thingAt, usePointer, type Pointed } from "./pointer";
import { rulerShapes } from "./ruler";

const LABEL_WIDTH = 168;
const RULER_HEIGHT = 18;

export interface MapCanvasProps {
  label: string;
  lines: ReadonlySignal<readonly Line[]>;
  scales: ReadonlySignal<Scales>;
  axis: Axis;
  fit: ReadonlySignal<Fit>;
  /** Without ruler, magnifier and names. */
  compact: boolean;
  onLabel?: (row: Row) => void;
  table?: ComponentChildren;
  /** Receives the controls of the map. */
  controls?: { current: MapControls | null };
}

export interface MapControls {
  along(step: 1 | -1): void;
  across(step: 1 | -1): void;
  expert(step: 1 | -1): void;
  choose(): void;
  toggle(): void;
  zoom(factor: number): void;
  /** Fits the selection. */
  fit(): void;
  picture(): Picture | null;
  readonly focused: ReadonlySignal<boolean>;
}

function regionAt(map: Atlas, segment: string, from: number): number | null {
  const s = map.segments.segment.indexOf(segment);
  if (s < 0) return null;
  const first = map.segments.first_region[s]!;
  for (let r = first; r < first + map.segments.n_regions[s]!; r++) {
    const begin = map.regions.offset_bytes[r]!;
    if (from >= begin && from < begin + map.regions.size_bytes[r]!) return r;
  }
  return null;
}

export function MapCanvas(props: MapCanvasProps) {
  // Share of the box for the canvas: the table below it takes the rest.
  const { ref: proxy, size } = useSize<HTMLDivElement>();
  const base = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const scrollY = useSignal(0);
  const pointed = useSignal<Pointed | null>(null);
  const cursor = useSignal<Spot | null>(null);
  const expert = useSignal<number | null>(null);
  /** Where the keyboard is among pages: the first byte. */
  const page = useSignal<{ segment: string; from: number } | null>(null);
  const focused = useSignal(false);
  // Whether keys moved the cursor last: it is hidden while the mouse is used.
  const byKeys = useSignal(false);
  const lines = useComputed(() => props.lines.value);

  const geometry = useComputed(() => {
    const k = known.value;
    const { width, height } = size.value;
    if (!k || width < 50) return null;
    const top = props.compact ? 0 : RULER_HEIGHT;
    const fitting = Math.floor((height - top) / Math.max(1, lines.value.length));
    // Names are above the lanes of pages.
    const [least, most] = props.compact ? [14, 24] : pagedOf(props.scales.value.metric) ? [27, 40] : [14, 28];
    const lineHeight = Math.max(least, Math.min(most, fitting));
    const labelWidth = props.compact ? 72 : LABEL_WIDTH;
    return new Geometry({
      map: k.map, lines: lines.value, width, height, labelWidth, top, lineHeight,
      widths: widths.value === "rank" ? "rank" : "bytes", fit: props.fit.value,
    });
  });

  const bins = useBins(geometry, props.axis, () => pagedOf(props.scales.value.metric), props.compact);
  const cells = useComputed(() => {
    const g = geometry.value;
    const b = bins.value;
    const range = props.axis.range.value;
    if (!g || !b || b.map !== g.input.map || b.paged !== pagedOf(props.scales.value.metric)) return null;
    return cellsOf({ map: b.map, geometry: g, range, scrollY: Math.min(scrollY.value, g.mostScroll) }, b);
  });

  const picture = useComputed<Picture | null>(() => {
    const k = known.value;
    const g = geometry.value;
    if (!k || !g || g.input.map !== k.map) return null;
    const { tensor, layer, region } = selection.value;
    return {
      known: k, geometry: g, range: props.axis.range.value, scrollY: Math.min(scrollY.value, g.mostScroll), height: g.input.height,
      cells: cells.value, bins: bins.value,
      scales: props.scales.value, nowNs: nowNs.value, palette: paletteOf(isDark.value), compact: props.compact,
      selected: { tensor, layer, region: region && regionAt(k.map, region.segment, region.from) },
    };
  });

  // The item under the pointer, else under the cursor.
  const active = useComputed<Pointed | null>(() => {
    if (pointed.value) return pointed.value;
    const p = picture.value;
    const spot = cursor.value;
    if (!focused.value || !byKeys.value || !p || !spot || !p.geometry.input.lines[spot.line]?.row) return null;
    const within = proxy.current?.getBoundingClientRect();
    if (!within) return null;
    const y = p.geometry.lineTop(spot.line, p.scrollY) + p.geometry.input.lineHeight;
    const cell = cellOfPage(p, spot.line);
    if (cell) return { spot, expert: null, cell, x: within.left + cell.x + cell.width / 2, y: within.top + y };
    return { spot, expert: expert.value, cell: null, x: within.left + middleOf(p.geometry, p.range, spot), y: within.top + y };
  });

  /** The next cell of the row in that direction, from the one the keyboard is at or else from the tensor. */
  const stepPage = (p: Picture, spot: Spot, by: 1 | -1) => {
    const list = p.cells?.get(spot.line) ?? [];
    const now = cellOfPage(p, spot.line);
    const { row } = p.geometry.input.lines[spot.line]!;
    const at = middleOf(p.geometry, p.range, spot);
    const ahead = by > 0 ? list.findIndex((c) => c.x >= at) : list.findLastIndex((c) => c.x <= at);
    const next = list[now ? list.indexOf(now) + by : ahead];
    if (!next || !row) return announce(by > 0 ? "No more pages to the right" : "No more pages to the left");
    const item = row.regions.indexOf(regionOfCell(p.known, regionOf(p, spot), next));
    page.value = { segment: next.segment, from: next.from };
    byKeys.value = true;
    pointed.value = null;
    cursor.value = { line: spot.line, item: item >= 0 ? item : spot.item };
    say(p, cursor.value, null, next);
  };
  const cellOfPage = (p: Picture, line: number): Cell | null => {
    const at = page.value;
    return (at && p.cells?.get(line)?.find((c) => c.segment === at.segment && c.from <= at.from && at.from < c.to)) || null;
  };

  useEffect(() => drawing(base, () => picture.value, (p) => [...mapShapes(p), ...(props.compact ? [] : rulerShapes(p, active.value?.spot.line ?? null))], wholeMap), []);
  useEffect(() => drawing(over, () => picture.value, (p) => overlay(p, active.value)), []);

  const moveTo = (spot: Spot | null) => {
    const p = picture.value;
    if (!p || !spot) return;
    cursor.value = spot;
    expert.value = null;
    page.value = null;
    pointed.value = null;
    byKeys.value = true;
    scrollY.value = scrolledTo(p.geometry, spot.line, p.scrollY);
    bringIntoView(p.geometry, props.axis, spot);
    say(p, spot, null, null);
  };
  const current = (): Spot | null => {
    const p = picture.value;
    if (!p) return null;
    const spot = cursor.value;
    if (spot && p.geometry.input.lines[spot.line]?.row?.regions[spot.item] !== undefined) return spot;
    const chosen = p.selected.region ?? (p.selected.tensor ? p.known.map.byName.get(p.selected.tensor)?.[0] : undefined);
    return (chosen !== undefined ? spotOf(p.geometry, chosen) : null) ?? firstSpot(p.known.map, p.geometry);
  };
  const step = (by: (p: Picture, spot: Spot) => Spot) => {
    const p = picture.value;
    const spot = current();
    if (p && spot) moveTo(cursor.value ? by(p, spot) : spot);
  };

  const controls = useMemo<MapControls>(() => ({
    along: (by) => step((p, spot) => along(p.known.map, p.geometry, spot, by)),
    across: (by) => step((p, spot) => across(p.known.map, p.geometry, p.range, spot, by)),
    expert: (by) => {
      const p = picture.value;
      const spot = current();
      if (!p || !spot) return;
      if (p.cells) return stepPage(p, spot, by);
      const n = slicesShown(p.known, regionOf(p, spot));
      if (!n) return;
      byKeys.value = true;
      expert.value = expert.value === null ? (by > 0 ? 0 : n - 1) : (expert.value + by + n) % n;
      cursor.value = spot;
      say(p, spot, expert.value, null);
    },
    choose: () => {
      const p = picture.value;
      const spot = current();
      if (!p || !spot) return;
      const cell = cellOfPage(p, spot.line);
      if (cell) selectCell(p.known, regionOf(p, spot), cell);
      else selectRegion(p.known, regionOf(p, spot), expert.value);
    },
    toggle: () => {
      const spot = current();
      const row = spot && geometry.value?.input.lines[spot.line]?.row;
      if (row) props.onLabel?.(row);
    },
    zoom: (factor) => {
      const p = picture.value;
      const { from, to } = props.axis.target;
      const within = proxy.current?.getBoundingClientRect();
      if (p && pointed.value && within) {
        const share = (pointed.value.x - within.left - p.geometry.input.labelWidth) / p.geometry.plotWidth;
        return props.axis.zoom(factor, from + (to - from) * Math.min(1, Math.max(0, share)));
      }
      const spot = focused.value ? cursor.value : null;
      const range = p && spot && p.geometry.input.lines[spot.line]?.row ? p.geometry.range(spot.line, spot.item) : null;
      const middle = range ? Math.min(to, Math.max(from, (range.from + range.to) / 2)) : (from + to) / 2;
      props.axis.zoom(factor, middle);
    },
    fit: () => {
      const p = picture.value;
      const chosen = p && (p.selected.region ?? (p.selected.tensor ? p.known.map.byName.get(p.selected.tensor)?.[0] : undefined));
      const spot = p && (chosen !== null && chosen !== undefined ? spotOf(p.geometry, chosen) : cursor.value);
      if (!p || !spot) return props.axis.all();
      scrollY.value = scrolledTo(p.geometry, spot.line, p.scrollY);
      const { from, to } = p.geometry.range(spot.line, spot.item);
      return props.axis.fit(from, to);
    },
    picture: () => picture.value,
    focused,
  }), []);
  if (props.controls) props.controls.current = controls;

  usePointer({ props, proxy, picture, pointed, cursor, byKeys, scrollY });

  const menu: CanvasMenu = {
    at: (x, y) => {
      const p = picture.value;
      const found = p && thingAt(p, x, y);
      if (!p) return null;
      pointed.value = null;
      byKeys.value = false;
      if (found) {
        cursor.value = found.spot;
        return { x, y, ...menuOfRegion(p.known, regionOf(p, found.spot), found.expert, found.cell) };
      }
      const line = p.geometry.lineAt(y, p.scrollY);
      const layer = line < 0 ? null : (p.geometry.input.lines[line]!.row?.layer ?? null);
      return layer === null || x >= p.geometry.input.labelWidth ? null : { x, y, ...menuOfLayer(layer) };
    },
    ofKeys: () => {
      const p = picture.value;
      const spot = current();
      if (!p || !spot) return null;
      const cell = cellOfPage(p, spot.line);
      const y = p.geometry.lineTop(spot.line, p.scrollY) + p.geometry.input.lineHeight;
      const chosen = cursor.value ? expert.value : selection.peek().slice;
      pointed.value = null;
      return { x: cell ? cell.x + cell.width / 2 : middleOf(p.geometry, p.range, spot), y, ...menuOfRegion(p.known, regionOf(p, spot), chosen, cell) };
    },
  };

  const value = useComputed(() => {
    const p = picture.value;
    const a = active.value;
    return p && a ? describeSpot(p, a.spot, a.expert, a.cell) : undefined;
  });
  const magnified = () => {
    const p = picture.value;
    const a = active.value;
    if (!p || !a || props.compact || p.cells) return false;
    return isSmall(p.geometry, a.spot, p.range, markOf(p.geometry.layout(a.spot.line, p.range), a.spot.item));
  };
  return (
    <div class={props.compact ? "map compact" : "map"}>
      <CanvasView
        label={props.label}
        keys="Left and right arrows go from tensor to tensor, up and down from row to row, Enter selects; with Shift, left and right go from expert to expert, or from page to page where pages are shown. Shift with F10 opens a menu of it."
        value={value.value}
        focusRef={proxy}
        table={props.table}
        menu={menu}
        on={{
          onFocus: () => {
            focused.value = true;
          },
          onBlur: () => {
            focused.value = false;
          },
        }}
      >
        <canvas ref={base} />
        <canvas ref={over} />
      </CanvasView>
      {active.value && picture.value && (
        <MapTooltip known={picture.value.known} region={regionOf(picture.value, active.value.spot)} expert={active.value.expert} cell={active.value.cell} paged={pagedOf(picture.value.scales.metric)} pageBytes={picture.value.bins?.pageBytes ?? USUAL_PAGE_BYTES} x={active.value.x} y={active.value.y + (magnified() ? MAGNIFIER_HEIGHT : 0)} />
      )}
    </div>
  );
}

function pageSentence(p: Picture, spot: Spot, cell: Cell | null): string | null {
  const paged = pagedOf(p.scales.metric);
  if (!paged) return null;
  const region = cell ? regionOfCell(p.known, regionOf(p, spot), cell) : regionOf(p, spot);
  return `${regionTitle(p.known.map, region)}. ${cellSentence(p.known, paged, region, cell, p.bins?.pageBytes ?? USUAL_PAGE_BYTES)}`;
}

function describeSpot(p: Picture, spot: Spot, expert: number | null, cell: Cell | null): string {
  const region = regionOf(p, spot);
  const row = p.geometry.input.lines[spot.line]!.row!;
  const pages = pageSentence(p, spot, cell);
  if (pages) return `Row ${row.label}, ${pages}`;
  const unit = expert === null ? region : p.known.map.regions.first_slice[region]! + expert;
  const value = valueWords(p.scales.metric, valueOf(p.known, p.scales.metric, unit, region, p.nowNs));
  return `Row ${row.label}, ${regionTitle(p.known.map, region)}${expert === null ? "" : `, expert ${expert}`}: ${value}`;
}

function say(p: Picture, spot: Spot, expert: number | null, cell: Cell | null): void {
  const row = p.geometry.input.lines[spot.line]!.row!;
  announce(`Row ${row.label}. ${pageSentence(p, spot, cell) ?? sentence(p.known, tensors.peek(), regionOf(p, spot), expert)}`);
}
