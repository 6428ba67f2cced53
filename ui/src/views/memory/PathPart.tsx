// The order of reads as a picture: time across, file offset up.

import { useComputed, useSignal, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Latest } from "../../api/client";
import { NO_U32 } from "../../api/columns";
import type { Range } from "../../draw/axis";
import { drawOn } from "../../draw/canvas";
import { css, isDark } from "../../draw/colour";
import { bytes, count, counted, duration, moment, plainName } from "../../draw/format";
import { bind } from "../../input/keys";
import { announce } from "../../parts/announce";
import { CanvasView } from "../../parts/CanvasView";
import { Failure } from "../../parts/messages";
import { Tooltip } from "../../parts/Tooltip";
import { useSize } from "../../parts/useSize";
import { VirtualTable, type Column } from "../../parts/VirtualTable";
import { playhead_ns } from "../../state/playback";
import { select, selectedTrace, selection } from "../../state/selection";
import { generation, summary, tensors, tokenStretch } from "../../state/trace";
import { urlParam } from "../../state/url";
import { timeAxis } from "../../state/timeWindow";
import { drawMarks, drawPath, expertWords, FAULTED, GENERATED, loadPath, LEFT, nsOf, byteOf, partOf, plotHeight, plotWidth, PROMPT, readAt, stepWords, type Path, type Plot, type Reads } from "./path";
import { isAll, useRange } from "./range";
import { paletteOf } from "./scene";

const offsetParam = urlParam("memory_path_y", "");

/** A pixel of the brush that is no click. */
const STILL_PX = 4;
const ZOOM_PER_S = 8;
/** Of all offsets, that can be seen: some pages of the largest models. */
const LEAST_OFFSETS = 1e-7;
const PAN_PER_S = 1.2;

interface Ask {
  readonly trace: number;
  readonly generation: number;
  readonly from_ns: number;
  readonly to_ns: number;
  readonly columns: number;
  readonly rows: number;
  /** Of the offsets, as shares; null: all. */
  readonly part: Range | null;
}

const nameOf = (r: Reads, i: number) => plainName(tensors.value?.name[r.weight[i]!] ?? "") + expertWords(r, i);

function choose(r: Reads, i: number): void {
  const t = tensors.value;
  const weight = r.weight[i]!;
  select({
    op: { run: r.run[i]!, node: r.node[i]! },
    token: r.batch[i] === NO_U32 ? null : r.batch[i]!,
    tensor: t?.name[weight] ?? null,
    slice: r.expert[i] === NO_U32 ? null : r.expert[i]!,
    layer: t?.layer_id[weight] ?? null,
  });
}

const COLUMNS: readonly Column<{ r: Reads; i: number }>[] = [
  { id: "start", title: "Begins", width: 110, number: true, cell: ({ r, i }) => moment(r.start[i]!, 1e3) },
  { id: "took", title: "Op took", width: 90, number: true, cell: ({ r, i }) => duration(r.end[i]! - r.start[i]!) },
  { id: "tensor", title: "Read", width: 260, cell: ({ r, i }) => nameOf(r, i) },
  { id: "offset", title: "Offset", width: 130, number: true, cell: ({ r, i }) => count(r.offset[i]!) },
  { id: "size", title: "Size", width: 90, number: true, cell: ({ r, i }) => bytes(r.size[i]!) },
  { id: "step", title: "From the read before", width: 150, cell: ({ r, i }) => ["first", "continues", "jump forward", "jump back", "within it", "another file"][r.step[i]!] ?? "" },
  { id: "major", title: "Major faults", width: 90, number: true, cell: ({ r, i }) => (r.major[i] === NO_U32 ? "not observed" : count(r.major[i]!)) },
];

/** What is drawn: figures and single reads. */
type Shown = ReturnType<typeof partOf>;

function Table(props: { path: Path | null; shown: Shown | null }) {
  const r = props.path?.reads;
  const { list } = props.shown ?? { list: [] };
  if (!r) return <p>{props.path ? `${counted(props.path.head.reads, "read")}, ${stepWords(props.path.head)}. Zoom in for single reads.` : "Being read"}</p>;
  return (
    <div class="map-table">
      <VirtualTable label="Reads in order" columns={COLUMNS} count={list.length} row={(k) => ({ r, i: list[k]! })} selected={null} onSelect={(k) => choose(r, list[k]!)} />
    </div>
  );
}

function Sign(props: { colour: string; words: string }) {
  return (
    <span class="page-sign">
      <i class="sign" style={{ background: props.colour }} /> {props.words}
    </span>
  );
}

function PathLegend(props: { shown: Shown | null; loading: boolean; part: string }) {
  const head = props.shown?.head;
  return (
    <div class="legend wraps" aria-label="Legend" role="group">
      <span>
        <strong>Path of the reads</strong>
        {props.loading ? " …" : ""}
      </span>
      {head && (
        <span>
          {counted(head.reads, "read")}, {bytes(head.read_bytes)}{props.part}: {stepWords(head)}
          {head.unplaced_reads > 0 && `; ${counted(head.unplaced_reads, "read")} of rows or experts that were not observed left out`}
        </span>
      )}
      {head?.listed ? (
        <span class="signs">
          <Sign colour={css(PROMPT)} words="prompt" />
          <Sign colour={css(GENERATED)} words="generated" />
          {head.faults && <Sign colour={css(FAULTED)} words="with a major fault" />}
        </span>
      ) : (
        <span class="quiet">brighter: more reads of a cell; zoom in for single reads</span>
      )}
    </div>
  );
}

export function PathPart() {
  const { ref: proxy, size } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const over = useRef<HTMLCanvasElement>(null);
  const path = useSignal<Path | null>(null);
  const failure = useSignal<Error | null>(null);
  const loading = useSignal(false);
  const brush = useSignal<readonly [number, number] | null>(null);
  const pointed = useSignal<{ i: number; x: number; y: number } | null>(null);
  const requests = useMemo(
    () =>
      new Latest<Ask, Path>(
        ({ trace, from_ns, to_ns, columns, rows, part }) => loadPath(trace, { from_ns, to_ns, columns, rows }, part),
        (answer) => {
          path.value = answer;
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
  const offsets = useRange(offsetParam, LEAST_OFFSETS);
  const all = useComputed(() => path.value?.head.all_bytes ?? 1);
  const plot = useComputed<Plot>(() => {
    const { from, to } = offsets.range.value;
    return { width: size.value.width, height: size.value.height, range: timeAxis.range.value, bytes: { from: from * all.value, to: to * all.value } };
  });
  const shown = useComputed<Shown | null>(() => {
    const { from, to } = offsets.range.value;
    return path.value && partOf(path.value, { from: from * all.value, to: to * all.value });
  });
  // Only where it goes: what is on the way is not asked for.
  const part = useComputed(() => (isAll(offsets.range.value) && isAll(offsets.target) ? "" : `${offsets.target.from}~${offsets.target.to}`));
  const ask = () => {
    const { from, to } = timeAxis.target;
    timeAxis.range.value;
    const { width, height } = size.value;
    if (width < 50 || !summary.value?.clock || to <= from) return;
    loading.value = true;
    const [low, high] = part.value.split("~").map(Number);
    requests.ask({ part: high === undefined ? null : { from: low!, to: high }, trace: selectedTrace.value, generation: generation.value, from_ns: from, to_ns: to, columns: Math.min(1024, Math.ceil(width / 2)), rows: Math.min(256, Math.max(8, Math.ceil(height / 3))) });
  };
  useSignalEffect(ask);
  useSignalEffect(() => {
    const p = plot.value;
    const found = path.value;
    const palette = paletteOf(isDark.value);
    if (canvas.current && p.width > 50) drawOn(canvas.current, p.width, p.height, (c) => drawPath(c, p, found, palette));
  });
  useSignalEffect(() => {
    const p = plot.value;
    const found = path.value;
    const { tensor, time, token } = selection.value;
    const row = tensor === null ? -1 : (tensors.value?.name.indexOf(tensor) ?? -1);
    const t = tensors.value;
    const base = row < 0 || !t ? 0 : (found?.head.model_files[t.model_file_id[row]!] ?? 0);
    const marked = {
      band: row < 0 || !t ? null : ([base + t.file_offset_bytes[row]!, base + t.file_offset_bytes[row]! + t.size_bytes[row]!] as const),
      time: brush.value ?? time ?? tokenStretch(token),
      playhead: playhead_ns.value,
    };
    const palette = paletteOf(isDark.value);
    if (over.current && p.width > 50) drawOn(over.current, p.width, p.height, (c) => drawMarks(c, p, marked, palette));
  });
  useEffect(() => {
    const zoom = (factor: number) => {
      const { from, to } = timeAxis.target;
      timeAxis.zoom(factor, (from + to) / 2, true);
    };
    /** The selected tensor, if it is to be seen; else the middle. */
    const lookedAt = () => {
      const { from, to } = offsets.target;
      const t = tensors.peek();
      const row = t && selection.peek().tensor !== null ? t.name.indexOf(selection.peek().tensor!) : -1;
      const at = row < 0 || !t || !path.peek() ? -1 : ((path.peek()!.head.model_files[t.model_file_id[row]!] ?? 0) + t.file_offset_bytes[row]! + t.size_bytes[row]! / 2) / path.peek()!.head.all_bytes;
      return at > from && at < to ? at : (from + to) / 2;
    };
    const showAll = () => {
      timeAxis.all();
      offsets.all();
    };
    const scope = "Memory path";
    return bind(
      { id: "path.in", keys: ["KeyW", "key:+", "NumpadAdd"], title: "Zoom in", scope, held: (s) => zoom(ZOOM_PER_S ** -s) },
      { id: "path.out", keys: ["KeyS", "key:-", "NumpadSubtract"], title: "Zoom out", scope, held: (s) => zoom(ZOOM_PER_S ** s) },
      { id: "path.earlier", keys: ["KeyA"], title: "Pan to earlier times", scope, held: (s) => timeAxis.pan(-s * PAN_PER_S, true) },
      { id: "path.later", keys: ["KeyD"], title: "Pan to later times", scope, held: (s) => timeAxis.pan(s * PAN_PER_S, true) },
      { id: "path.all", keys: ["Shift+Digit0"], title: "Show all of the run and of the file", scope, run: showAll },
      { id: "path.offsets-in", keys: ["Shift+KeyW"], title: "Zoom in on the offsets (Ctrl+Shift+wheel, or Ctrl+wheel on the left)", scope, held: (s) => offsets.zoom(ZOOM_PER_S ** -s, lookedAt(), true) },
      { id: "path.offsets-out", keys: ["Shift+KeyS"], title: "Zoom out of the offsets", scope, held: (s) => offsets.zoom(ZOOM_PER_S ** s, lookedAt(), true) },
      { id: "path.higher", keys: ["ArrowUp"], title: "Pan to higher offsets", scope, held: (s) => offsets.pan(s * PAN_PER_S, true) },
      { id: "path.lower", keys: ["ArrowDown"], title: "Pan to lower offsets", scope, held: (s) => offsets.pan(-s * PAN_PER_S, true) },
      { id: "path.offsets-all", keys: ["Escape"], title: "Show all offsets again", scope, run: () => offsets.all(), when: () => !isAll(offsets.target) },
      {
        id: "path.fit",
        keys: ["KeyF"],
        title: "Fit the selected time or token",
        scope,
        run: () => {
          const at = selection.peek().time ?? tokenStretch(selection.peek().token);
          if (at) timeAxis.fit(at[0], at[1]);
        },
      },
    );
  }, []);
  useEffect(() => {
    const element = proxy.current;
    if (!element) return undefined;
    let began: { x: number; ns: number } | null = null;
    const place = (event: MouseEvent) => {
      const box = element.getBoundingClientRect();
      return { x: event.clientX - box.left, y: event.clientY - box.top };
    };
    const on = {
      pointerdown: (event: PointerEvent) => {
        const { x } = place(event);
        if (event.button !== 0 || x < LEFT) return;
        began = { x, ns: nsOf(plot.value, x) };
        element.setPointerCapture(event.pointerId);
      },
      pointermove: (event: PointerEvent) => {
        const { x, y } = place(event);
        if (began && Math.abs(x - began.x) > STILL_PX) {
          const ns = nsOf(plot.value, x);
          brush.value = ns < began.ns ? [ns, began.ns] : [began.ns, ns];
          pointed.value = null;
          return;
        }
        const i = readAt(plot.value, path.value?.reads ?? null, x, y);
        pointed.value = i < 0 ? null : { i, x: event.clientX, y: event.clientY };
      },
      pointerup: (event: PointerEvent) => {
        const was = began;
        const chosen = brush.value;
        began = null;
        brush.value = null;
        if (!was) return;
        if (chosen) return select({ time: chosen, op: null });
        const { x, y } = place(event);
        const r = path.value?.reads;
        const i = readAt(plot.value, r ?? null, x, y);
        if (r && i >= 0) choose(r, i);
      },
      pointercancel: () => {
        began = null;
        brush.value = null;
      },
      pointerleave: () => {
        pointed.value = null;
      },
      wheel: (event: WheelEvent) => {
        event.preventDefault();
        const delta = event.deltaY || event.deltaX;
        const { x, y } = place(event);
        const p = plot.value;
        if (event.ctrlKey || event.metaKey) {
          if (event.shiftKey || x < LEFT) offsets.zoom(Math.exp(delta * 0.002), byteOf(p, y) / all.value);
          else timeAxis.zoom(Math.exp(delta * 0.002), nsOf(p, x));
        } else if (event.shiftKey || event.deltaX !== 0 || isAll(offsets.target)) timeAxis.pan(delta / plotWidth(p));
        else offsets.pan(-delta / plotHeight(p));
      },
      dblclick: () => {
        timeAxis.all();
        offsets.all();
      },
    };
    for (const [name, run] of Object.entries(on)) element.addEventListener(name, run as EventListener, { passive: false });
    return () => {
      for (const [name, run] of Object.entries(on)) element.removeEventListener(name, run as EventListener);
    };
  }, []);
  const head = shown.value?.head;
  const r = path.value?.reads;
  const at = pointed.value;
  useEffect(() => {
    if (head) announce(`${counted(head.reads, "read")}: ${stepWords(head)}`);
  }, [path.value]);
  if (summary.value && !summary.value.clock) return <p class="note" role="note">The trace has no clock: when weights were read is not known.</p>;
  if (failure.value && !path.value) return <Failure error={failure.value} retry={ask} />;
  return (
    <>
      <PathLegend shown={shown.value} loading={loading.value} part={isAll(offsets.range.value) ? "" : ` between ${bytes(Math.round(plot.value.bytes.from))} and ${bytes(Math.round(plot.value.bytes.to))}`} />
      <div class="map">
        <CanvasView
          label={`Path of the reads: time across, file offset up${head ? `. ${counted(head.reads, "read")}, ${stepWords(head)}` : ""}`}
          keys="W and S zoom the time, with Shift the offsets; A and D pan, up and down go to higher and lower offsets, Shift+0 shows all, F fits the selected time; dragging selects a time. The table lists the reads."
          focusRef={proxy}
          table={<Table path={path.value} shown={shown.value} />}
        >
          <canvas ref={canvas} />
          <canvas ref={over} />
        </CanvasView>
        {r && at && at.i < r.start.length && (
          <Tooltip x={at.x} y={at.y}>
            <strong class="mono">{nameOf(r, at.i)}</strong>
            <div>
              {bytes(r.size[at.i]!)} at {count(r.offset[at.i]!)}, {r.copied[at.i] ? "read in a copy in a buffer" : "read in the mapped file"}
            </div>
            <div>
              {r.batch[at.i] === NO_U32 ? "outside of tokens" : `token ${r.batch[at.i]}`}, at {moment(r.start[at.i]!, 1e3)}, its op took {duration(r.end[at.i]! - r.start[at.i]!)}
            </div>
            {head?.faults && r.major[at.i] !== NO_U32 && (
              <div>
                {counted(r.major[at.i]!, "major fault")}, {count(r.minor[at.i]!)} minor
              </div>
            )}
          </Tooltip>
        )}
      </div>
    </>
  );
}
