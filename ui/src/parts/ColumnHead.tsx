// The header of one column of a VirtualTable: its title, how it is sorted, a handle for its width.

import { useRef } from "preact/hooks";
import type { Column, Sorting } from "./VirtualTable";

const WIDTH_MIN = 40;
const WIDTH_MAX = 2000;
const WIDTH_STEP = 10;

export interface ColumnHeadProps<R> {
  column: Column<R>;
  /** Counted from 1. */
  index: number;
  width: number;
  sorting?: Sorting | null | undefined;
  onSort?: ((id: string) => void) | undefined;
  onWidth?: ((id: string, width: number) => void) | undefined;
}

function WidthHandle(props: { title: string; width: number; onWidth: (width: number) => void }) {
  const from = useRef<{ x: number; width: number } | null>(null);
  const set = (width: number) => props.onWidth(Math.round(Math.min(Math.max(WIDTH_MIN, width), WIDTH_MAX)));
  const onKeyDown = (event: KeyboardEvent) => {
    const step = { ArrowLeft: -WIDTH_STEP, ArrowRight: WIDTH_STEP }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    set(props.width + step);
  };
  return (
    <div
      class="vt-handle"
      role="separator"
      aria-orientation="vertical"
      aria-label={`Width of ${props.title}`}
      aria-valuenow={props.width}
      aria-valuemin={WIDTH_MIN}
      aria-valuemax={WIDTH_MAX}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onPointerDown={(event) => {
        event.preventDefault();
        event.currentTarget.setPointerCapture(event.pointerId);
        from.current = { x: event.clientX, width: props.width };
      }}
      onPointerMove={(event) => from.current && set(from.current.width + event.clientX - from.current.x)}
      onPointerUp={() => (from.current = null)}
      onPointerCancel={() => (from.current = null)}
    />
  );
}

export function ColumnHead<R>(props: ColumnHeadProps<R>) {
  const { column, sorting, onSort, onWidth } = props;
  const sorted = sorting?.id === column.id;
  const direction = sorting?.descending ? "descending" : "ascending";
  return (
    <div
      role="columnheader"
      aria-colindex={props.index}
      aria-sort={sorted ? direction : undefined}
      class={column.number ? "vt-cell vt-number" : "vt-cell"}
      title={column.hint}
    >
      {onSort ? (
        <button type="button" class="vt-sort" onClick={() => onSort(column.id)}>
          {column.title}
        </button>
      ) : (
        <span class="vt-title">{column.title}</span>
      )}
      {sorted && <span aria-hidden="true">{sorting.descending ? " ▼" : " ▲"}</span>}
      {onWidth && <WidthHandle title={column.title} width={props.width} onWidth={(w) => onWidth(column.id, w)} />}
    </div>
  );
}
