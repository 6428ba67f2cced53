// Sums of the chosen dimension, sortable by any column.

import { useMemo } from "preact/hooks";
import { useSignal } from "@preact/signals";
import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import { keyText, type Dimension, type Stats, type StatsRow } from "../../api/stats";
import { count, counted, plainName } from "../../draw/format";
import { announce } from "../../parts/announce";
import { Empty, Failure, Loading } from "../../parts/messages";
import type { MenuItems } from "../../parts/ContextMenu";
import { NoOps } from "../../parts/NoOps";
import { showIn } from "../../parts/showIn";
import { VirtualTable, type Column } from "../../parts/VirtualTable";
import { filterLog } from "../../parts/thingMenu";
import { asText, copy, type Cell } from "../../parts/clipboard";
import { select, selection, type Selection } from "../../state/selection";
import { generation, summary, tensors } from "../../state/trace";
import { literal, termText, type Term } from "../../state/logTerms";
import { columnsOf, serverOrder, sorted } from "./columns";
import { filterParams, group, opFilter, phaseFilter, sortBy, sorting, type Filter } from "./state";
import { layerTerm } from "../../state/layers";

const ROWS_MOST = 5000;

/** The selection that a row represents. Parts without a selection are filters of this view, or the
 * group that is followed over the tokens. */
function choose(d: Dimension, row: StatsRow): void {
  const text = keyText(d, row);
  if (d.id === "category" || d.id === "component" || d.id === "thread") group.value = text;
  if (d.id === "layer") select({ layer: typeof row.layer_id === "number" ? row.layer_id : null, tensor: null });
  if (d.id === "batch") select({ token: typeof row.batch_id === "number" ? row.batch_id : null });
  if (d.id === "op") opFilter.value = text;
  if (d.id === "phase") phaseFilter.value = text === "unknown" ? null : text;
  if (d.id === "tensor") {
    const at = tensors.value?.name.indexOf(text) ?? -1;
    if (at >= 0) select({ tensor: text, layer: tensors.value?.layer_id[at] ?? null });
  }
  announce(`${d.title} ${text} chosen`);
}

function isChosen(d: Dimension, row: StatsRow): boolean {
  const s = selection.value;
  if (d.id === "layer") return s.layer !== null && row.layer_id === s.layer;
  if (d.id === "batch") return s.token !== null && row.batch_id === s.token;
  if (d.id === "tensor") return s.tensor !== null && row.tensor === s.tensor;
  if (d.id === "op") return opFilter.value !== null && row.op === opFilter.value;
  if (d.id === "phase") return phaseFilter.value !== null && row.phase === phaseFilter.value;
  return group.value !== null && keyText(d, row) === group.value;
}

/** Rows of tensors that have to do with the selected layer. */
function isRelated(d: Dimension, row: StatsRow): boolean {
  const layer = selection.value.layer;
  if (d.id !== "tensor" || layer === null || !row.tensor) return false;
  const at = tensors.value?.name.indexOf(String(row.tensor)) ?? -1;
  return at >= 0 && tensors.value?.layer_id[at] === layer;
}

/** As a filter of the log; null: rows of ops outside any, or of parts that the log does not filter by. */
function termOf(d: Dimension, row: StatsRow): Term | null {
  const key = row[d.key];
  const keys: Partial<Record<Dimension["id"], Term["key"]>> = { op: "op", layer: "layer", tensor: "tensor", batch: "token", phase: "phase", thread: "thread" };
  const log = keys[d.id];
  if (!log || ((key === null || key === undefined) && d.id !== "layer") || key === "unknown") return null;
  const text = d.id === "layer" ? layerTerm(typeof key === "number" ? key : -1) : String(key ?? "none");
  return { key: log, value: d.id === "tensor" ? literal(text) : text, sign: ":" };
}

/** The context menu of a row. */
function menuOf(d: Dimension, row: StatsRow): MenuItems {
  const term = termOf(d, row);
  const name = keyText(d, row);
  const at = d.id === "tensor" ? (tensors.value?.name.indexOf(name) ?? -1) : -1;
  const patch: Partial<Selection> | null =
    d.id === "layer" && typeof row.layer_id === "number"
      ? { layer: row.layer_id, tensor: null }
      : d.id === "batch" && typeof row.batch_id === "number"
        ? { token: row.batch_id }
        : at >= 0
          ? { tensor: name, layer: tensors.value?.layer_id[at] ?? null }
          : null;
  return [
    term ? [{ title: `Filter the log by ${termText(term)}`, run: () => filterLog([term]) }] : [],
    [{ title: `Choose ${plainName(name)}`, run: () => choose(d, row) }],
    patch ? showIn(patch, ["memory", "timeline", "graph", "values", "experts"]) : [],
  ];
}

const SUMS = [
  "count",
  "share",
  "work_ns",
  "total_ns",
  "mean_ns",
  "median_ns",
  "p95_ns",
  "max_ns",
  "busy_ns",
  "wait_ns",
  "off_cpu_ns",
  "wait_inside_ns",
  "weight_bytes",
  "weight_bytes_at_most",
  "bytes_per_s",
] as const;

function Copy(props: { dimension: Dimension; rows: readonly StatsRow[] }) {
  const run = (separator: "," | "\t") => {
    const { dimension, rows } = props;
    const cells = rows.map((r): Cell[] => [r[dimension.key], ...SUMS.map((k) => r[k])]);
    const kind = separator === "," ? "csv" : "tsv";
    void copy(asText([dimension.key, ...SUMS], cells, separator), `stats-by-${dimension.id}.${kind}`);
  };
  return (
    <>
      <button type="button" onClick={() => run("\t")} title="Tab-separated, for pasting into a spreadsheet">
        Copy TSV
      </button>
      <button type="button" onClick={() => run(",")} title="Comma-separated">
        Copy CSV
      </button>
    </>
  );
}

function summaryOf(d: Dimension, stats: Stats, shownRows: number): string {
  const what = counted(stats.total.count, d.id === "thread" ? "op of a thread" : "op", d.id === "thread" ? "ops of threads" : "ops");
  const cut = shownRows < stats.rows_total ? `; the first ${count(shownRows)} of ${count(stats.rows_total)} rows in this order` : "";
  const orphan = stats.orphan_records ? `; ${counted(stats.orphan_records, "record")} of runs that the trace does not describe left out` : "";
  return what + cut + orphan;
}

let columns: { readonly dimension: Dimension; readonly most: number; readonly list: readonly Column<StatsRow>[] } | null = null;

/** The same list as before, while it would be the same: the table keeps its cells then. */
function sameColumns(dimension: Dimension, most: number): readonly Column<StatsRow>[] {
  if (columns?.dimension !== dimension || columns.most !== most) columns = { dimension, most, list: columnsOf(dimension, most) };
  return columns.list;
}

export function Table(props: { trace: number; dimension: Dimension; filters: readonly Filter[] }) {
  const { trace, dimension } = props;
  const order = sorting();
  const widths = useSignal<Record<string, number>>({});
  // All rows are here as a rule; only when they are not the server has to sort.
  const cut = useSignal(false);
  const params = { by: dimension.id, limit: ROWS_MOST, ...(cut.value ? { sort: serverOrder(order.id) } : {}), ...filterParams(props.filters) };
  const resource = useResource(JSON.stringify([trace, generation.value, params]), async (abort) => {
    const stats = await getJson<Stats>(ofTrace(trace, "stats"), params, abort);
    cut.value = stats.rows_total > stats.rows.length;
    return stats;
  });
  const stats = resource.data.value;
  const current = stats?.by === dimension.id ? stats : null;
  const rows = useMemo(
    () => (current ? sorted(dimension, current.rows, order.id, order.descending) : []),
    [current, order.id, order.descending],
  );
  if (resource.error.value) return <Failure error={resource.error.value} retry={resource.retry} />;
  if (!current) return <Loading what="the ops" />;
  if (summary.value?.n_ops === 0) return <NoOps />;
  if (current.total.count === 0)
    return (
      <Empty title="No ops match">
        <p>{props.filters.length > 0 ? "Remove a part of the filter above." : "The trace has no ops with a known graph."}</p>
      </Empty>
    );
  const most = Math.max(0, ...rows.map((r) => r.share ?? 0));
  const selected = rows.findIndex((r) => isChosen(dimension, r));
  return (
    <div class="stats-panel">
      <div class="stats-table">
        <VirtualTable
          label={`Time and bytes by ${dimension.title.toLowerCase()}`}
          columns={sameColumns(dimension, most)}
          count={rows.length}
          row={(i) => rows[i] ?? null}
          selected={selected >= 0 ? selected : null}
          related={(r) => isRelated(dimension, r)}
          onSelect={(_, row) => choose(dimension, row)}
          nameColumn="key"
          menu={(row) => menuOf(dimension, row)}
          sorting={order}
          onSort={sortBy}
          widths={widths.value}
          onWidth={(id, width) => (widths.value = { ...widths.value, [id]: width })}
        />
      </div>
      <p class="stats-foot">
        <span>{summaryOf(dimension, current, rows.length)}</span>
        <Copy dimension={dimension} rows={rows} />
      </p>
    </div>
  );
}
