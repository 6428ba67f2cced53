// The log: every op in the order in which it began.

import { useComputed, useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { fileAddress, ofTrace } from "../../api/client";
import { count, counted, percent, plainName } from "../../draw/format";
import { bind } from "../../input/keys";
import { announce } from "../../parts/announce";
import { Menu } from "../../parts/Menu";
import { choiceOf, choiceText, COLUMNS, DEFAULT_CHOICE } from "../../parts/log/columns";
import { columnChoice, LogTable } from "../../parts/log/LogTable";
import { order, setOrder } from "../../parts/log/order";
import type { LogRowsCache } from "../../parts/log/rows";
import { layerWords } from "../../state/layers";
import { selection, type Selection } from "../../state/selection";
import { urlParam } from "../../state/url";
import { regionWords } from "../../state/words";
import { filterText, setLogFilter } from "../../state/logFilter";
import { paramsOf, termsOf, termsOfSelection, termsText, withTerm, type Term } from "../../state/logTerms";
import { FilterBar } from "./FilterBar";
import "./command";
import "./log.css";

const lanesText = urlParam("lanes", "");
const FORMATS = ["csv", "tsv", "json"] as const;
/** Of the preset. */
const SLOWEST = 100;

function filterBySelection(): void {
  const terms = termsOfSelection(selection.peek());
  if (!terms.length) {
    announce("Nothing is selected to filter by");
    return;
  }
  setLogFilter(terms.reduce<Term[]>((all, term) => withTerm(all, term), termsOf(filterText.value)));
  announce(`Filtered by the selection: ${termsText(terms)}`);
}

function unfilter(): void {
  setLogFilter([]);
  announce("No filter");
}

/** The slowest ops of what is selected; without a selection, of those that pass the filter. */
function slowestOfSelection(): void {
  const s = selection.peek();
  const terms = termsOfSelection({ ...s, op: null });
  if (terms.length) setLogFilter(terms);
  setOrder("duration", SLOWEST);
  announce(`The slowest ${SLOWEST} ops${terms.length ? ` of ${termsText(terms)}` : ""}`);
}

/** The order, as a part of the line above the rows. */
function OrderWords(props: { rows: LogRowsCache | null }) {
  const { id } = order();
  if (id === null) return <>in time order</>;
  const c = props.rows?.count.value;
  const shown = props.rows?.length ?? 0;
  const of = c?.all_rows;
  return (
    <>
      {of !== undefined && of > shown ? `the first ${count(shown)} of ${count(of)}` : "all"} by{" "}
      {COLUMNS.find((x) => x.id === id)!.title.toLowerCase()}, the largest first{" "}
      <button type="button" class="link" onClick={() => setOrder(null)}>
        Back to time order
      </button>
    </>
  );
}

/** The selection as text. */
function selectedWords(s: Selection): string {
  const words: string[] = [];
  if (s.op) words.push(`op, node ${s.op.node}`);
  if (s.token !== null) words.push(`token ${s.token}`);
  if (s.time) words.push("an interval of time");
  if (s.layer !== null) words.push(layerWords(s.layer));
  if (s.tensor !== null) words.push(plainName(s.tensor) + (s.slice === null ? "" : `, expert ${s.slice}`));
  if (s.region) words.push(regionWords(s.region));
  return words.length ? `Selected: ${words.join(", ")}` : "Nothing is selected";
}

function CountLine(props: { rows: LogRowsCache | null }) {
  const c = props.rows?.count.value;
  if (!c) return <span role="status">Reading…</span>;
  if (!c.done) {
    const share = c.runs ? c.runs_done / c.runs : 0;
    return (
      <span role="status">
        {count(c.rows)} of about {count(c.rows_estimate)} rows, counting <progress value={share} max={1} /> {percent(share)}
      </span>
    );
  }
  return (
    <span role="status">
      {counted(props.rows!.length, "row")}
      {c.ended_by !== null && <strong class="log-ended"> The log ends early: {c.ended_by}</strong>}
    </span>
  );
}

function ColumnChooser() {
  const choice = useComputed(() => choiceOf(columnChoice.value));
  const toggle = (id: string) => {
    const { shown, widths } = choice.value;
    const next = shown.includes(id) ? shown.filter((x) => x !== id) : COLUMNS.map((c) => c.id).filter((x) => x === id || shown.includes(x));
    if (next.length) columnChoice.value = choiceText({ shown: next, widths });
  };
  return (
    <Menu title="Columns">
      <fieldset>
        <legend class="sr-only">Columns to show</legend>
        {COLUMNS.map((c) => (
          <label key={c.id}>
            <input type="checkbox" checked={choice.value.shown.includes(c.id)} onChange={() => toggle(c.id)} /> {c.title}
          </label>
        ))}
        <button type="button" onClick={() => (columnChoice.value = DEFAULT_CHOICE)}>
          Reset
        </button>
      </fieldset>
    </Menu>
  );
}

function ExportMenu(props: { terms: readonly Term[]; lanes: boolean; rows: LogRowsCache | null }) {
  const c = props.rows?.count.value;
  const what = c ? (c.done ? counted(c.rows, "row") : "all rows") : "rows";
  return (
    <Menu title="Export" label={`Export ${what}`}>
      <ul>
        {FORMATS.map((format) => (
          <li key={format}>
            <a
              download={`log.${format}`}
              href={fileAddress(ofTrace(selection.value.trace, "log/export"), {
                ...paramsOf(props.terms),
                lanes: props.lanes ? 1 : null,
                format,
              })}
            >
              {format.toUpperCase()}
            </a>
          </li>
        ))}
      </ul>
    </Menu>
  );
}

export function Component() {
  const terms = useComputed(() => termsOf(filterText.value));
  const rows = useSignal<LogRowsCache | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const lanes = lanesText.value === "1";
  useEffect(
    () =>
      bind(
        { id: "log.filter", keys: ["key:/"], title: "Type a filter", scope: "Log", run: () => input.current?.focus() },
        {
          id: "log.by-selection",
          keys: ["Shift+KeyF"],
          title: "Filter by the selection",
          scope: "Log",
          run: filterBySelection,
        },
        {
          id: "log.slowest",
          keys: ["Shift+KeyS"],
          title: `The slowest ${SLOWEST} ops of the selection`,
          scope: "Log",
          run: slowestOfSelection,
        },
        {
          id: "log.copy",
          keys: ["Ctrl+KeyC"],
          title: "Copy the row at the cursor, or the rows marked with Shift+arrows",
          scope: "Tables",
          when: () => false,
        },
        {
          id: "log.menu",
          keys: ["Shift+F10", "ContextMenu"],
          title: "Menu of the row at the cursor",
          scope: "Tables",
          when: () => false,
        },
        {
          // Worked by the table itself; here so that it is listed.
          id: "log.rows",
          keys: ["ArrowUp", "ArrowDown", "PageUp", "PageDown", "Home", "End", "Enter"],
          title: "Move between rows; Enter selects",
          scope: "Log",
          when: () => false,
        },
        {
          id: "log.unfilter",
          keys: ["Shift+Digit0"],
          title: "Remove all filters",
          scope: "Log",
          run: unfilter,
        },
      ),
    [],
  );
  const ops = () => new Set([...(rows.value?.loaded() ?? [])].map((r) => r.op));
  return (
    <div class="log">
      <div class="log-bar no-picture">
        <FilterBar terms={terms.value} onTerms={setLogFilter} onClear={unfilter} ops={ops} inputRef={input} />
        <div class="log-tools">
          <button type="button" title="Filter by the selection (Shift+F)" onClick={filterBySelection}>
            Filter by selection
          </button>
          <button
            type="button"
            class="log-preset"
            aria-label={`Slowest ${SLOWEST} of the selection`}
            aria-pressed={order().id === "duration" && order().most === SLOWEST}
            title={`The ${SLOWEST} ops that took longest, of what is selected; without a selection, of all that pass the filter (Shift+S)`}
            onClick={slowestOfSelection}
          >
            Slowest {SLOWEST}
          </button>
        </div>
      </div>
      <div class="log-second">
        <p class="log-line">
          <CountLine rows={rows.value} /> · <OrderWords rows={rows.value} /> · {selectedWords(selection.value)}
          {rows.value?.leftOut.value && <strong> (the filter leaves the selected op out)</strong>}
        </p>
        <div class="log-tools no-picture">
          <label>
            <input
              type="checkbox"
              checked={lanes}
              onChange={(event) => (lanesText.value = event.currentTarget.checked ? "1" : "")}
            />{" "}
            One row per thread
          </label>
          <ColumnChooser />
          <ExportMenu terms={terms.value} lanes={lanes} rows={rows.value} />
        </div>
      </div>
      <div class="log-rows">
        <LogTable terms={terms.value} lanes={lanes} onRows={(r) => (rows.value = r)} />
      </div>
    </div>
  );
}
