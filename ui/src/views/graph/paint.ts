// Draws the graph: visible items only, text only where it is readable.

import { drawBad } from "./bad";
import { LETTER, onScreen, pill, stepsLabel, TEXT_LEAST, text, type Brush, type Look, type Rect } from "./brush";
import type { Eye } from "./camera";
import { drawClosedPart, drawLeaf, drawOp, drawPort, drawView } from "./paintBoxes";
import { HEADER, type Item, type Line } from "./scene";

/** Lines drawn at once on the screen. */
export const LINES_MAX = 3000;

function visible(r: Rect, width: number, height: number): boolean {
  return r.x + r.w >= -8 && r.x <= width + 8 && r.y + r.h >= -8 && r.y <= height + 8;
}

function trace(b: Brush, line: Line): void {
  const { c, eye } = b;
  const p = line.points;
  const n = p.length;
  const x = (i: number) => (p[i]! - eye.x) * eye.scale;
  const y = (i: number) => (p[i + 1]! - eye.y) * eye.scale;
  c.moveTo(x(0), y(0));
  if (!line.edges.length && line.tensors.length)
    // Between parts: straight, with round corners.
    for (let i = 2; i + 3 < n; i += 2) c.arcTo(x(i), y(i), x(i + 2), y(i + 2), 14 * eye.scale);
  else if (eye.scale > 0.25)
    for (let i = 2; i + 3 < n; i += 2) c.quadraticCurveTo(x(i), y(i), (x(i) + x(i + 2)) / 2, (y(i) + y(i + 2)) / 2);
  else for (let i = 2; i + 3 < n; i += 2) c.lineTo(x(i), y(i));
  c.lineTo(x(n - 2), y(n - 2));
}

function arrow(b: Brush, line: Line): void {
  const { c, eye } = b;
  const p = line.points;
  const n = p.length;
  const [x, y] = [(p[n - 2]! - eye.x) * eye.scale, (p[n - 1]! - eye.y) * eye.scale];
  const angle = Math.atan2(p[n - 1]! - p[n - 3]!, p[n - 2]! - p[n - 4]!);
  const size = Math.min(7, 8 * eye.scale);
  c.moveTo(x, y);
  c.lineTo(x - size * Math.cos(angle - 0.4), y - size * Math.sin(angle - 0.4));
  c.lineTo(x - size * Math.cos(angle + 0.4), y - size * Math.sin(angle + 0.4));
  c.closePath();
}

/** How many plain ones were left out. */
function drawLines(b: Brush, width: number, height: number, most: number): number {
  const { c, look, eye } = b;
  const { theme, scene } = look;
  const seen: number[] = [];
  scene.lines.forEach((line, i) => {
    if (visible(onScreen(line.bounds, eye), width, height)) seen.push(i);
  });
  // So many that they would be one grey: those inside parts can be seen from nearer.
  const plain = seen.length > most ? seen.filter((i) => scene.lines[i]!.tensors.length) : seen;
  const strong = (i: number) => {
    const line = scene.lines[i]!;
    return look.hoverLine === i || look.selected.has(line.from) || look.selected.has(line.to) || line.from === look.cursor || line.to === look.cursor;
  };
  c.lineWidth = eye.scale < 0.3 ? 0.5 : 1;
  c.strokeStyle = theme.ink2;
  c.beginPath();
  for (const i of plain) trace(b, scene.lines[i]!);
  c.stroke();
  if (eye.scale > 0.35) {
    c.fillStyle = theme.ink2;
    c.beginPath();
    for (const i of seen) arrow(b, scene.lines[i]!);
    c.fill();
  }
  if (look.path) {
    c.lineWidth = Math.max(1.5, Math.min(5, 6 * eye.scale));
    c.strokeStyle = theme.mark;
    c.beginPath();
    for (const i of seen) if (look.path.lines.has(i)) trace(b, scene.lines[i]!);
    c.stroke();
  }
  c.lineWidth = 2;
  c.strokeStyle = theme.accent;
  c.beginPath();
  for (const i of seen) if (strong(i)) trace(b, scene.lines[i]!);
  c.stroke();
  return seen.length - plain.length;
}

function drawJumps(b: Brush): void {
  const { c, look, eye } = b;
  if (!look.path?.jumps.length) return;
  c.save();
  c.lineWidth = Math.max(1, Math.min(3, 4 * eye.scale));
  c.setLineDash(eye.scale > 0.3 ? [7, 5] : [3, 2]);
  c.strokeStyle = look.theme.mark;
  c.beginPath();
  for (const [from, to] of look.path.jumps) {
    const a = onScreen(look.scene.items[from]!, eye);
    const z = onScreen(look.scene.items[to]!, eye);
    const [x0, y0, x1, y1] = [a.x + a.w / 2, a.y + a.h, z.x + z.w / 2, z.y];
    const bend = Math.max(20, Math.abs(y1 - y0) / 3);
    c.moveTo(x0, y0);
    c.bezierCurveTo(x0, y0 + bend, x1, y1 - bend, x1, y1);
  }
  c.stroke();
  c.restore();
}

/** The number of the step on the critical path beside its box, and a thick edge there. */
function drawSteps(b: Brush, i: number, item: Item, r: Rect): void {
  const steps = b.look.path?.steps.get(i);
  if (!steps) return;
  const { c, look } = b;
  const thick = Math.max(1, Math.min(4, 4 * b.eye.scale));
  c.lineWidth = thick;
  c.strokeStyle = look.theme.mark;
  c.fillStyle = look.theme.mark;
  // Nearly all closed parts are on the path: marking each would be useless.
  if (item.kind === "part") c.fillRect(r.x - thick, r.y, thick * 1.5, r.h);
  else c.strokeRect(r.x, r.y, r.w, r.h);
  const label = stepsLabel(steps);
  const size = Math.max(TEXT_LEAST, Math.min(11, 14 * b.eye.scale));
  if (item.kind === "part" || r.h < 2 * TEXT_LEAST) return;
  const width = label.length * size * LETTER + 8;
  pill(b, label, r.x - width + 3, r.y, size);
}

function outline(b: Brush, r: Rect, colour: string, width: number, dash: number[]): void {
  const { c } = b;
  c.save();
  c.lineWidth = width;
  c.strokeStyle = colour;
  c.setLineDash(dash);
  const grow = width / 2 + 1;
  c.strokeRect(r.x - grow, r.y - grow, r.w + 2 * grow, r.h + 2 * grow);
  c.restore();
}

/** Selection, search and cursor: each of its own form, not only of its own colour. */
function drawOutlines(b: Brush, i: number, r: Rect): void {
  const { look } = b;
  if (look.related.has(i)) outline(b, r, look.theme.accent, 2, [2, 3]);
  if (look.selected.has(i)) outline(b, r, look.theme.accent, 3, []);
  if (look.now === i) outline(b, r, look.theme.mark, 5, []);
  if (look.hits.has(i)) outline(b, r, look.theme.ink, 2, [6, 3]);
  if (look.hit === i) outline(b, { x: r.x - 4, y: r.y - 4, w: r.w + 8, h: r.h + 8 }, look.theme.ink, 2, []);
  if (look.cursor === i) outline(b, { x: r.x - 3, y: r.y - 3, w: r.w + 6, h: r.h + 6 }, look.theme.focus, 2, []);
  if (look.hoverItem === i) outline(b, r, look.theme.ink2, 1, []);
}

function drawOpenPart(b: Brush, item: Item, r: Rect): void {
  const { c, look, eye } = b;
  const { g, theme } = look;
  c.fillStyle = theme.ground2;
  c.strokeStyle = theme.line;
  c.lineWidth = 1;
  c.beginPath();
  c.roundRect(r.x, r.y, r.w, r.h, 6 * eye.scale);
  c.fill();
  c.stroke();
  const high = HEADER * eye.scale;
  c.fillStyle = theme.ground3;
  c.beginPath();
  c.roundRect(r.x, r.y, r.w, high, 6 * eye.scale);
  c.fill();
  const size = Math.min(12, high * 0.75);
  text(b, `▾ ${g.partSentence(item.part)}`, r.x + 10 * eye.scale, r.y + high / 2, r.w - 20 * eye.scale, size, theme.ink, true);
}

const DRAW = { op: drawOp, view: drawView, leaf: drawLeaf, entry: drawPort, exit: drawPort };

/** width, height: of the canvas, in CSS pixels; the context is scaled to them. Of more than `most` lines
 * in view, those inside layers are left out; returned is how many. */
export function paint(c: CanvasRenderingContext2D, look: Look, eye: Eye, width: number, height: number, most: number): number {
  const b: Brush = { c, look, eye };
  const { items, open } = look.scene;
  c.fillStyle = look.theme.ground;
  c.fillRect(0, 0, width, height);
  const seen: [number, Item, Rect][] = [];
  items.forEach((item, i) => {
    const r = onScreen(item, eye);
    if (visible(r, width, height)) seen.push([i, item, r]);
  });
  for (const [, item, r] of seen) if (item.kind === "part" && open[item.part]) drawOpenPart(b, item, r);
  const leftOut = drawLines(b, width, height, most);
  for (const [, item, r] of seen) {
    if (item.kind !== "part") DRAW[item.kind](b, item, r);
    else if (!open[item.part]) drawClosedPart(b, item, r);
  }
  drawJumps(b);
  for (const [i, item, r] of seen) if (item.kind !== "part" || !open[item.part]) drawSteps(b, i, item, r);
  for (const [i, , r] of seen) drawOutlines(b, i, r);
  // Above the outlines, so that the text of selected items is readable.
  for (const [i, item, r] of seen) {
    const what = b.look.bad.get(i);
    if (what && (item.kind !== "part" || !open[item.part])) drawBad(b, what, r);
  }
  return leftOut;
}
