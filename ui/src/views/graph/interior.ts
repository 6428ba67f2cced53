// The inside of a part of the graph, as boxes and edges to lay out. Two parts of one shape give the
// same boxes in the same order, so that one layout serves both.

import type { TokenGraph } from "./graph";
import type { Layout, LayoutAsk } from "./layoutTypes";

export type BoxKind = "op" | "view" | "leaf" | "entry" | "exit";

export interface Box {
  readonly kind: BoxKind;
  /** The tensor, or the first node of the op. */
  readonly tensor: number;
  readonly width: number;
  readonly height: number;
  /** A leaf that only one op uses is drawn at that box's left side; null: it is drawn on its
   * own. */
  attached: number | null;
}

export interface InnerEdge {
  /** Boxes. */
  readonly from: number;
  readonly to: number;
  /** Edges of the graph that it represents; none where it leads outside. */
  readonly edges: number[];
}

export interface Interior {
  readonly part: number;
  readonly boxes: Box[];
  readonly edges: InnerEdge[];
}

/** CSS pixels at scale 1. */
const OP_HEIGHT = 40;
const SMALL_HEIGHT = 20;
const LETTER = 7.3;
const PORT = 10;
/** "26.9 us", "1,000 ms" and a gap: not of this token's time, the layout serves all tokens. */
const TIME_LETTERS = 9;
/** Between an op and its leafs, and between these. */
const LEAF_GAP = 12;
const LEAF_STEP = SMALL_HEIGHT + 4;
/** The name of a value from a distant part is drawn in its box. */
export const STUB_WIDTH = 110;

function widthOf(letters: number, least: number, most: number): number {
  return Math.min(most, Math.max(least, Math.round(letters * LETTER) + 18));
}

class Builder {
  readonly boxes: Box[] = [];
  private readonly edges: InnerEdge[] = [];
  private readonly boxOf = new Map<number, number>();
  private readonly edgeOf = new Map<string, InnerEdge>();

  constructor(
    private readonly g: TokenGraph,
    private readonly part: number,
    private readonly weights: boolean,
    private readonly isFar: (tensor: number) => boolean,
  ) {}

  private add(kind: BoxKind, tensor: number, width: number, height: number): number {
    this.boxes.push({ kind, tensor, width, height, attached: null });
    return this.boxes.length - 1;
  }

  private inside(tensor: number): boolean {
    return this.g.isNode(tensor) && this.g.partOf(tensor) === this.part;
  }

  private addNodes(): void {
    const { g } = this;
    for (const node of g.nodesOf(this.part)) {
      const op = g.opOf(node);
      const known = op !== node && this.inside(op) ? this.boxOf.get(op) : undefined;
      if (known !== undefined) {
        this.boxOf.set(node, known);
        continue;
      }
      const view = !g.executes(node);
      // Not by its name: that of another layer is of another length ("Qcur-9", "Qcur-10").
      const letters = Math.max(g.op(node).length + TIME_LETTERS, g.component(node).length + 4);
      const width = view ? widthOf(g.op(node).length + 1, 50, 160) : widthOf(letters, 104, 230);
      this.boxOf.set(node, this.add(view ? "view" : "op", node, width, view ? SMALL_HEIGHT : OP_HEIGHT));
    }
  }

  private sourceBox(tensor: number): number | null {
    const known = this.boxOf.get(tensor);
    if (known !== undefined) return known;
    const { g } = this;
    let box: number;
    if (!g.isNode(tensor)) {
      if (!this.weights && g.reply.tensors.weight[tensor]) return null;
      box = this.add("leaf", tensor, widthOf(g.component(tensor).length + 3, 70, 170), SMALL_HEIGHT);
    } else if (this.isFar(tensor)) {
      box = this.add("entry", tensor, STUB_WIDTH, SMALL_HEIGHT);
    } else {
      box = this.add("entry", tensor, PORT, PORT);
    }
    this.boxOf.set(tensor, box);
    return box;
  }

  private join(from: number, to: number, edge: number | null): void {
    if (from === to) return;
    const key = `${from} ${to}`;
    let known = this.edgeOf.get(key);
    if (!known) {
      known = { from, to, edges: [] };
      this.edgeOf.set(key, known);
      this.edges.push(known);
    }
    if (edge !== null) known.edges.push(edge);
  }

  private attachLeafs(): void {
    const users = new Map<number, number[]>();
    for (const { from, to } of this.edges) users.set(from, [...(users.get(from) ?? []), to]);
    this.boxes.forEach((box, i) => {
      const [user, more] = users.get(i) ?? [];
      if (box.kind === "leaf" && user !== undefined && more === undefined && this.boxes[user]!.kind === "op") box.attached = user;
    });
  }

  build(exits: readonly number[]): Interior {
    const { g } = this;
    this.addNodes();
    for (const node of g.nodesOf(this.part))
      for (const edge of g.edgesInto(node)) {
        const from = this.sourceBox(g.reply.edges.source[edge]!);
        if (from !== null) this.join(from, this.boxOf.get(node)!, edge);
      }
    for (const tensor of exits) this.join(this.boxOf.get(tensor)!, this.add("exit", tensor, PORT, PORT), null);
    this.attachLeafs();
    return { part: this.part, boxes: this.boxes, edges: this.edges };
  }
}

/** exits: its nodes that are used in other parts and joined to them by a line, ascending. isFar:
 * whether a value of another part is named instead of joined by a line. */
export function interiorOf(
  g: TokenGraph,
  part: number,
  weights: boolean,
  exits: readonly number[],
  isFar: (tensor: number) => boolean,
): Interior {
  return new Builder(g, part, weights, isFar).build(exits);
}

/** Boxes to lay out, each with its attachments. */
function groupsOf(interior: Interior): { box: number; leafs: number[]; width: number; height: number }[] {
  const leafs = interior.boxes.map((): number[] => []);
  interior.boxes.forEach((b, i) => {
    if (b.attached !== null) leafs[b.attached]!.push(i);
  });
  return interior.boxes.flatMap((b, i) => {
    if (b.attached !== null) return [];
    const beside = leafs[i]!;
    const wide = beside.length ? Math.max(...beside.map((k) => interior.boxes[k]!.width)) + LEAF_GAP : 0;
    return [{ box: i, leafs: beside, width: b.width + wide, height: Math.max(b.height, beside.length * LEAF_STEP - 4) }];
  });
}

function outerEdges(interior: Interior): InnerEdge[] {
  return interior.edges.filter((e) => interior.boxes[e.from]!.attached === null);
}

export function askOf(interior: Interior): Omit<LayoutAsk, "id"> {
  const groups = groupsOf(interior);
  const at = new Map(groups.map((group, i) => [group.box, i]));
  const edges = outerEdges(interior);
  const sizes = new Float32Array(groups.length * 2);
  const joined = new Uint32Array(edges.length * 2);
  groups.forEach((group, i) => sizes.set([group.width, group.height], i * 2));
  edges.forEach((e, i) => joined.set([at.get(e.from)!, at.get(e.to)!], i * 2));
  const ofKind = (kind: BoxKind) => groups.flatMap((group, i) => (interior.boxes[group.box]!.kind === kind ? [i] : []));
  return { sizes, edges: joined, top: ofKind("entry"), bottom: ofKind("exit"), rankGap: 26, nodeGap: 16 };
}

/** Whether a layout made for another part of the same shape fits: yes, unless the checksums of two
 * shapes collide. */
export function fits(interior: Interior, layout: Layout): boolean {
  return layout.at.length === groupsOf(interior).length * 2 && layout.routes.length === outerEdges(interior).length;
}

export interface PlacedInterior {
  /** Left and top, two a box. */
  readonly at: Float32Array;
  /** Of each edge, x and y by turns. */
  readonly routes: Float32Array[];
}

/** Moves the ends of a route, and the adjacent points half as far, which avoids hooks. */
function bend(route: Float32Array, x0: number, y0: number, x1: number, y1: number): void {
  const last = route.length - 2;
  const [left, right] = [x0 - route[0]!, x1 - route[last]!];
  if (last >= 4) {
    route[2]! += left / 2;
    route[last - 2]! += right / 2;
  }
  route.set([x0, y0]);
  route.set([x1, y1], last);
}

/** Positions of boxes and routes of edges, by a layout of the groups. Edges go from the bottom of a
 * box to the top of another one; from a leaf at an op's side, straight to it. */
export function placeInterior(interior: Interior, layout: Layout): PlacedInterior {
  const { boxes, edges } = interior;
  const at = new Float32Array(boxes.length * 2);
  groupsOf(interior).forEach((group, i) => {
    const box = boxes[group.box]!;
    const [left, top] = [layout.at[i * 2]!, layout.at[i * 2 + 1]!];
    const wide = group.width - box.width;
    at.set([left + wide, top + (group.height - box.height) / 2], group.box * 2);
    const high = group.leafs.length * LEAF_STEP - 4;
    group.leafs.forEach((leaf, k) => {
      at.set([left + wide - LEAF_GAP - boxes[leaf]!.width, top + (group.height - high) / 2 + k * LEAF_STEP], leaf * 2);
    });
  });
  let next = 0;
  const routes = edges.map((e) => {
    const [from, to] = [boxes[e.from]!, boxes[e.to]!];
    const [fx, fy] = [at[e.from * 2]!, at[e.from * 2 + 1]!];
    const [tx, ty] = [at[e.to * 2]!, at[e.to * 2 + 1]!];
    if (from.attached !== null) {
      const y = fy + from.height / 2;
      return Float32Array.of(fx + from.width, y, tx, Math.min(ty + to.height - 4, Math.max(ty + 4, y)));
    }
    const route = layout.routes[next++]!.slice();
    // Edges that lead upwards (in damaged graphs) keep the layout's ends.
    if (fy + from.height <= ty) bend(route, fx + from.width / 2, fy + from.height, tx + to.width / 2, ty);
    return route;
  });
  return { at, routes };
}
