// Hit testing.

import type { Eye } from "./camera";
import { HEADER, type Scene } from "./scene";

/** CSS pixels. */
const LINE_REACH = 5;

/** The topmost item at a position of the canvas; of an open part only its header. null: none. */
export function itemAt(scene: Scene, eye: Eye, left: number, top: number): number | null {
  const x = left / eye.scale + eye.x;
  const y = top / eye.scale + eye.y;
  for (let i = scene.items.length - 1; i >= 0; i--) {
    const item = scene.items[i]!;
    const high = item.kind === "part" && scene.open[item.part] ? HEADER : item.h;
    if (x >= item.x && x <= item.x + item.w && y >= item.y && y <= item.y + high) return i;
  }
  return null;
}

function distance(px: number, py: number, ax: number, ay: number, bx: number, by: number): number {
  const [dx, dy] = [bx - ax, by - ay];
  const length = dx * dx + dy * dy;
  const t = length ? Math.min(1, Math.max(0, ((px - ax) * dx + (py - ay) * dy) / length)) : 0;
  return Math.hypot(px - ax - t * dx, py - ay - t * dy);
}

/** The line nearest to a position of the canvas, or null. */
export function lineAt(scene: Scene, eye: Eye, left: number, top: number): number | null {
  const x = left / eye.scale + eye.x;
  const y = top / eye.scale + eye.y;
  let best: number | null = null;
  let least = LINE_REACH / eye.scale;
  scene.lines.forEach((line, i) => {
    const p = line.points;
    for (let k = 0; k + 3 < p.length; k += 2) {
      const d = distance(x, y, p[k]!, p[k + 1]!, p[k + 2]!, p[k + 3]!);
      if (d < least) {
        least = d;
        best = i;
      }
    }
  });
  return best;
}
