// Arrow keys: up to a box's sources, down to its users, left and right to its neighbours.

import type { Item, Scene } from "./scene";

export type Direction = "up" | "down" | "left" | "right";

/** Ports are passed until something else comes; circles end. */
const PORTS_MAX = 64;

function isPort(item: Item): boolean {
  return item.kind === "entry" || item.kind === "exit";
}

/** The items at the other ends of the lines of one, through ports. */
function neighbours(scene: Scene, from: number, up: boolean): number[] {
  const found: number[] = [];
  const seen = new Set([from]);
  let at = [from];
  for (let depth = 0; depth < PORTS_MAX && at.length; depth++) {
    const next: number[] = [];
    for (const line of scene.lines) {
      const [here, there] = up ? [line.to, line.from] : [line.from, line.to];
      if (!at.includes(here) || seen.has(there)) continue;
      seen.add(there);
      if (isPort(scene.items[there]!)) next.push(there);
      else found.push(there);
    }
    at = next;
  }
  return found;
}

function middle(item: Item): number {
  return item.x + item.w / 2;
}

/** Of several the one that is an op, then the nearest. */
function best(scene: Scene, from: Item, candidates: number[]): number | null {
  const rank = (i: number) => (scene.items[i]!.kind === "op" ? 0 : scene.items[i]!.kind === "view" ? 1 : 2);
  const away = (i: number) => Math.abs(middle(scene.items[i]!) - middle(from));
  return candidates.sort((a, b) => rank(a) - rank(b) || away(a) - away(b))[0] ?? null;
}

function partBeside(scene: Scene, item: Item, by: 1 | -1): number | null {
  return scene.partItem[item.part + by] ?? null;
}

function beside(scene: Scene, at: number, by: 1 | -1): number | null {
  const item = scene.items[at]!;
  if (item.kind === "part") return partBeside(scene, item, by);
  let found: number | null = null;
  scene.items.forEach((other, i) => {
    if (i === at || other.part !== item.part || other.kind === "part" || isPort(other)) return;
    const apart = Math.abs(other.y + other.h / 2 - item.y - item.h / 2);
    if (apart > Math.max(item.h, other.h) / 2 + 4 || (middle(other) - middle(item)) * by <= 0) return;
    if (found === null || (middle(other) - middle(scene.items[found]!)) * by < 0) found = i;
  });
  return found;
}

/** An open part's first (or last) box; none in an empty one. */
function inside(scene: Scene, part: number): number | null {
  const boxes = scene.items.flatMap((item, i) => (item.part === part && item.kind === "op" ? [i] : []));
  return boxes.sort((a, b) => scene.items[a]!.y - scene.items[b]!.y)[0] ?? null;
}

/** The item that the key leads to; null: nowhere. */
export function walk(scene: Scene, at: number | null, direction: Direction): number | null {
  const item = at === null ? undefined : scene.items[at];
  if (at === null || !item) return scene.partItem[0] ?? null;
  if (direction === "left" || direction === "right") return beside(scene, at, direction === "left" ? -1 : 1);
  if (item.kind === "part") {
    if (scene.open[item.part] && direction === "down") return inside(scene, item.part) ?? partBeside(scene, item, 1);
    return best(scene, item, neighbours(scene, at, direction === "up")) ?? partBeside(scene, item, direction === "up" ? -1 : 1);
  }
  const next = best(scene, item, neighbours(scene, at, direction === "up"));
  // Above the first box of a part is the part itself.
  return next ?? (direction === "up" ? scene.partItem[item.part]! : null);
}
