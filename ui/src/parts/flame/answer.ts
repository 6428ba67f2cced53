// A flame chart of ops (docs/api-http.md: flame), as a tree.

import { plainName } from "../../draw/format";
import { layerWords } from "../../state/layers";

export interface FlameNodes {
  /** 0: the run. A node comes before its children. */
  depth: number[];
  kind: ("run" | "batch" | "layer" | "component" | "op")[];
  name: (string | null)[];
  category: (string | null)[];
  first_id: (number | null)[];
  last_id: (number | null)[];
  /** Of layers, where first_id does not tell which. */
  layer_key?: (number | null)[];
  count: number[];
  time_ns: number[];
  wait_ns: number[];
  longest_ns: number[];
  run: (number | null)[];
  node: (number | null)[];
  batch_id: (number | null)[];
}

/** GET flame */
export interface FlameAnswer {
  merged: boolean;
  waits_known: boolean;
  nodes: FlameNodes;
}

/** One node with its place: the run is 0 to 1. */
export interface Bar {
  readonly i: number;
  readonly depth: number;
  readonly parent: Bar | null;
  readonly children: Bar[];
  readonly from: number;
  readonly to: number;
  /** Of the address: "batch 3", "layer 2", "ffn_down". */
  readonly key: string;
}

function keyOf(n: FlameNodes, i: number): string {
  const name = n.name[i];
  return name ?? `${n.kind[i]} ${n.first_id[i] ?? "none"}`;
}

export function barsOf(n: FlameNodes): Bar[] {
  const bars: Bar[] = [];
  const open: { bar: Bar; used: number }[] = [];
  const whole = n.time_ns[0] || 1;
  for (let i = 0; i < n.depth.length; i++) {
    open.length = n.depth[i]!;
    const parent = open.at(-1);
    const width = n.time_ns[i]! / whole;
    const from = parent ? parent.bar.from + parent.used : 0;
    const bar: Bar = { i, depth: n.depth[i]!, parent: parent?.bar ?? null, children: [], from, to: from + width, key: keyOf(n, i) };
    if (parent) {
      parent.used += width;
      parent.bar.children.push(bar);
    }
    open.push({ bar, used: 0 });
    bars.push(bar);
  }
  return bars;
}

/** The layer of a bar of one; null: none. */
export function layerOf(n: FlameNodes, i: number): number | null {
  return (n.layer_key ?? n.first_id)[i] ?? null;
}

export function nameOf(n: FlameNodes, i: number): string {
  const [first, last] = [n.first_id[i] ?? null, n.last_id[i] ?? null];
  switch (n.kind[i]) {
    case "run":
      return "the run";
    case "batch":
      return first === null ? "outside any batch" : first === last ? `token ${first}` : `tokens ${first} to ${last}`;
    case "layer":
      return layerWords(layerOf(n, i));
    default:
      return plainName(n.name[i] ?? "");
  }
}

/** From the run down: "layer 3 > ffn_down > MUL_MAT". */
export function pathOf(n: FlameNodes, bar: Bar): string {
  const names: string[] = [];
  for (let at: Bar | null = bar; at && at.depth > 0; at = at.parent) names.unshift(nameOf(n, at.i));
  return names.join(" > ") || "the run";
}

const SIGN = "/";

export function addressOf(bar: Bar): string {
  const keys: string[] = [];
  for (let at: Bar | null = bar; at && at.depth > 0; at = at.parent) keys.unshift(encodeURIComponent(at.key));
  return keys.join(SIGN);
}

/** The bar of an address, or as deep as it is there. */
export function barAt(root: Bar, address: string): Bar {
  let at = root;
  for (const key of address.split(SIGN).filter(Boolean)) {
    const next = at.children.find((c) => encodeURIComponent(c.key) === key);
    if (!next) break;
    at = next;
  }
  return at;
}
