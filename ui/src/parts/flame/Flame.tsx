// A flame chart of ops under a filter: run, tokens, layers, components, ops. A click selects, Shift
// zooms.

import { useComputed, useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { getJson, ofTrace, type Params } from "../../api/client";
import { useResource } from "../../api/resource";
import { isDark } from "../../draw/colour";
import { count, counted, duration, percent } from "../../draw/format";
import { drawOn } from "../../draw/canvas";
import { select, selection, type Selection } from "../../state/selection";
import { batchIndex, generation, summary } from "../../state/trace";
import { urlParam } from "../../state/url";
import { announce } from "../announce";
import { CanvasView, type Asked } from "../CanvasView";
import { copy } from "../clipboard";
import { Empty, Failure, Loading } from "../messages";
import { showIn } from "../showIn";
import { Tooltip } from "../Tooltip";
import { useSize } from "../useSize";
import { VirtualTable, type Column } from "../VirtualTable";
import { addressOf, barAt, barsOf, nameOf, pathOf, type Bar, type FlameAnswer, type FlameNodes, layerOf } from "./answer";
import { paintFlame } from "./paint";
import "./flame.css";

const ROW_MOST = 64;
const ROW_LEAST = 18;

const merging = urlParam("flame", "tokens");
const zoomed = urlParam("flame_zoom", "");
const only = urlParam("flame_only", "0");
/** Whether only ops of the selection are shown; else the selection is framed. */
export function isOfSelection(): boolean {
  return only.value === "1";
}

/** What a bar stands for, as a selection. */
function patchOf(n: FlameNodes, bar: Bar): Partial<Selection> | null {
  const { i } = bar;
  const first = n.first_id[i] ?? null;
  const batch = [bar, bar.parent, bar.parent?.parent, bar.parent?.parent?.parent].find((b) => b && n.kind[b.i] === "batch");
  const token = batch && n.first_id[batch.i] === n.last_id[batch.i] ? n.first_id[batch.i]! : null;
  if (n.kind[i] === "batch" && first !== null) {
    if (token !== null) return { token, op: null, time: null };
    const b = summary.peek()?.batches;
    const from = b?.start_relative_ns[batchIndex(first)] ?? null;
    const to = b?.end_relative_ns[batchIndex(n.last_id[i]!)] ?? null;
    return from === null || to === null ? null : { time: [from, to], token: null, op: null };
  }
  if (n.kind[i] === "layer" && first !== null) return { layer: layerOf(n, i), tensor: null, op: null, ...(token === null ? {} : { token }) };
  const [run, node] = [n.run[i] ?? null, n.node[i] ?? null];
  if (run === null || node === null || n.kind[i] === "run" || n.kind[i] === "layer") return null;
  const layer = [bar.parent, bar.parent?.parent].find((b) => b && n.kind[b.i] === "layer");
  return { op: { run, node }, token: n.batch_id[i] ?? null, layer: layer ? layerOf(n, layer.i) : null, tensor: null };
}

function choose(n: FlameNodes, bar: Bar): void {
  const patch = patchOf(n, bar);
  if (!patch) return;
  select(patch);
  announce(`Selected ${patch.op ? "the longest of " : ""}${pathOf(n, bar)}, ${duration(n.time_ns[bar.i])}`);
}

/** Bars that stand for what is selected. */
function chosenOf(n: FlameNodes, bars: readonly Bar[], s: Selection): Set<number> {
  const chosen = new Set<number>();
  for (const { i } of bars) {
    if (n.kind[i] === "batch" && s.token !== null && n.first_id[i] !== null && s.token >= n.first_id[i]! && s.token <= n.last_id[i]!) chosen.add(i);
    if (n.kind[i] === "layer" && s.layer !== null && layerOf(n, i) === s.layer) chosen.add(i);
    if (n.kind[i] === "op" && s.op && n.run[i] === s.op.run && n.node[i] === s.op.node) chosen.add(i);
  }
  return chosen;
}

function zoomTo(bar: Bar): void {
  zoomed.value = addressOf(bar);
}

function Tip(props: { n: FlameNodes; bar: Bar; x: number; y: number }) {
  const { n, bar } = props;
  const time = n.time_ns[bar.i]!;
  return (
    <Tooltip x={props.x} y={props.y}>
      <strong>{pathOf(n, bar)}</strong>
      <div>
        {duration(time)} of all threads, {percent(time / (n.time_ns[0] || 1))} of what is shown
      </div>
      <div>
        {duration(n.wait_ns[bar.i])} of it waits; {counted(n.count[bar.i]!, "op")}
      </div>
      {n.longest_ns[bar.i]! > 0 && <div>the longest op took {duration(n.longest_ns[bar.i])}</div>}
    </Tooltip>
  );
}

function columnsOf(n: FlameNodes): Column<Bar>[] {
  return [
    { id: "name", title: "What", width: 330, middle: true, cell: (b) => pathOf(n, b), tip: (b) => pathOf(n, b) },
    { id: "kind", title: "Kind", width: 90, cell: (b) => (n.kind[b.i] === "batch" ? "token" : n.kind[b.i]!) },
    { id: "time", title: "Time", width: 90, number: true, key: "time_ns", value: (b) => n.time_ns[b.i]!, cell: (b) => duration(n.time_ns[b.i]), hint: "Of all threads: work and waits" },
    { id: "share", title: "Share", width: 80, number: true, key: "share", value: (b) => n.time_ns[b.i]! / (n.time_ns[0] || 1), cell: (b) => percent(n.time_ns[b.i]! / (n.time_ns[0] || 1)) },
    { id: "wait", title: "Waits", width: 90, number: true, key: "wait_ns", value: (b) => n.wait_ns[b.i]!, cell: (b) => duration(n.wait_ns[b.i]) },
    { id: "ops", title: "Ops", width: 80, number: true, cell: (b) => count(n.count[b.i]) },
    { id: "longest", title: "Longest op", width: 90, number: true, key: "longest_ns", value: (b) => n.longest_ns[b.i]!, cell: (b) => duration(n.longest_ns[b.i]) },
  ];
}

const VIEWS_OF_BAR = ["memory", "timeline", "graph", "log", "values"];

function menuOf(n: FlameNodes, bar: Bar) {
  const patch = patchOf(n, bar);
  return [
    [
      { title: "Zoom in", run: () => zoomTo(bar) },
      { title: "Show all", run: () => (zoomed.value = "") },
    ],
    patch ? showIn(patch, VIEWS_OF_BAR) : [],
    [{ title: `Copy name ${nameOf(n, bar.i)}`, run: () => void copy(nameOf(n, bar.i), "name.txt", nameOf(n, bar.i)) }],
  ];
}

function Chart(props: { answer: FlameAnswer }) {
  const n = props.answer.nodes;
  const bars = useMemo(() => barsOf(n), [n]);
  const { ref, size } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const pointer = useSignal<{ x: number; y: number } | null>(null);
  const cursor = useSignal<Bar>(bars[0]!);
  const focused = useSignal(false);
  if (!bars.includes(cursor.peek())) cursor.value = bars[0]!;
  const zoom = barAt(bars[0]!, zoomed.value);
  const shown = { from: zoom.from, to: Math.max(zoom.to, zoom.from + 1e-9) };
  const { width, height } = size.value;
  const levels = useMemo(() => 1 + bars.reduce((most, b) => Math.max(most, b.depth), 0), [bars]);
  const row = Math.max(ROW_LEAST, Math.min(ROW_MOST, Math.floor(height / levels)));
  const chosen = chosenOf(n, bars, selection.value);
  useLayoutEffect(() => {
    if (!canvas.current || !width) return;
    const look = { width, row, shown, chosen, cursor: focused.value ? cursor.value : null };
    drawOn(canvas.current, width, height, (c) => paintFlame(c, n, bars, look));
  }, [n, width, height, zoom, selection.value, cursor.value, focused.value, isDark.value]);
  const hit = (x: number, y: number): Bar | null => {
    const at = shown.from + (x / width) * (shown.to - shown.from);
    const depth = Math.floor(y / row);
    return bars.find((b) => b.depth === depth && at >= b.from && at < b.to) ?? null;
  };
  const under = (event: MouseEvent) => {
    const box = ref.current!.getBoundingClientRect();
    return hit(event.clientX - box.left, event.clientY - box.top);
  };
  const go = (bar: Bar | null | undefined) => {
    if (!bar) return;
    cursor.value = bar;
    announce(`${pathOf(n, bar)}, ${duration(n.time_ns[bar.i])}, ${percent(n.time_ns[bar.i]! / (n.time_ns[0] || 1))}`);
  };
  const beside = (step: number) => {
    const row = bars.filter((b) => b.depth === cursor.value.depth);
    return row[row.indexOf(cursor.value) + step];
  };
  const asked = (bar: Bar | null): Asked | null => {
    if (!bar) return null;
    pointer.value = null;
    const left = Math.max(0, bar.from - shown.from) / (shown.to - shown.from);
    return { x: left * width + 8, y: (bar.depth + 1) * row, label: pathOf(n, bar), items: menuOf(n, bar) };
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const at = cursor.value;
    if (event.key === "ArrowLeft") go(beside(-1));
    else if (event.key === "ArrowRight") go(beside(1));
    else if (event.key === "ArrowUp") go(at.parent);
    else if (event.key === "ArrowDown") go(at.children[0]);
    else if (event.key === "Enter" && event.shiftKey) zoomTo(at);
    else if (event.key === "Enter") choose(n, at);
    else if (event.key === "Backspace") zoomed.value = zoom.parent ? addressOf(zoom.parent) : "";
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const tip = pointer.value && ref.current ? hit(pointer.value.x, pointer.value.y) : null;
  const box = ref.current?.getBoundingClientRect();
  return (
    <div class="flame">
      {zoom.depth > 0 && (
        <p class="flame-zoom">
          {pathOf(n, zoom)}{" "}
          <button type="button" onClick={() => (zoomed.value = zoom.parent ? addressOf(zoom.parent) : "")}>
            Zoom out
          </button>{" "}
          <button type="button" onClick={() => (zoomed.value = "")}>
            Show all
          </button>
        </p>
      )}
      <CanvasView
        label={`Flame chart of ${counted(n.count[0]!, "op")}, ${duration(n.time_ns[0])} of all threads`}
        keys="Left and right go to the neighbour, up and down to what contains it and what it contains, Enter selects, Shift with Enter zooms in, Backspace zooms out."
        value={pathOf(n, cursor.value)}
        focusRef={ref}
        table={
          <div class="flame-table">
            <VirtualTable
              label="Times of the flame chart"
              columns={columnsOf(n)}
              count={bars.length}
              row={(i) => bars[i] ?? null}
              onSelect={(_, bar) => choose(n, bar)}
              menu={(bar) => menuOf(n, bar)}
            />
          </div>
        }
        menu={{
          at: (x, y) => asked(hit(x, y)),
          ofKeys: () => asked(cursor.value),
        }}
        on={{
          onKeyDown,
          onFocus: () => (focused.value = true),
          onBlur: () => (focused.value = false),
          onPointerMove: (event) => {
            const at = ref.current!.getBoundingClientRect();
            pointer.value = { x: event.clientX - at.left, y: event.clientY - at.top };
          },
          onPointerLeave: () => (pointer.value = null),
          onPointerUp: (event) => {
            const bar = event.button === 0 ? under(event) : null;
            if (!bar) return;
            cursor.value = bar;
            if (event.shiftKey) zoomTo(bar);
            else choose(n, bar);
          },
          onDblClick: (event) => {
            const bar = under(event);
            if (bar) zoomTo(bar);
          },
        }}
      >
        <canvas ref={canvas} aria-hidden="true" />
      </CanvasView>
      {tip && box && <Tip n={n} bar={tip} x={box.left + pointer.value!.x} y={box.top + pointer.value!.y} />}
    </div>
  );
}

/** In the order of time, or merged over the tokens. */
export function FlameChoice() {
  const now = merging.value;
  return (
    <span class="flame-choice" role="group" aria-label="Flame chart">
      {[
        ["tokens", "By token", "Tokens in the order of time"],
        ["merged", "Merged", "All tokens together, the largest on the left"],
      ].map(([id, title, about]) => (
        <button type="button" key={id} aria-pressed={now === id} title={about} onClick={() => (merging.value = id!)}>
          {title}
        </button>
      ))}
      <label title="Only ops of the selected token, layer, tensor and time; else these are framed">
        <input type="checkbox" checked={isOfSelection()} onChange={(event) => (only.value = event.currentTarget.checked ? "1" : "0")} /> Only the selection
      </label>
      <span class="flame-legend">
        width: time of all threads; <span class="flame-waits" /> waits; a click selects, Shift with a click zooms
      </span>
    </span>
  );
}

export function Flame(props: { trace: number; params: Params }) {
  const merged = useComputed(() => merging.value === "merged");
  const params = { ...props.params, merged: merged.value ? 1 : null };
  const resource = useResource(JSON.stringify([props.trace, generation.value, params]), (abort) => getJson<FlameAnswer>(ofTrace(props.trace, "flame"), params, abort));
  const answer = resource.data.value;
  if (resource.error.value) return <Failure error={resource.error.value} retry={resource.retry} />;
  if (!answer) return <Loading what="the ops" />;
  if (answer.nodes.count[0] === 0)
    return (
      <Empty title="No ops match">
        <p>Nothing that is selected has an op whose end was observed.</p>
      </Empty>
    );
  return <Chart answer={answer} />;
}
