// An executed op: its operands and the time of each lane.

import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import { bytes, count, counted, duration, moment, plainName, shape } from "../../draw/format";
import { layerName } from "../../state/layers";
import { select, selectedTrace, type OpRef } from "../../state/selection";
import { generation } from "../../state/trace";
import { Figure, Part } from "./Part";
import { Values } from "./Values";
import { Why } from "./Why";

interface Operand {
  name: string;
  type: string;
  size_bytes: number;
  origin: string;
  read_bytes?: number | null;
}

/** Of the endpoint `op`. */
interface OpAnswer {
  batch_id: number | null;
  start_relative_ns: number;
  end_relative_ns: number | null;
  ne: number[];
  tensor: string | null;
  log: {
    graph_run: number;
    op: string;
    name: string;
    layer_id: number | null;
    duration_ns: number | null;
    busy_ns: number | null;
    wait_ns: number | null;
    weight_bytes: number | null;
    threads: number;
    sources: Operand[];
  };
  lanes: {
    lane: number;
    busy_ns: number | null;
    wait_ns: number | null;
    off_cpu_ns: number | null;
    wait_inside_ns: number | null;
    /** For reads of `boost`; null: none. */
    read_wait_ns: number | null;
    minor_faults: number | null;
    major_faults: number | null;
  }[];
  awaited_reads: Awaited[] | null;
}

interface Awaited {
  cause: string;
  tensor: string | null;
  expert_id: number | null;
  size_bytes: number;
  waiters: number;
  waited_ns: number | null;
}

function Lanes(props: { lanes: OpAnswer["lanes"] }) {
  const counted = props.lanes.some((l) => l.minor_faults !== null);
  const stood = props.lanes.some((l) => l.off_cpu_ns !== null && l.off_cpu_ns > 0);
  const waited = props.lanes.some((l) => l.wait_inside_ns !== null && l.wait_inside_ns > 0);
  const boosted = props.lanes.some((l) => l.read_wait_ns !== null);
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Lane</th>
          <th scope="col" class="number">
            Works
          </th>
          <th scope="col" class="number">
            Waits
          </th>
          {boosted && (
            <th scope="col" class="number" title="Part of its work: waiting for reads of boost">
              For reads
            </th>
          )}
          {stood && (
            <th scope="col" class="number" title="Part of its work: off CPU">
              Off CPU
            </th>
          )}
          {waited && (
            <th scope="col" class="number" title="Part of its work: waiting for others at barriers inside the op">
              Inside
            </th>
          )}
          {counted && (
            <th scope="col" class="number">
              Faults
            </th>
          )}
        </tr>
      </thead>
      <tbody>
        {props.lanes.map((l) => (
          <tr key={l.lane}>
            <th scope="row">{l.lane}</th>
            <td class="number">{duration(l.busy_ns)}</td>
            <td class="number">{duration(l.wait_ns)}</td>
            {boosted && <td class="number">{duration(l.read_wait_ns)}</td>}
            {stood && <td class="number">{duration(l.off_cpu_ns)}</td>}
            {waited && <td class="number">{duration(l.wait_inside_ns)}</td>}
            {counted && (
              <td class="number">
                {l.minor_faults === null ? "not observed" : count(l.minor_faults + (l.major_faults ?? 0))}
              </td>
            )}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Sources(props: { sources: Operand[] }) {
  return (
    <>
      {props.sources.map((s, i) => (
        <div key={i}>
          <button type="button" class="link mono" onClick={() => select({ tensor: s.name })}>
            {plainName(s.name)}
          </button>
          <span class="origin">
            {plainName(s.type)}, {bytes(s.size_bytes)}, from {s.origin}
          </span>
        </div>
      ))}
    </>
  );
}

/** The slowest first. */
function AwaitedReads(props: { reads: readonly Awaited[] }) {
  const reads = [...props.reads].sort((a, b) => (b.waited_ns ?? 0) - (a.waited_ns ?? 0));
  return (
    <>
      {reads.map((r, i) => (
        <div key={i}>
          <button type="button" class="link mono" onClick={() => select({ tensor: r.tensor, slice: r.expert_id })}>
            {r.tensor === null ? "between tensors" : plainName(r.tensor)}
            {r.expert_id !== null && `[${r.expert_id}]`}
          </button>
          <span class="origin">
            {bytes(r.size_bytes)}, {r.cause}; {counted(r.waiters, "thread")}, {duration(r.waited_ns)}
          </span>
        </div>
      ))}
    </>
  );
}

export function OpPart(props: { op: OpRef }) {
  const { run, node } = props.op;
  const clear = () => select({ op: null });
  const { data, error } = useResource(`${selectedTrace.value} ${generation.value} ${run}.${node}`, (abort) =>
    getJson<OpAnswer>(ofTrace(selectedTrace.peek(), "op"), { run, node }, abort),
  );
  const answer = data.value;
  if (error.value || !answer)
    return (
      <Part kind="Op" title={`node ${node}`} onClear={clear}>
        <Figure name="Figures">{error.value ? error.value.message : "…"}</Figure>
      </Part>
    );
  const { log } = answer;
  return (
    <Part kind="Op" title={<span class="mono">{plainName(log.op)}</span>} onClear={clear} views={["timeline", "graph", "log", "values"]}>
      <Figure name="Result">
        <span class="mono">{plainName(log.name)}</span>, {shape(answer.ne)}
      </Figure>
      <Figure name="Node">
        {node} of run {log.graph_run}
      </Figure>
      <Figure name="Layer">{log.layer_id === null ? "none" : layerName(log.layer_id)}</Figure>
      <Figure name="Begins at">{moment(answer.start_relative_ns, Math.max(1, log.duration_ns ?? 1000))}</Figure>
      <Figure name="Duration">{log.duration_ns === null ? "not observed" : duration(log.duration_ns)}</Figure>
      <Figure name="Weights read">{bytes(log.weight_bytes)}</Figure>
      <Figure name="Operands">
        <Sources sources={log.sources} />
      </Figure>
      <Lanes lanes={answer.lanes} />
      <Why of={{ run, node }} />
      {answer.awaited_reads !== null && answer.awaited_reads.length > 0 && (
        <Figure name="Waited for">
          <AwaitedReads reads={answer.awaited_reads} />
        </Figure>
      )}
      <Values op={props.op} />
    </Part>
  );
}
