// Marks ops whose outputs have NaN or infinities.

import { badOutputs, type Bad } from "../../state/bad";
import { LETTER, pill, TEXT_LEAST, type Brush, type Rect } from "./brush";
import type { TokenGraph } from "./graph";
import { itemOf } from "./path";
import type { Scene } from "./scene";

/** By op (its first node). Reads the signal. */
export function badOps(g: TokenGraph): Map<number, Bad> {
  const found = new Map<number, Bad>();
  const all = badOutputs.value;
  const { run } = g.reply;
  if (!all || run === null) return found;
  for (let node = 0; node < g.nNodes; node++) {
    const what = all.of(run, node);
    if (what) found.set(node, what);
  }
  return found;
}

/** By item: a closed part has its worst one. */
export function badItems(g: TokenGraph, scene: Scene): Map<number, Bad> {
  const found = new Map<number, Bad>();
  for (const [op, what] of badOps(g)) {
    const item = itemOf(g, scene, op);
    if (found.get(item) !== "NaN") found.set(item, what);
  }
  return found;
}

/** A thick edge and, where it can be read, the word. */
export function drawBad(b: Brush, what: Bad, r: Rect): void {
  const { c, look } = b;
  const thick = Math.max(1.5, Math.min(4, 4 * b.eye.scale));
  c.lineWidth = thick;
  c.strokeStyle = look.theme.bad;
  c.strokeRect(r.x, r.y, r.w, r.h);
  const size = Math.max(TEXT_LEAST, Math.min(11, 14 * b.eye.scale));
  if (r.h < TEXT_LEAST) return;
  const width = what.length * size * LETTER + 8;
  pill(b, what, r.x + r.w - width + 3, r.y + r.h, size, look.theme.bad);
}
