// Replies of the server (docs/api-http.md). Columns of one object have equal length.

export interface Index {
  api: number;
  version: string;
  live: boolean;
  /** path: as `serve` was given it. */
  traces: { id: number; name: string; path: string }[];
}

export interface Batches {
  /** Ascending. */
  batch_id: number[];
  start_relative_ns: (number | null)[];
  end_relative_ns: (number | null)[];
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
  model_file: string | null;
  architecture: string | null;
  /** Names of the models, and of the stacks, that a layer's key holds (state/layers.ts). */
  models: string[];
  layer_stacks: (string | null)[];
  n_layers: number | null;
  n_experts: number | null;
  /** Ticks can be converted to time. */
  clock: boolean;
  /** The trace has fingerprints of outputs. */
  values_recorded: boolean;
  /** `tensortrace boost` ran it. */
  pool_recorded: boolean;
  /** How long threads were off CPU in ops. */
  off_cpu_recorded: boolean;
  /** The option of `run` that records it; null: it was recorded, or cannot be. */
  off_cpu_option: string | null;
  start_relative_ns: number;
  end_relative_ns: number;
  prompt_tokens_per_s: number | null;
  generate_tokens_per_s: number | null;
  n_lanes: number;
  n_ops: number;
  /** The trace was cut off or damaged: sentences. */
  problems: string[];
  /** Unexpected but correct: weights read from copies. Sentences. */
  notes: string[];
  model_files: { name: string; path: string; size_bytes: number }[];
  counts: { batches: number; graphs: number; buffers: number; details: number };
  /** By a buffer's index in the trace. */
  buffers: { buffer_id: number[]; name: string[]; kind: string[] };
  batches: Batches;
}

/** Sums of the pool of `tensortrace boost` over a computation, or several. */
export interface PoolSums {
  batch_id: number | null;
  read_bytes: number;
  reads: number;
  awaited_reads: number;
  waited_ns: number;
  slices_used: number;
  hit_share: number | null;
  evictions: number;
  present_bytes: number;
  peak_bytes: number;
  budget_bytes: number;
  lost_reads: number;
}

/** GET pool */
export interface PoolAnswer {
  observed: boolean;
  total: PoolSums;
  n_tokens: number;
  read_bytes_per_token: number | null;
  pause_ns: number | null;
  causes: { cause: string; reads: number; read_bytes: number; awaited_reads: number; pause_ns: number | null }[];
  n: number;
  rows: PoolSums[];
}

export interface Tensors {
  name: string[];
  type: string[];
  ne: number[][];
  layer_id: (number | null)[];
  /** The layer's stack, if it has a name: "enc". */
  stack: (string | null)[];
  category: string[];
  component: string[];
  model_file_id: number[];
  file_offset_bytes: number[];
  size_bytes: number[];
}
