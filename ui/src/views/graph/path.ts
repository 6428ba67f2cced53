// The critical path: its boxes and lines.

import type { TokenGraph } from "./graph";
import type { Scene } from "./scene";

export interface PathInScene {
  /** By item: the steps (counted from 1) that are in it, first and last. */
  readonly steps: Map<number, { first: number; last: number; n: number }>;
  readonly lines: Set<number>;
  /** From item to item where no line leads: through a cache that one writes and the other reads. */
  readonly jumps: (readonly [number, number])[];
}

/** Lines between two ops of the path pass at most so many views and ports. */
const DEPTH_MAX = 16;

/** The item in which an op is seen: its box, or its closed part. */
export function itemOf(g: TokenGraph, scene: Scene, node: number): number {
  return scene.boxesOf.get(node)?.[0] ?? scene.partItem[g.partOf(node)]!;
}

/** The lines from one item to another through nodes that take no time; null: none. */
function route(scene: Scene, into: readonly number[][], from: number, to: number): number[] | null {
  const cameBy = new Map<number, number>();
  let edge: number[] = [to];
  for (let depth = 0; depth < DEPTH_MAX && edge.length; depth++) {
    const next: number[] = [];
    for (const item of edge)
      for (const line of into[item] ?? []) {
        const source = scene.lines[line]!.from;
        if (cameBy.has(source)) continue;
        cameBy.set(source, line);
        if (source === from) {
          const lines: number[] = [];
          for (let at = from; at !== to; at = scene.lines[lines.at(-1)!]!.to) lines.push(cameBy.get(at)!);
          return lines;
        }
        const kind = scene.items[source]!.kind;
        if (kind === "view" || kind === "entry" || kind === "exit") next.push(source);
      }
    edge = next;
  }
  return null;
}

export function pathInScene(g: TokenGraph, scene: Scene): PathInScene {
  const into: number[][] = [];
  scene.lines.forEach((line, i) => (into[line.to] ??= []).push(i));
  const steps: PathInScene["steps"] = new Map();
  const lines = new Set<number>();
  const jumps: (readonly [number, number])[] = [];
  let before = -1;
  g.reply.critical_path.nodes.forEach((node, i) => {
    const item = itemOf(g, scene, node);
    const known = steps.get(item);
    if (known) {
      known.last = i + 1;
      known.n++;
    } else {
      steps.set(item, { first: i + 1, last: i + 1, n: 1 });
    }
    if (before >= 0 && before !== item) {
      const found = route(scene, into, before, item);
      if (found) for (const line of found) lines.add(line);
      else jumps.push([before, item]);
    }
    before = item;
  });
  return { steps, lines, jumps };
}
