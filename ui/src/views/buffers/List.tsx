// All buffers, with their lives as bars under the plot.

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { backingText, kindText, type BufferRow } from "../../api/buffers";
import { css } from "../../draw/colour";
import { bytes, count, duration, plainName } from "../../draw/format";
import { kindColour } from "../../draw/buffers";
import { VirtualTable, type Column, type Sorting } from "../../parts/VirtualTable";
import { selection } from "../../state/selection";
import { tokenStretch } from "../../state/trace";
import { chooseBuffer, isChosenBuffer } from "./choose";
import { axis } from "./state";
import { layerNumber } from "../../state/layers";

const layersOf = (b: BufferRow): readonly number[] => b.layer_keys ?? b.layer_ids;

/** "0 .. 21", "3, 7" */
export function layersText(ids: readonly number[]): string {
  if (ids.length === 0) return "";
  const first = ids[0]!;
  const last = ids.at(-1)!;
  const name = layerNumber;
  return ids.length > 2 && last - first === ids.length - 1 ? `${name(first)} .. ${name(last)}` : ids.slice(0, 8).map(name).join(", ") + (ids.length > 8 ? ", …" : "");
}

/** In per cent of the axis, clipped; null: not visible. */
function span(from: number, to: number): { left: number; width: number } | null {
  const r = axis.range.value;
  const size = r.to - r.from;
  const left = Math.max(0, (from - r.from) / size);
  const right = Math.min(1, (to - r.from) / size);
  return right < 0 || left > 1 || right < left ? null : { left: left * 100, width: (right - left) * 100 };
}

function Life(props: { b: BufferRow }) {
  const { b } = props;
  const from = b.allocated_relative_ns;
  if (from === null) return <>not observed</>;
  const place = span(from, b.freed_relative_ns ?? axis.extent.to);
  const time = selection.value.time ?? tokenStretch(selection.value.token);
  const band = time && span(time[0], time[1]);
  const classes = ["buffers-bar", b.backing !== "allocated" && "mapped", !b.allocation_seen && "begun-before", b.freed_relative_ns === null && "open"];
  return (
    <span class="buffers-life">
      {band && <span class="buffers-band" style={{ left: `${band.left}%`, width: `${band.width}%` }} />}
      {place && (
        <span
          class={classes.filter(Boolean).join(" ")}
          style={{ left: `${place.left}%`, width: `${place.width}%`, "--bar": css(kindColour(b.kind)) }}
        />
      )}
    </span>
  );
}

function lifetime(b: BufferRow): string {
  if (b.freed_relative_ns === null) return "to the end";
  return (b.lifetime_at_least ? "≥ " : "") + duration(b.lifetime_ns);
}

const COLUMNS: readonly Column<BufferRow>[] = [
  { id: "buffer_id", title: "Id", width: 50, number: true, cell: (b) => b.buffer_id },
  { id: "name", title: "Name", width: 130, cell: (b) => plainName(b.name), tip: (b) => plainName(b.model_file ?? b.name) },
  { id: "kind", title: "Kind", width: 80, cell: (b) => kindText(b.kind) },
  { id: "size_bytes", title: "Size", width: 88, number: true, cell: (b) => bytes(b.size_bytes) },
  { id: "life", drawn: true, title: "Life", width: 300, hint: "From allocation to free. Striped: a mapping of a file. Open to the right: not freed while traced; dashed to the left: allocated before it was first seen", cell: (b) => <Life b={b} /> },
  { id: "allocated_relative_ns", title: "Allocated", width: 106, number: true, hint: "Since the first batch; negative while the model was loaded", cell: (b) => (b.allocation_seen ? "" : "before ") + duration(b.allocated_relative_ns) },
  { id: "lifetime_ns", title: "Lived", width: 84, number: true, cell: lifetime },
  { id: "used_bytes", title: "Used", width: 88, number: true, hint: "Bytes that tensors of any graph used at any time", cell: (b) => bytes(b.used_bytes) },
  { id: "tensors", title: "Tensors", width: 70, number: true, cell: (b) => count(b.tensors) },
  { id: "layers", title: "Layers", width: 80, cell: (b) => layersText(layersOf(b)) },
  { id: "backing", title: "Backing", width: 130, cell: (b) => backingText(b.backing) },
  { id: "allocator", title: "Allocated by", width: 150, cell: (b) => (b.allocator ? plainName(b.allocator) : "not observed") },
];

function value(b: BufferRow, id: string): string | number {
  if (id === "lifetime_ns") return b.lifetime_ns ?? Infinity;
  if (id === "layers") return b.layer_ids.length;
  if (id === "life") return b.allocated_relative_ns ?? -Infinity;
  const v = b[id as keyof BufferRow];
  return typeof v === "number" || typeof v === "string" ? v : -Infinity;
}

export function List(props: { rows: readonly BufferRow[] }) {
  const order = useSignal<Sorting>({ id: "allocated_relative_ns", descending: false });
  const widths = useSignal<Record<string, number>>({});
  const { id, descending } = order.value;
  const rows = useMemo(() => {
    const sign = descending ? -1 : 1;
    return props.rows.toSorted((a, b) => {
      const x = value(a, id);
      const y = value(b, id);
      return sign * (typeof x === "number" && typeof y === "number" ? (x === y ? a.buffer_index - b.buffer_index : x - y) : String(x).localeCompare(String(y)));
    });
  }, [props.rows, id, descending]);
  const layer = selection.value.layer;
  const selected = rows.findIndex(isChosenBuffer);
  return (
    <VirtualTable
      label="Buffers of the engine"
      columns={COLUMNS}
      count={rows.length}
      row={(i) => rows[i] ?? null}
      selected={selected >= 0 ? selected : null}
      related={(b) => layer !== null && layersOf(b).includes(layer)}
      onSelect={(_, b) => chooseBuffer(b)}
      sorting={order.value}
      onSort={(column) => (order.value = { id: column, descending: column === id ? !descending : column === "size_bytes" })}
      widths={widths.value}
      onWidth={(column, width) => (widths.value = { ...widths.value, [column]: width })}
    />
  );
}
