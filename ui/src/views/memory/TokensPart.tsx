// What each token read: a row for each; columns for the file, for layers, or for experts.

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Latest } from "../../api/client";
import { drawOn } from "../../draw/canvas";
import { css, isDark, sequence } from "../../draw/colour";
import { bytes, count, counted, duration } from "../../draw/format";
import { announce } from "../../parts/announce";
import { CanvasView } from "../../parts/CanvasView";
import { Failure } from "../../parts/messages";
import { Tooltip } from "../../parts/Tooltip";
import { useSize } from "../../parts/useSize";
import { VirtualTable, type Column } from "../../parts/VirtualTable";
import { select, selectedLayer, selectedTrace, selection } from "../../state/selection";
import { generation, tensors } from "../../state/trace";
import { atlas } from "./data";
import { paletteOf } from "./scene";
import { BYS, byShown, cellAt, columnWords, drawGrid, loadGrid, rowWords, showBy, SHOWN, showWhat, whatShown, whatWords, type By, type Grid, type Plot } from "./tokens";

interface Ask {
  readonly trace: number;
  readonly generation: number;
  readonly by: By;
  readonly layer: number | null;
  readonly columns: number;
  readonly rows: number;
}

export function TokensTools() {
  const by = byShown();
  const what = whatShown();
  const observed = atlas.value?.observed;
  return (
    <>
      <span class="choice" role="group" aria-label="Columns">
        {BYS.map((b) => (
          <button type="button" key={b.id} aria-pressed={by === b.id} disabled={b.id === "expert" && !observed?.experts} title={b.id === "expert" && !observed?.experts ? "no choices of experts were observed" : b.about} onClick={() => showBy(b.id)}>
            {b.title}
          </button>
        ))}
      </span>
      <span class="choice" role="group" aria-label="Colour by">
        {SHOWN.map((s) => (
          <button type="button" key={s.id} aria-pressed={what === s.id} disabled={s.id === "faults" && !observed?.faults} title={s.id === "faults" && !observed?.faults ? "not observed; record with --faults" : s.about} onClick={() => showWhat(s.id)}>
            {s.title}
          </button>
        ))}
      </span>
    </>
  );
}

/** The row of a token; -1: none. */
function rowOf(g: Grid, token: number | null): number {
  const i = token === null ? -1 : g.batches.indexOf(token);
  return i < 0 ? -1 : Math.floor(i / g.head.batches_each);
}

/** Columns of what is selected. */
function columnsOf(g: Grid): readonly [number, number] | null {
  const { tensor, layer, slice } = selection.value;
  const t = tensors.value;
  const row = tensor === null || !t ? -1 : t.name.indexOf(tensor);
  if (g.by === "layer") return layer === null ? null : [layer - g.head.first_column, layer - g.head.first_column + 1];
  if (g.by === "expert") return slice === null ? null : [slice, slice + 1];
  if (row < 0 || t!.file[row] !== 0) return null;
  const each = (g.head.to_bytes - g.head.from_bytes) / g.head.grid_columns;
  return [(t!.offset_bytes[row]! - g.head.from_bytes) / each, (t!.offset_bytes[row]! + t!.size_bytes[row]! - g.head.from_bytes) / each];
}

/** The tensor with most bytes of a column of the file. */
function tensorOf(g: Grid, column: number): number {
  const t = tensors.value;
  const each = (g.head.to_bytes - g.head.from_bytes) / g.head.grid_columns;
  const [from, to] = [g.head.from_bytes + column * each, g.head.from_bytes + (column + 1) * each];
  let best = -1;
  let most = 0;
  t?.name.forEach((_, i) => {
    const part = Math.min(to, t.offset_bytes[i]! + t.size_bytes[i]!) - Math.max(from, t.offset_bytes[i]!);
    if (t.file[i] === 0 && part > most) [best, most] = [i, part];
  });
  return best;
}

function choose(g: Grid, row: number, column: number): void {
  const token = g.batches[row * g.head.batches_each]!;
  const t = tensors.value;
  if (g.by === "layer") return select({ token, layer: g.head.first_column + column < 0 ? null : g.head.first_column + column, tensor: null, op: null, time: null });
  if (g.by === "expert") return select({ token, op: null, time: null });
  const i = tensorOf(g, column);
  return select({ token, op: null, time: null, ...(i < 0 || !t ? {} : { tensor: t.name[i]!, layer: t.layer_id[i] ?? null }) });
}

interface Line {
  readonly g: Grid;
  readonly i: number;
}

const rowNumber = ({ g, i }: Line) => Math.floor(i / g.head.grid_columns);
const TABLE: readonly Column<Line>[] = [
  { id: "token", title: "Token", width: 120, cell: (l) => rowWords(l.g, rowNumber(l)) },
  { id: "column", title: "Where", width: 190, cell: (l) => columnWords(l.g, l.i % l.g.head.grid_columns) },
  { id: "accesses", title: "Accesses", width: 90, number: true, cell: ({ g, i }) => count(g.values.accesses[i]!) },
  { id: "bytes", title: "Bytes", width: 100, number: true, cell: ({ g, i }) => bytes(g.values.read_bytes[i]!) },
  { id: "time", title: "Time", width: 100, number: true, cell: ({ g, i }) => duration(g.values.time_ns[i]!) },
  { id: "faults", title: "Page faults", width: 90, number: true, cell: ({ g, i }) => (g.head.faults ? count(g.values.faults[i]!) : "not observed") },
];

function Table(props: { grid: Grid | null }) {
  const g = props.grid;
  const used = useMemo(() => (g ? [...g.values.accesses.keys()].filter((i) => g.values.accesses[i]! > 0) : []), [g]);
  if (!g) return <p>Being read</p>;
  return (
    <div class="map-table">
      <VirtualTable label="What each token read" columns={TABLE} count={used.length} row={(k) => ({ g, i: used[k]! })} selected={null} onSelect={(_, l) => l && choose(g, rowNumber(l), l.i % g.head.grid_columns)} />
    </div>
  );
}

function gradient(dark: boolean): string {
  return `linear-gradient(to right, ${Array.from({ length: 11 }, (_, i) => css(sequence(i / 10, dark))).join(", ")})`;
}

export function TokensPart() {
  const { ref: proxy, size } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const grid = useSignal<Grid | null>(null);
  const failure = useSignal<Error | null>(null);
  const loading = useSignal(false);
  const pointed = useSignal<{ row: number; column: number; x: number; y: number } | null>(null);
  const requests = useMemo(
    () =>
      new Latest<Ask, Grid>(
        ({ trace, by, layer, columns, rows }) => loadGrid(trace, by, { rows, columns, ...(by === "expert" && layer !== null && layer >= 0 ? { layer } : {}) }),
        (answer) => {
          grid.value = answer;
          failure.value = null;
          loading.value = false;
          pointed.value = null;
        },
        (reason) => {
          failure.value = reason instanceof Error ? reason : new Error(String(reason));
          loading.value = false;
        },
      ),
    [],
  );
  // Asked again only for another picture, not for each pixel of a window being resized.
  const columns = useComputed(() => Math.min(512, Math.max(64, Math.ceil(size.value.width / 128) * 64)));
  const rows = useComputed(() => Math.min(256, Math.max(32, Math.ceil(size.value.height / 96) * 32)));
  const ready = useComputed(() => size.value.width > 50);
  const layer = useComputed(() => (byShown() === "expert" ? selectedLayer.value : null));
  const ask = () => {
    if (!ready.value) return;
    loading.value = true;
    requests.ask({ trace: selectedTrace.value, generation: generation.value, by: byShown(), layer: layer.value, columns: columns.value, rows: rows.value });
  };
  useSignalEffect(ask);
  useSignalEffect(() => {
    const g = grid.value;
    const { width, height } = size.value;
    const what = whatShown();
    const marked = g ? { row: rowOf(g, selection.value.token), columns: columnsOf(g) } : null;
    const palette = paletteOf(isDark.value);
    if (canvas.current && width > 50) drawOn(canvas.current, width, height, (c) => g && marked && drawGrid(c, { width, height }, g, what, marked, palette));
  });
  useEffect(() => {
    const element = proxy.current;
    if (!element) return undefined;
    const find = (event: MouseEvent) => {
      const box = element.getBoundingClientRect();
      const plot: Plot = size.value;
      return grid.value && cellAt(plot, grid.value, event.clientX - box.left, event.clientY - box.top);
    };
    const move = (event: MouseEvent) => {
      const at = find(event);
      pointed.value = at && { ...at, x: event.clientX, y: event.clientY };
    };
    const click = (event: MouseEvent) => {
      const at = find(event);
      if (at && grid.value) choose(grid.value, at.row, at.column);
    };
    const leave = () => {
      pointed.value = null;
    };
    element.addEventListener("pointermove", move);
    element.addEventListener("click", click);
    element.addEventListener("pointerleave", leave);
    return () => {
      element.removeEventListener("pointermove", move);
      element.removeEventListener("click", click);
      element.removeEventListener("pointerleave", leave);
    };
  }, []);
  const g = grid.value;
  const what = whatShown();
  const at = pointed.value;
  const words = g ? `${counted(g.batches.length, "token")}${g.head.batches_each > 1 ? `, ${g.head.batches_each} a row` : ""}` : "";
  useEffect(() => {
    if (g) announce(`What each token read: ${words}`);
  }, [g]);
  if (failure.value && !g) return <Failure error={failure.value} retry={ask} />;
  const i = g && at ? at.row * g.head.grid_columns + at.column : -1;
  return (
    <>
      <div class="legend wraps" aria-label="Legend" role="group">
        <span>
          <strong>{BYS.find((b) => b.id === byShown())!.title} by token</strong>
          {loading.value ? " …" : ""}
        </span>
        {g && (
          <span class="ramp">
            {SHOWN.find((s) => s.id === what)!.title} of a cell 0
            <i style={{ background: gradient(isDark.value) }} />
            {g.head.at_most ? "at most " : ""}
            {whatWords(what, g.most[what])}
          </span>
        )}
        {g && <span class="quiet">{words}; on top the sums over all tokens</span>}
        {byShown() === "expert" && <span class="quiet">{layer.value === null ? "all layers together; select a layer for its own" : `layer ${layer.value}`}</span>}
      </div>
      <div class="map">
        <CanvasView
          label={`What each token read: tokens down, ${byShown() === "file" ? "file offset" : byShown() === "layer" ? "layers" : "experts"} across. ${words}`}
          keys="A click selects the token, and the tensor or layer. The table has the same cells."
          focusRef={proxy}
          table={<Table grid={g} />}
        >
          <canvas ref={canvas} />
        </CanvasView>
        {g && at && i >= 0 && (
          <Tooltip x={at.x} y={at.y}>
            <strong>
              {rowWords(g, at.row)}, {columnWords(g, at.column)}
            </strong>
            {g.by === "file" && tensorOf(g, at.column) >= 0 && <div class="mono">{tensors.value!.name[tensorOf(g, at.column)]}</div>}
            {g.values.accesses[i] === 0 ? (
              <div>not read</div>
            ) : (
              <div>
                {counted(g.values.accesses[i]!, "access", "accesses")}, {bytes(g.values.read_bytes[i]!)}, {duration(g.values.time_ns[i]!)}
                {g.head.faults && `, ${counted(g.values.faults[i]!, "page fault")}`}
              </div>
            )}
          </Tooltip>
        )}
      </div>
    </>
  );
}
