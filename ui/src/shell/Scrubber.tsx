// The tokens, one after the other: choosing, stepping, playing.

import { useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { isDark } from "../draw/colour";
import { count, duration } from "../draw/format";
import { bind } from "../input/keys";
import { useSize } from "../parts/useSize";
import { changeSpeed, goToIndex, selectedIndex, setPlayhead, step, STEP_NS, stepPlayhead, togglePlaying } from "../state/playback";
import { stepOp } from "../state/moment";
import { selectedToken } from "../state/selection";
import { summary } from "../state/trace";
import { phaseWord, tokenWords } from "../state/words";
import { Controls } from "./scrubber/Controls";
import { drawStrip, duration_ns, indexAt } from "./scrubber/strip";
import { Tape } from "./scrubber/Tape";
import "./scrubber/scrubber.css";

function bindKeys(): () => void {
  const scope = "Everywhere";
  return bind(
    { id: "token.next", keys: ["KeyN"], title: "Next token", scope, run: () => void step(1) },
    { id: "token.previous", keys: ["KeyP"], title: "Previous token", scope, run: () => void step(-1) },
    { id: "token.play", keys: ["Space"], title: "Play the tokens, or pause", scope, run: togglePlaying },
    { id: "token.slower", keys: ["key:<"], title: "Play slower", scope, run: () => changeSpeed(-1) },
    { id: "token.faster", keys: ["key:>"], title: "Play faster", scope, run: () => changeSpeed(1) },
    { id: "playhead.forward", keys: ["KeyK"], title: "Playhead: 0.01 ms forward inside the token", scope, run: () => stepPlayhead(STEP_NS) },
    { id: "playhead.back", keys: ["KeyJ"], title: "Playhead: 0.01 ms back inside the token", scope, run: () => stepPlayhead(-STEP_NS) },
    { id: "playhead.nextOp", keys: ["Shift+KeyK"], title: "Playhead: to the next op", scope, run: () => stepOp(1) },
    { id: "playhead.previousOp", keys: ["Shift+KeyJ"], title: "Playhead: to the op before", scope, run: () => stepOp(-1) },
    { id: "playhead.none", keys: [], title: "Playhead: none, the token as a whole", scope, run: () => setPlayhead(null) },
  );
}

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

function Bars() {
  const { ref, size } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const batches = summary.value!.batches;
  const n = batches.batch_id.length;
  useSignalEffect(() => {
    void isDark.value;
    const now = summary.value?.batches;
    const at = selectedIndex.value;
    if (!canvas.current || !now || size.value.width === 0) return;
    drawStrip(canvas.current, { batches: now, ...size.value }, at, Math.min(2, devicePixelRatio));
  });
  const drag = (event: PointerEvent, transient: boolean) => {
    const x = event.clientX - ref.current!.getBoundingClientRect().left;
    goToIndex(indexAt({ batches, ...size.value }, x), transient);
  };
  const at = selectedIndex.value;
  return (
    <div
      class="strip"
      role="slider"
      tabIndex={0}
      aria-label="Token"
      aria-valuemin={0}
      aria-valuemax={Math.max(0, n - 1)}
      aria-valuenow={Math.max(0, at)}
      aria-valuetext={selectedToken.value === null ? `all ${count(n)} tokens` : tokenWords(selectedToken.value)}
      ref={ref}
      onPointerDown={(event) => {
        if (event.button !== 0 || n === 0) return;
        event.currentTarget.setPointerCapture(event.pointerId);
        drag(event, false);
      }}
      onPointerMove={(event) => {
        if (event.currentTarget.hasPointerCapture(event.pointerId)) drag(event, true);
      }}
      onKeyDown={(event) => {
        if (event.ctrlKey || event.metaKey || event.altKey || n === 0) return;
        const next = slid(event.code, at, n);
        if (next === null) return;
        event.preventDefault();
        goToIndex(next);
      }}
    >
      <canvas ref={canvas} />
    </div>
  );
}

/** The selected token in figures. */
function Readout() {
  const batches = summary.value!.batches;
  const n = batches.batch_id.length;
  const at = selectedIndex.value;
  if (selectedToken.value !== null && at < 0) return <p class="scrubber-readout">Token {selectedToken.value} is not in the trace</p>;
  if (at < 0) return <p class="scrubber-readout">{n === 0 ? "No token was recorded" : `All ${count(n)} tokens`}</p>;
  const n_tokens = batches.n_tokens[at]!;
  return (
    <p class="scrubber-readout">
      Token <b>{batches.batch_id[at]}</b> ({count(at + 1)} of {count(n)}), {phaseWord(batches.phase[at]!)}
      {n_tokens > 1 && ` (${count(n_tokens)} at once)`}: {duration(duration_ns(batches, at))}
    </p>
  );
}

/** Under every view. */
export function Scrubber() {
  useEffect(bindKeys, []);
  const batches = summary.value?.batches;
  if (!batches) return null;
  return (
    <section class="scrubber" aria-label="Tokens">
      <Controls />
      <div class="scrubber-middle">
        <Tape batches={batches} selected={selectedIndex.value} />
        <Bars />
      </div>
      <Readout />
    </section>
  );
}
