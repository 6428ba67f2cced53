// The values of both runs compared: where they first differ, and how the error grows with depth.

import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import type { OfOp } from "../../api/values";
import { count, plainName } from "../../draw/format";
import { announce } from "../../parts/announce";
import { Failure, Loading } from "../../parts/messages";
import { select, selection } from "../../state/selection";
import { showView } from "../../state/view";
import { DepthPlot } from "./Depth";
import { shownSide, type Traces } from "./pair";
import { ValueItems } from "./ValueItems";
import { BLAMES, errorText, VERDICTS, type ValueDiff, type ValueItem, type ValueStep, type Verdict } from "./valuesAnswer";

const ITEMS_MOST = 1000;

/** Selects the output in the trace that the other views show, or in the other one if only that has it. */
async function chooseItem(now: Traces, item: ValueItem): Promise<void> {
  const wanted = shownSide.peek() ?? "a";
  const side = item[wanted] ? wanted : wanted === "a" ? "b" : "a";
  const at = item[side];
  if (!at) return;
  const layer = item.layer !== null && item.layer >= 0 ? item.layer : null;
  select({ trace: now[side], token: at.batch_id, layer, op: null, tensor: null, time: null, region: null });
  announce(`${plainName(at.name)}: ${VERDICTS[item.verdict]}, ${errorText(item.rel_l2, item.rel_l2_infinite, item.rel_l2_at_least)} ${BLAMES[item.blame]}`);
  if (at.run === null || at.node === null) return;
  try {
    const found = await getJson<OfOp>(ofTrace(now[side], "values/op"), { run: at.run, node: at.node });
    const still = selection.peek();
    if (found.op !== null && !still.op && still.token === at.batch_id && still.layer === layer) select({ op: { run: at.run, node: found.op } }, true);
  } catch (reason) {
    announce(reason instanceof Error ? reason.message : String(reason));
  }
}

function chooseStep(now: Traces, step: ValueStep | undefined, layer?: number | null): void {
  const side = shownSide.peek() ?? "a";
  const token = side === "a" ? (step?.batch_id_a ?? null) : (step?.batch_id_b ?? null);
  if (token === null) return;
  select({ trace: now[side], token, op: null, time: null, ...(layer === undefined ? {} : { layer: layer !== null && layer >= 0 ? layer : null }) });
}

function CountsLine(props: { diff: ValueDiff }) {
  return (
    <ul class="diff-value-counts" aria-label="Number of values">
      {(Object.keys(VERDICTS) as Verdict[])
        .filter((v) => props.diff.counts[v] > 0)
        .map((v) => (
          <li key={v} class={`diff-value-${v}`}>
            {count(props.diff.counts[v])} {VERDICTS[v]}
          </li>
        ))}
    </ul>
  );
}

function Notes(props: { diff: ValueDiff }) {
  if (props.diff.notes.length === 0) return null;
  return (
    <ul>
      {props.diff.notes.map((note) => (
        <li key={note}>{plainName(note)}</li>
      ))}
    </ul>
  );
}

function FirstDivergence(props: { now: Traces; diff: ValueDiff }) {
  const { first } = props.diff;
  if (!first) return null;
  return (
    <div class="diff-value-first">
      <button type="button" onClick={() => void chooseItem(props.now, first)}>
        Go to the first difference
      </button>{" "}
      <button
        type="button"
        onClick={() => {
          void chooseItem(props.now, first);
          showView("graph");
        }}
      >
        Show it in the graph
      </button>
      {(first.inputs.length > 0 || first.cache) && (
        <ul aria-label="Its inputs">
          {first.inputs.map((input, i) => (
            <li key={i}>
              computed from <span class="mono">{plainName(input.name)}</span>: {VERDICTS[input.verdict]}
              {input.rel_l2 !== null && input.verdict !== "equal" && `, error ${errorText(input.rel_l2)}`}
            </li>
          ))}
          {first.cache && <li>and from what earlier tokens left in the cache: {VERDICTS[first.cache]}</li>}
        </ul>
      )}
    </div>
  );
}

function Shown(props: { now: Traces; diff: ValueDiff }) {
  const { now, diff } = props;
  const { token, layer, op } = selection.value;
  const side = shownSide.value;
  const isSelected = (s: ValueStep) => side !== null && token !== null && (side === "a" ? s.batch_id_a : s.batch_id_b) === token;
  const selected = diff.steps.findIndex(isSelected);
  const item = op && side ? diff.items.findIndex((i) => i[side]?.run === op.run && i[side]?.batch_id === token && (i[side]?.node === op.node || i[side]?.node === op.node + 1)) : -1;
  return (
    <>
      <FirstDivergence now={now} diff={diff} />
      <CountsLine diff={diff} />
      <Notes diff={diff} />
      <DepthPlot
        diff={diff}
        selected={selected}
        chooseStep={(i) => chooseStep(now, diff.steps[i])}
        choosePlace={(i, at) => chooseStep(now, diff.steps[i], at)}
      />
      <ValueItems diff={diff} selected={item} choose={(i) => void chooseItem(now, i)} related={(i) => side !== null && i[side]?.batch_id === token && i.layer === layer} />
    </>
  );
}

/** asked: incremented to compare growing runs again. */
export function ValuesDiff(props: { now: Traces; asked: number }) {
  const { a, b } = props.now;
  const { data, error, retry } = useResource(`${a}.${b}.${props.asked}`, (abort) => getJson<ValueDiff>(ofTrace(a, "diff/values"), { other: b, items: ITEMS_MOST }, abort));
  const diff = data.value;
  return (
    <section class="diff-values" aria-label="Values">
      <h2>Values</h2>
      {error.value ? (
        <Failure error={error.value} retry={retry} />
      ) : !diff ? (
        <Loading what="the values of both runs" />
      ) : (
        <>
          <div class={`diff-verdict ${diff.verdict === "differs" || diff.verdict === "nothing" ? "diff-differs" : ""}`}>
            <p>
              {diff.verdict === "nothing" && <b>Not measured: </b>}
              {plainName(diff.text)}
            </p>
          </div>
          {diff.verdict === "nothing" ? (
            <>
              <p class="diff-hint">
                Values are compared where both runs were recorded with them: <code>tensortrace run --values=hash ...</code>
              </p>
              <Notes diff={diff} />
            </>
          ) : (
            <Shown now={props.now} diff={diff} />
          )}
        </>
      )}
    </section>
  );
}
