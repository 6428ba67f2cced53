// Colour measures of boxes.

import { categoryColour, css, inkOn, sequence, type Rgb } from "../../draw/colour";
import type { Origin, TokenGraph } from "./graph";
import type { Item } from "./scene";

export const COLOUR_BYS = ["time", "bytes", "category", "origin"] as const;
export type ColourBy = (typeof COLOUR_BYS)[number];
export const COLOUR_TITLES: Record<ColourBy, string> = {
  time: "Time of the op",
  bytes: "Weights read",
  category: "Category",
  origin: "Origin of operands",
};

export const ORIGINS: readonly Origin[] = ["file", "buffer", "computed", "unknown"];
const ORIGIN_COLOURS: Record<Origin, Rgb> = {
  file: [213, 94, 0],
  buffer: [0, 114, 178],
  computed: [0, 158, 115],
  unknown: [128, 134, 142],
};

export function originColour(origin: Origin): Rgb {
  return ORIGIN_COLOURS[origin];
}

export interface Fill {
  /** null: not observed. */
  readonly colour: Rgb | null;
  /** Of the largest, for the bar that shows the same without colour; null: none. */
  readonly share: number | null;
  /** Colours of the box and its text on a canvas; "" if not observed. */
  readonly style: string;
  readonly ink: string;
}

function fillOf(colour: Rgb | null, share: number | null): Fill {
  return { colour, share, style: colour ? css(colour) : "", ink: colour ? inkOn(colour) : "" };
}

/** Source of an op's weights, or else of all its operands: the slowest wins. */
export function mainOrigin(g: TokenGraph, op: number): Origin {
  const inputs = g.isNode(op) ? g.inputs(op) : [op];
  const weights = inputs.filter((i) => g.reply.tensors.weight[i]);
  const origins = (weights.length ? weights : inputs).map((i) => g.origin(i));
  return ORIGINS.find((o) => origins.includes(o)) ?? "unknown";
}

/** The category of most of a part's time (or, if unknown, of most nodes). */
function mainCategory(g: TokenGraph, part: number): string {
  const sums = new Map<string, number>();
  for (const node of g.nodesOf(part)) {
    const weight = (g.reply.tensors.duration_ns[node] ?? 0) + 1e-3;
    const category = g.category(node);
    sums.set(category, (sums.get(category) ?? 0) + weight);
  }
  return [...sums].sort((a, b) => b[1] - a[1])[0]?.[0] ?? "other";
}

function mainOriginOfPart(g: TokenGraph, part: number): Origin {
  const origins = new Set<Origin>();
  for (const node of g.nodesOf(part)) if (g.weightOf(node)) origins.add(mainOrigin(g, node));
  return ORIGINS.find((o) => origins.has(o)) ?? "computed";
}

function largest(column: readonly (number | null)[]): number {
  return column.reduce<number>((most, v) => Math.max(most, v ?? 0), 0);
}

/** A function from boxes to fills, for one token. */
export class Colouring {
  readonly opMost: number;
  readonly partMost: number;
  private readonly kept = new Map<number, Fill>();

  constructor(
    readonly g: TokenGraph,
    readonly by: ColourBy,
    private readonly dark: boolean,
  ) {
    const { tensors, parts } = g.reply;
    this.opMost = largest(by === "bytes" ? tensors.weight_bytes : tensors.duration_ns);
    this.partMost = largest(by === "bytes" ? parts.weight_bytes : parts.total_ns);
  }

  private amount(value: number | null | undefined, most: number): Fill {
    if (value === null || value === undefined) return fillOf(null, null);
    const share = most ? value / most : 0;
    // By the root: a few large ones would leave all others in one colour. The bars are straight.
    return fillOf(sequence(Math.sqrt(share), this.dark), share);
  }

  private make(item: Item): Fill {
    const { g, by } = this;
    const { tensors, parts } = g.reply;
    if (by === "time" || by === "bytes") {
      const ofOps = by === "time" ? tensors.duration_ns : tensors.weight_bytes;
      const ofParts = by === "time" ? parts.total_ns : parts.weight_bytes;
      return item.kind === "part"
        ? this.amount(ofParts[item.part], this.partMost)
        : this.amount(ofOps[item.tensor], this.opMost);
    }
    if (by === "category")
      return fillOf(categoryColour(item.kind === "part" ? mainCategory(g, item.part) : g.category(item.tensor)), null);
    const origin = item.kind === "part" ? mainOriginOfPart(g, item.part) : mainOrigin(g, item.tensor);
    return fillOf(originColour(origin), null);
  }

  of(item: Item): Fill {
    const key = item.kind === "part" ? -1 - item.part : item.tensor;
    let fill = this.kept.get(key);
    if (!fill) {
      fill = this.make(item);
      this.kept.set(key, fill);
    }
    return fill;
  }
}
