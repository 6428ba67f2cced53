// One op over the tokens: how long it took each time, against its median, and the outliers.

import { useSignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { getJson, ofTrace, type Params } from "../../api/client";
import { useResource } from "../../api/resource";
import type { LogRows } from "../../api/log";
import { pencil, sizeCanvas } from "../../draw/canvas";
import { css, isDark, seriesColour, themeColour } from "../../draw/colour";
import { count, counted, duration, percent, plainName } from "../../draw/format";
import { announce } from "../../parts/announce";
import { CanvasView } from "../../parts/CanvasView";
import { Empty, Failure, Loading } from "../../parts/messages";
import { showIn } from "../../parts/showIn";
import { Tooltip } from "../../parts/Tooltip";
import { useSize } from "../../parts/useSize";
import { VirtualTable, type Column } from "../../parts/VirtualTable";
import { select, selection } from "../../state/selection";
import { generation, tensors } from "../../state/trace";
import { urlParam } from "../../state/url";
import { literal } from "../../state/logTerms";

/** GET op/times */
interface OpTimes {
  name: string;
  count: number;
  min_ns: number | null;
  p25_ns: number | null;
  median_ns: number | null;
  p75_ns: number | null;
  p95_ns: number | null;
  max_ns: number | null;
  own_ns: number | null;
  own_ratio: number | null;
  /** Executions that took longer than the selected one. */
  longer: number | null;
  bars: { from_ns: number[]; to_ns: number[]; count: number[] };
  times: { run: number[]; node: number[]; batch_id: (number | null)[]; time_ns: number[]; wait_ns: (number | null)[]; ratio: (number | null)[] };
}

const PHASES = ["any", "generate", "prompt"] as const;
const phase = urlParam("op_phase", "any");
const FOOT = 18;
const LETTER = 6.2;
/** Times the median from which on an execution is named an outlier. */
const OUTLIER = 2;

/** The op to look at: the selected one, or the first that reads the selected tensor. */
async function wanted(trace: number, abort: AbortSignal): Promise<{ run: number; node: number } | null> {
  const { op, tensor, token } = selection.peek();
  if (op) return op;
  if (tensor === null) return null;
  const params = { tensor: literal(tensor), batch: token, batch_to: token, op: tensors.peek()?.name.includes(tensor) ? "MUL_MAT" : null, n: 1 };
  for (const each of [params, { ...params, op: null }]) {
    const rows = await getJson<LogRows>(ofTrace(trace, "log/rows"), each, abort);
    if (rows.ops[0]) return { run: rows.run[0]!, node: rows.ops[0].node };
  }
  return null;
}

async function load(trace: number, abort: AbortSignal): Promise<OpTimes | null> {
  const op = await wanted(trace, abort);
  if (!op) return null;
  const params: Params = { ...op, phase: phase.value };
  return getJson<OpTimes>(ofTrace(trace, "op/times"), params, abort);
}

interface Drawn {
  readonly width: number;
  readonly height: number;
  /** Of a time on the axis; bars are equally wide. */
  readonly x: (ns: number) => number;
  readonly bar: number;
}

function geometry(t: OpTimes, width: number, height: number): Drawn {
  const { from_ns, to_ns } = t.bars;
  const n = from_ns.length;
  const bar = width / Math.max(1, n);
  const x = (ns: number) => {
    let i = from_ns.findLastIndex((from) => from <= ns);
    i = Math.max(0, i);
    const share = to_ns[i]! > from_ns[i]! ? (ns - from_ns[i]!) / (to_ns[i]! - from_ns[i]!) : 0.5;
    return (i + Math.min(1, Math.max(0, share))) * bar;
  };
  return { width, height, x, bar };
}

function paint(c: CanvasRenderingContext2D, t: OpTimes, g: Drawn, at: number | null): void {
  const most = Math.max(1, ...t.bars.count);
  const room = g.height - FOOT - 30;
  c.font = "11px system-ui, sans-serif";
  c.textBaseline = "middle";
  t.bars.count.forEach((n, i) => {
    // A single execution can be seen.
    const h = n ? Math.max(2, (n / most) * room) : 0;
    c.fillStyle = css(seriesColour(0), i === at ? 1 : 0.75);
    c.fillRect(i * g.bar + 0.5, g.height - FOOT - h, Math.max(1, g.bar - 1), h);
  });
  c.fillStyle = themeColour("--line");
  c.fillRect(0, g.height - FOOT, g.width, 1);
  c.fillStyle = themeColour("--ink-2");
  let free = 0;
  t.bars.from_ns.forEach((from, i) => {
    const text = duration(from);
    if (i * g.bar < free) return;
    c.fillText(text, i * g.bar + 2, g.height - FOOT / 2);
    free = i * g.bar + text.length * LETTER + 14;
  });
  const marks: [number | null, string, string][] = [
    [t.median_ns, "median", "--ink"],
    [t.p95_ns, "p95", "--ink"],
    [t.own_ns, "selected", "--mark"],
  ];
  marks.forEach(([ns, name, ink], row) => {
    if (ns === null) return;
    const x = Math.round(g.x(ns));
    c.fillStyle = themeColour(ink);
    c.fillRect(Math.min(x, g.width - 2), 2, 2, g.height - FOOT - 2);
    const text = `${name} ${duration(ns)}`;
    const left = x + text.length * LETTER + 8 > g.width ? x - text.length * LETTER - 4 : x + 5;
    c.fillStyle = themeColour("--ground");
    c.fillRect(left - 2, 2 + row * 12, text.length * LETTER + 4, 12);
    c.fillStyle = themeColour(ink);
    c.fillText(text, left, 8 + row * 12);
  });
}

function barWords(t: OpTimes, i: number): string {
  return `${duration(t.bars.from_ns[i])} to ${duration(t.bars.to_ns[i])}: ${counted(t.bars.count[i]!, "time")}, ${percent(t.bars.count[i]! / t.count)}`;
}

function Histogram(props: { t: OpTimes }) {
  const { t } = props;
  const { ref, size } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const at = useSignal<number | null>(null);
  const pointer = useSignal<{ x: number; y: number } | null>(null);
  const { width, height } = size.value;
  const g = geometry(t, width, height);
  useLayoutEffect(() => {
    if (!canvas.current || !width) return;
    sizeCanvas(canvas.current, width, height);
    const c = pencil(canvas.current);
    if (!c) return;
    const ratio = canvas.current.width / width;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, width, height);
    paint(c, t, g, at.value);
  }, [t, width, height, at.value, isDark.value]);
  const last = t.bars.count.length - 1;
  const go = (i: number) => {
    at.value = Math.min(last, Math.max(0, i));
    announce(barWords(t, at.value));
  };
  const box = ref.current?.getBoundingClientRect();
  return (
    <div class="stats-histogram">
      <CanvasView
        label={`How long ${plainName(t.name)} took: ${counted(t.count, "time")}, median ${duration(t.median_ns)}`}
        keys="Left and right go from bar to bar."
        {...(at.value === null ? {} : { value: barWords(t, at.value) })}
        focusRef={ref}
        table={
          <table>
            <thead>
              <tr>
                <th scope="col">Time</th>
                <th scope="col" class="number">
                  Times
                </th>
              </tr>
            </thead>
            <tbody>
              {t.bars.count.map((n, i) => (
                <tr key={i}>
                  <th scope="row">
                    {duration(t.bars.from_ns[i])} to {duration(t.bars.to_ns[i])}
                  </th>
                  <td class="number">{count(n)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        }
        on={{
          onKeyDown: (event) => {
            const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
            if (step === undefined) return;
            event.preventDefault();
            event.stopPropagation();
            go((at.value ?? -1) + step);
          },
          onPointerMove: (event) => {
            const b = ref.current!.getBoundingClientRect();
            pointer.value = { x: event.clientX - b.left, y: event.clientY - b.top };
            at.value = Math.min(last, Math.max(0, Math.floor(pointer.value.x / g.bar)));
          },
          onPointerLeave: () => {
            pointer.value = null;
            at.value = null;
          },
        }}
      >
        <canvas ref={canvas} aria-hidden="true" />
      </CanvasView>
      {pointer.value && at.value !== null && box && (
        <Tooltip x={box.left + pointer.value.x} y={box.top + pointer.value.y}>
          {barWords(t, at.value)}
        </Tooltip>
      )}
    </div>
  );
}

const times = (ratio: number | null) => (ratio === null ? "not known" : `${ratio >= 100 ? count(Math.round(ratio)) : ratio.toFixed(2)} x`);

/** Executions by index in the answer, the longest first. */
function columnsOf(t: OpTimes): Column<number>[] {
  const x = t.times;
  return [
    { id: "token", title: "Token", width: 80, number: true, key: "batch_id", value: (i) => x.batch_id[i] ?? null, cell: (i) => x.batch_id[i] ?? "outside" },
    { id: "time", title: "Time", width: 90, number: true, key: "time_ns", value: (i) => x.time_ns[i]!, cell: (i) => duration(x.time_ns[i]) },
    { id: "ratio", title: "To the median", width: 110, number: true, key: "ratio", value: (i) => x.ratio[i] ?? null, cell: (i) => times(x.ratio[i] ?? null) },
    { id: "wait", title: "Wait", width: 90, number: true, key: "wait_ns", value: (i) => x.wait_ns[i] ?? null, cell: (i) => duration(x.wait_ns[i]), hint: "The threads' time at its barrier, summed" },
  ];
}

function Longest(props: { t: OpTimes }) {
  const { t } = props;
  const order = useMemo(() => t.times.time_ns.map((_, i) => i).sort((a, b) => t.times.time_ns[b]! - t.times.time_ns[a]! || a - b), [t]);
  const patch = (i: number) => ({ op: { run: t.times.run[i]!, node: t.times.node[i]! }, token: t.times.batch_id[i] ?? null });
  const { op } = selection.value;
  const selected = op ? order.findIndex((i) => t.times.run[i] === op.run) : -1;
  return (
    <div class="stats-longest">
      <VirtualTable
        label={`Times of ${plainName(t.name)}, the longest first`}
        columns={columnsOf(t)}
        count={order.length}
        row={(i) => order[i] ?? null}
        selected={selected >= 0 ? selected : null}
        onSelect={(_, i) => select(patch(i))}
        menu={(i) => [showIn(patch(i), ["timeline", "graph", "log", "memory", "values"])]}
      />
    </div>
  );
}

/** In a sentence: the selected execution against the others. */
function Words(props: { t: OpTimes }) {
  const { t } = props;
  const outliers = t.times.ratio.filter((r) => r !== null && r >= OUTLIER).length;
  return (
    <p class="stats-words">
      <strong>{plainName(t.name)}</strong>: {counted(t.count, "time")}, median {duration(t.median_ns)}, middle half {duration(t.p25_ns)} to {duration(t.p75_ns)}, 95 % within{" "}
      {duration(t.p95_ns)}, longest {duration(t.max_ns)}.{" "}
      {t.own_ns !== null && (
        <>
          The selected one took {duration(t.own_ns)}, {times(t.own_ratio)} the median; {counted(t.longer ?? 0, "other")} took longer.{" "}
        </>
      )}
      {outliers > 0 ? `${counted(outliers, "time")} at least ${OUTLIER} x the median.` : `None took ${OUTLIER} x the median.`}
    </p>
  );
}

export function OneOp(props: { trace: number }) {
  const { op, tensor, token } = selection.value;
  const key = JSON.stringify([props.trace, generation.value, op, tensor, op ? null : token, phase.value]);
  const resource = useResource(key, async (abort) => ({ t: await load(props.trace, abort) }));
  const answer = resource.data.value;
  return (
    <div class="stats-panel">
      <div class="stats-head" role="group" aria-label="Tokens">
        {PHASES.map((p) => (
          <button type="button" key={p} aria-pressed={phase.value === p} onClick={() => (phase.value = p)}>
            {p === "any" ? "All tokens" : p === "generate" ? "Generated" : "Prompt"}
          </button>
        ))}
      </div>
      {resource.error.value ? (
        <Failure error={resource.error.value} retry={resource.retry} />
      ) : !answer ? (
        <Loading what="the op" />
      ) : !answer.t ? (
        <Empty title="No op is selected">
          <p>Select an op in the log, the timeline, the graph or the flame chart, or a tensor: its times over the tokens are shown here.</p>
        </Empty>
      ) : answer.t.count === 0 ? (
        <Empty title={`${plainName(answer.t.name)} was not executed`}>
          <p>No time of it was observed in these tokens.</p>
        </Empty>
      ) : (
        <>
          <Words t={answer.t} />
          <Histogram t={answer.t} />
          <Longest t={answer.t} />
        </>
      )}
    </div>
  );
}
