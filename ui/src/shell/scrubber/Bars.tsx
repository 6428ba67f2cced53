// A bar a token: choosing one with the pointer or the keys.

import { useSignal, useSignalEffect } from "@preact/signals";
import { useRef } from "preact/hooks";
import { isDark } from "../../draw/colour";
import { Tooltip } from "../../parts/Tooltip";
import { useSize } from "../../parts/useSize";
import { notesInTime } from "../../state/notes";
import { goToIndex, selectedIndex } from "../../state/playback";
import { compareWith, otherToken, selectedToken } from "../../state/selection";
import { batchIndex, summary } from "../../state/trace";
import { allTokensWords, tokenWords } from "../../state/words";
import { Rail } from "./Rail";
import { placeOf } from "./places";
import { cutOffWords, drawStrip, indexAt, pitch } from "./strip";

/** Target of the slider's own keys from `at`; null: another key. */
function slid(code: string, at: number, n: number): number | null {
  const page = Math.max(1, Math.round(n / 10));
  const from = Math.max(0, at);
  switch (code) {
    case "ArrowRight":
    case "ArrowUp":
      return Math.min(n - 1, at + 1);
    case "ArrowLeft":
    case "ArrowDown":
      return Math.max(0, from - 1);
    case "PageUp":
      return Math.min(n - 1, from + page);
    case "PageDown":
      return Math.max(0, from - page);
    case "Home":
      return 0;
    case "End":
      return n - 1;
    default:
      return null;
  }
}

/** Of the token below the pointer. */
function Hovered(props: { i: number; x: number; y: number }) {
  const token = summary.value?.batches.batch_id[props.i];
  if (token === undefined) return null;
  const words = tokenWords(token);
  const cut = cutOffWords(summary.value!.batches, props.i);
  return (
    <Tooltip x={props.x} y={props.y}>
      {words.charAt(0).toUpperCase() + words.slice(1)}
      {cut && <div>{cut.charAt(0).toUpperCase() + cut.slice(1)}</div>}
    </Tooltip>
  );
}

export function Bars() {
  const { ref, size } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const hovered = useSignal<{ i: number; x: number; y: number } | null>(null);
  const batches = summary.value!.batches;
  const n = batches.batch_id.length;
  useSignalEffect(() => {
    void isDark.value;
    const now = summary.value?.batches;
    const at = selectedIndex.value;
    const other = otherToken.value === null ? -1 : batchIndex(otherToken.value);
    if (!canvas.current || !now || size.value.width === 0) return;
    const strip = { batches: now, ...size.value };
    const { start_relative_ns: from_ns, end_relative_ns: to_ns } = summary.value!;
    const flags = notesInTime.value.map((note) => placeOf({ batches: now, pitch: pitch(strip), from_ns, to_ns }, note.time_ns));
    drawStrip(canvas.current, strip, { at, other, flags }, Math.min(2, devicePixelRatio));
  });
  const indexOf = (event: PointerEvent) => indexAt({ batches, ...size.value }, event.clientX - ref.current!.getBoundingClientRect().left);
  const at = selectedIndex.value;
  return (
    <>
      <div
        class="strip"
        role="slider"
        tabIndex={0}
        aria-label="Token"
        aria-valuemin={0}
        aria-valuemax={Math.max(0, n - 1)}
        aria-valuenow={Math.max(0, at)}
        aria-valuetext={selectedToken.value === null ? `all ${allTokensWords()}` : [tokenWords(selectedToken.value), at < 0 ? null : cutOffWords(batches, at)].filter(Boolean).join("; ")}
        ref={ref}
        onPointerDown={(event) => {
          if (event.button !== 0 || n === 0) return;
          if (event.shiftKey) return compareWith(batches.batch_id[indexOf(event)]!);
          event.currentTarget.setPointerCapture(event.pointerId);
          goToIndex(indexOf(event));
        }}
        onPointerMove={(event) => {
          const i = indexOf(event);
          hovered.value = event.pointerType === "touch" ? null : { i, x: event.clientX, y: event.clientY };
          if (event.currentTarget.hasPointerCapture(event.pointerId)) goToIndex(i, true);
        }}
        onPointerLeave={() => (hovered.value = null)}
        onKeyDown={(event) => {
          if (event.ctrlKey || event.metaKey || event.altKey || event.shiftKey || n === 0) return;
          const next = slid(event.code, at, n);
          if (next === null) return;
          event.preventDefault();
          goToIndex(next);
        }}
      >
        <canvas ref={canvas} />
      </div>
      <Rail size={size} />
      {hovered.value && <Hovered {...hovered.value} />}
    </>
  );
}
