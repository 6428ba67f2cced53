// Two runs: the verdict, their times by token, one token side by side, and the largest differences.

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import { plainName } from "../../draw/format";
import { bind } from "../../input/keys";
import { Lazy } from "../../parts/Lazy";
import { Empty, Failure, Loading } from "../../parts/messages";
import { select, selection } from "../../state/selection";
import { index, summary } from "../../state/trace";
import { urlParam } from "../../state/url";
import type { Diff, Tokens } from "./answer";
import { Around, StructureChanges } from "./Around";
import { Lines, phaseOf } from "./Lines";
import { chooseRow, choiceProblem, chosenRow, compareTraces, shownSide, showSide, swapSides, traceName, traces, type Traces } from "./pair";
import { sampleAt, type Samples } from "./samples";
import { Strips } from "./Strips";
import { Tables } from "./Tables";
import "./command";
import "./diff.css";

function OnlyOne() {
  const name = summary.value?.name ?? "run.ttrace";
  return (
    <Empty title="A comparison needs two runs">
      <p>
        Only one trace is served. Give a second one, for example of another build, number of threads or model:
      </p>
      <p>
        <code>tensortrace serve {plainName(name)} other.ttrace</code>
      </p>
      <p>With three or more, choose any two of them here.</p>
    </Empty>
  );
}

function SideChoice(props: { side: "a" | "b"; now: Traces }) {
  const all = index.value?.traces ?? [];
  const id = props.now[props.side];
  const title = props.side.toUpperCase();
  return (
    <label class="diff-side">
      <b>{title}</b>
      {!isOfValues() && <span class={`diff-line-${props.side}`} aria-hidden="true" />}
      {all.length > 2 ? (
        <select
          value={id}
          aria-label={`Trace ${title}`}
          onChange={(event) => {
            const chosen = Number(event.currentTarget.value);
            compareTraces(props.side === "a" ? chosen : props.now.a, props.side === "b" ? chosen : props.now.b);
          }}
        >
          {all.map((t) => (
            <option value={t.id} key={t.id}>
              {plainName(t.name)}
            </option>
          ))}
        </select>
      ) : (
        <span>{plainName(traceName(id))}</span>
      )}
    </label>
  );
}

/** What is compared: times, or outputs. */
const compared = urlParam("diff_what", "times");

function isOfValues(): boolean {
  return compared.value === "values";
}

function Head(props: { now: Traces }) {
  const shown = shownSide.value;
  return (
    <div class="diff-head">
      <div class="diff-what" role="group" aria-label="What is compared">
        <button type="button" aria-pressed={!isOfValues()} title="Compare times (V)" onClick={() => (compared.value = "times")}>
          Times
        </button>
        <button type="button" aria-pressed={isOfValues()} title="Compare outputs of ops: where they first differ, and by how much (V)" onClick={() => (compared.value = "values")}>
          Values
        </button>
      </div>
      <SideChoice side="a" now={props.now} />
      <button type="button" onClick={swapSides} title="Swap A and B (X)">
        Swap
      </button>
      <SideChoice side="b" now={props.now} />
      <div class="diff-shown" role="group" aria-label="Which run the other views show">
        <span>Other views show</span>
        {(["a", "b"] as const).map((side) => (
          <button type="button" key={side} aria-pressed={shown === side} onClick={() => void showSide(side)}>
            {side.toUpperCase()}
          </button>
        ))}
        {shown === null && <span>(now: {plainName(traceName(selection.value.trace))})</span>}
      </div>
    </div>
  );
}

/** As a sentence begins. */
function capital(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}

/** One sign, which no line break parts. */
const ARROW = "\u2192";

function Verdict(props: { diff: Diff }) {
  const { verdict } = props.diff;
  // "B takes 27.0 % less time (...); 99 % sure: ...": most important first.
  const text = capital(verdict.text.replaceAll("->", ARROW));
  const first = /^(?:\([^)]*\)|[^;:])*/.exec(text)?.[0] ?? "";
  // Up to four components with their figures: a line of them, which opens.
  const [rest, most] = text.slice(first.length).split(/(?=\. Most of the difference )/);
  return (
    <div class={`diff-verdict ${verdict.differs ? "diff-differs" : ""}`}>
      <p>
        <b>{first}</b>
        {rest}. {capital(verdict.structure_text)}.
      </p>
      {most && (
        <details>
          <summary>{most.slice(2)}.</summary>
        </details>
      )}
    </div>
  );
}

/** The selected token of the trace that the other views show, as a sample. */
function selectedSample(samples: Samples): number {
  const { token } = selection.value;
  const side = shownSide.value;
  return token === null || side === null ? -1 : sampleAt(samples, side, token);
}

function chooseSample(now: Traces, samples: Samples, i: number): void {
  const side = shownSide.peek() ?? "a";
  const token = (side === "a" ? samples.tokenA : samples.tokenB)[i];
  if (token != null) select({ trace: now[side], token, op: null, time: null });
}

function Compared(props: { now: Traces; diff: Diff; tokens: Tokens }) {
  const { now, diff } = props;
  const phase = diff.phases.find((p) => p.phase === phaseOf(diff)) ?? diff.phases.find((p) => p.phase === diff.verdict.phase) ?? diff.phases[0];
  const lines = props.tokens.phases.find((p) => p.phase === phase?.phase);
  /** Shown while no token is selected: in the middle, where a run is warm. */
  const usual = lines ? (shownSide.value === "b" ? lines.b : lines.a).batch_id[lines.samples >> 1] ?? null : null;
  const chooseLayer = (layer: number | null) => select({ trace: now[shownSide.peek() ?? "a"], layer, op: null, tensor: null });
  return (
    <>
      <div class="diff-first">
        <Verdict diff={diff} />
        {choiceProblem.value && <p role="status" class="diff-problem">{plainName(choiceProblem.value)}</p>}
        <Lines diff={diff} tokens={props.tokens} selected={selectedSample} choose={(samples, i) => chooseSample(now, samples, i)} />
      </div>
      <Strips now={now} usual={usual} />
      {phase && <Tables phase={phase} threshold={diff.threshold} level={diff.level} chooseLayer={chooseLayer} chooseNode={(row) => chooseRow(row, usual)} />}
      <StructureChanges diff={diff} choose={chooseLayer} />
      <Around diff={diff} />
    </>
  );
}

function Comparison(props: { now: Traces }) {
  const { a, b } = props.now;
  // Growing runs are compared on request: each comparison reads all of both.
  const asked = useSignal(0);
  const key = isOfValues() ? null : `${a}.${b}.${asked.value}`;
  const diff = useResource(key, (abort) => getJson<Diff>(ofTrace(a, "diff"), { other: b }, abort));
  const tokens = useResource(key, (abort) => getJson<Tokens>(ofTrace(a, "diff/batches"), { other: b }, abort));
  const error = diff.error.value ?? tokens.error.value;
  const again = () => (asked.value += 1);
  const body = useMemo(
    () =>
      error ? (
        <Failure error={error} retry={again} />
      ) : !diff.data.value || !tokens.data.value || diff.loading.value || tokens.loading.value ? (
        <Loading what="both runs; this takes some seconds for long ones" />
      ) : (
        <Compared now={props.now} diff={diff.data.value} tokens={tokens.data.value} />
      ),
    [error, diff.data.value, tokens.data.value, diff.loading.value, tokens.loading.value, props.now],
  );
  return (
    <>
      <Head now={props.now} />
      {index.value?.live && (
        <p class="diff-live">
          A run may still be growing; this is how both were when they were compared.{" "}
          <button type="button" onClick={again}>
            Compare again
          </button>
        </p>
      )}
      {isOfValues() ? <Lazy what="the comparison of outputs" load={async () => (await import("./Values")).ValuesDiff} with={{ now: props.now, asked: asked.value }} /> : body}
    </>
  );
}

/** Gives the element's style the height of the view that it is in, `--view-height`. */
function useViewHeight() {
  const ref = useRef<HTMLDivElement>(null);
  const shown = traces.value !== null;
  useLayoutEffect(() => {
    const view = ref.current?.closest(".view");
    if (!view) return undefined;
    const observer = new ResizeObserver(() => ref.current?.style.setProperty("--view-height", `${view.clientHeight}px`));
    observer.observe(view);
    return () => observer.disconnect();
  }, [shown]);
  return ref;
}

export function Component() {
  const ref = useViewHeight();
  useEffect(
    () =>
      bind(
        {
          id: "diff.values",
          keys: ["KeyV"],
          title: "Compare values, or times again",
          scope: "Diff",
          run: () => (compared.value = isOfValues() ? "times" : "values"),
        },
        { id: "diff.swap", keys: ["KeyX"], title: "Swap A and B", scope: "Diff", run: swapSides },
        {
          id: "diff.show",
          keys: ["KeyT"],
          title: "Show the other run in the other views",
          scope: "Diff",
          run: () => void showSide(shownSide.peek() === "a" ? "b" : "a"),
        },
      ),
    [],
  );
  const now = traces.value;
  if (!now) return <OnlyOne />;
  return (
    <div class="diff" ref={ref}>
      <Comparison now={now} key={`${now.a}.${now.b}`} />
      <span class="sr-only" role="status">
        {chosenRow.value ? `${plainName(chosenRow.value.name)} is chosen` : ""}
      </span>
    </div>
  );
}
