// The picture: where every box and line of a graph is, for the parts that are open.

import { isChain, layoutInColumns } from "./columns";
import type { TokenGraph } from "./graph";
import { askOf, fits, interiorOf, placeInterior, type BoxKind, type Interior } from "./interior";
import type { Layouter } from "./layouter";
import type { Layout, LayoutAsk } from "./layoutTypes";

export interface Item {
  readonly kind: BoxKind | "part";
  readonly part: number;
  /** The tensor, or the first node of the op; -1 for a part. */
  readonly tensor: number;
  readonly x: number;
  readonly y: number;
  readonly w: number;
  readonly h: number;
}

export interface Line {
  /** Items. */
  readonly from: number;
  readonly to: number;
  /** x and y by turns. */
  readonly points: Float32Array;
  readonly edges: readonly number[];
  /** Tensors that pass, of a line between parts. */
  readonly tensors: readonly number[];
  /** The box around it. */
  readonly bounds: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
}

export interface Scene {
  readonly items: Item[];
  readonly lines: Line[];
  /** By part: its item, and whether it is open. */
  readonly partItem: number[];
  readonly open: boolean[];
  /** Boxes inside open parts by tensor (a leaf has one in each part that uses it). */
  readonly boxesOf: Map<number, number[]>;
  readonly width: number;
  readonly height: number;
  /** Parts whose boxes are in simple rows. */
  readonly simple: number;
}

/** CSS pixels at scale 1. */
export const HEADER = 26;
const PAD = 14;
export const PART_WIDTH = 320;
export const PART_HEIGHT = 46;
/** A value used in more other parts than that is named instead of joined by lines. */
const LINES_MAX = 2;

function boundsOf(points: Float32Array): Line["bounds"] {
  let [left, right, top, bottom] = [Infinity, -Infinity, Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 2) {
    left = Math.min(left, points[i]!);
    right = Math.max(right, points[i]!);
    top = Math.min(top, points[i + 1]!);
    bottom = Math.max(bottom, points[i + 1]!);
  }
  return { x: left, y: top, w: right - left, h: bottom - top };
}

export interface Wishes {
  readonly open: ReadonlySet<string>;
  readonly weights: boolean;
}

/** Layouts of parts, by shape: made once, used for every layer and every token. */
export class LayoutCache {
  private readonly known = new Map<string, Layout>();

  get(key: string): Layout | undefined {
    return this.known.get(key);
  }

  set(key: string, layout: Layout): void {
    // Models have a handful of shapes; the oldest is evicted.
    if (this.known.size >= 200) this.known.delete(this.known.keys().next().value!);
    this.known.set(key, layout);
  }
}

interface Group {
  readonly from: number;
  readonly to: number;
  readonly tensors: number[];
}

/** Values between parts, as lines. */
class Passages {
  readonly groups: Group[] = [];
  readonly exits: number[][];
  private readonly uses = new Map<number, number>();

  constructor(g: TokenGraph) {
    const { source, target, id } = g.reply.passages;
    for (const tensor of id) this.uses.set(tensor, (this.uses.get(tensor) ?? 0) + 1);
    const exits = Array.from({ length: g.nParts }, () => new Set<number>());
    const groups = new Map<string, Group>();
    id.forEach((tensor, i) => {
      if (this.isFar(tensor)) return;
      const [from, to] = [source[i]!, target[i]!];
      exits[from]!.add(tensor);
      const key = `${from} ${to}`;
      const group = groups.get(key);
      if (group) group.tensors.push(tensor);
      else groups.set(key, { from, to, tensors: [tensor] });
    });
    this.groups = [...groups.values()];
    this.exits = exits.map((set) => [...set].sort((a, b) => a - b));
  }

  isFar(tensor: number): boolean {
    return (this.uses.get(tensor) ?? 0) > LINES_MAX;
  }
}

export interface Progress {
  readonly done: number;
  readonly of: number;
}

export class SceneMaker {
  private readonly items: Item[] = [];
  private readonly lines: Line[] = [];
  private readonly partItem: number[] = [];
  private readonly boxesOf = new Map<number, number[]>();
  /** By part, when it is open: its first item; its ports by tensor. */
  private readonly ports = new Map<string, number>();
  private readonly passages: Passages;
  private readonly interiors = new Map<number, { interior: Interior; layout: Layout }>();

  constructor(
    private readonly g: TokenGraph,
    private readonly wishes: Wishes,
    private readonly layouter: Layouter,
    private readonly cache: LayoutCache,
    private readonly progress: (p: Progress) => void,
  ) {
    this.passages = new Passages(g);
  }

  private async openParts(): Promise<void> {
    const { g } = this;
    const parts = Array.from({ length: g.nParts }, (_, i) => i).filter((i) => this.wishes.open.has(g.partKey(i)));
    for (const [i, part] of parts.entries()) {
      const interior = interiorOf(g, part, this.wishes.weights, this.passages.exits[part]!, (t) => this.passages.isFar(t));
      const key = `${g.shapeKey(part)} ${this.wishes.weights}`;
      let layout = this.cache.get(key);
      if (!layout || !fits(interior, layout)) {
        this.progress({ done: i, of: parts.length + 1 });
        layout = await this.layouter.layout(askOf(interior));
        this.cache.set(key, layout);
      }
      this.interiors.set(part, { interior, layout });
    }
    this.progress({ done: parts.length, of: parts.length + 1 });
  }

  private outerAsk(): Omit<LayoutAsk, "id"> {
    const { g } = this;
    const sizes = new Float32Array(g.nParts * 2);
    for (let part = 0; part < g.nParts; part++) {
      const open = this.interiors.get(part);
      sizes[part * 2] = open ? Math.max(PART_WIDTH, open.layout.width + 2 * PAD) : PART_WIDTH;
      sizes[part * 2 + 1] = open ? open.layout.height + HEADER + 2 * PAD : PART_HEIGHT;
    }
    const edges = Uint32Array.from(this.passages.groups.flatMap((group) => [group.from, group.to]));
    return { sizes, edges, top: [], bottom: [], rankGap: 26, nodeGap: 30 };
  }

  private addLine(line: Omit<Line, "bounds">): void {
    this.lines.push({ ...line, bounds: boundsOf(line.points) });
  }

  private addPart(part: number, x: number, y: number, w: number, h: number): void {
    this.partItem[part] = this.items.length;
    this.items.push({ kind: "part", part, tensor: -1, x, y, w, h });
    const open = this.interiors.get(part);
    if (!open) return;
    const { interior, layout } = open;
    const first = this.items.length;
    const left = x + (w - layout.width) / 2;
    const top = y + HEADER + PAD;
    const placed = placeInterior(interior, layout);
    interior.boxes.forEach((box, i) => {
      const item = this.items.length;
      this.items.push({
        kind: box.kind,
        part,
        tensor: box.tensor,
        x: left + placed.at[i * 2]!,
        y: top + placed.at[i * 2 + 1]!,
        w: box.width,
        h: box.height,
      });
      if (box.kind === "entry" || box.kind === "exit") this.ports.set(`${box.kind} ${part} ${box.tensor}`, item);
      else this.boxesOf.set(box.tensor, [...(this.boxesOf.get(box.tensor) ?? []), item]);
    });
    interior.edges.forEach((edge, i) => {
      const points = placed.routes[i]!;
      for (let k = 0; k < points.length; k++) points[k]! += k % 2 ? top : left;
      this.addLine({ from: first + edge.from, to: first + edge.to, points, edges: edge.edges, tensors: [] });
    });
  }

  /** From a port, or from the middle of a closed part's side. */
  private end(kind: "entry" | "exit", part: number, tensor: number): { item: number; x: number; y: number } {
    const port = this.ports.get(`${kind} ${part} ${tensor}`);
    const item = port ?? this.partItem[part]!;
    const box = this.items[item]!;
    if (port !== undefined) return { item, x: box.x + box.w / 2, y: box.y + box.h / 2 };
    return { item, x: box.x + box.w / 2, y: kind === "exit" ? box.y + box.h : box.y };
  }

  private addGroup(group: Group, route: Float32Array): void {
    const apart = this.interiors.has(group.from) || this.interiors.has(group.to);
    for (const tensors of apart ? group.tensors.map((t) => [t]) : [group.tensors]) {
      const from = this.end("exit", group.from, tensors[0]!);
      const to = this.end("entry", group.to, tensors[0]!);
      const between = route.subarray(2, Math.max(2, route.length - 2));
      const points = new Float32Array(between.length + 4);
      points.set([from.x, from.y]);
      points.set(between, 2);
      points.set([to.x, to.y], points.length - 2);
      this.addLine({ from: from.item, to: to.item, points, edges: [], tensors });
    }
  }

  /** Rejects with Cancelled if the layouter was cancelled. */
  async make(): Promise<Scene> {
    const { g } = this;
    await this.openParts();
    const ask = this.outerAsk();
    const outer = isChain(ask.edges) ? layoutInColumns(ask.sizes, ask.edges) : await this.layouter.layout(ask);
    for (let part = 0; part < g.nParts; part++)
      this.addPart(part, outer.at[part * 2]!, outer.at[part * 2 + 1]!, ask.sizes[part * 2]!, ask.sizes[part * 2 + 1]!);
    this.passages.groups.forEach((group, i) => this.addGroup(group, outer.routes[i]!));
    return {
      items: this.items,
      lines: this.lines,
      partItem: this.partItem,
      open: Array.from({ length: g.nParts }, (_, part) => this.interiors.has(part)),
      boxesOf: this.boxesOf,
      width: outer.width,
      height: outer.height,
      simple: [...this.interiors.values()].filter((i) => i.layout.simple).length + (outer.simple ? 1 : 0),
    };
  }
}
