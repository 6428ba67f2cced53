// Sums of a selected time range on some lanes, by kind of op.

import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import { bytes, count, duration, percent } from "../../draw/format";
import { css } from "../../draw/colour";
import { select, selection } from "../../state/selection";
import { generation } from "../../state/trace";
import { selectedTracks, selectLanes } from "../../state/timelineLanes";
import { categoryColour } from "./look";

interface Sum {
  count: number;
  busy_ns: number;
  wait_ns: number | null; // null: not observed
  weight_bytes: number;
  weight_bytes_at_most: boolean;
}

/** GET .../timeline/aggregate */
interface Aggregate extends Sum {
  from_ns: number;
  to_ns: number;
  tracks: number;
  ops: (Sum & { op: string; category: string })[];
}

function Cells(props: { sum: Sum; all: Sum; lanes_ns: number }) {
  const { sum, all } = props;
  return (
    <>
      <td class="number">{count(sum.count)}</td>
      <td class="number">{duration(sum.busy_ns)}</td>
      <td class="number">{percent(all.busy_ns ? sum.busy_ns / all.busy_ns : 0)}</td>
      <td class="number">{duration(sum.wait_ns)}</td>
      <td class="number">{percent(props.lanes_ns ? (sum.busy_ns + (sum.wait_ns ?? 0)) / props.lanes_ns : 0)}</td>
      <td class="number">
        {sum.weight_bytes_at_most && sum.weight_bytes ? "≤ " : ""}
        {bytes(sum.weight_bytes)}
      </td>
    </>
  );
}

function Sums(props: { data: Aggregate }) {
  const { data } = props;
  const lanes_ns = (data.to_ns - data.from_ns) * data.tracks;
  return (
    <table>
      <caption class="sr-only">Ops of the selected time and threads, by kind</caption>
      <thead>
        <tr>
          <th scope="col">op</th>
          <th scope="col">category</th>
          <th scope="col" class="number" title="An op counts once per thread">
            ops on threads
          </th>
          <th scope="col" class="number">busy</th>
          <th scope="col" class="number">of busy</th>
          <th scope="col" class="number">waits</th>
          <th scope="col" class="number" title="Share of the selected time on the selected threads">
            of the time
          </th>
          <th scope="col" class="number" title="Of an op that began before the selected time, how much of its weights it read here is not known">
            weights of ops that begin
          </th>
        </tr>
      </thead>
      <tbody>
        {data.ops.map((sum) => (
          <tr key={`${sum.op} ${sum.category}`}>
            <th scope="row">{sum.op}</th>
            <td>
              <span class="tl-swatch" style={{ background: css(categoryColour(sum.category)) }} /> {sum.category}
            </td>
            <Cells sum={sum} all={data} lanes_ns={lanes_ns} />
          </tr>
        ))}
      </tbody>
      <tfoot>
        <tr>
          <th scope="row">all</th>
          <td>{data.tracks === 1 ? "1 thread" : `${data.tracks} threads`}</td>
          <Cells sum={data} all={data} lanes_ns={lanes_ns} />
        </tr>
      </tfoot>
    </table>
  );
}

export function Panel() {
  const { time, trace } = selection.value;
  const tracks = selectedTracks.value;
  const key = time ? `${trace} ${generation.value} ${time.join()} ${tracks}` : null;
  const { data, error, loading } = useResource<Aggregate>(key, (abort) =>
    getJson(
      ofTrace(trace, "timeline/aggregate"),
      { from_ns: time?.[0], to_ns: time?.[1], tracks },
      abort,
    ),
  );
  if (!time) return null;
  return (
    <section class="tl-panel" aria-label="The selected time" aria-busy={loading.value}>
      <header>
        <h2>{duration(time[1] - time[0])} selected</h2>
        {loading.value && <span role="status">adding up…</span>}
        <button
          type="button"
          onClick={() => {
            selectLanes(null);
            select({ time: null });
          }}
        >
          Close
        </button>
      </header>
      {error.value ? <p role="alert">{error.value.message}</p> : data.value && <Sums data={data.value} />}
    </section>
  );
}
