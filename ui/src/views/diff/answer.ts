// Replies of `diff`, `diff/batches` and `diff/pair` (docs/api-http.md); the first is `tensortrace
// diff A B --json`.

export type PhaseName = "prompt" | "generate" | "mixed" | "unknown";

export interface Side {
  count: number;
  samples: number;
  /** Undisturbed; where rows are compared with others, own work; null: of no ops, or not observed. */
  time_ns: number | null;
  median_ns: number | null;
  p25_ns: number | null;
  p75_ns: number | null;
  mean_ns: number | null;
  wait_median_ns: number | null;
  weight_bytes: number;
  weight_bytes_at_most: boolean;
}

/** Of the whole, a part, a component, a kind of op, a layer, or an op ("nodes"). */
export interface Row {
  category?: string;
  component?: string;
  op?: string;
  name?: string;
  name_b?: string | null;
  op_a?: string | null;
  op_b?: string | null;
  layer_id?: number | null;
  stack?: string | null;
  /** Of the layer, in A if it is there. */
  model_file?: string | null;
  a: Side | null;
  b: Side | null;
  /** On a busy machine: B's time had it changed as the others of its kind. The change is from there. */
  expected_ns: number | null;
  delta_ns: number | null;
  delta_wait_ns: number | null;
  samples: number;
  /** null: not tested. */
  blocks: number | null;
  change: number | null;
  change_low: number | null;
  change_high: number | null;
  p: number | null;
  p_adjusted: number | null;
  p_matters: number | null;
  significant: boolean;
  matters: boolean;
}

export interface Change {
  kind: "added" | "removed" | "changed";
  name_a: string | null;
  name_b: string | null;
  op_a: string | null;
  op_b: string | null;
  computed_by_a: string | null;
  computed_by_b: string | null;
  layer_id: number | null;
  differs: string[];
  text: string;
}

export interface Structure {
  nodes_a: number;
  nodes_b: number;
  common: number;
  added: number;
  removed: number;
  changed: number;
  shapes_compared: boolean;
  /** Not all changes are listed. */
  more: boolean;
  changes: Change[];
}

export type Family = "parts" | "components" | "ops" | "layers" | "nodes";

export interface Phase {
  phase: PhaseName;
  batches_compared: number;
  batches_a: number;
  batches_b: number;
  paired_by: "position" | "order";
  samples: number;
  sample_every: number;
  structure: Structure;
  verdict?: string;
  total?: Row;
  parts?: Row[];
  components?: Row[];
  ops?: Row[];
  layers?: Row[];
  nodes?: Row[];
}

export interface Diff {
  threshold: number;
  level: number;
  verdict: {
    differs: boolean;
    structure_differs: boolean;
    times: string | null;
    phase: PhaseName | null;
    text: string;
    structure_text: string;
  };
  notes: string[];
  phases: Phase[];
  settings: { setting: string; a: string | null; b: string | null }[];
  buffers: { kind: string; count_a: number; count_b: number; size_bytes_a: number; size_bytes_b: number }[];
  faults:
    | {
        all: boolean;
        layer_id: number | null;
        minor_a: number;
        minor_b: number;
        major_a: number;
        major_b: number;
        read_bytes_a: number | null;
        read_bytes_b: number | null;
      }[]
    | null;
  routing: {
    layer_id: number | null;
    experts_a: number;
    experts_b: number;
    n_tokens_a: number;
    n_tokens_b: number;
    divergence_bits: number | null;
    jaccard: number | null;
  }[];
}

/** Columns, one entry a sample. */
export interface TokenSide {
  batch_id: (number | null)[];
  position: (number | null)[];
  start_relative_ns: (number | null)[];
  time_ns: (number | null)[];
  /** Of the tokens from this sample to the next one. */
  time_least_ns: (number | null)[];
  time_most_ns: (number | null)[];
}

export interface TokenPhase {
  phase: PhaseName;
  batches_compared: number;
  samples: number;
  sample_every: number;
  a: TokenSide;
  b: TokenSide;
  parts: { category: string; time_a_ns: (number | null)[]; time_b_ns: (number | null)[] }[];
}

export interface Tokens {
  phases: TokenPhase[];
}

export interface PairSide {
  batch_id: number;
  position: number | null;
  start_relative_ns: number | null;
  time_ns: number | null;
  /** The op requested by name; null: this token has none of that name. */
  op: { run: number; node: number; tensor: string | null } | null;
}

export interface Pair {
  phase: PhaseName;
  /** null: it was not compared with any token of that trace. */
  a: PairSide | null;
  b: PairSide | null;
}
