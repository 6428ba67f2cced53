// The part of the run that the timeline shows, below the bars of its tokens: moved and resized here.

import { useSignal, useSignalEffect, type ReadonlySignal } from "@preact/signals";
import { useRef } from "preact/hooks";
import { pencil, sizeCanvas } from "../../draw/canvas";
import { isDark, themeColour } from "../../draw/colour";
import type { Size } from "../../parts/useSize";
import { playhead_ns } from "../../state/playback";
import { selection } from "../../state/selection";
import { summary, tokenStretch } from "../../state/trace";
import { hasExtent, timeAxis } from "../../state/timeWindow";
import { placeOf, timeAt, type Places } from "./places";
import { pitch } from "./strip";

/** Pixels beside the window's edge that still grab it. */
const HANDLE = 6;

type Grip = { kind: "from" | "to" | "both" | "new"; offset: number } | null;

function useDragging(box: { current: HTMLElement | null }, places: () => Places) {
  const grip = useRef<Grip>(null);
  const cursor = useSignal("grab");
  const place = (event: PointerEvent): { x: number; width: number; ns: number } => {
    const { left, width } = box.current!.getBoundingClientRect();
    const x = event.clientX - left;
    return { x, width, ns: timeAt(places(), x) };
  };
  const find = (event: PointerEvent): NonNullable<Grip> => {
    const { x, ns } = place(event);
    const { from, to } = timeAxis.range.peek();
    const whole = timeAxis.extent;
    const at = (v: number) => placeOf(places(), v);
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

/** Ready to draw in CSS pixels; null: it has no size yet. */
function contextOf(canvas: HTMLCanvasElement | null, size: Size): CanvasRenderingContext2D | null {
  const c = canvas && size.width ? pencil(canvas) : null;
  if (!canvas || !c) return null;
  sizeCanvas(canvas, size.width, size.height);
  const ratio = canvas.width / size.width;
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  return c;
}

/** The window, the selection and the playhead. */
function draw(c: CanvasRenderingContext2D, size: Size, places: Places): void {
  const x = (ns: number) => placeOf(places, ns);
  const span = (from: number, to: number, least: number) => [x(from), Math.max(least, x(to) - x(from))] as const;
  const { from, to } = timeAxis.range.value;
  const { time, token } = selection.value;
  c.clearRect(0, 0, size.width, size.height);
  c.fillStyle = themeColour("--ground-3");
  c.fillRect(0, 2, places.pitch * places.batches.batch_id.length, size.height - 4);
  const [left, width] = span(from, to, 4);
  c.fillStyle = themeColour("--accent");
  c.globalAlpha = 0.55;
  c.fillRect(left, 1, width, size.height - 2);
  c.globalAlpha = 1;
  c.fillRect(left, 1, 2, size.height - 2);
  c.fillRect(left + width - 2, 1, 2, size.height - 2);
  const selected = time ?? tokenStretch(token);
  c.fillStyle = themeColour("--mark");
  if (selected) {
    const [at, wide] = span(selected[0], selected[1], 2);
    c.fillRect(at, size.height / 2 - 1, wide, 2);
  }
  if (playhead_ns.value !== null) c.fillRect(x(playhead_ns.value) - 1, 0, 2, size.height);
}

function Window(props: { size: ReadonlySignal<Size> }) {
  const { size } = props;
  const box = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const places = (): Places => {
    const { batches } = summary.value!;
    const { from, to } = timeAxis.extent;
    const n = Math.max(1, batches.batch_id.length);
    return { batches, pitch: batches.batch_id.length ? pitch({ batches, ...size.value }) : size.value.width / n, from_ns: from, to_ns: to };
  };
  const drag = useDragging(box, places);
  useSignalEffect(() => {
    isDark.value;
    const { width } = size.value;
    const high = box.current?.clientHeight ?? 0;
    const c = contextOf(canvas.current, { width, height: high });
    // Its extent changes with the summary.
    if (c && summary.value) draw(c, { width, height: high }, places());
  });
  return (
    <div
      class={`rail rail-${drag.cursor.value}`}
      ref={box}
      // For the pointer; keys move the timeline itself.
      aria-hidden="true"
      title="The part that the timeline shows: drag it, or its edges, or drag beside it for another part; double-click: all"
      onPointerDown={drag.down}
      onPointerMove={drag.move}
      onPointerUp={drag.up}
      onDblClick={() => timeAxis.all()}
    >
      <canvas ref={canvas} />
    </div>
  );
}

/** Below the bars, as wide as they are. */
export function Rail(props: { size: ReadonlySignal<Size> }) {
  return hasExtent.value && summary.value ? <Window size={props.size} /> : null;
}
