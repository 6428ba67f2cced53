// Why what is selected took as long as it did: the endpoint `why` (docs/api-http.md).

import { getJson, ofTrace, type Params } from "../../api/client";
import { useResource } from "../../api/resource";
import { bytes, counted, duration, plainName } from "../../draw/format";
import { PartSign, TimeBar } from "../../parts/TimeBar";
import { Units } from "../../parts/Units";
import { playing } from "../../state/playback";
import { select, selectedTrace } from "../../state/selection";
import { generation, summary } from "../../state/trace";

interface SlowOp {
  readonly run: number;
  readonly node: number;
  readonly batch_id: number | null;
  readonly name: string;
  readonly layer_id: number | null;
  readonly time_ns: number;
  /** null: not known. */
  readonly usual_ns: number | null;
}

/** GET why. null: not known. */
interface WhyAnswer {
  readonly text: readonly string[];
  readonly time_ns: number | null;
  readonly usual: { readonly median_ns: number; readonly low_ns: number; readonly high_ns: number; readonly n: number } | null;
  readonly parts: readonly { readonly part: string; readonly title: string; readonly time_ns: number | null; readonly usual_ns: number | null }[];
  readonly ops: readonly SlowOp[];
  readonly faults: readonly {
    readonly tensor: string;
    readonly major_faults: number;
    readonly minor_faults: number;
    readonly read_bytes: number | null;
  }[];
  readonly excluded: readonly string[];
  readonly not_known: readonly string[];
}

function Parts(props: { why: WhyAnswer }) {
  const { parts } = props.why;
  const sum = (of: "time_ns" | "usual_ns") => parts.reduce((all, p) => all + (p[of] ?? 0), 0);
  const [time, usual] = [sum("time_ns"), sum("usual_ns")];
  const most = Math.max(time, usual);
  if (time === 0) return null;
  const shown = parts.filter((p) => p.time_ns === null || p.time_ns > 0 || (p.usual_ns ?? 0) > 0);
  const bar = (of: "time_ns" | "usual_ns") => (
    <TimeBar parts={parts.map((p) => ({ part: p.part, title: p.title, ns: p[of] ?? 0 }))} of_ns={most} />
  );
  return (
    <>
      {bar("time_ns")}
      {usual > 0 && (
        <>
          <p class="within">The usual one:</p>
          {bar("usual_ns")}
        </>
      )}
      <table class="why-parts">
        <thead>
          <tr>
            <th scope="col">Part</th>
            <th scope="col" class="number">
              Time
            </th>
            {usual > 0 && (
              <th scope="col" class="number">
                Usual
              </th>
            )}
          </tr>
        </thead>
        <tbody>
          {shown.map((p) => (
            <tr key={p.part}>
              <th scope="row">
                <PartSign part={p.part} /> {p.title}
              </th>
              <td class="number">{p.time_ns === null ? "not known" : duration(p.time_ns)}</td>
              {usual > 0 && <td class="number">{p.usual_ns === null ? "not known" : duration(p.usual_ns)}</td>}
            </tr>
          ))}
        </tbody>
      </table>
    </>
  );
}

function chooseOp(op: SlowOp): void {
  select({ op: { run: op.run, node: op.node }, layer: op.layer_id, tensor: null, region: null, ...(op.batch_id === null ? {} : { token: op.batch_id }) });
}

const OPS_MOST = 5;

function Ops(props: { ops: readonly SlowOp[] }) {
  if (props.ops.length === 0) return null;
  return (
    <>
      <p class="within">Ops that took longer than their own median:</p>
      <ul class="why-list">
        {props.ops.slice(0, OPS_MOST).map((op) => (
          <li key={`${op.run}.${op.node}`}>
            <button type="button" class="link mono" onClick={() => chooseOp(op)}>
              {plainName(op.name)}
            </button>
            <Units>
              {duration(op.time_ns)}, usually {op.usual_ns === null ? "not known" : duration(op.usual_ns)}
            </Units>
          </li>
        ))}
      </ul>
    </>
  );
}

function Faults(props: { faults: WhyAnswer["faults"] }) {
  if (props.faults.length === 0) return null;
  return (
    <>
      <p class="within">Page faults:</p>
      <ul class="why-list">
        {props.faults.map((f) => (
          <li key={f.tensor}>
            <button type="button" class="link mono" onClick={() => select({ tensor: f.tensor, op: null, region: null })}>
              {plainName(f.tensor)}
            </button>
            {counted(f.major_faults, "major", "major")}, {counted(f.minor_faults, "minor", "minor")}
            {f.read_bytes !== null && <Units>{`, ${bytes(f.read_bytes)} read`}</Units>}
          </li>
        ))}
      </ul>
    </>
  );
}

function Sentences(props: { head: string; list: readonly string[] }) {
  if (props.list.length === 0) return null;
  return (
    <>
      <p class="within">{props.head}</p>
      <ul class="why-list">
        {props.list.map((text) => (
          <li key={text}>
            <Units>{plainName(text)}</Units>
          </li>
        ))}
      </ul>
    </>
  );
}

/** of: a batch, a layer, or a run and a node. */
export function Why(props: { of: Params }) {
  // A token that is only passed over is skipped.
  const timed = summary.value?.clock ?? false;
  const key = playing.value || !timed ? null : JSON.stringify([selectedTrace.value, generation.value, props.of]);
  const { data, error } = useResource(key, (abort) => getJson<WhyAnswer>(ofTrace(selectedTrace.peek(), "why"), props.of, abort));
  if (key === null) return null;
  const why = data.value;
  if (!why && !error.value) return <p class="within">Why: comparing with what is usual…</p>;
  const [first, ...others] = why?.text ?? [];
  const kind = "node" in props.of ? "op" : "layer" in props.of ? "layer" : "token";
  return (
    <section class="why" aria-label={`Why, of the ${kind}`}>
      <h4>Why</h4>
      {!why ? (
        <p>Not known: {error.value!.message}</p>
      ) : (
        <>
          {first && (
            <p>
              <b>
                <Units>{plainName(first)}</Units>
              </b>
            </p>
          )}
          {others.map((text) => (
            <p key={text}>
              <Units>{plainName(text)}</Units>
            </p>
          ))}
          <Parts why={why} />
          <Ops ops={why.ops} />
          <Faults faults={why.faults} />
          <Sentences head="Excluded:" list={why.excluded} />
          <Sentences head="Not known:" list={why.not_known} />
        </>
      )}
    </section>
  );
}
