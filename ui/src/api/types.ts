// What the server answers (docs/api-http.md). Columns of one object have one length.

export interface Index {
  api: number;
  version: string;
  live: boolean;
  traces: { id: number; name: string }[];
}

export interface Batches {
  /** Ascending. */
  batch_id: number[];
  begin_ns: (number | null)[];
  end_ns: (number | null)[];
  phase: ("prompt" | "generate" | "mixed" | "warmup" | "unknown")[];
  n_tokens: number[];
  /** The text of the batch's tokens; null: not observed. */
  text: (string | null)[];
}

export interface Summary {
  generation: number;
  /** Still being recorded. */
  growing: boolean;
  name: string;
  run_id: string;
  model: string | null;
  architecture: string | null;
  n_layers: number | null;
  n_experts: number | null;
  /** Times can be told. */
  clock: boolean;
  /** It holds fingerprints of what ops put out. */
  values_recorded: boolean;
  begin_ns: number;
  end_ns: number;
  n_lanes: number;
  n_ops: number;
  /** The trace was cut off or damaged: sentences. */
  problems: string[];
  /** What is right, and may not be expected: weights read from copies. Sentences. */
  notes: string[];
  files: { name: string; path: string; size_bytes: number }[];
  counts: { graphs: number };
  /** By a buffer's index in the trace. */
  buffers: { buffer_id: number[]; name: string[]; buffer_kind: string[] };
  batches: Batches;
}

export interface Tensors {
  name: string[];
  type: string[];
  ne: number[][];
  layer_id: (number | null)[];
  category: string[];
  component: string[];
  file: number[];
  offset_bytes: number[];
  size_bytes: number[];
}
