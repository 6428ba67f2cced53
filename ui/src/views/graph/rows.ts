// A layout in rows for graphs that a good layout would take minutes for: each box below all it is
// computed from, wide rows wrapped. Takes a moment for a hundred thousand boxes, and ends for
// circles too.

import type { Layout, LayoutAsk } from "./layoutTypes";

const ROW_WIDTH = 6000;

/** By box: one more than the largest rank among its sources, as far as they precede it. */
function ranks(ask: LayoutAsk): Uint32Array {
  const n = ask.sizes.length / 2;
  const rank = new Uint32Array(n);
  const order = Array.from({ length: ask.edges.length / 2 }, (_, i) => i).sort((a, b) => ask.edges[a * 2]! - ask.edges[b * 2]!);
  for (const e of order) {
    const from = ask.edges[e * 2]!;
    const to = ask.edges[e * 2 + 1]!;
    // Boxes of leafs follow those of nodes.
    if (from > to) rank[to] = Math.max(rank[to]!, 1);
    else if (from < to && rank[to]! <= rank[from]!) rank[to] = rank[from]! + 1;
  }
  // A box without sources is placed above its first user.
  const needed = new Uint8Array(n);
  for (let e = 0; e < ask.edges.length; e += 2) needed[ask.edges[e + 1]!] = 1;
  for (const e of order) {
    const from = ask.edges[e * 2]!;
    const to = ask.edges[e * 2 + 1]!;
    if (!needed[from]) rank[from] = Math.max(rank[from]!, rank[to]! - 1);
  }
  return rank;
}

export function layoutInRows(ask: LayoutAsk): Omit<Layout, "ms"> {
  const n = ask.sizes.length / 2;
  const rank = ranks(ask);
  const order = Array.from({ length: n }, (_, i) => i).sort((a, b) => rank[a]! - rank[b]! || a - b);
  const at = new Float32Array(n * 2);
  let x = 0;
  let y = 0;
  let high = 0;
  let width = 0;
  let before = -1;
  for (const i of order) {
    const w = ask.sizes[i * 2]!;
    if (before >= 0 && (rank[i] !== before || x + w > ROW_WIDTH)) {
      y += high + (rank[i] === before ? ask.nodeGap : ask.rankGap);
      x = 0;
      high = 0;
    }
    at[i * 2] = x;
    at[i * 2 + 1] = y;
    x += w + ask.nodeGap;
    width = Math.max(width, x - ask.nodeGap);
    high = Math.max(high, ask.sizes[i * 2 + 1]!);
    before = rank[i]!;
  }
  const routes: Float32Array[] = [];
  for (let e = 0; e < ask.edges.length; e += 2) {
    const [from, to] = [ask.edges[e]!, ask.edges[e + 1]!];
    routes.push(
      Float32Array.of(
        at[from * 2]! + ask.sizes[from * 2]! / 2,
        at[from * 2 + 1]! + ask.sizes[from * 2 + 1]!,
        at[to * 2]! + ask.sizes[to * 2]! / 2,
        at[to * 2 + 1]!,
      ),
    );
  }
  return { at, routes, width, height: y + high, simple: true };
}
