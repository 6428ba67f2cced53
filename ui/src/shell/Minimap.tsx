// The whole run, with the part that the timeline shows: under every view.

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import { duration } from "../draw/format";
import { pencil, sizeCanvas } from "../draw/rects";
import { isDark } from "../draw/colour";
import { useSize, type Size } from "../parts/useSize";
import { summary, tokenStretch } from "../state/trace";
import { selection } from "../state/selection";
import { overview } from "../views/timeline/overview";
import { hasExtent, timeAxis } from "../views/timeline/window";
import { drawRun, drawWindow } from "./minimap-draw";
import "./minimap.css";

/** Pixels beside the window's edge that still grab it. */
const HANDLE = 6;

type Grip = { kind: "from" | "to" | "both" | "new"; offset: number } | null;

function useDragging(box: { current: HTMLElement | null }) {
  const grip = useRef<Grip>(null);
  const cursor = useSignal("grab");
  const place = (event: PointerEvent): { x: number; width: number; ns: number } => {
    const { left, width } = box.current!.getBoundingClientRect();
    const { from, to } = timeAxis.extent;
    const x = event.clientX - left;
    return { x, width, ns: from + ((to - from) * x) / width };
  };
  const find = (event: PointerEvent): NonNullable<Grip> => {
    const { x, width, ns } = place(event);
    const { from, to } = timeAxis.range.peek();
    const whole = timeAxis.extent;
    const at = (v: number) => ((v - whole.from) / (whole.to - whole.from)) * width;
    const wide = at(to) - at(from) > 3 * HANDLE;
    if (wide && Math.abs(x - at(from)) < HANDLE) return { kind: "from", offset: 0 };
    if (wide && Math.abs(x - at(to)) < HANDLE) return { kind: "to", offset: 0 };
    // The full range cannot be moved: a part is selected instead.
    const all = to - from > 0.98 * (whole.to - whole.from);
    if (!all && x > at(from) - HANDLE && x < at(to) + HANDLE) return { kind: "both", offset: ns - from };
    return { kind: "new", offset: ns };
  };
  return {
    cursor,
    down: (event: PointerEvent) => {
      if (event.button !== 0) return;
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
      grip.current = find(event);
    },
    move: (event: PointerEvent) => {
      const held = grip.current;
      const { ns } = place(event);
      if (!held) {
        const { kind } = find(event);
        cursor.value = kind === "both" ? "grab" : kind === "new" ? "crosshair" : "ew-resize";
        return;
      }
      const { from, to } = timeAxis.target;
      if (held.kind === "both") timeAxis.go({ from: ns - held.offset, to: ns - held.offset + to - from }, true);
      else if (held.kind === "from") timeAxis.go({ from: Math.min(ns, to), to }, true);
      else if (held.kind === "to") timeAxis.go({ from, to: Math.max(ns, from) }, true);
      else if (ns !== held.offset)
        timeAxis.go({ from: Math.min(ns, held.offset), to: Math.max(ns, held.offset) }, true);
    },
    up: (event: PointerEvent) => {
      const held = grip.current;
      grip.current = null;
      // A click beside the window brings it there.
      const { ns } = place(event);
      const { from, to } = timeAxis.extent;
      if (held?.kind === "new" && Math.abs(ns - held.offset) < (to - from) / 1000) timeAxis.centre(ns, ns);
    },
  };
}

function keyed(event: KeyboardEvent): void {
  const { from, to } = timeAxis.extent;
  const moves: Record<string, () => void> = {
    ArrowLeft: () => timeAxis.pan(-0.25),
    ArrowRight: () => timeAxis.pan(0.25),
    ArrowUp: () => timeAxis.zoom(0.5, (timeAxis.target.from + timeAxis.target.to) / 2),
    ArrowDown: () => timeAxis.zoom(2, (timeAxis.target.from + timeAxis.target.to) / 2),
    PageUp: () => timeAxis.pan(-1),
    PageDown: () => timeAxis.pan(1),
    Home: () => timeAxis.centre(from, from),
    End: () => timeAxis.centre(to, to),
  };
  const move = moves[event.code];
  if (!move || event.ctrlKey || event.altKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  move();
}

/** Ready to draw in CSS pixels; null: it has no size yet. */
function contextOf(canvas: HTMLCanvasElement | null, size: Size): CanvasRenderingContext2D | null {
  const c = canvas && size.width ? pencil(canvas) : null;
  if (!canvas || !c) return null;
  sizeCanvas(canvas, size.width, size.height);
  const ratio = canvas.width / size.width;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  return c;
}

function Map() {
  const { ref, size } = useSize<HTMLDivElement>();
  const below = useRef<HTMLCanvasElement>(null);
  const above = useRef<HTMLCanvasElement>(null);
  const drag = useDragging(ref);
  useSignalEffect(() => {
    const c = contextOf(below.current, size.value);
    isDark.value;
    // Its extent changes with the summary.
    if (c) drawRun(c, size.value, timeAxis.extent, overview.value, summary.value?.batches ?? null);
  });
  useSignalEffect(() => {
    const c = contextOf(above.current, size.value);
    isDark.value;
    const { time, token } = selection.value;
    if (c) drawWindow(c, size.value, timeAxis.extent, timeAxis.range.value, time ?? tokenStretch(token));
  });
  const words = useComputed(() => {
    const { from, to } = timeAxis.range.value;
    return `${duration(to - from)} from ${duration(from)} on`;
  });
  return (
    <section class="minimap" aria-label="The whole run">
      <div
        class={`minimap-area minimap-${drag.cursor.value}`}
        ref={ref}
        role="slider"
        tabIndex={0}
        aria-label="The part of the run that the timeline shows"
        aria-valuemin={0}
        aria-valuemax={1000}
        aria-valuenow={Math.round(
          (1000 * (timeAxis.range.value.from - timeAxis.extent.from)) / (timeAxis.extent.to - timeAxis.extent.from),
        )}
        aria-valuetext={words.value}
        title="The whole run: drag the window to move it, or drag beside it to select another one"
        onPointerDown={drag.down}
        onPointerMove={drag.move}
        onPointerUp={drag.up}
        onDblClick={() => timeAxis.all()}
        onKeyDown={keyed}
      >
        <canvas ref={below} aria-hidden="true" />
        <canvas ref={above} aria-hidden="true" />
      </div>
    </section>
  );
}

/** Under every view. */
export function Minimap() {
  return hasExtent.value ? <Map /> : null;
}
