// Two tokens beside each other, with what the second one has more or less.

import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import { bytes, count, duration, plainName, visible } from "../../draw/format";
import { select, selectedTrace } from "../../state/selection";
import { batchIndex, generation, summary } from "../../state/trace";
import { phaseWord } from "../../state/words";
import { Part } from "./Part";

interface Sums {
  total_ns: number | null;
  work_ns?: number | null;
  wait_ns: number | null;
  weight_bytes: number | null;
  count: number;
}

interface Answer {
  total: Sums;
  rows: (Sums & { component: string | null })[];
}

/** "+1.2 ms (1.5x)"; empty: not known, or the same. */
function difference(a: number | null, b: number | null, words: (n: number) => string): string {
  if (a === null || b === null || a === b) return a === null || b === null ? "" : "same";
  const times = a > 0 && b > 0 ? ` (${(b / a).toFixed(2)}×)` : "";
  return `${b > a ? "+" : "−"}${words(Math.abs(b - a))}${times}`;
}

function took(i: number): number | null {
  const b = summary.value!.batches;
  const begin = b.start_relative_ns[i] ?? null;
  const end = b.end_relative_ns[i] ?? null;
  return begin === null || end === null ? null : end - begin;
}

function Row(props: { name: string; a: number | null; b: number | null; words: (n: number | null) => string }) {
  const { a, b, words } = props;
  return (
    <tr>
      <th scope="row" title={props.name}>{props.name}</th>
      <td class="number">{words(a)}</td>
      <td class="number">{words(b)}</td>
      <td class="number delta">{difference(a, b, words)}</td>
    </tr>
  );
}

/** Of each part of the network: those that differ most first. */
function byComponent(a: Answer, b: Answer): { name: string; a: number | null; b: number | null }[] {
  const names = new Set([...a.rows, ...b.rows].map((r) => r.component ?? "none"));
  const of = (answer: Answer, name: string) => answer.rows.find((r) => (r.component ?? "none") === name)?.total_ns ?? null;
  const rows = [...names].map((name) => ({ name, a: of(a, name), b: of(b, name) }));
  return rows.sort((x, y) => Math.abs((y.b ?? 0) - (y.a ?? 0)) - Math.abs((x.b ?? 0) - (x.a ?? 0)));
}

const PARTS_MOST = 8;

export function TokensPart(props: { token: number; other: number }) {
  const { token, other } = props;
  const [i, j] = [batchIndex(token), batchIndex(other)];
  const { data, error } = useResource(`${selectedTrace.value} ${generation.value} ${token} ${other}`, (abort) =>
    Promise.all(
      [token, other].map((batch) => getJson<Answer>(ofTrace(selectedTrace.peek(), "stats"), { by: "component", batch }, abort)),
    ),
  );
  const batches = summary.value!.batches;
  const text = (at: number) => (batches.text[at] == null ? "" : visible(batches.text[at]!.slice(0, 40)));
  const [a, b] = data.value ?? [];
  return (
    <Part kind="Tokens" title={`${token} and ${other}`} onClear={() => select({ token2: null })} views={["timeline", "stats"]}>
      <table class="two">
        <thead>
          <tr>
            <td />
            <th scope="col" class="number">
              {token} <span class="mono">{text(i)}</span>
            </th>
            <th scope="col" class="number">
              {other} <span class="mono">{j < 0 ? "not in this trace" : text(j)}</span>
            </th>
            <th scope="col" class="number">
              Difference
            </th>
          </tr>
        </thead>
        <tbody>
          {i >= 0 && j >= 0 && batches.phase[i] !== batches.phase[j] && (
            <tr>
              <th scope="row">Phase</th>
              <td class="number">{phaseWord(batches.phase[i]!)}</td>
              <td class="number">{phaseWord(batches.phase[j]!)}</td>
              <td />
            </tr>
          )}
          <Row name="Took" a={took(i)} b={took(j)} words={duration} />
          {a && b && (
            <>
              <Row name="Ops" a={a.total.count} b={b.total.count} words={(n) => count(n ?? 0)} />
              <Row name="Time of ops" a={a.total.total_ns} b={b.total.total_ns} words={duration} />
              <Row name="At barriers" a={a.total.wait_ns} b={b.total.wait_ns} words={duration} />
              <Row name="Weights read" a={a.total.weight_bytes} b={b.total.weight_bytes} words={bytes} />
              {byComponent(a, b)
                .slice(0, PARTS_MOST)
                .map((row) => (
                  <Row key={row.name} name={plainName(row.name)} a={row.a} b={row.b} words={duration} />
                ))}
            </>
          )}
        </tbody>
      </table>
      {error.value && <p role="alert">{error.value.message}</p>}
    </Part>
  );
}
