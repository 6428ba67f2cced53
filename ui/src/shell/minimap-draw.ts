// Overview of the run: busy lanes, prompt, selection.

import { css, themeColour } from "../draw/colour";
import type { Range } from "../draw/axis";
import type { Batches } from "../api/types";
import type { Overview } from "../views/timeline/overview";

interface Size {
  readonly width: number;
  readonly height: number;
}

const BUSY = [0, 114, 178] as const;
const WAIT = [128, 134, 142] as const;
const PROMPT = [86, 180, 233] as const;

type Context = CanvasRenderingContext2D;

function drawLoad(c: Context, size: Size, o: Overview, x: (ns: number) => number): void {
  const n = o.busy_share.length;
  const width_ns = (o.to_ns - o.from_ns) / n;
  const room = size.height - 4;
  const busyInk = css(BUSY, 0.8);
  const waitInk = css(WAIT, 0.6);
  for (let i = 0; i < n; i++) {
    const busy = o.busy_share[i];
    const wait = o.wait_share[i] ?? 0;
    if (busy === null || busy === undefined) continue;
    const left = x(o.from_ns + i * width_ns);
    const width = x(o.from_ns + (i + 1) * width_ns) - left + 0.3;
    const high = Math.min(1, busy) * room;
    c.fillStyle = busyInk;
    c.fillRect(left, size.height - high, width, high);
    c.fillStyle = waitInk;
    c.fillRect(left, size.height - high - Math.min(1, wait) * room, width, Math.min(1, wait) * room);
  }
}

/** Before any op was read: when batches were computed. */
function drawBatches(c: Context, size: Size, b: Batches, x: (ns: number) => number): void {
  c.fillStyle = css(WAIT, 0.35);
  let until = -Infinity;
  for (let i = 0; i < b.batch_id.length; i++) {
    const begin = b.begin_ns[i];
    if (begin === null || begin === undefined) continue;
    const right = Math.max(x(b.end_ns[i] ?? begin), x(begin) + 0.5);
    if (right < until + 0.5) continue;
    const left = Math.max(x(begin), until);
    c.fillRect(left, size.height / 2, right - left, size.height / 2);
    until = right;
  }
}

function drawPrompts(c: Context, b: Batches, x: (ns: number) => number): void {
  c.fillStyle = css(PROMPT);
  let until = -Infinity;
  for (let i = 0; i < b.batch_id.length; i++) {
    const begin = b.begin_ns[i];
    if (b.phase[i] !== "prompt" || begin === null || begin === undefined) continue;
    const right = Math.max(x(b.end_ns[i] ?? begin), x(begin) + 2);
    if (right < until + 0.5) continue;
    c.fillRect(x(begin), 0, right - x(begin), 3);
    until = right;
  }
}

/** Unchanged while the window moves: a canvas of its own. */
export function drawRun(c: Context, size: Size, whole: Range, o: Overview | null, b: Batches | null): void {
  const x = (ns: number) => ((ns - whole.from) / (whole.to - whole.from)) * size.width;
  c.clearRect(0, 0, size.width, size.height);
  if (b && (!o || o.runs_done < o.runs)) drawBatches(c, size, b, x);
  if (o) drawLoad(c, size, o, x);
  if (b) drawPrompts(c, b, x);
}

/** The window and the selection. */
export function drawWindow(
  c: Context,
  size: Size,
  whole: Range,
  window: Range,
  selected: readonly [number, number] | null,
): void {
  const x = (ns: number) => ((ns - whole.from) / (whole.to - whole.from)) * size.width;
  c.clearRect(0, 0, size.width, size.height);
  if (selected) {
    c.fillStyle = themeColour("--mark");
    c.fillRect(x(selected[0]), 0, Math.max(2, x(selected[1]) - x(selected[0])), 4);
    c.globalAlpha = 0.25;
    c.fillRect(x(selected[0]), 0, Math.max(2, x(selected[1]) - x(selected[0])), size.height);
    c.globalAlpha = 1;
  }
  const left = x(window.from);
  const width = Math.max(3, x(window.to) - left);
  c.fillStyle = themeColour("--ground");
  c.globalAlpha = 0.6;
  c.fillRect(0, 0, left, size.height);
  c.fillRect(left + width, 0, size.width - left - width, size.height);
  c.globalAlpha = 1;
  c.strokeStyle = themeColour("--accent");
  c.lineWidth = 2;
  c.strokeRect(left + 1, 1, width - 2, size.height - 2);
}
