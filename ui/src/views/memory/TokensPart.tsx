// What each token read: a row for each; columns for the file, for layers, or for experts.

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Latest } from "../../api/client";
import type { Range } from "../../draw/axis";
import { drawOn } from "../../draw/canvas";
import { css, isDark, sequence } from "../../draw/colour";
import { bytes, count, counted, duration } from "../../draw/format";
import { announce } from "../../parts/announce";
import { CanvasView } from "../../parts/CanvasView";
import { Failure } from "../../parts/messages";
import { Tooltip } from "../../parts/Tooltip";
import { useSize } from "../../parts/useSize";
import { VirtualTable, type Column } from "../../parts/VirtualTable";
import { layerWords } from "../../state/layers";
import { selectedLayer, selectedTrace, selection } from "../../state/selection";
import { generation, tensors } from "../../state/trace";
import { atlas } from "./data";
import { isAll, useRange } from "./range";
import { paletteOf } from "./scene";
import { BYS, byShown, columnsParam, columnWords, drawGrid, drawMarks, loadGrid, rowWords, showBy, SHOWN, showWhat, unitOf, whatShown, whatWords, type By, type Grid, type Plot } from "./tokens";
import { choose, columnsOf, rowOf, stepColumn, stepRow, tensorOf } from "./tokensChoice";
import { useTokensKeys, type TokensControls } from "./tokensKeys";
import { useTokensPointer, type PointedCell } from "./tokensPointer";

interface Ask {
  readonly trace: number;
  readonly generation: number;
  readonly by: By;
  readonly layer: number | null;
  readonly columns: number;
  readonly rows: number;
  /** Bytes of the file; null: all. */
  readonly part: Range | null;
}

/** Of all columns: some pages of the largest files. */
const LEAST = 1e-7;

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
  { id: "faults", title: "Page faults", width: 90, number: true, cell: ({ g, i }) => (Number.isNaN(g.values.faults[i]) || !g.head.faults ? "not observed" : count(g.values.faults[i]!)) },
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
  const over = useRef<HTMLCanvasElement>(null);
  const grid = useSignal<Grid | null>(null);
  const failure = useSignal<Error | null>(null);
  const loading = useSignal(false);
  const pointed = useSignal<PointedCell | null>(null);
  const axis = useRange(columnsParam, LEAST);
  /** Bytes of the file of that trace: known when all of it was asked for. */
  const fileBytes = useSignal({ trace: -1, bytes: 0 });
  const requests = useMemo(
    () =>
      new Latest<Ask, Grid>(
        ({ trace, by, layer, columns, rows, part }) => loadGrid(trace, by, { rows, columns, ...(by === "expert" && layer !== null && layer >= 0 ? { layer } : {}), ...(part && { from_bytes: part.from, to_bytes: part.to }) }),
        (answer, { trace, part }) => {
          if (answer.by === "file" && !part && (fileBytes.peek().trace !== trace || fileBytes.peek().bytes !== answer.head.to_bytes)) fileBytes.value = { trace, bytes: answer.head.to_bytes };
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
  /** Bytes, layers or experts in all. */
  const whole = useComputed<Range>(() => {
    const g = grid.value;
    if (!g || g.by === "file") return { from: 0, to: Math.max(1, fileBytes.value.bytes) };
    return { from: g.from, to: g.from + g.head.grid_columns };
  });
  const plot = useComputed<Plot>(() => {
    const { from: first, to: end } = whole.value;
    const { from, to } = axis.range.value;
    return { ...size.value, range: { from: first + from * (end - first), to: first + to * (end - first) } };
  });
  // Only where it goes: what is on the way is not asked for.
  const part = useComputed(() => (byShown() !== "file" || (isAll(axis.range.value) && isAll(axis.target)) ? "" : `${axis.target.from}~${axis.target.to}`));
  const partAsked = (): Range | null => {
    const { trace, bytes: all } = fileBytes.value;
    if (part.value === "" || trace !== selectedTrace.value) return null;
    const [from, to] = part.value.split("~").map((share) => Number(share) * all) as [number, number];
    return { from: Math.floor(from), to: Math.max(Math.floor(from) + 1, Math.ceil(to)) };
  };
  const ask = () => {
    if (!ready.value) return;
    loading.value = true;
    requests.ask({ trace: selectedTrace.value, generation: generation.value, by: byShown(), layer: layer.value, columns: columns.value, rows: rows.value, part: partAsked() });
  };
  const shareOfUnit = (unit: number) => (unit - whole.peek().from) / (whole.peek().to - whole.peek().from);
  const selectedShares = (): Range | null => {
    const at = grid.peek() && columnsOf(grid.peek()!);
    return at ? { from: shareOfUnit(at[0]), to: shareOfUnit(at[1]) } : null;
  };
  /** No nearer than one layer or expert. */
  const zoom = (factor: number, at: number, atOnce = false) => {
    const g = grid.peek();
    const least = g && g.by !== "file" ? 1 / g.head.grid_columns : LEAST;
    axis.zoom(Math.max(factor, least / (axis.target.to - axis.target.from)), at, atOnce);
  };
  useSignalEffect(ask);
  useSignalEffect(() => {
    const g = grid.value;
    const p = plot.value;
    const what = whatShown();
    const palette = paletteOf(isDark.value);
    if (canvas.current && p.width > 50) drawOn(canvas.current, p.width, p.height, (c) => g && drawGrid(c, p, g, what, palette));
  });
  useSignalEffect(() => {
    const g = grid.value;
    const p = plot.value;
    const marked = g ? { row: rowOf(g, selection.value.token), columns: columnsOf(g) } : null;
    const palette = paletteOf(isDark.value);
    if (over.current && p.width > 50) drawOn(over.current, p.width, p.height, (c) => g && marked && drawMarks(c, p, g, marked, palette));
  });
  useTokensPointer({ proxy, grid, plot, pointed, axis, zoom });
  const controls = useMemo<TokensControls>(() => {
    const step = (by: (g: Grid) => void) => {
      if (!grid.peek()) return;
      by(grid.peek()!);
      pointed.value = null;
      const to = selectedShares();
      if (to && (to.to < axis.target.from || to.from > axis.target.to)) axis.centre(to.from, to.to);
    };
    return {
      row: (by) => step((g) => stepRow(g, by)),
      column: (by) => step((g) => stepColumn(g, by)),
      zoom: (factor) => {
        const { from, to } = axis.target;
        const box = proxy.current?.getBoundingClientRect();
        if (pointed.value && box) return zoom(factor, shareOfUnit(unitOf(plot.peek(), pointed.value.x - box.left)), true);
        const chosen = selectedShares();
        const middle = chosen ? (chosen.from + chosen.to) / 2 : -1;
        return zoom(factor, middle > from && middle < to ? middle : (from + to) / 2, true);
      },
      fit: () => {
        const to = selectedShares();
        if (to) axis.fit(to.from, to.to);
        else axis.all();
      },
      focused: () => proxy.current !== null && proxy.current.contains(document.activeElement),
    };
  }, []);
  useTokensKeys(controls, axis);
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
        {g && (
          <span class="quiet">
            {words}; on top the sums over all tokens
            {g.head.unplaced_reads > 0 && `; ${counted(g.head.unplaced_reads, "read")} of rows or experts that were not observed left out`}
          </span>
        )}
        {byShown() === "expert" && <span class="quiet">{layer.value === null ? "all layers together; select a layer for its own" : layerWords(layer.value)}</span>}
      </div>
      <div class="map">
        <CanvasView
          label={`What each token read: tokens down, ${byShown() === "file" ? "file offset" : byShown() === "layer" ? "layers" : "experts"} across. ${words}`}
          keys="Up and down arrows go from token to token, left and right to the next tensor, layer or expert; W and S zoom, A and D pan, Shift+0 shows all, F fits what is selected. A click selects both. The table has the same cells."
          focusRef={proxy}
          table={<Table grid={g} />}
        >
          <canvas ref={canvas} />
          <canvas ref={over} />
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
                {g.head.faults && !Number.isNaN(g.values.faults[i]) && `, ${counted(g.values.faults[i]!, "page fault")}`}
              </div>
            )}
          </Tooltip>
        )}
      </div>
    </>
  );
}
