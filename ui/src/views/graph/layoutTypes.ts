// Requests and replies of the layout worker. Positions are CSS pixels at scale 1.

export interface LayoutAsk {
  readonly id: number;
  /** Width and height, two a box. */
  readonly sizes: Float32Array;
  /** From and to, two an edge. */
  readonly edges: Uint32Array;
  /** Boxes at the top and at the bottom: inputs and outputs. */
  readonly top: readonly number[];
  readonly bottom: readonly number[];
  readonly rankGap: number;
  readonly nodeGap: number;
}

export interface Layout {
  /** Left and top, two a box. */
  readonly at: Float32Array;
  /** Of each edge, x and y by turns. */
  readonly routes: readonly Float32Array[];
  readonly width: number;
  readonly height: number;
  /** In rows, by a simple rule: there were too many boxes for better. */
  readonly simple: boolean;
  /** How long it took. */
  readonly ms: number;
}

export interface LayoutAnswer {
  readonly id: number;
  readonly layout: Layout | null;
  readonly error: string;
}
