// Lays graphs out in a worker: a large one takes seconds, and ending the worker cancels it.

import { Graph, layout as dagre } from "@dagrejs/dagre";
import type { Layout, LayoutAnswer, LayoutAsk } from "./layoutTypes";
import { layoutInRows } from "./rows";

/** More boxes than dagre lays out in some ten seconds. */
const DAGRE_MAX = 2500;
/** Boxes without size that hold the inputs at the top and the outputs at the bottom. */
const TOP = "top";
const BOTTOM = "bottom";
const HOLD = 1000;

interface Placed {
  x: number;
  y: number;
}

function routeOf(points: readonly Placed[]): Float32Array {
  const route = new Float32Array(points.length * 2);
  points.forEach((p, i) => {
    route[i * 2] = p.x;
    route[i * 2 + 1] = p.y;
  });
  return route;
}

function withDagre(ask: LayoutAsk): Omit<Layout, "ms"> {
  const n = ask.sizes.length / 2;
  const g = new Graph({ multigraph: true });
  g.setGraph({ rankdir: "TB", ranksep: ask.rankGap, nodesep: ask.nodeGap, edgesep: 8, marginx: 0, marginy: 0 });
  g.setDefaultEdgeLabel(() => ({}));
  for (let i = 0; i < n; i++) g.setNode(String(i), { width: ask.sizes[i * 2]!, height: ask.sizes[i * 2 + 1]! });
  for (let e = 0; e < ask.edges.length; e += 2)
    g.setEdge(String(ask.edges[e]!), String(ask.edges[e + 1]!), { weight: 1 }, String(e / 2));
  if (ask.top.length > 1) {
    g.setNode(TOP, { width: 1, height: 1 });
    for (const i of ask.top) g.setEdge(TOP, String(i), { weight: HOLD }, `t${i}`);
  }
  if (ask.bottom.length > 1) {
    g.setNode(BOTTOM, { width: 1, height: 1 });
    for (const i of ask.bottom) g.setEdge(String(i), BOTTOM, { weight: HOLD }, `b${i}`);
  }
  dagre(g);
  const at = new Float32Array(n * 2);
  let [left, top, right, bottom] = [Infinity, Infinity, 0, 0];
  const routes: Float32Array[] = [];
  for (let e = 0; e < ask.edges.length; e += 2) {
    const { points } = g.edge(String(ask.edges[e]!), String(ask.edges[e + 1]!), String(e / 2)) as { points: Placed[] };
    routes.push(routeOf(points));
  }
  for (let i = 0; i < n; i++) {
    const { x, y } = g.node(String(i)) as unknown as Placed;
    const [w, h] = [ask.sizes[i * 2]!, ask.sizes[i * 2 + 1]!];
    at[i * 2] = x - w / 2;
    at[i * 2 + 1] = y - h / 2;
    left = Math.min(left, x - w / 2);
    top = Math.min(top, y - h / 2);
    right = Math.max(right, x + w / 2);
    bottom = Math.max(bottom, y + h / 2);
  }
  for (const route of routes)
    for (let i = 0; i < route.length; i += 2) {
      left = Math.min(left, route[i]!);
      right = Math.max(right, route[i]!);
    }
  if (n === 0) [left, top] = [0, 0];
  // Containers of inputs and outputs take no space.
  for (let i = 0; i < at.length; i++) at[i]! -= i % 2 ? top : left;
  for (const route of routes) for (let i = 0; i < route.length; i++) route[i]! -= i % 2 ? top : left;
  return { at, routes, width: right - left, height: bottom - top, simple: false };
}

function layout(ask: LayoutAsk): Omit<Layout, "ms"> {
  if (ask.sizes.length / 2 > DAGRE_MAX) return layoutInRows(ask);
  try {
    return withDagre(ask);
  } catch {
    // The library recurses along chains of boxes: a long one exceeds the stack.
    return layoutInRows(ask);
  }
}

addEventListener("message", (event: MessageEvent<LayoutAsk>) => {
  const ask = event.data;
  const begin = performance.now();
  let answer: LayoutAnswer;
  try {
    answer = { id: ask.id, layout: { ...layout(ask), ms: performance.now() - begin }, error: "" };
  } catch (reason) {
    answer = { id: ask.id, layout: null, error: reason instanceof Error ? reason.message : String(reason) };
  }
  postMessage(answer);
});
