// The table of ops, for containers with a height. Without `terms` it shows the ops of the shared
// selection.

import { effect, signal, untracked, useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Latest } from "../../api/client";
import type { LogPlace, LogRow } from "../../api/log";
import { counted, duration, plainName } from "../../draw/format";
import { momentKey, momentOp } from "../../state/moment";
import { select, selection, type OpRef, type Region, type Selection } from "../../state/selection";
import { isNarrow } from "../../state/screen";
import { batchIndex, generation, summary } from "../../state/trace";
import { urlParam } from "../../state/url";
import { panes } from "../../state/view";
import { selectionWords } from "../../state/words";
import { paramsOf, termsOfSelection, termsText, type Term } from "../../state/logTerms";
import { announce } from "../announce";
import { NoOps } from "../NoOps";
import { Empty, Failure } from "../messages";
import { VirtualTable } from "../VirtualTable";
import { choiceOf, choiceText, COLUMNS, DEFAULT_CHOICE, SHOWN_NARROW } from "./columns";
import { menuOf, weightOf } from "./rowMenu";
import { order, ORDERS, toggleOrder } from "./order";
import { LogRowsCache } from "./rows";
import "./log.css";

/** Shared by all log tables: hiding a column hides it in all. */
export const columnChoice = urlParam("cols", DEFAULT_CHOICE);

export interface LogTableProps {
  /** Null or omitted: what is selected (token, time, layer, tensor). */
  terms?: readonly Term[] | null;
  /** One row per thread. */
  lanes?: boolean;
  /** Called when the rows change (another filter, another trace), with the terms that they pass. */
  onRows?: (rows: LogRowsCache, terms: readonly Term[]) => void;
}

/** Whether the op reads or writes bytes of the region. */
function touches(region: Region, row: LogRow): boolean {
  const index = Number(/\d+$/.exec(region.segment)?.[0]);
  const inFile = region.segment.startsWith("file");
  const path = summary.value?.model_files[index]?.path;
  const buffer = summary.value?.buffers.buffer_id[index];
  return [...row.sources, row.destination].some((x) => {
    const at = inFile
      ? x.model_file === path && x.file_offset_bytes
      : x.buffer_id === buffer && x.buffer_offset_bytes;
    return typeof at === "number" && at < region.to && at + x.size_bytes > region.from;
  });
}

/** Whether the row is related to what is selected elsewhere. */
export function isRelated(s: Selection, row: LogRow): boolean {
  if (s.tensor !== null)
    return (
      row.destination.name === s.tensor ||
      row.sources.some(
        (x) =>
          (x.name === s.tensor || x.view_of === s.tensor) &&
          // Without experts that were observed, it may have read any.
          (s.slice === null || !x.experts || x.experts.some((e) => e.expert_id === s.slice)),
      )
    );
  if (s.region) return touches(s.region, row);
  if (s.layer !== null) return row.layer_id === s.layer;
  if (s.time) return row.start_relative_ns >= s.time[0] && row.start_relative_ns <= s.time[1];
  return s.token !== null && row.batch_id === s.token;
}

/** The selection without an op chosen in this table, which must not remove the rows around it. */
function useSelectedTerms(): { readonly value: readonly Term[] } {
  const kept = useSignal<readonly Term[]>(termsOfSelection(selection.peek()));
  useSignalEffect(() => {
    const s = selection.value;
    if (s.op === null) kept.value = termsOfSelection(s);
  });
  return kept;
}

function useRows(terms: readonly Term[], lanes: boolean, onRows?: LogTableProps["onRows"]): LogRowsCache {
  const trace = selection.value.trace;
  const { id, most } = order();
  const same = JSON.stringify([trace, lanes, termsText(terms), id, most]);
  const last = useRef<{ same: string; rows: LogRowsCache } | null>(null);
  const rows = useMemo(() => {
    const before = last.current?.same === same ? last.current.rows : null;
    const sort = id === null ? {} : { sort: ORDERS[id]! };
    const made = new LogRowsCache(trace, { ...paramsOf(terms), lanes: lanes ? 1 : null, ...sort }, before, most);
    last.current = { same, rows: made };
    return made;
  }, [same, generation.value]);
  useEffect(() => {
    onRows?.(rows, terms);
    return () => rows.dispose();
  }, [rows]);
  return rows;
}

interface Shown {
  /** Row of the selected op; null: none, or not among these rows. */
  readonly selected: number | null;
  /** To be brought into view. */
  readonly reveal: { readonly row: number } | null;
}

/** A row chosen here: its index is known. */
interface Own {
  readonly rows: LogRowsCache;
  readonly op: OpRef;
  readonly row: number;
}

/** Requests the row of the selection; null: none. */
async function locate(rows: LogRowsCache, s: Selection): Promise<LogPlace | null> {
  if (s.op) return rows.locate(s.op);
  // In another order than that of time, only ops have a place.
  if (order().id !== null) return null;
  if (s.tensor !== null || s.layer !== null) {
    const place = await rows.first(paramsOf(termsOfSelection(s)));
    if (place) return place;
  }
  const begin = s.token === null ? null : (summary.value?.batches.start_relative_ns[batchIndex(s.token)] ?? null);
  const moment = s.time ? s.time[0] : begin;
  return moment === null ? null : rows.locate({ time_ns: moment });
}

/** Row of the selection, requested when it changes. */
function useLocated(rows: LogRowsCache, own: Own | null): Shown {
  const located = useMemo(() => signal<Shown>({ selected: null, reveal: null }), [rows]);
  const s = selection.value;
  const key = JSON.stringify([s.op, s.tensor, s.layer, s.time, s.token]);
  useEffect(() => {
    rows.leftOut.value = false;
    if (s.op && own?.rows === rows && own.op.run === s.op.run && own.op.node === s.op.node) {
      located.value = { selected: own.row, reveal: null };
      return undefined;
    }
    located.value = { selected: null, reveal: null };
    let current = true;
    void locate(rows, s).then((place) => {
      if (!current || !place) return;
      // There is none after the last row.
      const row = Math.min(place.row, Math.max(0, place.rows - 1));
      located.value = { selected: s.op && place.found ? row : null, reveal: { row } };
      rows.leftOut.value = s.op !== null && !place.found;
      if (rows.leftOut.value) announce("The selected op is not among the rows: the filter leaves it out");
    });
    return () => {
      current = false;
    };
  }, [rows, key]);
  return located.value;
}

/** The row of the op at the film's playhead, brought into view as it moves. */
function useMoment(rows: LogRowsCache): Shown["reveal"] {
  const at = useMemo(() => signal<Shown["reveal"]>(null), [rows]);
  useEffect(() => {
    const latest = new Latest<OpRef, LogPlace | null>(
      (op) => rows.locate(op),
      (place) => {
        if (place?.found && momentKey.peek() !== null) at.value = { row: place.row };
      },
      // The rows show why the server does not answer.
      () => undefined,
    );
    return effect(() => {
      // Not at every ns of an op.
      const op = momentKey.value === null ? null : momentOp.peek();
      if (!op) at.value = null;
      else untracked(() => latest.ask({ run: op.ops.run[op.i]!, node: op.ops.node[op.i]! }));
    });
  }, [rows]);
  return at.value;
}

/** Why there are no rows. bySelection: what is selected in the views is the filter, and no other is shown. */
function Nothing(props: { filtered: boolean; bySelection: boolean; ended: string | null }) {
  if (props.ended !== null)
    return (
      <Empty title="No op can be read">
        <p>{props.ended}. `tensortrace verify` shows what is damaged.</p>
      </Empty>
    );
  const records = summary.value?.n_ops ?? 0;
  if (records === 0) return <NoOps />;
  if (!props.filtered)
    return (
      <Empty title="No op can be shown">
        <p>There are {counted(records, "op record")}, but their graphs are not in the file.</p>
      </Empty>
    );
  if (props.bySelection)
    return (
      <Empty title="No ops of what is selected">
        <p>{selectionWords(selection.value)}. Select something else, or press Escape for all ops.</p>
      </Empty>
    );
  return (
    <Empty title="No ops match">
      <p>Remove a filter, or use * to match part of a tensor's name.</p>
    </Empty>
  );
}

export function LogTable(props: LogTableProps) {
  const selected = useSelectedTerms();
  const rows = useRows(props.terms ?? selected.value, props.lanes ?? false, props.onRows);
  const own = useRef<Own | null>(null);
  const shown = useLocated(rows, own.current);
  const film = useMoment(rows);
  const choice = useComputed(() => choiceOf(columnChoice.value));
  rows.version.value;
  const s = selection.value;
  const choose = (i: number, row: LogRow) => {
    const op = { run: row.run, node: row.node };
    own.current = { rows, op, row: i };
    select({ op, token: row.batch_id, layer: row.layer_id, tensor: weightOf(row) });
    const text = row.duration_ns === null ? "its end was not observed" : duration(row.duration_ns);
    announce(`Selected ${plainName(row.op)} ${plainName(row.name)}, ${text}`);
  };
  // Where there is little room, what an op is comes before where it belongs, unless somebody chose.
  const little = isNarrow.value || panes.value.length > 1;
  const ids = little && columnChoice.value === DEFAULT_CHOICE ? SHOWN_NARROW : choice.value.shown;
  const columns = ids.map((id) => COLUMNS.find((c) => c.id === id)!);
  if (rows.error.value) return <Failure error={rows.error.value} retry={() => rows.retry()} />;
  const count = rows.count.value;
  const by = order().id;
  const sorting = by === null ? { id: "start", descending: false } : { id: by, descending: true };
  return (
    <VirtualTable
      label={`Ops ${by === null ? "in time order" : `by ${COLUMNS.find((c) => c.id === by)!.title.toLowerCase()}`}, ${count ? counted(rows.length, "row") : "being read"}`}
      columns={columns}
      count={rows.length}
      row={(i) => rows.row(i)}
      selected={shown.selected}
      reveal={film ?? shown.reveal}
      now={(row) => momentKey.value === `${row.run}.${row.node}`}
      related={(row) => isRelated(s, row)}
      onSelect={choose}
      onVisible={(first, n) => rows.want(first, n)}
      widths={choice.value.widths}
      sorting={sorting}
      onSort={toggleOrder}
      menu={menuOf}
      onWidth={(id, width) => {
        const { shown: ids, widths } = choice.value;
        columnChoice.value = choiceText({ shown: ids, widths: { ...widths, [id]: width } });
      }}
      empty={
        count ? (
          <Nothing filtered={(props.terms ?? selected.value).length > 0} bySelection={!props.terms} ended={count.ended_by} />
        ) : (
          <p role="status">Reading…</p>
        )
      }
    />
  );
}
