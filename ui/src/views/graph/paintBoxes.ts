// Shapes of boxes: an op is a rectangle, a view a rounded one with a dashed border, a leaf like a
// leaf, a value of another part a dot or, if distant, its name.

import { css } from "../../draw/colour";
import { bytes, counted, duration } from "../../draw/format";
import { originColour } from "./colours";
import type { Origin } from "./graph";
import { fillOf, LETTER, pill, stepsLabel, TEXT_LEAST, text, type Brush, type Rect } from "./brush";
import type { Item } from "./scene";

/** A mark for where an operand comes from: file round, buffer square, computed a triangle. */
export function originMark(c: CanvasRenderingContext2D, origin: Origin, x: number, y: number, size: number, edge: string): void {
  const h = size / 2;
  c.beginPath();
  if (origin === "file") c.arc(x, y, h, 0, 2 * Math.PI);
  else if (origin === "buffer") c.rect(x - h, y - h, size, size);
  else if (origin === "computed") {
    c.moveTo(x, y + h);
    c.lineTo(x - h, y - h);
    c.lineTo(x + h, y - h);
    c.closePath();
  } else {
    c.moveTo(x - h, y - h);
    c.lineTo(x + h, y + h);
    c.moveTo(x + h, y - h);
    c.lineTo(x - h, y + h);
  }
  c.lineWidth = 1;
  c.strokeStyle = edge;
  c.fillStyle = css(originColour(origin));
  if (origin !== "unknown") c.fill();
  c.stroke();
}

/** Smaller than that, a box is a spot: its form cannot be seen. */
const FORM_LEAST = 6;

function spot(b: Brush, r: Rect, style: string): void {
  b.c.fillStyle = style;
  b.c.fillRect(r.x, r.y, Math.max(1, r.w), Math.max(1, r.h));
}

function shareBar(b: Brush, r: Rect, share: number | null, ink: string): void {
  if (share === null || r.h < 8) return;
  const high = Math.max(2, Math.min(4, r.h * 0.1));
  b.c.fillStyle = ink;
  b.c.globalAlpha = 0.55;
  b.c.fillRect(r.x + 3, r.y + r.h - high - 2, Math.max(1, (r.w - 6) * share), high);
  b.c.globalAlpha = 1;
}

export function drawClosedPart(b: Brush, item: Item, r: Rect): void {
  const { c, look, eye } = b;
  const { g, theme } = look;
  const fill = fillOf(b, item);
  c.fillStyle = fill.style;
  c.strokeStyle = theme.ink2;
  c.lineWidth = 1;
  c.beginPath();
  c.roundRect(r.x, r.y, r.w, r.h, 8 * eye.scale);
  c.fill();
  c.stroke();
  shareBar(b, r, fill.share, fill.ink);
  const { parts } = g.reply;
  const title = `▸ ${g.partTitle(item.part)}`;
  const more = `${counted(parts.ops[item.part] || parts.nodes[item.part]!, parts.ops[item.part] ? "op" : "node")} · ${duration(parts.total_ns[item.part])} · ${bytes(parts.weight_bytes[item.part])}`;
  const left = r.x + Math.max(6, 12 * eye.scale);
  const high = r.h * 0.34 >= TEXT_LEAST;
  const size = high ? Math.min(13, r.h * 0.34) : Math.min(11, r.h * 0.8);
  const steps = look.path?.steps.get(look.scene.partItem[item.part]!);
  const label = steps ? stepsLabel(steps) : "";
  const wide = steps && size >= TEXT_LEAST ? label.length * size * LETTER + 14 : 0;
  if (wide) pill(b, label, r.x + r.w - wide + 2, r.y + r.h * (high ? 0.3 : 0.5), Math.min(11, size));
  const room = r.w - Math.max(10, 20 * eye.scale) - wide;
  if (high) {
    text(b, title, left, r.y + r.h * 0.28, room, size, fill.ink, true);
    text(b, more, left, r.y + r.h * 0.64, room + wide, size * 0.92, fill.ink);
  } else {
    const used = text(b, title, left, r.y + r.h / 2, room, size, fill.ink, true);
    if (used) text(b, more, left + used + 10, r.y + r.h / 2, room - used - 10, size, fill.ink);
  }
}

function operandMarks(b: Brush, item: Item, r: Rect): void {
  if (r.w < 50) return;
  const inputs = b.look.g.inputs(item.tensor);
  const size = Math.min(8, Math.max(5, 8 * b.eye.scale));
  const step = Math.min(size * 1.7, (r.w - 12) / Math.max(1, inputs.length));
  let x = r.x + r.w - 8 - step * (inputs.length - 1);
  for (const input of inputs) {
    originMark(b.c, b.look.g.origin(input), x, r.y + 1, size, b.look.theme.ground);
    x += step;
  }
}

export function drawOp(b: Brush, item: Item, r: Rect): void {
  const { c, look } = b;
  const { g, theme } = look;
  const fill = fillOf(b, item);
  if (r.h < FORM_LEAST) return spot(b, r, fill.observed ? fill.style : theme.ink2);
  if (r.h > 10 && g.members(item.tensor).length > 1) {
    // Several nodes, computed at once: a pile.
    c.fillStyle = theme.ground3;
    c.strokeStyle = theme.ink2;
    c.lineWidth = 1;
    c.fillRect(r.x + 4, r.y + 4, r.w, r.h);
    c.strokeRect(r.x + 4, r.y + 4, r.w, r.h);
  }
  c.fillStyle = fill.style;
  c.fillRect(r.x, r.y, r.w, r.h);
  c.strokeStyle = theme.ink2;
  c.lineWidth = 1;
  if (!fill.observed) c.setLineDash([4, 3]);
  c.strokeRect(r.x, r.y, r.w, r.h);
  c.setLineDash([]);
  shareBar(b, r, fill.share, fill.ink);
  const large = r.h * 0.32 >= TEXT_LEAST;
  const size = large ? Math.min(12, r.h * 0.32) : Math.min(10, r.h * 0.62);
  const margin = large ? 6 * Math.min(1, b.eye.scale) : 3;
  const [left, room] = [r.x + margin, r.w - 2 * margin];
  opLine(b, item, { x: left, y: r.y + r.h * (large ? 0.33 : 0.5), w: room, h: size }, fill.ink, large);
  if (!large) return undefined;
  text(b, g.name(item.tensor), left, r.y + r.h * 0.69, room, size * 0.95, fill.ink);
  operandMarks(b, item, r);
  return undefined;
}

/** The least of an op's name that is worth its room. */
const OP_LEAST = 3;

/** The op, and at the right its time: of the op that took longest, and in large boxes, before all of the name. line.y:
 * its middle, line.h: the height of letters. */
function opLine(b: Brush, item: Item, line: Rect, ink: string, large: boolean): void {
  const { g, colouring } = b.look;
  const letter = line.h * LETTER;
  const op = g.op(item.tensor);
  const ns = g.reply.tensors.duration_ns[item.tensor] ?? null;
  const time = ns === null || line.h < TEXT_LEAST ? "" : duration(ns);
  const letters = Math.floor(line.w / letter);
  const left = letters - time.length - 1;
  const first = large || (colouring.by === "time" && ns === colouring.opMost);
  const timed = time !== "" && (left >= op.length || (first && time.length <= letters));
  if (timed) text(b, time, line.x + line.w - time.length * letter, line.y, time.length * letter + 1, line.h, ink);
  if (!timed || left >= OP_LEAST) text(b, op, line.x, line.y, timed ? left * letter + 0.5 : line.w, line.h, ink, large);
}

export function drawView(b: Brush, item: Item, r: Rect): void {
  const { c, look } = b;
  if (r.h < FORM_LEAST) return spot(b, r, look.theme.line);
  c.fillStyle = look.theme.ground;
  c.strokeStyle = look.theme.ink2;
  c.lineWidth = 1;
  c.setLineDash([3, 2]);
  c.beginPath();
  c.roundRect(r.x, r.y, r.w, r.h, r.h / 2);
  c.fill();
  c.stroke();
  c.setLineDash([]);
  text(b, look.g.op(item.tensor), r.x + r.h / 2, r.y + r.h / 2, r.w - r.h / 2 - 3, Math.min(11, r.h * 0.66), look.theme.ink2);
  return undefined;
}

export function drawLeaf(b: Brush, item: Item, r: Rect): void {
  const { c, look } = b;
  const { g } = look;
  const origin = g.origin(item.tensor);
  const weight = g.reply.tensors.weight[item.tensor] !== null;
  const byOrigin = look.colouring.by === "origin" || look.colouring.by === "category";
  const fill = byOrigin ? fillOf(b, item) : { style: look.theme.ground3, ink: look.theme.ink };
  if (r.h < FORM_LEAST) return spot(b, r, fill.style);
  c.fillStyle = fill.style;
  c.strokeStyle = look.theme.ink2;
  c.lineWidth = 1;
  c.beginPath();
  // A weight has the form of a leaf; caches and inputs that of a drawer.
  if (weight) c.roundRect(r.x, r.y, r.w, r.h, [0, r.h * 0.9, 0, r.h * 0.9]);
  else c.roundRect(r.x, r.y, r.w, r.h, [r.h * 0.4, r.h * 0.4, 0, 0]);
  c.fill();
  c.stroke();
  originMark(c, origin, r.x + r.h * 0.5, r.y + r.h / 2, r.h * 0.45, fill.ink);
  text(b, g.component(item.tensor) || g.name(item.tensor), r.x + r.h, r.y + r.h / 2, r.w - r.h - 2, Math.min(11, r.h * 0.66), fill.ink);
  return undefined;
}

/** A dot where a line enters or leaves the part; of a value that is used everywhere, its name. */
export function drawPort(b: Brush, item: Item, r: Rect): void {
  const { c, look } = b;
  const far = r.w > r.h * 1.5;
  if (r.h < FORM_LEAST / 2) return undefined;
  c.fillStyle = far ? look.theme.ground : look.theme.ink2;
  c.strokeStyle = look.theme.ink2;
  c.lineWidth = 1;
  c.beginPath();
  if (far) c.roundRect(r.x, r.y, r.w, r.h, 3);
  else c.arc(r.x + r.w / 2, r.y + r.h / 2, Math.max(1, r.w * 0.3), 0, 2 * Math.PI);
  c.fill();
  if (far) c.stroke();
  if (far) text(b, `↖ ${look.g.name(item.tensor)}`, r.x + 4, r.y + r.h / 2, r.w - 8, Math.min(11, r.h * 0.66), look.theme.ink);
  return undefined;
}

