// Text and lines of the timeline: the axis, names, tokens, counters, the selection.

import { ticks } from "../../draw/axis";
import { drawFlags } from "../../draw/flags";
import { duration, moment } from "../../draw/format";
import { notesInTime } from "../../state/notes";
import { playhead_ns } from "../../state/playback";
import { selection } from "../../state/selection";
import { overview } from "../../state/timelineOverview";
import { drawBadOps } from "./bad";
import type { Drag } from "./scene";
import { drawLayerNames, drawSliceNames } from "./names";
import { chosenOp } from "./op";
import { other, otherPen } from "./other";
import { inRow, LETTER, type Pen } from "./pen";
import { drawConstants, drawCounter } from "./plot";
import { drawFull, drawReads } from "./poolPlot";
import { AXIS_HEIGHT, topOf, type Layout, type Row } from "./rows";
import { drawOtherToken, drawTokens } from "./tokens";
import type { Marks } from "./shapes";
import type { Shown } from "./shown";

/** Rows without ops. */
const PLAIN: ReadonlySet<string> = new Set(["counter", "constant", "reads", "pool"]);

/** Lines where they cross no op. */
function drawAxis(pen: Pen, l: Layout): void {
  const { c } = pen;
  const { values, step } = ticks(pen.range, pen.width);
  c.strokeStyle = pen.line;
  c.lineWidth = 1;
  c.globalAlpha = 0.5;
  c.beginPath();
  const plain = l.rows.filter((r) => PLAIN.has(r.kind)).map((r) => [topOf(r, pen.scroll), r.height] as const);
  for (const v of values) {
    const x = Math.round(pen.x(v)) + 0.5;
    for (const [top, height] of [[0, AXIS_HEIGHT] as const, ...plain]) {
      if (top > 0 && top < l.fixed && top + height > l.fixed) continue;
      c.moveTo(x, top);
      c.lineTo(x, top + height);
    }
  }
  c.stroke();
  c.globalAlpha = 1;
  c.fillStyle = pen.ink2;
  for (const v of values) c.fillText(moment(v, step), pen.x(v) + 4, AXIS_HEIGHT / 2);
}

/** Marks ranges that the server still reads. */
function drawUnread(pen: Pen, l: Layout): void {
  const o = overview.peek();
  const row = l.rows.find((r) => r.kind === "lane");
  if (!row || (o && o.runs_done >= o.runs)) return;
  const text = `reading the ops: ${o ? Math.floor((o.runs_done / o.runs) * 100) : 0} %`;
  inRow(pen, l, row, (top) => {
    const x = pen.width - text.length * LETTER - 12;
    pen.c.fillStyle = pen.ground;
    pen.c.fillRect(x - 4, top + 8, text.length * LETTER + 8, 18);
    pen.c.fillStyle = pen.ink;
    pen.c.fillText(text, x, top + row.height / 2);
  });
}

/** Layers come from records, which wide windows are not drawn from. */
function drawNoLayers(pen: Pen, l: Layout, shown: readonly Shown[]): void {
  if (shown.length === 0 || !shown.every(({ tile }) => tile.from_overview)) return;
  pen.c.fillStyle = pen.ink2;
  for (const row of l.rows)
    if (row.kind === "layers" && !row.folded)
      inRow(pen, l, row, (top) => pen.c.fillText("zoom in to see the layers", 4, top + row.height / 2));
}

/** A box around the time and rows from the first to the last. */
function drawBox(pen: Pen, l: Layout, from_ns: number, to_ns: number, rows: readonly Row[], dragging: boolean): void {
  const { c } = pen;
  const left = pen.x(from_ns);
  const width = Math.max(1, pen.x(to_ns) - left);
  if (left > pen.width || left + width < 0) return;
  c.save();
  c.beginPath();
  c.rect(0, AXIS_HEIGHT, pen.width, pen.height);
  c.clip();
  c.strokeStyle = pen.accent;
  c.fillStyle = pen.accent;
  c.lineWidth = 1.5;
  for (const row of rows) {
    const top = topOf(row, pen.scroll);
    if (!row.pinned && top + row.height < l.fixed) continue;
    c.globalAlpha = 0.14;
    c.fillRect(left, top, width, row.height);
    c.globalAlpha = 1;
    c.strokeRect(left, top, width, row.height);
  }
  c.restore();
  const text = duration(to_ns - from_ns);
  if (!dragging && width < text.length * LETTER) return;
  c.fillStyle = pen.accent;
  c.fillRect(left, AXIS_HEIGHT - 4, width, 3);
  c.fillStyle = pen.ground;
  const at = Math.min(Math.max(0, left + width / 2 - (text.length * LETTER) / 2), pen.width - text.length * LETTER);
  c.fillRect(at - 3, 1, text.length * LETTER + 6, 16);
  c.fillStyle = pen.accent;
  c.fillText(text, at, 9);
}

/** A frame around the selected op on each of its lanes, also where it is merged with others. */
function drawChosenOp(pen: Pen, l: Layout): void {
  const { c } = pen;
  for (const lane of chosenOp.peek()?.lanes ?? []) {
    const row = lane.track === null ? undefined : l.byTrack.get(lane.track);
    const left = pen.x(lane.start_relative_ns);
    const width = Math.max(3, pen.x(lane.start_relative_ns + (lane.busy_ns ?? 0)) - left);
    if (!row || left > pen.width || left + width < 0) continue;
    inRow(pen, l, row, (top) => {
      for (const [ink, wide] of [[pen.ground, 5], [pen.mark, 2.5]] as const) {
        c.strokeStyle = ink;
        c.lineWidth = wide;
        c.strokeRect(left, top + 1, width, row.height - 2);
      }
    });
  }
}

function drawPointer(pen: Pen): void {
  if (pen.pointer_ns === null) return;
  const { c } = pen;
  const x = Math.round(pen.x(pen.pointer_ns)) + 0.5;
  c.strokeStyle = pen.ink2;
  c.lineWidth = 1;
  c.globalAlpha = 0.6;
  c.beginPath();
  c.moveTo(x, AXIS_HEIGHT);
  c.lineTo(x, pen.height);
  c.stroke();
  c.globalAlpha = 1;
}

export interface Marked {
  /** The range being dragged; else the selected one. */
  readonly drag: Drag | null;
  readonly marks: Marks;
  /** Ids of the lanes of the selected range; null: all. */
  readonly lanes: ReadonlySet<string> | null;
}

function drawStretch(pen: Pen, l: Layout, marked: Marked): void {
  if (marked.drag) {
    const { from_ns, to_ns, first, last } = marked.drag;
    drawBox(pen, l, from_ns, to_ns, l.rows.slice(first, last + 1), true);
    return;
  }
  const time = selection.peek().time;
  if (!time) return;
  const rows = l.rows.filter((r) => r.kind === "lane" && (!marked.lanes || marked.lanes.has(r.id)));
  drawBox(pen, l, time[0], time[1], rows, false);
}

/** Where the film stands. */
function drawPlayhead(pen: Pen): void {
  const at = playhead_ns.peek();
  if (at === null || at < pen.range.from || at > pen.range.to) return;
  const x = Math.round(pen.x(at));
  pen.c.fillStyle = pen.mark;
  pen.c.fillRect(x - 1, 0, 2, pen.height);
  pen.c.beginPath();
  pen.c.moveTo(x - 6, 0);
  pen.c.lineTo(x + 6, 0);
  pen.c.lineTo(x, 8);
  pen.c.fill();
}

/** The second token's names and marks, nothing of the tokens beside it. */
function drawBelow(pen: Pen, l: Layout, below: Below): void {
  const o = other.peek();
  if (!o || !l.other) return;
  const its = otherPen(pen, o);
  const { c } = pen;
  c.save();
  c.beginPath();
  c.rect(its.x(o.from), 0, its.x(o.to) - its.x(o.from), pen.height);
  c.clip();
  for (const { tile, range } of below.shown) {
    drawSliceNames(its, l.other, tile, range.from, range.to, below.marks);
    drawLayerNames(its, l.other, tile, selection.peek().layer);
  }
  drawBadOps(its, l.other);
  drawChosenOp(its, l.other);
  c.restore();
}

/** What is drawn of the second token. */
export interface Below {
  readonly shown: readonly Shown[];
  readonly marks: Marks;
}

export function drawOverlay(pen: Pen, l: Layout, shown: readonly Shown[], marked: Marked, below: Below): void {
  drawAxis(pen, l);
  let nth = 0;
  for (const row of l.rows) {
    if (row.kind === "tokens") drawTokens(pen, l, row);
    if (row.kind === "otherToken") drawOtherToken(pen, l, row);
    if (row.kind === "counter") drawCounter(pen, l, row, nth++);
    if (row.kind === "constant") drawConstants(pen, l, row);
    if (row.kind === "reads") drawReads(pen, l, row);
    if (row.kind === "pool") drawFull(pen, l, row);
  }
  for (const { tile, range } of shown) {
    drawSliceNames(pen, l, tile, range.from, range.to, marked.marks);
    drawLayerNames(pen, l, tile, selection.peek().layer);
  }
  drawBadOps(pen, l);
  drawUnread(pen, l);
  drawNoLayers(pen, l, shown);
  drawChosenOp(pen, l);
  drawBelow(pen, l, below);
  drawStretch(pen, l, marked);
  drawFlags(pen.c, notesInTime.peek().map((n) => pen.x(n.time_ns)), pen.width, pen.height);
  drawPlayhead(pen);
  drawPointer(pen);
}
