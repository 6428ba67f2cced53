// How much memory there was over time, stacked by kind; a click looks at a moment.

import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { backingText, kindText, type Curve, type CurveSeries } from "../../api/buffers";
import { isDark } from "../../draw/colour";
import { bytes, duration, when } from "../../draw/format";
import { totals } from "../../draw/buffers";
import { announce } from "../../parts/announce";
import { CanvasView } from "../../parts/CanvasView";
import { useSize } from "../../parts/useSize";
import { select, selection } from "../../state/selection";
import { tokenStretch } from "../../state/trace";
import { draw, timeAt, type Frame } from "./draw";
import { axis, lookAt, momentAt } from "./state";

function stepAt(curve: Curve, ns: number): number {
  return curve.time_relative_ns.findLastIndex((t) => t <= ns);
}

export function stepWords(curve: Curve, series: readonly CurveSeries[], i: number): string {
  if (i < 0) return "before the first buffer";
  const parts = series.filter((s) => (s.size_bytes[i] ?? 0) > 0).map((s) => `${kindText(s.kind)}${s.backing === "allocated" ? "" : `, ${backingText(s.backing)},`} ${bytes(s.size_bytes[i])}`);
  return `${when(curve.time_relative_ns[i])}: ${bytes(totals(series, i))} in all; ${parts.join("; ")}`;
}

function StepTable(props: { curve: Curve; series: readonly CurveSeries[] }) {
  const { curve, series } = props;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">From</th>
          <th scope="col" class="number">
            All
          </th>
          {series.map((s) => (
            <th scope="col" class="number" key={s.kind + s.backing}>
              {kindText(s.kind)} ({backingText(s.backing)})
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {curve.time_relative_ns.map((t, i) => (
          <tr key={i}>
            <th scope="row">{duration(t)}</th>
            <td class="number">{bytes(totals(series, i))}</td>
            {series.map((s) => (
              <td class="number" key={s.kind + s.backing}>
                {bytes(s.size_bytes[i])}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

export function Plot(props: { curve: Curve; series: readonly CurveSeries[]; peak_ns: number | null }) {
  const { curve, series, peak_ns } = props;
  const { ref, size } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const drag = useRef<{ x: number; from: number; moved: boolean } | null>(null);
  const frame = (): Frame => ({ ...size.peek(), range: axis.range.peek() });
  useSignalEffect(() => {
    const f = { ...size.value, range: axis.range.value };
    isDark.value;
    const time = selection.value.time ?? tokenStretch(selection.value.token);
    const at = momentAt();
    if (canvas.current && f.width > 0 && f.height > 0) draw(canvas.current, f, curve, series, { at, time, peak: peak_ns });
  });
  // The effect above runs when a signal changes; a new curve is not a signal.
  const { width, height } = size.value;
  useEffect(() => {
    if (!canvas.current || width === 0 || height === 0) return;
    draw(canvas.current, frame(), curve, series, { at: momentAt(), time: selection.peek().time ?? tokenStretch(selection.peek().token), peak: peak_ns });
  }, [curve, series, width, height]);

  useEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const onWheel = (event: WheelEvent) => {
      if (!event.ctrlKey && !event.shiftKey) return;
      event.preventDefault();
      const at = timeAt(frame(), event.offsetX);
      if (event.ctrlKey) axis.zoom(Math.exp(event.deltaY / 300), at);
      else axis.pan((event.deltaY || event.deltaX) / 1000);
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);

  const dragTo = (a: number, b: number, transient: boolean) =>
    select({ time: [Math.round(Math.min(a, b)), Math.round(Math.max(a, b)) + 1] }, transient);
  const look = (i: number) => {
    lookAt(i < 0 ? null : (curve.time_relative_ns[i] ?? null));
    announce(stepWords(curve, series, i));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const now = stepAt(curve, momentAt() ?? peak_ns ?? 0);
    const n = curve.time_relative_ns.length;
    const to = { Period: Math.min(n - 1, now + 1), Comma: Math.max(0, now - 1), Home: 0, End: n - 1 }[event.code];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    look(to);
  };
  const now = stepAt(curve, momentAt() ?? peak_ns ?? Infinity);
  return (
    <div class="buffers-plot">
      <CanvasView
        label="Memory of the engine's buffers over time"
        keys="A drag selects a time. Comma and full stop go to the previous and next change, Home and End go to the first and last. W and S zoom, A and D pan, Shift+0 shows all, F fits the selected time."
        value={stepWords(curve, series, now)}
        table={<StepTable curve={curve} series={series} />}
        on={{
          onKeyDown,
          onPointerDown: (event) => {
            if (event.button !== 0) return;
            event.currentTarget.setPointerCapture(event.pointerId);
            drag.current = { x: event.clientX, from: timeAt(frame(), event.offsetX), moved: false };
          },
          onPointerMove: (event) => {
            const d = drag.current;
            if (!d) return;
            if (Math.abs(event.clientX - d.x) > 3) {
              // One entry of the history a drag.
              dragTo(d.from, timeAt(frame(), event.offsetX), d.moved);
              d.moved = true;
            }
          },
          onPointerUp: (event) => {
            const moved = drag.current?.moved ?? true;
            drag.current = null;
            if (!moved) look(stepAt(curve, timeAt(frame(), event.offsetX)));
          },
          onPointerCancel: () => (drag.current = null),
          onDblClick: (event) => axis.zoom(0.4, timeAt(frame(), event.offsetX)),
        }}
      >
        <div class="buffers-host" ref={ref}>
          <canvas ref={canvas} />
        </div>
      </CanvasView>
    </div>
  );
}
