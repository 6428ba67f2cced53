// How much something was used: ops, time, bytes of weights, from the statistics.

import { getJson, ofTrace, type Params } from "../../api/client";
import { useResource } from "../../api/resource";
import { bytes, count, duration, rate } from "../../draw/format";
import { playing } from "../../state/playback";
import { selectedTrace } from "../../state/selection";
import { generation, summary } from "../../state/trace";
import { Figure } from "./Part";

interface Total {
  count: number;
  total_ns: number | null;
  wait_ns: number | null;
  weight_bytes: number | null;
  weight_bytes_at_most: boolean;
  bytes_per_s: number | null;
}

/** A name as a pattern that means only it. */
export function asPattern(name: string): string {
  return name.replace(/[*?[\]\\]/g, "\\$&");
}

/** Of the ops that the filter leaves (parameters of `stats`). */
export function Used(props: { filter: Params }) {
  // A token that is only passed over is skipped before its figures arrive.
  const timed = summary.value?.clock ?? false;
  const lanes = summary.value?.n_lanes ?? 0;
  const key = playing.value || !timed ? null : JSON.stringify([selectedTrace.value, generation.value, props.filter]);
  const { data, error } = useResource(key, async (abort) => {
    const params = { by: "op", limit: 1, ...props.filter };
    return (await getJson<{ total: Total }>(ofTrace(selectedTrace.peek(), "stats"), params, abort)).total;
  });
  if (!timed) return <Figure name="Used">not known: this trace has no times</Figure>;
  if (error.value) return <Figure name="Used">not known: {error.value.message}</Figure>;
  const total = data.value;
  if (!total) return <Figure name="Ops">…</Figure>;
  if (total.count === 0) return <Figure name="Ops">none recorded</Figure>;
  return (
    <>
      <Figure name="Ops">{count(total.count)}</Figure>
      <Figure name="Time of ops">{duration(total.total_ns)}</Figure>
      <Figure name="At barriers">
        {duration(total.wait_ns)}
        {total.wait_ns !== null && lanes > 1 && ` (${lanes} threads' sum)`}
      </Figure>
      <Figure name="Weights read">
        {total.weight_bytes_at_most && "at most "}
        {bytes(total.weight_bytes)}
      </Figure>
      {total.bytes_per_s !== null && total.bytes_per_s > 0 && (
        <Figure name="Rate">{rate(total.bytes_per_s)}</Figure>
      )}
    </>
  );
}
