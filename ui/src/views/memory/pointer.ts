// Working the map with a pointer: pointing, choosing, dragging, scrolling, zooming.

import type { ReadonlySignal, Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { select } from "../../state/selection";
import { regionOf, selectCell, selectRegion } from "./choose";
import { expertAt, spotAt } from "./cursor";
import type { Spot } from "./magnifier";
import { cellAt, type Cell } from "./pages";
import type { MapCanvasProps } from "./MapCanvas";
import { slicesShown, type Picture } from "./scene";

export interface Pointed {
  readonly spot: Spot;
  readonly expert: number | null;
  /** By page: what faulted or was loaded there. */
  readonly cell: Cell | null;
  /** In the window, for the tooltip. */
  readonly x: number;
  readonly y: number;
}

interface PointerParts {
  props: Pick<MapCanvasProps, "axis" | "compact" | "onLabel">;
  proxy: { current: HTMLDivElement | null };
  picture: ReadonlySignal<Picture | null>;
  pointed: Signal<Pointed | null>;
  cursor: Signal<Spot | null>;
  byKeys: Signal<boolean>;
  scrollY: Signal<number>;
}

/** What is drawn at a position of the canvas. */
export function thingAt(p: Picture, x: number, y: number): Omit<Pointed, "x" | "y"> | null {
  const spot = spotAt(p.geometry, p.range, p.scrollY, x, y);
  if (!spot) return null;
  const n = p.cells ? 0 : slicesShown(p.known, regionOf(p, spot));
  return { spot, expert: n ? expertAt(p.geometry, p.range, spot, x, n) : null, cell: cellAt(p.cells, spot.line, x) };
}

/** Pixels that a pointer may move and still click. */
const STILL_PX = 4;

export function usePointer({ props, proxy, picture, pointed, cursor, byKeys, scrollY }: PointerParts): void {
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
      const { x, y } = place(event);
      const found = p && thingAt(p, x, y);
      return found && { ...found, x: event.clientX, y: event.clientY };
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
        if (hit.cell) selectCell(p.known, regionOf(p, hit.spot), hit.cell);
        else selectRegion(p.known, regionOf(p, hit.spot), hit.expert);
      } else if (row && x < p.geometry.input.labelWidth) {
        if (row.layer !== null) select({ layer: row.layer });
        else props.onLabel?.(row);
      }
    };
    const twice = (event: MouseEvent) => {
      const hit = find(event);
      const p = picture.value;
      if (!hit || !p || props.compact) return;
      const { from, to } = p.geometry.range(hit.spot.line, hit.spot.item);
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
