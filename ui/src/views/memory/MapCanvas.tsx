// The map on a canvas: drawn, pointed at, worked with the keyboard.

import { effect, signal, useComputed, useSignal, type ReadonlySignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { Axis } from "../../draw/axis";
import { isDark } from "../../draw/colour";
import { sizeCanvas } from "../../draw/rects";
import { announce } from "../../parts/announce";
import { CanvasView } from "../../parts/CanvasView";
import { useSize } from "../../parts/useSize";
import { select, selection } from "../../state/selection";
import { tensors } from "../../state/trace";
import { across, along, bringIntoView, expertAt, firstSpot, middleOf, scrolledTo, spotAt, spotOf } from "./cursor";
import { known, nowNs, widths } from "./data";
import { regionTitle, sentence, valueWords } from "./describe";
import { Geometry, type Fit, type Line } from "./geometry";
import { valueOf, type Known, type Scales } from "./heat";
import { markOf } from "./layout";
import { isSmall, MAGNIFIER_HEIGHT, magnifierShapes, type Spot } from "./magnifier";
import type { Atlas, Row } from "./map";
import { MapTooltip } from "./MapTooltip";
import { mapShapes, paletteOf, slicesShown, type Picture } from "./scene";
import { paint, type Shape } from "./shapes";
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
  /** Gets what works the map from outside. */
  controls?: { current: MapControls | null };
}

export interface MapControls {
  along(step: 1 | -1): void;
  across(step: 1 | -1): void;
  expert(step: 1 | -1): void;
  choose(): void;
  toggle(): void;
  zoom(factor: number): void;
  /** Centres what is selected; again: fits it. */
  centre(): void;
  picture(): Picture | null;
  readonly focused: ReadonlySignal<boolean>;
}

/** Something pointed at: where, and by what. */
interface Pointed {
  readonly spot: Spot;
  readonly expert: number | null;
  /** In the window, for the tooltip. */
  readonly x: number;
  readonly y: number;
}

function regionAt(map: Atlas, space: string, from: number): number | null {
  const s = map.spaces.space.indexOf(space);
  if (s < 0) return null;
  const first = map.spaces.first_region[s]!;
  for (let r = first; r < first + map.spaces.n_regions[s]!; r++) {
    const begin = map.regions.offset_bytes[r]!;
    if (from >= begin && from < begin + map.regions.size_bytes[r]!) return r;
  }
  return null;
}

/** Selects what lies there: its tensor, its layer, its bytes. */
export function selectRegion(k: Known, region: number, expert: number | null): void {
  const { regions, spaces } = k.map;
  const n = regions.n_slices[region]!;
  const size = regions.size_bytes[region]!;
  const each = expert === null ? size : Math.floor(size / n);
  const from = regions.offset_bytes[region]! + (expert ?? 0) * each;
  const to = expert === null || expert + 1 < n ? from + each : regions.offset_bytes[region]! + size;
  select({
    tensor: regions.tensor[region] ?? null,
    layer: regions.layer_id[region] ?? null,
    region: { space: spaces.space[k.map.spaceOf[region]!]!, from, to },
    op: null,
  });
}

export function MapCanvas(props: MapCanvasProps) {
  const { ref: box, size } = useSize<HTMLDivElement>();
  const base = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const proxy = useRef<HTMLDivElement | null>(null);
  const scrollY = useSignal(0);
  const pointed = useSignal<Pointed | null>(null);
  const cursor = useSignal<Spot | null>(null);
  const expert = useSignal<number | null>(null);
  const focused = useSignal(false);
  // Whether the cursor was moved last by keys: who points with a mouse does not want to see it.
  const byKeys = useSignal(false);
  const lines = useComputed(() => props.lines.value);

  const geometry = useComputed(() => {
    const k = known.value;
    const { width, height } = size.value;
    if (!k || width < 50) return null;
    const top = props.compact ? 0 : RULER_HEIGHT;
    const fitting = Math.floor((height - top) / Math.max(1, lines.value.length));
    const lineHeight = Math.max(14, Math.min(props.compact ? 24 : 28, fitting));
    const labelWidth = props.compact ? 72 : LABEL_WIDTH;
    return new Geometry({
      map: k.map, lines: lines.value, width, height, labelWidth, top, lineHeight,
      widths: widths.value === "rank" ? "rank" : "bytes", fit: props.fit.value,
    });
  });

  const picture = useComputed<Picture | null>(() => {
    const k = known.value;
    const g = geometry.value;
    if (!k || !g || g.input.map !== k.map) return null;
    const { tensor, layer, region } = selection.value;
    return {
      known: k, geometry: g, range: props.axis.range.value, scrollY: Math.min(scrollY.value, g.mostScroll), height: g.input.height,
      scales: props.scales.value, nowNs: nowNs.value, palette: paletteOf(isDark.value), compact: props.compact,
      selected: { tensor, layer, region: region && regionAt(k.map, region.space, region.from) },
    };
  });

  // What is pointed at; else what the keyboard is at.
  const active = useComputed<Pointed | null>(() => {
    if (pointed.value) return pointed.value;
    const p = picture.value;
    const spot = cursor.value;
    if (!focused.value || !byKeys.value || !p || !spot || !p.geometry.input.lines[spot.line]?.row) return null;
    const within = proxy.current?.getBoundingClientRect();
    if (!within) return null;
    const y = p.geometry.lineTop(spot.line, p.scrollY) + p.geometry.input.lineHeight;
    return { spot, expert: expert.value, x: within.left + middleOf(p.geometry, p.range, spot), y: within.top + y };
  });

  useEffect(() => drawing(base, () => picture.value, (p) => [...mapShapes(p), ...(props.compact ? [] : rulerShapes(p, active.value?.spot.line ?? null))]), []);
  useEffect(() => drawing(over, () => picture.value, (p) => overlay(p, active.value)), []);

  const moveTo = (spot: Spot | null) => {
    const p = picture.value;
    if (!p || !spot) return;
    cursor.value = spot;
    expert.value = null;
    pointed.value = null;
    byKeys.value = true;
    scrollY.value = scrolledTo(p.geometry, spot.line, p.scrollY);
    bringIntoView(p.geometry, props.axis, spot);
    say(p, spot, null);
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
      const n = slicesShown(p.known, regionOf(p, spot));
      if (!n) return;
      byKeys.value = true;
      expert.value = expert.value === null ? (by > 0 ? 0 : n - 1) : (expert.value + by + n) % n;
      cursor.value = spot;
      say(p, spot, expert.value);
    },
    choose: () => {
      const p = picture.value;
      const spot = current();
      if (p && spot) selectRegion(p.known, regionOf(p, spot), expert.value);
    },
    toggle: () => {
      const spot = current();
      const row = spot && geometry.value?.input.lines[spot.line]?.row;
      if (row) props.onLabel?.(row);
    },
    zoom: (factor) => {
      const p = picture.value;
      const { from, to } = props.axis.target;
      const at = pointed.value ?? null;
      const spot = at?.spot ?? (focused.value ? cursor.value : null);
      const stretch = p && spot && p.geometry.input.lines[spot.line]?.row ? p.geometry.stretch(spot.line, spot.item) : null;
      const middle = stretch ? Math.min(to, Math.max(from, (stretch.from + stretch.to) / 2)) : (from + to) / 2;
      props.axis.zoom(factor, middle);
    },
    centre: () => {
      const p = picture.value;
      const chosen = p && (p.selected.region ?? (p.selected.tensor ? p.known.map.byName.get(p.selected.tensor)?.[0] : undefined));
      const spot = p && (chosen !== null && chosen !== undefined ? spotOf(p.geometry, chosen) : cursor.value);
      if (!p || !spot) return props.axis.all();
      scrollY.value = scrolledTo(p.geometry, spot.line, p.scrollY);
      const { from, to } = p.geometry.stretch(spot.line, spot.item);
      const shown = props.axis.target;
      const isCentred = Math.abs((shown.from + shown.to) / 2 - (from + to) / 2) < (shown.to - shown.from) * 0.02 || shown.to - shown.from >= 1;
      return isCentred ? props.axis.fit(from, to) : props.axis.centre(from, to);
    },
    picture: () => picture.value,
    focused,
  }), []);
  if (props.controls) props.controls.current = controls;

  usePointer({ props, proxy, picture, pointed, cursor, byKeys, scrollY });

  const value = useComputed(() => {
    const p = picture.value;
    const a = active.value;
    return p && a ? describeSpot(p, a.spot, a.expert) : undefined;
  });
  const magnified = () => {
    const p = picture.value;
    const a = active.value;
    if (!p || !a || props.compact) return false;
    return isSmall(p.geometry, a.spot, p.range, markOf(p.geometry.layout(a.spot.line, p.range), a.spot.item));
  };
  return (
    <div class={props.compact ? "map compact" : "map"} ref={box}>
      <CanvasView
        label={props.label}
        keys="Left and right arrows go from tensor to tensor, up and down from row to row, Enter selects; with Shift, left and right go from expert to expert."
        value={value.value}
        focusRef={proxy}
        table={props.table}
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
        <MapTooltip known={picture.value.known} region={regionOf(picture.value, active.value.spot)} expert={active.value.expert} x={active.value.x} y={active.value.y + (magnified() ? MAGNIFIER_HEIGHT : 0)} />
      )}
    </div>
  );
}

function regionOf(p: Picture, spot: Spot): number {
  return p.geometry.input.lines[spot.line]!.row!.regions[spot.item]!;
}

function describeSpot(p: Picture, spot: Spot, expert: number | null): string {
  const region = regionOf(p, spot);
  const row = p.geometry.input.lines[spot.line]!.row!;
  const unit = expert === null ? region : p.known.map.regions.first_slice[region]! + expert;
  const value = valueWords(p.scales.metric, valueOf(p.known, p.scales.metric, unit, region, p.nowNs));
  return `Row ${row.label}, ${regionTitle(p.known.map, region)}${expert === null ? "" : `, expert ${expert}`}: ${value}`;
}

function say(p: Picture, spot: Spot, expert: number | null): void {
  const row = p.geometry.input.lines[spot.line]!.row!;
  announce(`Row ${row.label}. ${sentence(p.known, tensors.peek(), regionOf(p, spot), expert)}`);
}

/** Draws at the next frame whenever something that it is made of has changed. */
function drawing(canvas: { current: HTMLCanvasElement | null }, pictureOf: () => Picture | null, shapesOf: (p: Picture) => Shape[]): () => void {
  let frame = 0;
  const stop = effect(() => {
    const p = pictureOf();
    const shapes = p ? shapesOf(p) : [];
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const element = canvas.current;
      const c = element?.getContext("2d");
      if (!element || !c || !p) return;
      const { width } = p.geometry.input;
      sizeCanvas(element, width, p.height);
      c.setTransform(element.width / width, 0, 0, element.width / width, 0, 0);
      c.clearRect(0, 0, width, p.height);
      paint(c, shapes);
    });
  });
  return () => {
    stop();
    cancelAnimationFrame(frame);
  };
}

function overlay(p: Picture, a: Pointed | null): Shape[] {
  if (!a || !p.geometry.input.lines[a.spot.line]?.row) return [];
  const layout = p.geometry.layout(a.spot.line, p.range);
  const at = markOf(layout, a.spot.item);
  const mark = layout.marks[at];
  if (!mark) return [];
  const x = p.geometry.toX(mark.x, p.range);
  const top = p.geometry.lineTop(a.spot.line, p.scrollY);
  const h = p.geometry.input.lineHeight;
  const left = Math.max(x - 0.5, p.geometry.input.labelWidth - 1);
  const right = Math.min(x + mark.width - 0.5, p.geometry.input.labelWidth + p.geometry.plotWidth + 1);
  const frame: Shape = { t: "frame", x: left, y: top + 0.5, w: Math.max(2, right - left), h: h - 1, ink: p.palette.accent, width: 2 };
  const small = !p.compact && isSmall(p.geometry, a.spot, p.range, at);
  return small ? [frame, ...magnifierShapes(p, a.spot, x + mark.width / 2)] : [frame];
}

interface PointerParts {
  props: MapCanvasProps;
  proxy: { current: HTMLDivElement | null };
  picture: ReadonlySignal<Picture | null>;
  pointed: ReturnType<typeof signal<Pointed | null>>;
  cursor: ReturnType<typeof signal<Spot | null>>;
  byKeys: ReturnType<typeof signal<boolean>>;
  scrollY: ReturnType<typeof signal<number>>;
}

/** Pixels that a pointer may move and still click. */
const STILL_PX = 4;

function usePointer({ props, proxy, picture, pointed, cursor, byKeys, scrollY }: PointerParts): void {
  useEffect(() => {
    const element = proxy.current;
    if (!element) return undefined;
    let drag: { x: number; y: number; from: number; to: number; scrollY: number; moved: boolean } | null = null;
    const place = (event: PointerEvent | MouseEvent) => {
      const within = element.getBoundingClientRect();
      return { x: event.clientX - within.left, y: event.clientY - within.top };
    };
    const find = (event: PointerEvent | MouseEvent): Pointed | null => {
      const p = picture.value;
      if (!p) return null;
      const { x, y } = place(event);
      const spot = spotAt(p.geometry, p.range, p.scrollY, x, y);
      if (!spot) return null;
      const n = slicesShown(p.known, regionOf(p, spot));
      const expert = n ? expertAt(p.geometry, p.range, spot, x, n) : null;
      return { spot, expert, x: event.clientX, y: event.clientY };
    };
    const down = (event: PointerEvent) => {
      byKeys.value = false;
      if (event.button !== 0) return;
      const { from, to } = props.axis.target;
      drag = { x: event.clientX, y: event.clientY, from, to, scrollY: picture.value?.scrollY ?? 0, moved: false };
      element.setPointerCapture(event.pointerId);
    };
    const move = (event: PointerEvent) => {
      const p = picture.value;
      if (!drag || !p) {
        pointed.value = find(event);
        return;
      }
      const dx = event.clientX - drag.x;
      const dy = event.clientY - drag.y;
      drag.moved ||= Math.hypot(dx, dy) > STILL_PX;
      if (!drag.moved || props.compact) return;
      pointed.value = null;
      const by = (-dx / p.geometry.plotWidth) * (drag.to - drag.from);
      props.axis.go({ from: drag.from + by, to: drag.to + by }, true);
      scrollY.value = Math.max(0, drag.scrollY - dy);
    };
    const up = (event: PointerEvent) => {
      const was = drag;
      drag = null;
      const p = picture.value;
      if (!was || was.moved || !p) return;
      const { x, y } = place(event);
      const hit = find(event);
      const line = p.geometry.lineAt(y, p.scrollY);
      const row = line < 0 ? null : p.geometry.input.lines[line]!.row;
      if (hit) {
        cursor.value = hit.spot;
        selectRegion(p.known, regionOf(p, hit.spot), hit.expert);
      } else if (row && x < p.geometry.input.labelWidth) {
        if (row.layer !== null) select({ layer: row.layer });
        else props.onLabel?.(row);
      }
    };
    const twice = (event: MouseEvent) => {
      const hit = find(event);
      const p = picture.value;
      if (!hit || !p || props.compact) return;
      const { from, to } = p.geometry.stretch(hit.spot.line, hit.spot.item);
      props.axis.fit(from, to);
    };
    const wheel = (event: WheelEvent) => {
      const p = picture.value;
      if (!p || props.compact) return;
      const delta = event.deltaY || event.deltaX;
      event.preventDefault();
      if (event.ctrlKey || event.metaKey) {
        const share = (place(event).x - p.geometry.input.labelWidth) / p.geometry.plotWidth;
        const { from, to } = props.axis.target;
        props.axis.zoom(Math.exp(delta * 0.002), from + (to - from) * Math.min(1, Math.max(0, share)));
      } else if (event.shiftKey || event.deltaX !== 0) props.axis.pan(delta / p.geometry.plotWidth);
      else {
        scrollY.value = Math.min(p.geometry.mostScroll, Math.max(0, p.scrollY + delta));
        pointed.value = null;
      }
    };
    const leave = () => {
      pointed.value = null;
    };
    const cancel = () => {
      drag = null;
    };
    const listeners: [string, (event: never) => void][] = [
      ["pointerdown", down], ["pointermove", move], ["pointerup", up], ["pointerleave", leave],
      ["pointercancel", cancel], ["dblclick", twice], ["wheel", wheel],
    ];
    for (const [name, run] of listeners) element.addEventListener(name, run as EventListener, { passive: false });
    return () => {
      for (const [name, run] of listeners) element.removeEventListener(name, run as EventListener);
    };
  }, []);
}
