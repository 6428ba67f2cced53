// The largest differences: by part, component, kind of op, layer, and op.

import { useMemo } from "preact/hooks";
import { bytes, counted, duration, plainName } from "../../draw/format";
import { VirtualTable, type Column, type Sorting } from "../../parts/VirtualTable";
import { layerWords } from "../../state/layers";
import { selection } from "../../state/selection";
import { tensors } from "../../state/trace";
import { urlParam } from "../../state/url";
import type { Family, Phase, Row, Side } from "./answer";
import { chosenRow } from "./pair";
import { change, interval, layerOfRow, probability, signedDuration, sureness, SURENESS } from "./words";

const FAMILIES: { id: Family; title: string; what: string }[] = [
  { id: "components", title: "Components", what: "component" },
  { id: "parts", title: "Parts", what: "part" },
  { id: "ops", title: "Ops", what: "kind of op" },
  { id: "layers", title: "Layers", what: "layer" },
  { id: "nodes", title: "Nodes", what: "node" },
];

const family = urlParam("diff_by", "components");
/** "component=ffn_up": only such nodes. */
const filter = urlParam("diff_of", "");
const sorted = urlParam("diff_sort", "-bar");

function nameOf(row: Row, by: Family, models: boolean): string {
  if (by === "parts") return row.category ?? "";
  if (by === "components") return row.component ?? "";
  if (by === "ops") return row.op ?? "";
  if (by === "layers") return layerOfRow(row, models);
  if (!row.name) return `(${row.category ?? "no name"})`;
  return row.name_b && row.name_b !== row.name ? `${row.name} -> ${row.name_b}` : (row.name ?? "");
}

function opOf(row: Row): string {
  if (!row.op_a && !row.op_b) return "";
  if (!row.op_a) return `${row.op_b ?? ""} (B only)`;
  if (!row.op_b) return `${row.op_a} (A only)`;
  return row.op_a === row.op_b ? row.op_a : `${row.op_a} -> ${row.op_b}`;
}

function sideText(side: Side | null): string {
  return !side ? "not there" : side.time_ns === null ? "-" : duration(side.time_ns);
}

function sideTip(side: Side | null): string | undefined {
  if (!side || side.median_ns === null) return undefined;
  const read = side.weight_bytes ? `; reads ${side.weight_bytes_at_most ? "at most " : ""}${bytes(Math.round(side.weight_bytes))} of weights per token` : "";
  return `median ${duration(side.median_ns)}, middle half ${duration(side.p25_ns)} to ${duration(side.p75_ns)}, mean ${duration(side.mean_ns)}, of ${counted(side.samples, "token")}${read}`;
}

/** How much B takes more, against the largest change in the table: left of the middle it is less. */
function Bar(props: { delta: number | null; full: number }) {
  const share = props.delta === null || props.full <= 0 ? 0 : Math.min(1, Math.abs(props.delta) / props.full);
  const side = (props.delta ?? 0) < 0 ? "less" : "more";
  return (
    <span class="diff-bar" aria-hidden="true">
      <i class={`diff-bar-${side}`} style={{ width: `${share * 50}%` }} />
    </span>
  );
}

/** What the row's own change explains: on a busy machine, B's time less what is expected of it. */
function ownDelta(row: Row): number | null {
  return row.b?.time_ns != null && row.expected_ns !== null ? row.b.time_ns - row.expected_ns : row.delta_ns;
}

function columnsOf(by: Family, full: number, level: number, compared: boolean, models: boolean): Column<Row>[] {
  const sure = `${Number((100 * (1 - level)).toPrecision(6))} %`;
  const name: Column<Row> = {
    id: "name",
    title: FAMILIES.find((f) => f.id === by)!.what,
    width: by === "nodes" ? 150 : 130,
    middle: true,
    cell: (row) => plainName(nameOf(row, by, models)),
    tip: (row) => plainName(nameOf(row, by, models)),
  };
  const op: Column<Row>[] = by === "nodes" ? [{ id: "op", title: "op", width: 130, cell: opOf, tip: opOf }] : [];
  const others: Column<Row>[] = compared
    ? [{ id: "others", title: "B as others", width: 95, number: true, cell: (row) => duration(row.expected_ns), hint: "The machine was busy: what B would take had it changed as the other ops of its kind; A and B are own work" }]
    : [];
  return [
    name,
    ...op,
    { id: "a", title: "A", width: 80, number: true, cell: (row) => sideText(row.a), tip: (row) => sideTip(row.a), hint: "Undisturbed time of a token; the tip has the median" },
    { id: "b", title: "B", width: 80, number: true, cell: (row) => sideText(row.b), tip: (row) => sideTip(row.b), hint: "Undisturbed time of a token; the tip has the median" },
    ...others,
    { id: "delta", title: "B - A", width: 85, number: true, cell: (row) => signedDuration(row.delta_ns), hint: "B's time minus A's" },
    { id: "bar", drawn: true, title: "B - A drawn", width: 110, cell: (row) => <Bar delta={ownDelta(row)} full={full} /> },
    { id: "wait", title: "Waiting", width: 112, number: true, cell: (row) => signedDuration(row.delta_wait_ns), hint: "The part of the change in which threads did not compute, on average" },
    { id: "change", title: "Change", width: 75, number: true, cell: (row) => change(row.change), hint: "From A to B, or from what the other ops' change predicts (B as others) to B" },
    { id: "interval", title: `${sure} interval`, width: 140, number: true, cell: interval, hint: "Confidence interval of the change" },
    { id: "p", title: "p", width: 70, number: true, cell: (row) => probability(row.p_adjusted), hint: "p value: how often noise alone would give such a difference, corrected for the number of rows" },
    { id: "sure", title: "Significant?", width: 115, cell: (row) => <span class={`diff-${sureness(row)}`}>{SURENESS[sureness(row)]}</span>, hint: "! yes, and it changes a token's time by more than the threshold; * yes, but not by that much; no: noise alone could look like this" },
  ];
}

const BY: Record<string, (row: Row) => number | string | null> = {
  a: (r) => r.a?.time_ns ?? null,
  b: (r) => r.b?.time_ns ?? null,
  delta: (r) => r.delta_ns,
  others: (r) => r.expected_ns,
  bar: (r) => {
    const own = ownDelta(r);
    return own === null ? null : Math.abs(own);
  },
  wait: (r) => r.delta_wait_ns,
  change: (r) => r.change,
  interval: (r) => r.change_high,
  p: (r) => r.p_adjusted,
  sure: (r) => ["untested", "open", "changed", "matters"].indexOf(sureness(r)),
  op: (r) => opOf(r),
};

/** Unknown ones last, whichever way. */
function inOrder(rows: readonly Row[], by: Family, sorting: Sorting | null): Row[] {
  if (!sorting) return [...rows];
  const value =
    sorting.id === "name" ? (by === "layers" ? (r: Row) => r.layer_id ?? -1 : (r: Row) => nameOf(r, by, false)) : BY[sorting.id];
  if (!value) return [...rows];
  const sign = sorting.descending ? -1 : 1;
  return [...rows].sort((x, y) => {
    const [p, q] = [value(x), value(y)];
    if (p === null || q === null) return p === q ? 0 : p === null ? 1 : -1;
    return sign * (typeof p === "string" ? p.localeCompare(String(q)) : p - Number(q));
  });
}

function sortingOf(text: string): Sorting | null {
  return text ? { id: text.replace(/^-/, ""), descending: text.startsWith("-") } : null;
}

/** Whether a node belongs to the row that was looked into. */
function belongs(row: Row): boolean {
  const at = filter.value.indexOf("=");
  if (at < 0) return true;
  const [key, wanted] = [filter.value.slice(0, at), filter.value.slice(at + 1)];
  if (key === "component") return row.component === wanted;
  if (key === "category") return row.category === wanted;
  if (key === "op") return [row.op_a, row.op_b].some((op) => op != null && op.replaceAll(", ", "+") === wanted);
  return true;
}

function lookInto(row: Row, by: Family): void {
  const key = by === "parts" ? "category" : by === "components" ? "component" : "op";
  const value = row.category ?? row.component ?? row.op ?? "";
  filter.value = `${key}=${value}`;
  family.value = "nodes";
}

/** Whether a row is related to what is selected in other views. */
function isRelated(row: Row, by: Family): boolean {
  const { layer, tensor } = selection.value;
  const at = tensor === null ? -1 : (tensors.value?.name.indexOf(tensor) ?? -1);
  const component = at < 0 ? null : tensors.value!.component[at];
  if (by === "layers") return layer !== null && row.layer_id === layer;
  if (by === "components") return component !== null && row.component === component;
  if (by === "parts") return at >= 0 && row.category === tensors.value!.category[at];
  if (by !== "nodes") return false;
  if (component !== null) return row.component === component && (layer === null || row.layer_id === layer);
  return layer !== null && row.layer_id === layer;
}

export interface TablesProps {
  phase: Phase;
  threshold: number;
  level: number;
  chooseLayer: (layer: number | null) => void;
  chooseNode: (row: Row) => void;
}

export function Tables(props: TablesProps) {
  const by = FAMILIES.find((f) => f.id === family.value)?.id ?? "components";
  const sorting = sortingOf(sorted.value);
  const of = filter.value;
  const rows = useMemo(() => {
    const all = props.phase[by] ?? [];
    return inOrder(by === "nodes" ? all.filter(belongs) : all, by, sorting);
  }, [props.phase, by, sorted.value, of]);
  const full = Math.max(0, ...rows.map((r) => Math.abs(ownDelta(r) ?? 0)));
  const compared = rows.some((r) => r.expected_ns !== null);
  const models = new Set(rows.flatMap((r) => r.model_file ?? [])).size > 1;
  const chosen = by === "nodes" && chosenRow.value ? rows.findIndex((r) => r.name === chosenRow.value!.name) : -1;
  const sort = (id: string) => {
    const now = sortingOf(sorted.value);
    sorted.value = now?.id === id && now.descending ? id : `-${id}`;
  };
  const onSelect = (_i: number, row: Row) => {
    if (by === "nodes") props.chooseNode(row);
    else if (by === "layers") props.chooseLayer(row.layer_id ?? null);
    else lookInto(row, by);
  };
  return (
    <section class="diff-section" aria-label="What differs most">
      <h2>What differs most</h2>
      <div class="diff-choices">
        <div role="group" aria-label="By">
          {FAMILIES.map((f) => (
            <button type="button" key={f.id} aria-pressed={f.id === by} onClick={() => (family.value = f.id)}>
              {f.title}
            </button>
          ))}
        </div>
        {by === "nodes" && of && (
          <button type="button" onClick={() => (filter.value = "")}>
            only {plainName(of.replace("=", " "))}: show all nodes
          </button>
        )}
        <span class="diff-hint">
          {by === "nodes" || by === "layers" ? "Enter or a click selects it in all views." : "Enter or a click shows its nodes."}
        </span>
      </div>
      <div class="diff-table" data-rows={rows.length}>
        <VirtualTable
          label={`What differs most, by ${by}: ${counted(rows.length, "row")}; ${layerWords(selection.value.layer)} selected`}
          columns={columnsOf(by, full, props.level, compared, models)}
          count={rows.length}
          row={(i) => rows[i] ?? null}
          selected={chosen >= 0 ? chosen : null}
          related={(row) => isRelated(row, by)}
          onSelect={onSelect}
          sorting={sorting}
          onSort={sort}
          empty={<p>No times were compared in this phase.</p>}
        />
      </div>
    </section>
  );
}
