// How each group's time changes from token to token.

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type uPlot from "uplot";
import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import { keyName, keyText, type Dimension, type Series, type SeriesRow } from "../../api/stats";
import { categoryColour, css, isDark, seriesColour } from "../../draw/colour";
import { bytes, counted, duration, percent, plainName } from "../../draw/format";
import { announce } from "../../parts/announce";
import { CanvasView } from "../../parts/CanvasView";
import { Empty, Failure, Loading } from "../../parts/messages";
import { useSize } from "../../parts/useSize";
import { asText, copy } from "../../parts/clipboard";
import { select, selectedToken } from "../../state/selection";
import { generation } from "../../state/trace";
import { plotStacked, type Band, type Stacked } from "./stacked";
import { filterParams, follow, followed, followedKey, measure, type Filter } from "./state";

const GROUPS = 7;
const POINTS = 400;
const MEASURES = [
  { id: "share", title: "Share of the time" },
  { id: "time", title: "Time per token" },
  { id: "bytes", title: "Bytes of weights per token" },
] as const;
type Measure = (typeof MEASURES)[number]["id"];

function measureShown(d: Dimension): Measure {
  const wanted = MEASURES.find((m) => m.id === measure.value)?.id ?? "share";
  return wanted === "bytes" && d.id === "thread" ? "share" : wanted;
}

function text(m: Measure, value: number | null): string {
  return m === "share" ? percent(value) : m === "time" ? duration(value) : bytes(value === null ? null : Math.round(value));
}

/** One value of a group in a bucket. */
function valueOf(m: Measure, series: Series, row: Pick<SeriesRow, "total_ns" | "weight_bytes">, i: number): number | null {
  const all = series.all?.total_ns[i] ?? null;
  if (all === null) return null;
  const sum = (m === "bytes" ? row.weight_bytes : row.total_ns)?.[i] ?? null;
  if (sum === null) return null;
  // Steps need not be of the same number of tokens.
  return m !== "share" ? sum / (series.batches[i] || 1) : all > 0 ? sum / all : 0;
}

function bandsOf(d: Dimension, m: Measure, series: Series): Band[] {
  const column = (row: Pick<SeriesRow, "total_ns" | "weight_bytes">) => series.first_batch_id.map((_, i) => valueOf(m, series, row, i));
  // Numbered groups keep their order.
  const rows = d.id === "layer" || d.id === "thread" ? series.rows.toSorted((a, b) => Number(a[d.key] ?? -1) - Number(b[d.key] ?? -1)) : series.rows;
  const bands = rows.map((row, i) => ({ label: keyText(d, row), colour: d.id === "category" ? categoryColour(keyText(d, row)) : seriesColour(i), values: column(row) }));
  if (!series.other || series.other.rows === 0 || m === "bytes") return bands;
  return [...bands, { label: `${series.other.rows} others`, colour: seriesColour(GROUPS), values: column(series.other) }];
}

function tokensOf(series: Series, i: number): string {
  const first = series.first_batch_id[i];
  const last = series.last_batch_id[i];
  return first === last ? `token ${first}` : `tokens ${first} to ${last}`;
}

/** The bucket that has the token, or -1. */
function bucketOf(series: Series, token: number | null): number {
  if (token === null) return -1;
  return series.last_batch_id.findIndex((last, i) => token <= last && token >= series.first_batch_id[i]!);
}

function describe(series: Series, bands: readonly Band[], m: Measure, i: number): string {
  const parts = bands.map((b) => `${plainName(b.label)} ${text(m, b.values[i] ?? null)}`);
  return `${tokensOf(series, i)}: ${parts.join(", ")}`;
}

function Legend(props: { dimension: Dimension; bands: readonly Band[]; at: number | null; measure: Measure }) {
  return (
    <ul class="stats-legend" aria-label="Groups, from the bottom of the plot">
      {props.bands.map((b) => (
        <li key={b.label}>
          <button type="button" aria-pressed={followed(props.dimension.id) === b.label} onClick={() => follow(props.dimension.id, followed(props.dimension.id) === b.label ? null : b.label)} title="Highlight it">
            <span class="stats-swatch" style={{ background: css(b.colour) }} />
            {plainName(keyName(props.dimension, b.label))}
            {props.at !== null && <span class="mono">{text(props.measure, b.values[props.at] ?? null)}</span>}
          </button>
        </li>
      ))}
    </ul>
  );
}

function ValueTable(props: { series: Series; bands: readonly Band[]; measure: Measure }) {
  const { series, bands } = props;
  return (
    <table>
      <thead>
        <tr>
          <th scope="col">Tokens</th>
          {bands.map((b) => (
            <th scope="col" class="number" key={b.label}>
              {plainName(b.label)}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {series.first_batch_id.map((first, i) => (
          <tr key={first}>
            <th scope="row">{tokensOf(series, i)}</th>
            {bands.map((b) => (
              <td class="number" key={b.label}>
                {text(props.measure, b.values[i] ?? null)}
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

function Plot(props: { dimension: Dimension; series: Series }) {
  const { dimension, series } = props;
  const m = measureShown(dimension);
  const bands = useMemo(() => bandsOf(dimension, m, series), [series, m]);
  const { ref: host, size } = useSize<HTMLDivElement>();
  const at = useSignal<number | null>(null);
  const plot = useRef<uPlot | null>(null);
  const choose = (i: number) => select({ token: series.first_batch_id[i] ?? null });

  const followedNow = followed(dimension.id);
  const chosen = bands.some((b) => b.label === followedNow) ? followedNow : null;
  const dark = isDark.value;
  const { width, height } = size.value;
  useEffect(() => {
    if (!host.current || width === 0 || height === 0) return undefined;
    const data: Stacked = {
      x: series.first_batch_id,
      end: (series.last_batch_id.at(-1) ?? 0) + 1,
      bands,
      axis: (v) => (m === "share" ? `${Math.round(v * 100)} %` : text(m, v)),
      most: m === "share" && dimension.id !== "tensor" ? 1 : null,
    };
    const made = plotStacked(host.current, { width, height }, data, {
      onCursor: (i) => (at.value = i),
      onClick: choose,
      marked: () => series.first_batch_id[bucketOf(series, selectedToken.peek())] ?? null,
      chosen: () => chosen,
    });
    plot.current = made;
    return () => {
      plot.current = null;
      made.destroy();
    };
  }, [bands, width, height, chosen, dark]);
  useSignalEffect(() => {
    selectedToken.value;
    plot.current?.redraw(false, false);
  });

  const here = useComputed(() => at.value ?? (bucketOf(series, selectedToken.value) >= 0 ? bucketOf(series, selectedToken.value) : null));
  const onKeyDown = (event: KeyboardEvent) => {
    const n = series.first_batch_id.length;
    const now = bucketOf(series, selectedToken.value);
    const to = { ArrowRight: Math.min(n - 1, now + 1), ArrowLeft: Math.max(0, now - 1), Home: 0, End: n - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    choose(to);
    announce(describe(series, bands, m, to));
  };
  return (
    <>
      <Legend dimension={dimension} bands={bands} at={here.value} measure={m} />
      <div class="stats-plot">
        <CanvasView
          label={`${MEASURES.find((x) => x.id === m)!.title} by ${dimension.title.toLowerCase()}, over ${counted(series.batches_total, "token")}`}
          keys="Left and Right select the previous or next token, Home and End the first or last."
          value={here.value === null ? "" : describe(series, bands, m, here.value)}
          on={{ onKeyDown }}
          table={<ValueTable series={series} bands={bands} measure={m} />}
        >
          <div class="stats-host" ref={host} />
        </CanvasView>
      </div>
    </>
  );
}

function Tools(props: { dimension: Dimension; series: Series }) {
  const { dimension, series } = props;
  const m = measureShown(dimension);
  const run = (separator: "," | "\t") => {
    const bands = bandsOf(dimension, m, series);
    const unit = m === "share" ? "share" : m === "time" ? "token_ns" : "token_weight_bytes";
    const head = ["first_batch_id", "last_batch_id", ...bands.map((b) => `${b.label} ${unit}`)];
    const rows = series.first_batch_id.map((first, i) => [first, series.last_batch_id[i], ...bands.map((b) => b.values[i])]);
    void copy(asText(head, rows, separator), `series-by-${dimension.id}.${separator === "," ? "csv" : "tsv"}`);
  };
  const each = series.first_batch_id.length < series.batches_total ? `; ${counted(series.first_batch_id.length, "step")} of several tokens each` : "";
  return (
    <p class="stats-foot">
      <span>
        {counted(series.batches_total, "token")}
        {each}. {dimension.id === "tensor" ? "An op that reads two tensors counts for both." : "Click the plot to select a token."}
      </span>
      <label>
        Show{" "}
        <select aria-label="What the plot shows" value={m} onChange={(event) => (measure.value = event.currentTarget.value)}>
          {MEASURES.filter((x) => x.id !== "bytes" || dimension.id !== "thread").map((x) => (
            <option value={x.id} key={x.id}>
              {x.title.toLowerCase()}
            </option>
          ))}
        </select>
      </label>
      <button type="button" onClick={() => run("\t")}>
        Copy TSV
      </button>
      <button type="button" onClick={() => run(",")}>
        Copy CSV
      </button>
    </p>
  );
}

export function OverTokens(props: { trace: number; dimension: Dimension; filters: readonly Filter[] }) {
  const { trace, dimension } = props;
  const params = { by: dimension.id, limit: GROUPS, points: POINTS, with: followedKey(dimension.id), ...filterParams(props.filters) };
  const resource = useResource(JSON.stringify([trace, generation.value, params]), (abort) =>
    getJson<Series>(ofTrace(trace, "series"), params, abort),
  );
  const series = resource.data.value;
  if (resource.error.value) return <Failure error={resource.error.value} retry={resource.retry} />;
  if (!series || series.by !== dimension.id) return <Loading what="the ops" />;
  if (series.first_batch_id.length === 0 || !series.all?.total_ns.some((v) => v !== null))
    return (
      <Empty title="No token to show">
        <p>{props.filters.length > 0 ? "No ops of a token match: remove a part of the filter above." : "The trace has no batch with ops."}</p>
      </Empty>
    );
  return (
    <div class="stats-panel">
      <Plot dimension={dimension} series={series} />
      <Tools dimension={dimension} series={series} />
    </div>
  );
}
