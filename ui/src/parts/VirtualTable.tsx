// A table of any number of rows, of which only those to be seen exist. The rows come from the
// caller, by number; it also sorts. An ARIA grid: the arrow keys, Page Up and Down, Home and End
// move the cursor, Enter chooses the row.

import { signal, useSignal, useSignalEffect } from "@preact/signals";
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useId, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { count, counted } from "../draw/format";
import { ColumnHead } from "./ColumnHead";
import { announce } from "./announce";
import { rememberGrid, type Grid } from "./grids";
import { copy, type Cell } from "./clipboard";
import { CutMiddle } from "./CutMiddle";
import { asksForMenu, openMenu, type MenuItem, type MenuItems } from "./ContextMenu";
import { rowsText, textOf } from "./tableText";
import { useRoomForNumbers } from "./numberWidths";
import { clampTop, isScaled, ROW_HEIGHT, scrollHeight, scrollTopOf, topOf, topShowing, type RowScroll } from "./rowScroll";
import { useSize } from "./useSize";
import "./VirtualTable.css";

export interface Column<R> {
  readonly id: string;
  readonly title: string;
  /** CSS pixels, unless the user has chosen another width. */
  readonly width: number;
  /** Right-aligned figures. */
  readonly number?: boolean;
  /** Tooltip of the header, a sentence. */
  readonly hint?: string;
  /** The whole text of a cell that may be cut off, shown when pointed at. */
  readonly tip?: (row: R) => string | undefined;
  readonly cell: (row: R) => ComponentChildren;
  /** What is copied of it: a number without its unit, which ends `key`; the default: what it shows. */
  readonly value?: (row: R) => Cell;
  readonly key?: string;
  /** Its cell is a name, which is cut in the middle where there is no room. */
  readonly middle?: boolean;
  /** A drawing, which copied rows leave out. */
  readonly drawn?: boolean;
  /** The caller cannot sort by it. */
  readonly unsorted?: boolean;
}

export interface Sorting {
  readonly id: string;
  readonly descending: boolean;
}

export interface VirtualTableProps<R> {
  /** Name of the table. */
  label: string;
  columns: readonly Column<R>[];
  count: number;
  /** Row i; null: not there yet. */
  row: (i: number) => R | null;
  /** The row that is selected; the table scrolls to it when it changes. */
  selected?: number | null;
  /** A row to be brought into view, whenever this is another object. */
  reveal?: { readonly row: number } | null;
  /** Rows related to what is selected elsewhere. */
  related?: (row: R) => boolean;
  /** The row that the film is at. */
  now?: (row: R) => boolean;
  onSelect?: (i: number, row: R) => void;
  /** Which rows are to be seen: first ... first + n - 1. */
  onVisible?: (first: number, n: number) => void;
  /** How the caller has sorted; without onSort headers are no buttons. */
  sorting?: Sorting | null;
  onSort?: (id: string) => void;
  /** Widths that the user chose, by column; kept by the caller. */
  widths?: Readonly<Record<string, number>>;
  onWidth?: (id: string, width: number) => void;
  /** What the context menu of a cell offers, before what all tables offer. */
  menu?: (row: R, column: string) => MenuItems;
  /** The column whose cell the context menu of the keyboard is about; the default: "name", or the first. */
  nameColumn?: string;
  /** Shown if there are no rows. */
  empty?: ComponentChildren;
}

/** Left and right, in CSS pixels. */
const CELL_PADDING = 12;
/** Rows that the button copies at most. */
const COPY_MOST = 10_000;

/** Rows that Page Up and Page Down move by. */
function page(s: RowScroll): number {
  return Math.max(1, Math.floor(s.bodyHeight / ROW_HEIGHT) - 1);
}

/** Where a key moves the cursor; null: it is no key of the table. */
function moved(key: string, cursor: number, s: RowScroll): number | null {
  const steps: Record<string, number> = {
    ArrowDown: 1,
    ArrowUp: -1,
    PageDown: page(s),
    PageUp: -page(s),
    Home: -s.count,
    End: s.count,
  };
  const step = steps[key];
  return step === undefined ? null : Math.min(Math.max(0, cursor + step), s.count - 1);
}

function gridFrom<R>(latest: { readonly current: VirtualTableProps<R> }): Grid {
  return {
    get label() {
      return latest.current.label;
    },
    get count() {
      return latest.current.count;
    },
    get columns() {
      return latest.current.columns;
    },
    cells: (i) => {
      const row = latest.current.row(i);
      return row === null ? null : latest.current.columns.map((c) => c.cell(row));
    },
  };
}

interface CellsProps<R> {
  readonly row: R | null;
  readonly columns: readonly Column<R>[];
  readonly widths: readonly number[];
}

/** A component of its own: what its cells read when they are made, makes them anew. */
function Cells<R>({ row, columns, widths }: CellsProps<R>) {
  return (
    <>
      {columns.map((c, k) => (
        <div
          key={c.id}
          role="gridcell"
          aria-colindex={k + 1}
          class={c.number ? "vt-cell vt-number" : "vt-cell"}
          title={row === null ? undefined : c.tip?.(row)}
        >
          {row === null ? (k === 0 ? "…" : "") : c.middle ? <CutMiddle text={String(c.cell(row))} room={widths[k]! - CELL_PADDING} /> : c.cell(row)}
        </div>
      ))}
    </>
  );
}

function isSame<T>(a: readonly T[], b: readonly T[]): boolean {
  return a.length === b.length && a.every((each, i) => each === b[i]);
}

/** The cells of rows that were there in the last picture: they are not made again while only the cursor moves. */
function useCells<R>(columns: readonly Column<R>[], widths: readonly number[]): (i: number, row: R | null) => VNode<CellsProps<R>> {
  const last = useRef<{ columns: readonly Column<R>[]; widths: readonly number[]; of: Map<number, VNode<CellsProps<R>>> }>({ columns, widths, of: new Map() });
  const were = isSame(last.current.columns, columns) && isSame(last.current.widths, widths) ? last.current.of : null;
  const now = new Map<number, VNode<CellsProps<R>>>();
  last.current = { columns, widths, of: now };
  return (i, row) => {
    const was = were?.get(i);
    const cells = was?.props.row === row ? was : ((<Cells row={row} columns={columns} widths={widths} />) as VNode<CellsProps<R>>);
    now.set(i, cells);
    return cells;
  };
}

export function VirtualTable<R>(props: VirtualTableProps<R>) {
  const id = useId();
  const { ref: scroller, size } = useSize<HTMLDivElement>();
  const top = useSignal(0);
  const cursor = useSignal(props.selected ?? 0);
  // The other end of the marked rows, which are copied together; null: only the cursor's row.
  const anchor = useSignal<number | null>(null);
  const latest = useRef(props);
  latest.current = props;
  useLayoutEffect(() => {
    if (scroller.current) rememberGrid(scroller.current, gridFrom(latest));
  }, []);
  // Position set by this component: ignores its own scroll events.
  const placed = useRef(0);

  const scroll: RowScroll = { count: props.count, bodyHeight: Math.max(0, size.value.height - ROW_HEIGHT) };
  const state = useRef(scroll);
  state.current = scroll;

  const goTo = (next: number) => {
    top.value = clampTop(state.current, next);
    const element = scroller.current;
    if (!element) return;
    element.scrollTop = scrollTopOf(state.current, top.value);
    placed.current = element.scrollTop;
  };
  const show = (row: number, centre: boolean) => goTo(topShowing(state.current, top.peek(), row, centre));

  const onScroll = () => {
    const element = scroller.current;
    if (!element || Math.abs(element.scrollTop - placed.current) < 1) return;
    placed.current = element.scrollTop;
    top.value = topOf(state.current, element.scrollTop);
  };

  useEffect(() => {
    const element = scroller.current;
    if (!element) return undefined;
    const onWheel = (event: WheelEvent) => {
      if (!isScaled(state.current) || event.ctrlKey || event.shiftKey || event.deltaY === 0) return;
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 1 : event.deltaMode === 2 ? page(state.current) : 1 / ROW_HEIGHT;
      goTo(top.peek() + event.deltaY * unit);
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);

  // Rows were removed, or the table became higher.
  useLayoutEffect(() => {
    goTo(top.peek());
    if (cursor.peek() >= props.count) cursor.value = Math.max(0, props.count - 1);
  }, [props.count, scroll.bodyHeight]);

  // The row to show may be set before the number of rows is known.
  const bring = (row: number | null | undefined) => {
    if (row === null || row === undefined || scroll.bodyHeight === 0 || row >= props.count) return;
    cursor.value = row;
    show(row, true);
  };
  const wanted = props.reveal?.row;
  const can = scroll.bodyHeight > 0;
  useLayoutEffect(() => bring(props.selected), [props.selected, can && (props.selected ?? 0) < props.count]);
  useLayoutEffect(() => bring(wanted), [props.reveal, can && (wanted ?? 0) < props.count]);

  const visible = useMemo(() => signal({ first: 0, n: 0 }), []);
  const first = Math.floor(top.value);
  const n = Math.max(0, Math.min(props.count - first, Math.ceil(scroll.bodyHeight / ROW_HEIGHT) + 1));
  useLayoutEffect(() => {
    visible.value = { first, n };
  }, [first, n]);
  useSignalEffect(() => {
    const { first: from, n: many } = visible.value;
    latest.current.onVisible?.(from, many);
  });

  const choose = (i: number) => {
    cursor.value = i;
    anchor.value = null;
    const row = props.row(i);
    if (row !== null) props.onSelect?.(i, row);
  };
  const from = Math.min(cursor.value, anchor.value ?? cursor.value);
  const to = Math.max(cursor.value, anchor.value ?? cursor.value);
  const mark = (i: number) => {
    anchor.value ??= cursor.value;
    cursor.value = i;
    announce(`${counted(Math.abs(i - anchor.value) + 1, "row")} marked`);
  };
  const copyRows = (first: number, last: number) => {
    const rows: R[] = [];
    for (let i = first; i <= Math.min(last, props.count - 1); i++) {
      const row = props.row(i);
      if (row !== null) rows.push(row);
    }
    const missing = Math.min(last, props.count - 1) - first + 1 - rows.length;
    const said = counted(rows.length, "row") + (missing ? `; ${count(missing)} are still loading` : "");
    if (rows.length) void copy(rowsText(props.columns, rows), "rows.tsv", said);
  };
  const copyMarked = () => copyRows(from, to);
  const menuOf = (i: number, column: Column<R> | undefined, x: number, y: number) => {
    const row = props.row(i);
    if (row === null) return;
    if (i < from || i > to) anchor.value = null;
    cursor.value = i;
    const text = column ? textOf(column.cell(row)).trim() : "";
    const copies: MenuItem[] = [
      ...(text && !column?.drawn ? [{ title: `Copy “${text.length > 40 ? text.slice(0, 40) + "…" : text}”`, run: () => void copy(text, "cell.txt", text) }] : []),
      anchor.value === null || i < from || i > to
        ? { title: "Copy row", run: () => copyRows(i, i) }
        : { title: `Copy ${counted(to - from + 1, "row")}`, run: () => copyRows(from, to) },
    ];
    openMenu(x, y, `Row ${i + 1}`, [...(props.menu?.(row, column?.id ?? "") ?? []), copies]);
  };
  /** At the cursor's row. */
  const menuByKey = () => {
    const element = document.getElementById(`${id}-${cursor.value}`);
    if (!element) return;
    const box = element.getBoundingClientRect();
    menuOf(cursor.value, props.columns.find((c) => c.id === (props.nameColumn ?? "name")) ?? props.columns[0], Math.max(box.left, scroller.current!.getBoundingClientRect().left) + 24, box.bottom);
  };
  const onContextMenu = (event: MouseEvent) => {
    const target = event.target instanceof Element ? event.target : null;
    const at = Number(target?.closest("[aria-rowindex]")?.getAttribute("aria-rowindex") ?? 0) - 2;
    // Text that is marked keeps the browser's own menu.
    if (at < 0 || at >= props.count || getSelection()?.isCollapsed === false) return;
    event.preventDefault();
    const column = Number(target!.closest("[aria-colindex]")?.getAttribute("aria-colindex") ?? 1) - 1;
    menuOf(at, props.columns[column], event.clientX, event.clientY);
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.altKey || props.count === 0 || event.target !== event.currentTarget) return;
    if (asksForMenu(event)) {
      event.preventDefault();
      menuByKey();
      return;
    }
    if (event.ctrlKey || event.metaKey) {
      // Text that is marked is copied by the browser.
      if (event.code !== "KeyC" || event.shiftKey || getSelection()?.isCollapsed === false) return;
      event.preventDefault();
      copyMarked();
      return;
    }
    if (event.key === "Enter") {
      event.preventDefault();
      choose(cursor.value);
      return;
    }
    if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
      event.preventDefault();
      scroller.current?.scrollBy({ left: event.key === "ArrowLeft" ? -60 : 60 });
      return;
    }
    const next = moved(event.key, cursor.value, state.current);
    if (next === null) return;
    event.preventDefault();
    if (event.shiftKey) mark(next);
    else {
      anchor.value = null;
      cursor.value = next;
    }
    show(next, false);
    if (props.row(next) === null) announce(`row ${next + 1}, loading`);
  };
  // Dragging over text marks it, to be copied: that selects no row.
  const onClick = (i: number, event: MouseEvent) => {
    if (event.shiftKey) {
      getSelection()?.removeAllRanges();
      mark(i);
      return;
    }
    if (getSelection()?.isCollapsed === false) return;
    choose(i);
  };

  const needed = useRoomForNumbers(scroller, props.columns);
  const widths = props.columns.map((c) => Math.max(props.widths?.[c.id] ?? c.width, needed.value[c.id] ?? 0));
  const total = widths.reduce((sum, w) => sum + w, 0);
  const cellsOf = useCells(props.columns, widths);
  const rows: ComponentChildren[] = [];
  for (let i = first; i < first + n; i++) {
    const row = props.row(i);
    const selected = i === props.selected;
    const classes = [
      "vt-row",
      i === cursor.value && "vt-cursor",
      row !== null && !selected && props.related?.(row) && "vt-related",
      row !== null && props.now?.(row) && "vt-now",
      anchor.value !== null && i >= from && i <= to && "vt-marked",
    ];
    rows.push(
      <div
        key={i}
        id={`${id}-${i}`}
        role="row"
        class={classes.filter(Boolean).join(" ")}
        aria-rowindex={i + 2}
        aria-selected={selected}
        onClick={(event) => onClick(i, event)}
      >
        {cellsOf(i, row)}
      </div>,
    );
  }
  return (
    <div class={props.count > 0 ? "vt-frame vt-copies" : "vt-frame"}>
      <div
        class="vt"
        ref={scroller}
        role="grid"
        tabIndex={0}
        aria-label={props.label}
        aria-rowcount={props.count + 1}
        aria-colcount={props.columns.length}
        aria-activedescendant={n > 0 && cursor.value >= first && cursor.value < first + n ? `${id}-${cursor.value}` : undefined}
        onScroll={onScroll}
        onKeyDown={onKeyDown}
        onContextMenu={onContextMenu}
      >
        <div class="vt-space" style={{ height: `${scrollHeight(scroll) + ROW_HEIGHT}px`, minWidth: `${total}px` }}>
          <div class="vt-window" style={{ height: `${size.value.height}px`, "--vt-columns": widths.map((w) => `${w}px`).join(" ") }}>
            <div class="vt-row vt-head" role="row" aria-rowindex={1}>
              {props.columns.map((c, k) => (
                <ColumnHead
                  key={c.id}
                  column={c}
                  index={k + 1}
                  width={widths[k]!}
                  sorting={props.sorting}
                  onSort={c.unsorted ? undefined : props.onSort}
                  onWidth={props.onWidth}
                />
              ))}
            </div>
            <div class="vt-body" role="rowgroup">
              <div class="vt-rows" role="presentation" style={{ transform: `translateY(${(first - top.value) * ROW_HEIGHT}px)` }}>
                {rows}
              </div>
            </div>
          </div>
        </div>
      </div>
      {props.count > 0 && (
        <button
          type="button"
          class="vt-copy"
          aria-label={anchor.value === null ? "Copy the rows" : "Copy the marked rows"}
          title={anchor.value === null ? "Copy the rows that are loaded, to paste into a spreadsheet. Ctrl+C copies the row at the cursor; Shift+arrows mark more" : "Copy the marked rows (Ctrl+C), to paste into a spreadsheet"}
          onClick={() => (anchor.value === null ? copyRows(0, COPY_MOST - 1) : copyMarked())}
        >
          <svg viewBox="0 0 14 14" width="14" height="14" aria-hidden="true" fill="none" stroke="currentColor" stroke-width="1.3">
            <rect x="4.5" y="4.5" width="8" height="8" rx="1" />
            <path d="M9.5 2.5v-1h-8v8h1" />
          </svg>
        </button>
      )}
      {props.count === 0 && <div class="vt-empty" tabIndex={0} role="group" aria-label="Why there are no rows">{props.empty}</div>}
    </div>
  );
}
