// The single page faults of some bytes: when, in which token and op, by which thread.

import { getJson, ofTrace, type Params } from "../api/client";
import { useResource } from "../api/resource";
import "./PageFaults.css";
import { count, counted, moment, plainName } from "../draw/format";
import { select, selectedTrace, type Region } from "../state/selection";
import { generation } from "../state/trace";

interface Fault {
  end_relative_ns: number | null;
  major: boolean;
  file_offset_bytes: number | null;
  tensor: string | null;
  expert_id: number | null;
  batch_id: number | null;
  run: number | null;
  node: number | null;
  op: string | null;
  name: string | null;
  thread_id: number | null;
  os_thread_id: number;
}

interface Answer {
  /** Faults were recorded one by one. */
  observed: boolean;
  n: number;
  faults: Fault[];
}

function threadWords(f: Fault): string {
  return f.thread_id === null ? `OS thread ${f.os_thread_id}` : `thread ${f.thread_id}`;
}

function opWords(f: Fault): string {
  return f.op === null ? "outside of ops" : `${plainName(f.op)} ${plainName(f.name ?? "")}`.trim();
}

function what(f: Fault): string {
  const at = f.file_offset_bytes === null ? "" : ` at ${count(f.file_offset_bytes)}`;
  return `${f.major ? "major" : "minor"}${at}${f.expert_id === null ? "" : `, expert ${f.expert_id}`}`;
}

/** They are listed one by one, whatever the bins are. */
const PAGES = 1 << 20;

/** params: the part of the run, as endpoints take it. chooses: ops can be selected. Empty if faults
 * were not recorded individually. */
export function PageFaults(props: { region: Region; params: Params; most: number; head?: string; chooses?: boolean }) {
  const { segment, from, to } = props.region;
  const trace = selectedTrace.value;
  const params = { ...props.params, limit: props.most, spans: `${segment}-${Math.max(0, from)}-${to}-${PAGES}` };
  const key = JSON.stringify([trace, generation.value, params]);
  const { data, error } = useResource(key, (abort) => getJson<Answer>(ofTrace(trace, "memory/pages/faults"), params, abort).then((answer) => ({ key, answer })));
  if (error.value) return <p class="quiet">{error.value.message}</p>;
  // Other pages are not listed.
  if (data.value?.key !== key) return data.value?.answer.observed === false ? null : <p class="quiet">…</p>;
  const { observed, n, faults } = data.value.answer;
  if (!observed) return null;
  if (n === 0) return <p class="quiet">No fault in this part of the run.</p>;
  return (
    <>
      {props.head && <h4 class="page-head">{props.head}</h4>}
      <ol class="page-faults">
        {faults.map((f, i) => (
          <li key={i}>
            <b>{what(f)}</b> {f.end_relative_ns === null ? "" : moment(f.end_relative_ns, 1e3)}
            {", "}
            {f.batch_id === null ? "no token" : `token ${f.batch_id}`}, {threadWords(f)},{" "}
            {props.chooses && f.run !== null && f.node !== null ? (
              <button type="button" class="link mono" onClick={() => select({ op: { run: f.run!, node: f.node! } })}>
                {opWords(f)}
              </button>
            ) : (
              <span class="mono">{opWords(f)}</span>
            )}
          </li>
        ))}
      </ol>
      {n > faults.length && <p class="quiet">and {counted(n - faults.length, "other fault")}</p>}
    </>
  );
}
