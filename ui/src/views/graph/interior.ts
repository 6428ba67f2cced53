// What is inside a part of the graph, as boxes and edges to lay out. Two parts of one shape give the
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
}

export interface InnerEdge {
  /** Boxes. */
  readonly from: number;
  readonly to: number;
  /** Edges of the graph that it stands for; none where it leads out. */
  readonly edges: number[];
}

export interface Interior {
  readonly part: number;
  readonly boxes: Box[];
  readonly edges: InnerEdge[];
}

/** CSS pixels at scale 1. */
const OP_HEIGHT = 40;
const SMALL_HEIGHT = 18;
const LETTER = 6.6;
const PORT = 10;
/** The name of a value that comes from far away stands in its box. */
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
    this.boxes.push({ kind, tensor, width, height });
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
      const letters = Math.max(g.op(node).length, g.component(node).length + 3);
      const width = view ? widthOf(g.op(node).length, 46, 150) : widthOf(letters, 104, 230);
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
      box = this.add("leaf", tensor, widthOf(g.component(tensor).length + 2, 70, 150), SMALL_HEIGHT);
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

  build(exits: readonly number[]): Interior {
    const { g } = this;
    this.addNodes();
    for (const node of g.nodesOf(this.part))
      for (const edge of g.edgesInto(node)) {
        const from = this.sourceBox(g.reply.edges.source[edge]!);
        if (from !== null) this.join(from, this.boxOf.get(node)!, edge);
      }
    for (const tensor of exits) this.join(this.boxOf.get(tensor)!, this.add("exit", tensor, PORT, PORT), null);
    return { part: this.part, boxes: this.boxes, edges: this.edges };
  }
}

/** exits: its nodes that are used in other parts and joined to them by a line, ascending. isFar:
 * whether a value of another part is told by name in place of a line. */
export function interiorOf(
  g: TokenGraph,
  part: number,
  weights: boolean,
  exits: readonly number[],
  isFar: (tensor: number) => boolean,
): Interior {
  return new Builder(g, part, weights, isFar).build(exits);
}

export function askOf(interior: Interior): Omit<LayoutAsk, "id"> {
  const { boxes, edges } = interior;
  const sizes = new Float32Array(boxes.length * 2);
  const joined = new Uint32Array(edges.length * 2);
  boxes.forEach((b, i) => sizes.set([b.width, b.height], i * 2));
  edges.forEach((e, i) => joined.set([e.from, e.to], i * 2));
  const ofKind = (kind: BoxKind) => boxes.flatMap((b, i) => (b.kind === kind ? [i] : []));
  return { sizes, edges: joined, top: ofKind("entry"), bottom: ofKind("exit"), rankGap: 26, nodeGap: 14 };
}

/** Whether a layout that was made for another part of the same shape fits. It does, unless the
 * checksums of two shapes are the same. */
export function fits(interior: Interior, layout: Layout): boolean {
  return layout.at.length === interior.boxes.length * 2 && layout.routes.length === interior.edges.length;
}
