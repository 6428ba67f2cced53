// Small pictures of the views, of the trace's own data: each with the shape that the view has.

import { getBinary, getJson, ofTrace } from "../../api/client";
import type { Tensors } from "../../api/types";
import type { Curve } from "../../api/buffers";
import type { Experts } from "../../api/experts";
import type { LogRows } from "../../api/log";
import type { Stats, StatsRow } from "../../api/stats";
import { gridOf } from "../../api/values";
import { css, seriesColour, sequence, themeColour } from "../../draw/colour";
import { duration } from "../../draw/format";
import { inOrder, kindFill, totals } from "../../draw/buffers";
import { summary, tensors } from "../../state/trace";
import { overview } from "../../state/timelineOverview";

export interface Pen {
  readonly c: CanvasRenderingContext2D;
  readonly width: number;
  readonly height: number;
  readonly dark: boolean;
}

export type Draw = (pen: Pen) => void;

/** null: there is nothing to draw. */
type Load = (trace: number, abort: AbortSignal) => Promise<Draw | null>;

const TENSORS_MOST = 10_000;
const ROWS = 7;
const FONT = "10px ui-monospace, monospace";
/** So many lines of that can be read. */
const linesIn = (height: number) => Math.max(1, Math.min(ROWS, Math.floor(height / 11)));

function stats(trace: number, by: string, limit: number, abort: AbortSignal): Promise<Stats> {
  return getJson<Stats>(ofTrace(trace, "stats"), { by, limit }, abort);
}

/** Of the most time; never quite the ground's colour. */
function heat(share: number, dark: boolean): string {
  return css(sequence(0.12 + 0.88 * share, dark));
}

/** As the map: the tensors of a layer in one row, by their bytes. */
function drawMap(p: Pen, t: Tensors, time: ReadonlyMap<string, number>): void {
  const rows = new Map<number | null, number[]>();
  t.layer_id.forEach((layer, i) => rows.set(layer, [...(rows.get(layer) ?? []), i]));
  const list = [...rows].sort(([a], [b]) => (a ?? -1) - (b ?? -1));
  const most = Math.max(1, ...time.values());
  const high = p.height / list.length;
  const gap = high > 4 ? 1 : 0;
  list.forEach(([, members], row) => {
    const all = members.reduce((sum, i) => sum + t.size_bytes[i]!, 0);
    let x = 0;
    for (const i of members) {
      const width = (t.size_bytes[i]! / Math.max(1, all)) * p.width;
      const ns = time.get(t.name[i]!);
      p.c.fillStyle = ns === undefined ? themeColour("--ground-3") : heat(ns / most, p.dark);
      p.c.fillRect(x, row * high, Math.max(0.5, width - (width > 4 ? 1 : 0)), Math.max(0.5, high - gap));
      x += width;
    }
  });
}

const memory: Load = async (trace, abort) => {
  const t = tensors.peek();
  if (!t || t.name.length === 0) return null;
  const rows = summary.peek()?.clock ? (await stats(trace, "tensor", TENSORS_MOST, abort)).rows : [];
  const time = new Map(rows.map((r) => [String(r.tensor), r.work_ns ?? 0]));
  return (p) => drawMap(p, t, time);
};

/** As the lanes, all in one: work from below, waiting on top of it. */
const timeline: Load = async () => {
  if (!summary.peek()?.clock) return null;
  return (p) => {
    // Read where it is drawn: the picture follows it.
    const o = overview.value;
    const n = o?.busy_share.length ?? 0;
    const column = p.width / Math.max(1, n);
    for (let i = 0; i < n; i++) {
      const work = Math.min(1, o!.busy_share[i] ?? 0) * p.height;
      const wait = Math.min(1, o!.wait_share[i] ?? 0) * p.height;
      p.c.fillStyle = css(seriesColour(0));
      p.c.fillRect(i * column, p.height - work, column + 0.3, work);
      p.c.fillStyle = css(seriesColour(7));
      p.c.fillRect(i * column, p.height - work - wait, column + 0.3, wait);
    }
  };
};

/** As the graph: the layers as boxes, one after the other, coloured by their time. */
function drawLayers(p: Pen, rows: readonly StatsRow[]): void {
  const list = [...rows].sort((a, b) => Number(a.layer_id ?? -1) - Number(b.layer_id ?? -1));
  const most = Math.max(1, ...list.map((r) => r.work_ns ?? 0));
  const columns = Math.ceil(Math.sqrt((list.length * p.width) / p.height / 2));
  const lines = Math.ceil(list.length / columns);
  const [w, h] = [p.width / columns, p.height / lines];
  const place = (i: number) => {
    const line = Math.floor(i / columns);
    const at = i % columns;
    return { x: (line % 2 ? columns - 1 - at : at) * w, y: line * h };
  };
  p.c.strokeStyle = themeColour("--mark");
  p.c.lineWidth = 2;
  p.c.beginPath();
  list.forEach((_, i) => {
    const { x, y } = place(i);
    if (i) p.c.lineTo(x + w / 2, y + h / 2);
    else p.c.moveTo(x + w / 2, y + h / 2);
  });
  p.c.stroke();
  list.forEach((r, i) => {
    const { x, y } = place(i);
    p.c.fillStyle = heat((r.work_ns ?? 0) / most, p.dark);
    p.c.fillRect(x + w * 0.14, y + h * 0.2, w * 0.72, h * 0.6);
  });
}

const graph: Load = async (trace, abort) => {
  if (summary.peek()?.counts.graphs === 0 || !summary.peek()?.clock) return null;
  const { rows } = await stats(trace, "layer", 512, abort);
  return rows.length > 0 ? (p) => drawLayers(p, rows) : null;
};

const log: Load = async (trace, abort) => {
  const { ops } = await getJson<LogRows>(ofTrace(trace, "log/rows"), { first: 0, n: ROWS }, abort);
  if (ops.length === 0) return null;
  return (p) => {
    p.c.font = FONT;
    p.c.textBaseline = "middle";
    const lines = linesIn(p.height);
    const high = p.height / lines;
    p.c.fillStyle = themeColour("--ink-2");
    ops.slice(0, lines).forEach((op, i) => {
      const y = (i + 0.5) * high;
      const time = duration(op.duration_ns);
      p.c.textAlign = "right";
      p.c.fillText(time, p.width - 4, y);
      // As much of the name as the time leaves.
      const letters = Math.floor((p.width - 14 - p.c.measureText(time).width) / p.c.measureText("M").width);
      p.c.textAlign = "left";
      p.c.fillText(op.op.length > letters ? op.op.slice(0, Math.max(0, letters - 1)) + "…" : op.op, 4, y);
    });
  };
};

const experts: Load = async (trace, abort) => {
  if (!summary.peek()?.n_experts) return null;
  const { layers } = await getJson<Experts>(ofTrace(trace, "experts"), {}, abort);
  if (layers.length === 0) return null;
  return (p) => {
    const high = p.height / layers.length;
    layers.forEach((l, i) => {
      const wide = p.width / Math.max(1, l.n_experts);
      const most = Math.max(1, ...l.count);
      l.count.forEach((n, e) => {
        p.c.fillStyle = n === 0 ? themeColour("--ground-3") : heat(n / most, p.dark);
        p.c.fillRect(e * wide, i * high, Math.max(0.5, wide - (wide > 4 ? 1 : 0)), Math.max(0.5, high - (high > 4 ? 1 : 0)));
      });
    });
  };
};

const buffers: Load = async (trace, abort) => {
  if (!summary.peek()?.clock) return null;
  const curve = await getJson<Curve>(ofTrace(trace, "buffers_curve"), { points: 512 }, abort);
  const n = curve.time_relative_ns.length;
  if (n === 0) return null;
  const series = inOrder(curve.series);
  return (p) => {
    const s = summary.peek();
    const from = Math.min(curve.time_relative_ns[0]!, s?.start_relative_ns ?? 0);
    const to = Math.max(curve.time_relative_ns[n - 1]!, s?.end_relative_ns ?? 0, from + 1);
    const most = Math.max(1, ...curve.time_relative_ns.map((_, i) => totals(series, i)));
    const x = (ns: number) => ((ns - from) / (to - from)) * p.width;
    const low = new Array<number>(n).fill(0);
    for (const each of series) {
      p.c.fillStyle = kindFill(p.c, each.kind, each.backing);
      for (let i = 0; i < n; i++) {
        const size = ((each.size_bytes[i] ?? 0) / most) * (p.height - 4);
        const left = x(curve.time_relative_ns[i]!);
        const right = i + 1 < n ? x(curve.time_relative_ns[i + 1]!) : p.width;
        p.c.fillRect(left, p.height - low[i]! - size, Math.max(0.5, right - left), size);
        low[i] = low[i]! + size;
      }
    }
  };
};

const sums: Load = async (trace, abort) => {
  if (!summary.peek()?.clock) return null;
  const { rows } = await stats(trace, "op", ROWS, abort);
  if (rows.length === 0) return null;
  return (p) => {
    const largest = Math.max(...rows.map((r) => r.share ?? 0)) || 1;
    p.c.font = FONT;
    p.c.textBaseline = "middle";
    p.c.textAlign = "left";
    const lines = linesIn(p.height);
    const high = p.height / lines;
    rows.slice(0, lines).forEach((r, i) => {
      p.c.fillStyle = css([0, 114, 178], 0.75);
      p.c.fillRect(0, i * high + 1, Math.max(1, ((r.share ?? 0) / largest) * p.width), high - 2);
      p.c.fillStyle = themeColour("--ink");
      p.c.fillText(String(r.op), 4, (i + 0.5) * high);
    });
  };
};

const values: Load = async (trace, abort) => {
  if (!summary.peek()?.values_recorded) return null;
  const g = gridOf(await getBinary(ofTrace(trace, "values/grid"), {}, abort));
  const [rows, columns] = [g.layers.length, g.batches.length];
  if (rows === 0 || columns === 0) return null;
  const shown = [...g.rms].filter((v) => v > 0 && Number.isFinite(v)).map(Math.log);
  const [least, most] = [Math.min(...shown), Math.max(...shown)];
  return (p) => {
    const bad = themeColour("--bad");
    const [w, h] = [p.width / columns, p.height / rows];
    for (let l = 0; l < rows; l++)
      for (let t = 0; t < columns; t++) {
        const i = l * columns + t;
        if (!g.outputs[i]) continue;
        const notFinite = g.n_nan[i]! > 0 || (g.n_inf[i]! > 0 && !g.masking[i]);
        const share = most > least ? (Math.log(g.rms[i]!) - least) / (most - least) : 1;
        p.c.fillStyle = notFinite ? bad : heat(share, p.dark);
        p.c.fillRect(t * w, l * h, Math.max(0.5, w - (w > 4 ? 1 : 0)), Math.max(0.5, h - (h > 4 ? 1 : 0)));
      }
  };
};

/** By the view's id. */
export const THUMBS: Readonly<Record<string, Load>> = { memory, timeline, graph, log, experts, buffers, stats: sums, values };
