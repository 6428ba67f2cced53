// The engine's memory over time, its peak, and each buffer's life.

import { useEffect, useMemo } from "preact/hooks";
import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import { backingText, kindText, type Buffers, type Curve, type CurveSeries } from "../../api/buffers";
import { bytes, when } from "../../draw/format";
import { css } from "../../draw/colour";
import { inOrder, kindColour, totals } from "../../draw/buffers";
import { bind } from "../../input/keys";
import { Empty, Failure, Loading } from "../../parts/messages";
import { selectedTrace, selection } from "../../state/selection";
import { generation, summary } from "../../state/trace";
import { Lived } from "./Lived";
import { List } from "./List";
import { Plot } from "./Plot";
import { axis, setMapped, showsMapped } from "./state";
import "./command";
import "./buffers.css";

const BUFFERS_MOST = 5000;
const POINTS = 4000;

function Legend(props: { series: readonly CurveSeries[] }) {
  return (
    <ul class="buffers-legend" aria-label="Kinds, from the bottom of the plot">
      {props.series.map((s) => (
        <li key={s.kind + s.backing}>
          <span class={s.backing === "allocated" ? "buffers-swatch" : "buffers-swatch mapped"} style={{ "--bar": css(kindColour(s.kind)) }} />
          {kindText(s.kind)}
          {s.backing !== "allocated" && ` (${backingText(s.backing)})`}
        </li>
      ))}
    </ul>
  );
}

function Head(props: { answer: Buffers; series: readonly CurveSeries[]; hasMapped: boolean }) {
  const { allocated, file } = props.answer.peak;
  return (
    <div class="buffers-head">
      <span>
        {allocated ? `Most allocated: ${bytes(allocated.size_bytes)}, ${when(allocated.time_relative_ns)}` : "Nothing was allocated"}
        {file && `; mapped: ${bytes(file.size_bytes)}`}
      </span>
      <Legend series={props.series} />
      {props.hasMapped && (
        <label>
          <input type="checkbox" checked={showsMapped()} onChange={(event) => setMapped(event.currentTarget.checked)} /> with
          mapped files
        </label>
      )}
    </div>
  );
}

/** Time of the peak within the visible range; null: no buffers. */
function peakOf(curve: Curve, series: readonly CurveSeries[]): number | null {
  let top = -1;
  let most = 0;
  curve.time_relative_ns.forEach((_, i) => {
    const sum = totals(series, i);
    if (sum > most) {
      most = sum;
      top = i;
    }
  });
  return top < 0 ? null : curve.time_relative_ns[top]!;
}

function useKeys(): void {
  useEffect(() => {
    const middle = () => (axis.target.from + axis.target.to) / 2;
    const zoom = (per_s: number) => (seconds: number) => axis.zoom(per_s ** seconds, middle(), true);
    const pan = (per_s: number) => (seconds: number) => axis.pan(per_s * seconds, true);
    const fit = () => {
      const time = selection.peek().time;
      if (time) axis.fit(time[0], time[1]);
    };
    return bind(
      { id: "buffers.in", keys: ["KeyW", "ArrowUp", "Equal", "NumpadAdd"], title: "Zoom in", scope: "Buffers", held: zoom(0.15) },
      { id: "buffers.out", keys: ["KeyS", "ArrowDown", "Minus", "NumpadSubtract"], title: "Zoom out", scope: "Buffers", held: zoom(6) },
      { id: "buffers.earlier", keys: ["KeyA", "ArrowLeft"], title: "Earlier", scope: "Buffers", held: pan(-0.9) },
      { id: "buffers.later", keys: ["KeyD", "ArrowRight"], title: "Later", scope: "Buffers", held: pan(0.9) },
      { id: "buffers.all", keys: ["Shift+Digit0"], title: "Show the whole run", scope: "Buffers", run: () => axis.all() },
      { id: "buffers.fit", keys: ["KeyF"], title: "Fit the selected time", scope: "Buffers", run: fit },
      { id: "buffers.mapped", keys: ["KeyM"], title: "Show or hide mapped files", scope: "Buffers", run: () => setMapped(!showsMapped()) },
    );
  }, []);
}

function Shown(props: { answer: Buffers; curve: Curve }) {
  const { answer, curve } = props;
  const mapped = showsMapped();
  const series = useMemo(() => inOrder(curve.series).filter((s) => mapped || s.backing !== "file"), [curve, mapped]);
  const peak_ns = useMemo(() => peakOf(curve, series), [curve, series]);
  useEffect(() => {
    const first = curve.time_relative_ns[0] ?? 0;
    const last = Math.max(curve.time_relative_ns.at(-1) ?? 0, summary.peek()?.end_relative_ns ?? 0);
    const margin = (last - first) * 0.02 || 1000;
    axis.setExtent(first - margin, last + margin);
  }, [curve]);
  useKeys();
  const rows = mapped ? answer.buffers : answer.buffers.filter((b) => b.backing !== "file");
  return (
    <div class="buffers">
      <Head answer={answer} series={series} hasMapped={curve.series.some((s) => s.backing === "file")} />
      <div class="buffers-top">
        <Plot curve={curve} series={series} peak_ns={peak_ns} />
        <Lived answer={answer} peak_ns={peak_ns} />
      </div>
      <div class="buffers-list">
        <List rows={rows} />
      </div>
    </div>
  );
}

export function Component() {
  const trace = selectedTrace.value;
  const clock = summary.value?.clock ?? false;
  const key = `${trace} ${generation.value}`;
  const buffers = useResource(key, (abort) => getJson<Buffers>(ofTrace(trace, "buffers"), { limit: BUFFERS_MOST }, abort));
  const curve = useResource(clock ? key : null, (abort) => getJson<Curve>(ofTrace(trace, "buffers_curve"), { points: POINTS }, abort));
  const error = buffers.error.value ?? curve.error.value;
  const again = () => {
    if (buffers.error.peek()) buffers.retry();
    if (curve.error.peek()) curve.retry();
  };
  if (error) return <Failure error={error} retry={again} />;
  const answer = buffers.data.value;
  if (!answer || (clock && !curve.data.value)) return <Loading what="the buffers" />;
  if (answer.buffers.length === 0)
    return (
      <Empty title="No buffer was observed">
        <p>This view shows the memory that the engine allocated. The trace has no buffers: it may have been cut off before the first graph.</p>
      </Empty>
    );
  if (!curve.data.value)
    return (
      <div class="buffers">
        <p class="buffers-head">The trace has no clock, so that there is no time to draw; the buffers are these.</p>
        <div class="buffers-list">
          <List rows={answer.buffers} />
        </div>
      </div>
    );
  return <Shown answer={answer} curve={curve.data.value} />;
}
