// The visible pool as tables: the canvas's content for screen readers.

import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import type { PoolAnswer } from "../../api/types";
import { bytes, count, counted, duration, moment, percent, plainName } from "../../draw/format";
import { selectedTrace } from "../../state/selection";
import { generation } from "../../state/trace";
import { CAUSES, isChosen, pool, readName, selectRead, type Reads } from "./pool";
import { settled } from "./settled";

const LISTED = 100;

function Batches() {
  const { range } = settled.value;
  const { data } = useResource(`${selectedTrace.value} ${generation.value} ${range.from} ${range.to}`, (abort) =>
    getJson<PoolAnswer>(
      ofTrace(selectedTrace.peek(), "pool"),
      { from_ns: range.from, to_ns: range.to, limit: LISTED },
      abort,
    ),
  );
  const rows = data.value?.rows ?? [];
  return (
    <table>
      <caption>
        The pool of boost, for {counted(data.value?.n ?? 0, "computation")} in view
        {rows.length < (data.value?.n ?? 0) && `, the first ${rows.length} are listed`}.
      </caption>
      <thead>
        <tr>
          <th scope="col">token</th>
          <th scope="col" class="number">read</th>
          <th scope="col" class="number">reads</th>
          <th scope="col" class="number">awaited</th>
          <th scope="col" class="number">threads waited</th>
          <th scope="col" class="number">slices present</th>
          <th scope="col" class="number">evictions</th>
          <th scope="col" class="number">in the pool</th>
          <th scope="col" class="number">of</th>
        </tr>
      </thead>
      <tbody>
        {rows.map((row, i) => (
          <tr key={i}>
            <td>{row.batch_id ?? "–"}</td>
            <td class="number">{bytes(row.read_bytes)}</td>
            <td class="number">{count(row.reads)}</td>
            <td class="number">{count(row.awaited_reads)}</td>
            <td class="number">{duration(row.waited_ns)}</td>
            <td class="number">{row.hit_share === null ? "–" : percent(row.hit_share)}</td>
            <td class="number">{count(row.evictions)}</td>
            <td class="number">{bytes(row.present_bytes)}</td>
            <td class="number">{bytes(row.budget_bytes)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function ReadRow(props: { reads: Reads; i: number; step: number }) {
  const { reads: r, i, step } = props;
  return (
    <tr aria-selected={isChosen(r, i) === true}>
      <td class="number">{moment(r.begin_ns[i]!, step)}</td>
      <td>{CAUSES[r.cause[i]!]}</td>
      <td>
        <button type="button" onClick={() => selectRead(r, i)}>
          {plainName(readName(r, i))}
        </button>
      </td>
      <td class="number">{bytes(r.size_bytes[i])}</td>
      <td class="number">{duration(r.queued_ns[i])}</td>
      <td class="number">{duration(r.duration_ns[i])}</td>
      <td class="number">{count(r.waiters[i])}</td>
      <td class="number">{r.waiters[i]! > 0 ? duration(r.waited_ns[i]) : "–"}</td>
    </tr>
  );
}

function SingleReads() {
  const p = pool.value;
  const { range } = settled.value;
  if (!p) return null;
  const seen: number[] = [];
  let n = 0;
  for (let i = 0; p.reads && i < p.reads.n; i++) {
    const begin = p.reads.begin_ns[i]!;
    if (begin > range.to || begin + p.reads.duration_ns[i]! < range.from) continue;
    n++;
    if (seen.length < LISTED) seen.push(i);
  }
  const step = (range.to - range.from) / 1000;
  return (
    <table>
      <caption>
        {p.reads ? `${counted(n, "read")} of boost in view` : "Reads of boost: too many to be listed, zoom in"}
        {n > seen.length && `, the first ${seen.length} are listed`}.
      </caption>
      <thead>
        <tr>
          <th scope="col" class="number">begins</th>
          <th scope="col">cause</th>
          <th scope="col">weight</th>
          <th scope="col" class="number">size</th>
          <th scope="col" class="number">queued</th>
          <th scope="col" class="number">took</th>
          <th scope="col" class="number">waiters</th>
          <th scope="col" class="number">waited</th>
        </tr>
      </thead>
      <tbody>{p.reads && seen.map((i) => <ReadRow reads={p.reads!} i={i} step={step} key={p.reads!.read[i]} />)}</tbody>
    </table>
  );
}

export function PoolTables() {
  return (
    <>
      <SingleReads />
      <Batches />
    </>
  );
}
