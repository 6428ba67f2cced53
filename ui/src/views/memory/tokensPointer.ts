// Working the picture of what each token read with a pointer: pointing, choosing, dragging, zooming.

import type { ReadonlySignal, Signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { Axis } from "../../draw/axis";
import { cellAt, LEFT, plotWidth, type Grid, type Plot } from "./tokens";
import { choose } from "./tokensChoice";

export interface PointedCell {
  readonly row: number;
  readonly column: number;
  /** In the window. */
  readonly x: number;
  readonly y: number;
}

interface Parts {
  proxy: { current: HTMLDivElement | null };
  grid: ReadonlySignal<Grid | null>;
  plot: ReadonlySignal<Plot>;
  pointed: Signal<PointedCell | null>;
  axis: Axis;
  zoom: (factor: number, at: number) => void;
}

/** Pixels that a pointer may move and still click. */
const STILL_PX = 4;

export function useTokensPointer({ proxy, grid, plot, pointed, axis, zoom }: Parts): void {
  useEffect(() => {
    const element = proxy.current;
    if (!element) return undefined;
    let drag: { x: number; from: number; to: number; moved: boolean } | null = null;
    const xIn = (event: MouseEvent) => event.clientX - element.getBoundingClientRect().left;
    const find = (event: MouseEvent) => grid.peek() && cellAt(plot.peek(), grid.peek()!, xIn(event), event.clientY - element.getBoundingClientRect().top);
    const on = {
      pointerdown: (event: PointerEvent) => {
        if (event.button !== 0) return;
        drag = { x: event.clientX, ...axis.target, moved: false };
        element.setPointerCapture(event.pointerId);
      },
      pointermove: (event: PointerEvent) => {
        const dx = drag ? event.clientX - drag.x : 0;
        if (drag && (drag.moved || Math.abs(dx) > STILL_PX)) {
          drag.moved = true;
          pointed.value = null;
          const by = (-dx / plotWidth(plot.peek())) * (drag.to - drag.from);
          return axis.go({ from: drag.from + by, to: drag.to + by }, true);
        }
        const at = find(event);
        pointed.value = at && { ...at, x: event.clientX, y: event.clientY };
      },
      pointerup: (event: PointerEvent) => {
        const was = drag;
        drag = null;
        const at = was && !was.moved ? find(event) : null;
        if (at) choose(grid.peek()!, at.row, at.column);
      },
      pointercancel: () => {
        drag = null;
      },
      pointerleave: () => {
        pointed.value = null;
      },
      dblclick: () => axis.all(),
      wheel: (event: WheelEvent) => {
        event.preventDefault();
        const delta = event.deltaY || event.deltaX;
        const share = Math.min(1, Math.max(0, (xIn(event) - LEFT) / plotWidth(plot.peek())));
        const { from, to } = axis.target;
        if (event.ctrlKey || event.metaKey) zoom(Math.exp(delta * 0.002), from + (to - from) * share);
        else axis.pan(delta / plotWidth(plot.peek()));
      },
    };
    for (const [name, run] of Object.entries(on)) element.addEventListener(name, run as EventListener, { passive: false });
    return () => {
      for (const [name, run] of Object.entries(on)) element.removeEventListener(name, run as EventListener);
    };
  }, []);
}
