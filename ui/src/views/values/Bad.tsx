// NaN and infinities: where the first one came from, and all outputs that have some.

import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Origin, First, List, Output, Source } from "../../api/values";
import { count, counted, plainName } from "../../draw/format";
import { announce } from "../../parts/announce";
import { Failure, Loading } from "../../parts/messages";
import { VirtualTable, type Column } from "../../parts/VirtualTable";
import { layerName, layerWords } from "../../state/layers";
import { select, selection } from "../../state/selection";
import { generation } from "../../state/trace";
import { showView } from "../../state/view";
import { number } from "./measures";

const ROWS_MOST = 2000;

function where(o: Output): string {
  return `${o.batch_id === null ? "no token" : `token ${o.batch_id}`}, ${layerWords(o.layer_id)}`;
}

function notFinite(o: Pick<Output, "n_nan" | "n_inf">): string {
  return [o.n_nan > 0 && `${count(o.n_nan)} NaN`, o.n_inf > 0 && `${count(o.n_inf)} Inf`].filter(Boolean).join(", ");
}

export function choose(o: Output): void {
  select({ token: o.batch_id, layer: o.layer_id, op: { run: o.run, node: o.op_node }, tensor: null, region: null, time: null });
  announce(`${plainName(o.name)}, ${where(o)}: ${notFinite(o)}`);
}

const STATES: Record<Source["state"], string> = {
  unmeasured: "not measured",
  finite: "finite",
  masking: "a mask",
  infinite: "has Inf",
  nan: "has NaN",
  weight: "a weight",
  input: "given by the program",
};

function stateWords(s: Source): string {
  const w = s.weight;
  if (!w) return STATES[s.state];
  if (!w.looked_at) return `a weight, not checked in the model file: ${w.why_not}`;
  if (!w.n_bad) return `a weight, all ${counted(w.elements ?? 0, "element")} finite in the model file`;
  const what = w.n_nan !== null && w.n_inf !== null ? notFinite({ n_nan: w.n_nan, n_inf: w.n_inf }) : `${count(w.n_bad)} not finite`;
  return `a weight with ${what} in the model file, first at ${w.first_bad_at ? `[${w.first_bad_at.join(", ")}]` : w.first_bad}`;
}

function Sources(props: { origin: Origin }) {
  return (
    <ul class="values-sources" aria-label="What it was computed from">
      {props.origin.sources.map((s) => (
        <li key={s.slot}>
          <span class="mono">{plainName(s.name)}</span>: {stateWords(s)}
        </li>
      ))}
    </ul>
  );
}

const CAME: Record<Origin["kind"], string> = {
  made: "None of the outputs that it reads has any: it was made here.",
  inherited: "One of its sources already has some: it was inherited.",
  uncertain: "No source is known to have any, but not all were measured: it may be inherited.",
};

/** "The model file itself contains it: blk.2.ffn_norm.weight has 1 NaN, at [17]."; empty: none of its weights is known to. */
function inModelFile(origin: Origin): string {
  const source = origin.sources.find((s) => s.weight?.n_bad);
  const w = source?.weight;
  if (!source || !w) return "";
  const what = w.n_nan !== null && w.n_inf !== null ? notFinite({ n_nan: w.n_nan, n_inf: w.n_inf }) : `${count(w.n_bad)} not finite`;
  const at = w.first_bad_at ? `[${w.first_bad_at.join(", ")}]` : w.first_bad;
  return `The model file itself contains it: ${plainName(source.name)} has ${what}, ${w.n_bad === 1 ? "at" : "first at"} ${at}.`;
}

/** Above everything: the first non-finite output, and whether it originated there. */
export function FirstBad(props: { first: First }) {
  const origin = props.first.first;
  const all = props.first.summary;
  const unknown = all.unmeasured + all.incomplete;
  if (!props.first.found || !origin)
    return (
      <p class="values-verdict" role="status">
        <b>{unknown > 0 ? "No NaN or Inf measured." : "All finite."}</b> {count(all.outputs)} outputs were measured, none has a NaN or an infinity that is not a mask's
        {unknown > 0 && `; ${count(unknown)} others were not measured`}.
      </p>
    );
  const first = origin.output;
  const made = origin.kind === "made";
  const again = origin.times - 1;
  const elsewhere = props.first.origins_total - origin.times;
  return (
    <div class="values-verdict values-bad" role="status">
      <p>
        <b>
          {first.n_nan > 0 ? "NaN" : "Inf"} {made ? "made" : "first seen"} at <span class="mono">{plainName(first.name)}</span>
        </b>{" "}
        ({plainName(first.op)}, {where(first)}): {notFinite(first)} of {count(first.elements)} elements
        {first.first_bad_at && <>, first at [{first.first_bad_at.join(", ")}]</>}.{" "}
        {(made && inModelFile(origin)) || CAME[origin.kind]}{" "}
        <button type="button" onClick={() => choose(first)}>
          Select it
        </button>{" "}
        <button
          type="button"
          onClick={() => {
            choose(first);
            showView("graph");
          }}
        >
          Show it in the graph
        </button>
      </p>
      <Sources origin={origin} />
      <p>
        {counted(all.bad, "output")} of {count(all.outputs)} {all.bad === 1 ? "is" : "are"} not finite;{" "}
        {again > 0 && `${count(again)} more originated in that node, `}
        {elsewhere > 0 && `${count(elsewhere)} elsewhere without a bad source, `}
        {again + elsewhere > 0 ? "the rest" : "the others"} inherited it.
      </p>
    </div>
  );
}

const COLUMNS: Column<Output>[] = [
  { id: "name", title: "Output", width: 170, cell: (o) => plainName(o.name), tip: (o) => plainName(o.name) },
  { id: "op", title: "Op", width: 120, cell: (o) => plainName(o.op) },
  { id: "token", title: "Token", width: 60, number: true, cell: (o) => (o.batch_id === null ? "none" : o.batch_id) },
  { id: "layer", title: "Layer", width: 60, number: true, cell: (o) => (o.layer_id === null ? "none" : layerName(o.layer_id)) },
  { id: "n_nan", title: "NaN", width: 80, number: true, cell: (o) => count(o.n_nan) },
  { id: "n_inf", title: "Inf", width: 80, number: true, cell: (o) => count(o.n_inf) },
  { id: "elements", title: "Elements", width: 90, number: true, cell: (o) => count(o.elements) },
  { id: "first", title: "First at", width: 120, cell: (o) => (o.first_bad_at ? `[${o.first_bad_at.join(", ")}]` : (o.first_bad ?? "")) },
  { id: "rms", title: "RMS (finite)", width: 110, number: true, cell: (o) => number(o.rms) },
];

export function BadList(props: { trace: number }) {
  const params = { which: "bad", limit: ROWS_MOST };
  const { data, error, retry } = useResource(JSON.stringify([props.trace, generation.value]), (abort) =>
    getJson<List>(ofTrace(props.trace, "values/list"), params, abort),
  );
  if (error.value) return <Failure error={error.value} retry={retry} />;
  const list = data.value;
  if (!list) return <Loading what="the outputs that are not finite" />;
  const op = selection.value.op;
  const selected = op ? list.rows.findIndex((o) => o.run === op.run && o.op_node === op.node) : -1;
  return (
    <section class="values-list" aria-label="Outputs with NaN or Inf">
      <h2>
        Outputs with NaN or Inf: {count(list.rows_total)}
        {list.rows_total > list.rows.length && `, the first ${count(list.rows.length)} are listed`}
      </h2>
      <div class="values-table">
        <VirtualTable
          label="Outputs with NaN or Inf, in execution order"
          columns={COLUMNS}
          count={list.rows.length}
          row={(i) => list.rows[i] ?? null}
          selected={selected >= 0 ? selected : null}
          related={(o) => o.batch_id === selection.value.token && o.layer_id === selection.value.layer}
          onSelect={(_, o) => choose(o)}
        />
      </div>
    </section>
  );
}
