// The inspector's part on values: outputs of the selected op, or of ops related to the selected
// tensor, over the tokens.

import { useSignal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
import { getBinary, getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import { gridOf, type List, type OfOp, type Output, type Sample } from "../../api/values";
import { count, plainName, shape } from "../../draw/format";
import { copyWords } from "../../parts/clipboard";
import { Figure } from "../../shell/inspector/Part";
import { asPattern } from "../../shell/inspector/Used";
import type { ValuesOf } from "../../shell/inspector/Values";
import { playing } from "../../state/playback";
import { selectedToken, selectedTrace } from "../../state/selection";
import { generation } from "../../state/trace";
import { number } from "./measures";
import { overTokens } from "./profile";
import { Small } from "./Small";

const OUTPUTS_MOST = 4;

function OverTokens(props: { output: Output; place: string }) {
  const { output, place } = props;
  const trace = selectedTrace.value;
  // Of several ops of one name, this one.
  const params = { base_name: place, name: asPattern(output.name), op: output.op, layer: output.layer_id ?? "none" };
  const { data } = useResource(playing.value ? null : JSON.stringify([trace, generation.value, params]), async (abort) =>
    gridOf(await getBinary(ofTrace(trace, "values/grid"), params, abort)),
  );
  const grid = data.value;
  const profile = useMemo(() => (grid && grid.layers.length > 0 ? overTokens(grid, 0) : null), [grid]);
  return profile && profile.x.length > 1 ? <Small profile={profile} /> : null;
}

function sampleText(s: Sample): string {
  if (typeof s === "number") return number(s);
  return s === "nan" ? "NaN" : s === "inf" ? "Inf" : "-Inf";
}

function Digest(props: { name: string; text: string | null }) {
  const { text } = props;
  if (text === null) return null;
  return (
    <Figure name={props.name}>
      <span class="mono" title={text}>
        {text.slice(0, 12)}…
      </span>{" "}
      <button type="button" aria-label={`Copy ${props.name}`} onClick={() => copyWords(text, props.name)}>
        Copy
      </button>
    </Figure>
  );
}

function Details(props: { output: Output; place: string | null }) {
  const o = props.output;
  const finite = o.n_nan === 0 && o.n_inf === 0;
  return (
    <div class="values-output">
      <Figure name="Output">
        <span class="mono">{plainName(o.name)}</span>, {plainName(o.type)} {shape(o.shape)}
        {o.batch_id !== null && o.batch_id !== selectedToken.value && `, token ${o.batch_id}`}
      </Figure>
      <Figure name="RMS">{number(o.rms)}</Figure>
      <Figure name="Range">{o.min === null ? "no finite element" : `${number(o.min)} to ${number(o.max)}`}</Figure>
      <Figure name="Mean">{number(o.mean)}</Figure>
      <Figure name="Not finite">
        {finite ? "none" : <b class="values-not-finite">{`${count(o.n_nan)} NaN, ${count(o.n_inf)} Inf of ${count(o.elements)}`}</b>}
        {o.masking && " (a mask's)"}
        {o.first_bad_at && `, first at [${o.first_bad_at.join(", ")}]`}
      </Figure>
      {props.place !== null && <OverTokens output={o} place={props.place} />}
      {o.prefix && <Figure name="Begins">{o.prefix.map(sampleText).join("  ")}</Figure>}
      {o.samples && (
        <Figure name="Samples">
          <span title={`${o.samples.length} elements, evenly spread`}>{o.samples.map(sampleText).join("  ")}</span>
        </Figure>
      )}
      <Digest name="XXH3-128" text={o.hash} />
      <Digest name="BLAKE3" text={o.blake3} />
    </div>
  );
}

function Titled(props: { children?: ComponentChildren }) {
  return (
    <section class="values-part" aria-label="Values">
      <h4>Values</h4>
      {props.children}
    </section>
  );
}

function OfOpShown(props: { run: number; node: number }) {
  const { run, node } = props;
  const trace = selectedTrace.value;
  const { data, error } = useResource(`${trace} ${generation.value} ${run}.${node}`, (abort) => getJson<OfOp>(ofTrace(trace, "values/op"), { run, node }, abort));
  const answer = data.value;
  if (error.value)
    return (
      <Titled>
        <p>{error.value.message}</p>
      </Titled>
    );
  if (!answer) return <Titled>…</Titled>;
  return (
    <Titled>
      {answer.outputs.length === 0 && <p>This output was not measured.</p>}
      {answer.outputs.map((o, i) => (
        <Details key={o.node} output={o} place={answer.base_names[i] ?? null} />
      ))}
    </Titled>
  );
}

function OfTensor(props: { name: string }) {
  const trace = selectedTrace.value;
  const token = selectedToken.value;
  const all = useSignal(false);
  const params = { tensor: asPattern(props.name), batch: token, samples: 1, limit: OUTPUTS_MOST };
  const { data, error } = useResource(playing.value ? null : JSON.stringify([trace, generation.value, params]), (abort) =>
    getJson<List>(ofTrace(trace, "values/list"), params, abort),
  );
  const list = data.value;
  if (error.value)
    return (
      <Titled>
        <p>{error.value.message}</p>
      </Titled>
    );
  if (!list) return <Titled>…</Titled>;
  const own = list.rows.filter((o) => o.name === props.name);
  const rows = own.length > 0 ? own : list.rows;
  const shown = all.value ? rows : rows.slice(0, 1);
  return (
    <Titled>
      {rows.length === 0 && <p>Not measured{token === null ? "" : " for this token"}: no output of it, or of an op that reads it, was taken.</p>}
      {rows.length > 0 && own.length === 0 && <p>Of the op that reads it:</p>}
      {shown.map((o) => (
        <Details key={`${o.run}.${o.node}`} output={o} place={null} />
      ))}
      {rows.length > shown.length && (
        <button type="button" onClick={() => (all.value = true)}>
          {rows.length - shown.length} more
        </button>
      )}
    </Titled>
  );
}

export function Selected(props: ValuesOf) {
  if (props.op) return <OfOpShown run={props.op.run} node={props.op.node} />;
  return props.tensor === undefined ? null : <OfTensor name={props.tensor} />;
}
