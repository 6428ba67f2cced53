// The roofline: FLOPs per byte and per second of ops, relative to the machine's limits.

import { useSignal } from "@preact/signals";
import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Machine, RoofPoint, Roofline as Answer } from "../../api/stats";
import { CATEGORIES, categoryColour, css } from "../../draw/colour";
import { counted, duration, percent, rate } from "../../draw/format";
import { announce } from "../../parts/announce";
import { Empty, Failure, Loading } from "../../parts/messages";
import { useSize } from "../../parts/useSize";
import { VirtualTable, type Column } from "../../parts/VirtualTable";
import { generation } from "../../state/trace";
import { edges, flopRate, logAxis, places, type Edge, type LogAxis, type Place } from "./roof";

const LEFT = 90;
const RIGHT = 14;
const TOP = 14;
const BOTTOM = 38;
const MEASURING_S = 2;

interface Box {
  readonly width: number;
  readonly height: number;
  readonly x: LogAxis;
  readonly y: LogAxis;
}

const px = (b: Box, v: number) => LEFT + b.x.at(v) * (b.width - LEFT - RIGHT);
const py = (b: Box, v: number) => b.height - BOTTOM - b.y.at(v) * (b.height - TOP - BOTTOM);

function Grid(props: { box: Box }) {
  const b = props.box;
  return (
    <g aria-hidden="true">
      {b.x.ticks.map((v) => (
        <g key={v}>
          <line class="grid" x1={px(b, v)} x2={px(b, v)} y1={TOP} y2={b.height - BOTTOM} />
          <text x={px(b, v)} y={b.height - BOTTOM + 14} text-anchor="middle">
            {v >= 0.001 && v < 1e6 ? v : v.toExponential(0)}
          </text>
        </g>
      ))}
      {b.y.ticks.map((v) => (
        <g key={v}>
          <line class="grid" x1={LEFT} x2={b.width - RIGHT} y1={py(b, v)} y2={py(b, v)} />
          <text x={LEFT - 6} y={py(b, v) + 4} text-anchor="end">
            {flopRate(v)}
          </text>
        </g>
      ))}
      <text x={(LEFT + b.width - RIGHT) / 2} y={b.height - 6} text-anchor="middle">
        FLOP per byte moved
      </text>
    </g>
  );
}

function EdgeLine(props: { box: Box; edge: Edge }) {
  const { box: b, edge } = props;
  const ridge = edge.peak / edge.bandwidth;
  const low = Math.max(b.x.from, b.y.from / edge.bandwidth);
  const high = Math.min(ridge, b.x.to);
  const points = [
    [px(b, low), py(b, low * edge.bandwidth)],
    [px(b, high), py(b, high * edge.bandwidth)],
    [px(b, b.x.to), py(b, Math.min(edge.peak, b.x.to * edge.bandwidth))],
  ];
  return (
    <g>
      <polyline class={edge.int8 ? "edge int8" : "edge"} points={points.map((p) => p.join(",")).join(" ")} />
      <text x={b.width - RIGHT - 4} y={py(b, edge.peak) - 4} text-anchor="end">
        {edge.name}: {flopRate(edge.peak)}
      </text>
    </g>
  );
}

/** A disc for a prompt's ops, a square for those of generated tokens. */
function Mark(props: { box: Box; place: Place; share: number; chosen: boolean; choose: () => void }) {
  const { box, place, share } = props;
  const x = px(box, place.intensity);
  const y = py(box, place.speed);
  const r = 5 + 16 * Math.sqrt(share);
  const common = { class: props.chosen ? "mark chosen" : "mark", fill: css(categoryColour(place.point.category), 0.85), onClick: props.choose };
  return (
    <g>
      {place.point.phase === "generate" ? (
        <rect x={x - r} y={y - r} width={2 * r} height={2 * r} {...common}>
          <title>{pointWords(place.point)}</title>
        </rect>
      ) : (
        <circle cx={x} cy={y} r={r} {...common}>
          <title>{pointWords(place.point)}</title>
        </circle>
      )}
      <text class="number" x={x + r + 2} y={y + 4}>
        {place.number}
      </text>
    </g>
  );
}

function pointWords(p: RoofPoint): string {
  const speed = p.flops !== null && p.total_ns ? `${flopRate((p.flops / p.total_ns) * 1e9)}` : "FLOPs not known";
  return `${p.op} of ${p.category}, ${p.phase}: ${duration(p.total_ns)}, ${speed}, ${rate(p.total_ns ? (p.moved_bytes / p.total_ns) * 1e9 : null)}`;
}

function Picture(props: { answer: Answer; machine: Machine | null; chosen: number | null; choose: (i: number) => void }) {
  const { ref, size } = useSize<HTMLDivElement>();
  const { width, height } = size.value;
  const list = places(props.answer);
  const roofs = edges(props.machine);
  const box: Box = {
    width,
    height,
    x: logAxis([...list.map((p) => p.intensity), ...roofs.map((e) => e.peak / e.bandwidth)]),
    y: logAxis([...list.map((p) => p.speed), ...roofs.map((e) => e.peak)]),
  };
  return (
    <div class="roof-plot" ref={ref}>
      {width > 0 && height > 0 && (
        <svg viewBox={`0 0 ${width} ${height}`} role="img" aria-label={`Roofline of ${counted(list.length, "kind")} of ops; the table beside it has the same figures`}>
          <Grid box={box} />
          {roofs.map((e) => (
            <EdgeLine key={e.name} box={box} edge={e} />
          ))}
          {list.toReversed().map((p) => (
            <Mark
              key={p.number}
              box={box}
              place={p}
              share={(p.point.total_ns ?? 0) / (props.answer.total_ns || 1)}
              chosen={props.chosen === p.number - 1}
              choose={() => props.choose(p.number - 1)}
            />
          ))}
        </svg>
      )}
    </div>
  );
}

/** The longest first. */
function byTime(answer: Answer): Answer {
  return { ...answer, ops: answer.ops.toSorted((a, b) => (b.total_ns ?? 0) - (a.total_ns ?? 0)) };
}

function boundText(p: RoofPoint): string {
  if (p.bound === "unknown") return p.flops === null ? "FLOPs not known" : "machine not measured";
  return `${p.bound === "neither" ? "neither (below 10 %)" : p.bound}${p.edge_share === null ? "" : `, ${percent(p.edge_share)}`}`;
}

function columns(total_ns: number): Column<RoofPoint & { number: number }>[] {
  return [
    { id: "number", title: "#", width: 34, number: true, cell: (p) => p.number },
    { id: "op", title: "Op", width: 140, cell: (p) => p.op, tip: pointWords },
    { id: "category", title: "Part", width: 76, cell: (p) => p.category },
    { id: "phase", title: "Phase", width: 76, cell: (p) => p.phase },
    { id: "share", title: "Time", width: 72, number: true, cell: (p) => percent(p.total_ns === null ? null : p.total_ns / (total_ns || 1)) },
    { id: "intensity", title: "FLOP/byte", width: 84, number: true, cell: (p) => (p.flops === null ? "not known" : (p.flops_at_most ? "≤ " : "") + (p.flops / p.moved_bytes).toPrecision(3)) },
    { id: "flops", title: "Computes", width: 104, number: true, cell: (p) => flopRate(p.flops === null || !p.total_ns ? null : (p.flops / p.total_ns) * 1e9) },
    { id: "bytes", title: "Moves", width: 84, number: true, cell: (p) => (p.bytes_at_most ? "≤ " : "") + rate(p.total_ns ? (p.moved_bytes / p.total_ns) * 1e9 : null) },
    { id: "bound", title: "Bound by", width: 150, hint: "The machine's limit that is closer, and how much of it is reached", cell: boundText },
  ];
}

function Words(props: { answer: Answer; machine: Machine | null; measuring: boolean; measure: () => void }) {
  const m = props.machine?.measured;
  const { answer } = props;
  return (
    <div class="roof-words">
      <p>
        {m
          ? `Limits of the machine: reading memory at ${rate(m.bandwidth_bytes_per_s)}, computing ${flopRate(m.peak_flops_per_s)} (${m.vectors ?? "float32"})${m.peak_int8_ops_per_s ? ` or ${flopRate(m.peak_int8_ops_per_s)} in ${m.int8 ?? "8-bit integers"}` : ""}, measured on this machine with ${counted(m.threads, "thread")}. They apply only if the run was on this machine.`
          : "The limits are unknown: measure them on request."}
      </p>
      <p>
        <button type="button" disabled={props.measuring || !props.machine} onClick={props.measure}>
          {props.measuring ? "Measuring…" : m ? "Measure this machine again" : "Measure this machine"}
        </button>{" "}
        takes about {MEASURING_S} seconds, with all {props.machine?.cpus ?? ""} processors; leave it idle meanwhile.
      </p>
      <p>
        Discs: prompt; squares: generated tokens; larger: more time. Colours:{" "}
        {CATEGORIES.map((c) => (
          <span key={c} class="roof-key">
            <span class="stats-swatch" style={{ background: css(categoryColour(c)) }} /> {c}{" "}
          </span>
        ))}
      </p>
      {answer.flops_not_known > 0 && (
        <p>
          {counted(answer.flops_not_known, "op")} ({duration(answer.flops_not_known_ns)}) of kinds whose FLOPs are not counted.
        </p>
      )}
    </div>
  );
}

export function Roofline(props: { trace: number }) {
  const { trace } = props;
  const measured = useSignal(0);
  const measuring = useSignal(false);
  const failed = useSignal<Error | null>(null);
  const chosen = useSignal<number | null>(null);
  const points = useResource(`${trace} ${generation.value} ${measured.value}`, (abort) => getJson<Answer>(ofTrace(trace, "roofline"), {}, abort).then(byTime));
  const machine = useResource(`machine ${measured.value}`, (abort) => getJson<Machine>("machine", {}, abort));
  const measure = async () => {
    measuring.value = true;
    failed.value = null;
    try {
      await getJson<Machine>("machine", { measure: 1 });
      measured.value++;
      announce("The machine was measured");
    } catch (reason) {
      failed.value = reason instanceof Error ? reason : new Error(String(reason));
    }
    measuring.value = false;
  };
  const answer = points.data.value;
  const error = points.error.value ?? failed.value;
  const again = () => {
    failed.value = null;
    if (points.error.peek()) points.retry();
  };
  if (error) return <Failure error={error} retry={again} />;
  if (!answer) return <Loading what="the ops" />;
  if (answer.ops.length === 0) return <Empty title="The trace has no ops with a known graph" />;
  const choose = (i: number) => {
    chosen.value = i;
    const p = answer.ops[i];
    if (p) announce(pointWords(p));
  };
  return (
    <div class="roof">
      <Picture answer={answer} machine={machine.data.value} chosen={chosen.value} choose={choose} />
      <div class="roof-side">
        <Words answer={answer} machine={machine.data.value} measuring={measuring.value} measure={() => void measure()} />
        <div class="stats-table">
          <VirtualTable
            label="Kinds of ops: FLOPs and bytes"
            columns={columns(answer.total_ns)}
            count={answer.ops.length}
            row={(i) => {
              const p = answer.ops[i];
              return p ? { ...p, number: i + 1 } : null;
            }}
            selected={chosen.value}
            onSelect={choose}
          />
        </div>
      </div>
    </div>
  );
}
