// The tokens as bars; a click selects one, and the inspector says why it took so long.

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { isDark } from "../../draw/colour";
import { duration } from "../../draw/format";
import { announceCommon } from "../../parts/announce";
import { CanvasView } from "../../parts/CanvasView";
import { Units } from "../../parts/Units";
import { Tooltip } from "../../parts/Tooltip";
import { useSize } from "../../parts/useSize";
import { VirtualTable, type Column } from "../../parts/VirtualTable";
import { duration_ns } from "../../shell/scrubber/strip";
import { goToIndex, selectedIndex } from "../../state/playback";
import { summary } from "../../state/trace";
import { allTokensWords, phaseWord, quoted, tokenWords } from "../../state/words";
import { causeWords, slowTime, type Overview, type Slow } from "./answer";
import { barAt, cutAbove, drawTokens, type Bars } from "./bars";
import { answer } from "./state";

const COLUMNS: readonly Column<number>[] = [
  { id: "token", title: "Token", width: 70, number: true, cell: (i) => summary.value!.batches.batch_id[i] },
  { id: "time", title: "Time", width: 90, number: true, cell: (i) => duration(duration_ns(summary.value!.batches, i)) },
  { id: "phase", title: "Phase", width: 130, cell: (i) => phaseWord(summary.value!.batches.phase[i]!) },
  { id: "text", title: "Text", width: 240, cell: (i) => quoted(summary.value!.batches.text[i] ?? null) },
];

function slowOf(token: number): Slow | undefined {
  return answer.value?.slow.find((s) => s.batch_id === token);
}

function Tip(props: { i: number; x: number; y: number }) {
  const token = summary.value!.batches.batch_id[props.i]!;
  const slow = slowOf(token);
  return (
    <Tooltip x={props.x} y={props.y}>
      <strong>{tokenWords(token)}</strong>
      {slow && (
        <div>
          {slow.text}{slow.late_ns === null && ` (${causeWords(slow.cause)})`}
        </div>
      )}
    </Tooltip>
  );
}

function Picture() {
  const { ref, size } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const pointed = useSignal<{ i: number; x: number; y: number } | null>(null);
  const bars = useComputed<Bars | null>(() => {
    const batches = summary.value?.batches;
    const { usual = null, slow = [] } = answer.value ?? {};
    if (!batches || size.value.width === 0) return null;
    return { ...size.value, batches, usual, slow, selected: selectedIndex.value, pointed: pointed.value?.i ?? -1 };
  });
  useSignalEffect(() => {
    isDark.value;
    const b = bars.value;
    if (b && canvas.current) drawTokens(canvas.current, b);
  });
  // After a change of the theme the style sheet's colours are of the next frame.
  useEffect(() => {
    if (bars.value && canvas.current) drawTokens(canvas.current, bars.value);
  }, [isDark.value]);
  const at = (event: PointerEvent) => (bars.value ? barAt(bars.value, event.offsetX) : -1);
  const go = (i: number) => {
    const n = summary.value?.batches.batch_id.length ?? 0;
    if (n === 0) return;
    goToIndex(Math.min(n - 1, Math.max(0, i)));
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const now = selectedIndex.value;
    const n = summary.value?.batches.batch_id.length ?? 0;
    const to = { ArrowLeft: now < 0 ? n - 1 : now - 1, ArrowRight: now + 1, Home: 0, End: n - 1 }[event.code];
    if (to === undefined) return;
    event.preventDefault();
    go(to);
    announceCommon(tokenWords(summary.value!.batches.batch_id[Math.min(n - 1, Math.max(0, to))]!));
  };
  const selected = selectedIndex.value;
  const n = summary.value!.batches.batch_id.length;
  return (
    <CanvasView
      label={`Time of ${allTokensWords()}`}
      keys="Arrow left and right select the token before and after, Home and End the first and last. A table of all tokens follows."
      value={selected < 0 ? "" : tokenWords(summary.value!.batches.batch_id[selected]!)}
      table={
        <div class="tokens-table">
          <VirtualTable
            label="Tokens"
            columns={COLUMNS}
            count={n}
            row={(i) => i}
            selected={selected < 0 ? null : selected}
            onSelect={(i) => goToIndex(i)}
          />
        </div>
      }
      on={{
        onKeyDown,
        onPointerMove: (event) => {
          const i = at(event);
          pointed.value = i < 0 ? null : { i, x: event.clientX, y: event.clientY };
        },
        onPointerLeave: () => (pointed.value = null),
        onPointerUp: (event) => {
          const i = at(event);
          if (i >= 0 && event.button === 0) go(i);
        },
      }}
    >
      <div class="tokens-host" ref={ref}>
        <canvas ref={canvas} />
      </div>
      {pointed.value && <Tip {...pointed.value} />}
    </CanvasView>
  );
}

function SlowList(props: { slow: readonly Slow[] }) {
  const batches = summary.value!.batches;
  return (
    <ul class="slow" aria-label="Slow or late tokens">
      {props.slow.map((s) => (
        <li key={s.batch_id}>
          <button type="button" class="link" onClick={() => goToIndex(batches.batch_id.indexOf(s.batch_id))}>
            Token {s.batch_id}
            {s.late_ns === null && <Units>{`, ${slowTime(s)}`}</Units>}
          </button>{" "}
          <Units>{s.text}</Units>
        </li>
      ))}
    </ul>
  );
}

/** What the bars' colours are. */
function Legend(props: { slow: boolean; usual: Overview["usual"] }) {
  const cut = cutAbove({ batches: summary.value!.batches, usual: props.usual });
  const phases = new Set(summary.value!.batches.phase);
  return (
    <small class="tokens-legend">
      {(phases.has("prompt") || phases.has("mixed")) && (
        <span>
          <i class="prompt" /> prompt
        </span>
      )}
      {phases.has("generate") && (
        <span>
          <i class="generate" /> generated
        </span>
      )}
      {cut !== null && (
        <span title={`The bars end at ${duration(cut)}, so that the others keep a height; the table and the list have all times`}>
          <i class="cut" /> cut off above <Units>{duration(cut)}</Units>
        </span>
      )}
      {props.slow && (
        <span>
          <i class="slowest">▾</i> slow or late
        </span>
      )}
    </small>
  );
}

export function Tokens(props: { answer: Overview | null }) {
  const n = summary.value!.batches.batch_id.length;
  const slow = props.answer?.slow ?? [];
  return (
    <section class="tokens" aria-label="Times of the tokens">
      <h3>
        {n > 0 ? <span title="A bar is a batch; a prompt has several tokens in one">{allTokensWords()}</span> : "Tokens"}
        {n > 0 && <Legend slow={slow.length > 0} usual={props.answer?.usual ?? null} />}
        {props.answer && slow.length === 0 && props.answer.usual && <small class="tokens-legend"><span>none took unusually long</span></small>}
        {props.answer && !props.answer.usual && n > 0 && <small class="tokens-legend"><span>too few to tell which are slow</span></small>}
      </h3>
      {n === 0 ? <p>No tokens were recorded: the program did not decode with llama.cpp, or not yet.</p> : <Picture />}
      {slow.length > 0 && <SlowList slow={slow} />}
    </section>
  );
}
