// Rows of the log as the server answers them (docs/api-http.md: log/rows).

export interface Place {
  name: string;
  view_of?: string;
  type: string;
  size_bytes: number;
  origin: "file" | "buffer" | "unknown";
  model_file?: string;
  /** null: what was selected was not observed. */
  file_offset_bytes?: number | null;
  buffer_id?: number;
  buffer_offset_bytes?: number | null;
}

export interface Source extends Place {
  read_bytes: number;
  read_bytes_at_most?: boolean;
  experts?: { expert_id: number; n_tokens: number }[];
}

export interface LogOp {
  start_ns: number;
  start_relative_ns: number;
  duration_ns: number | null;
  busy_ns: number | null;
  wait_ns: number | null;
  off_cpu_ns: number | null;
  batch_id: number | null;
  phase: "prompt" | "generate" | "mixed" | "warmup" | "unknown";
  graph_run: number;
  graph_id: number;
  node: number;
  nodes: number;
  threads?: number;
  thread_id?: number;
  op: string;
  name: string;
  layer_id: number | null;
  category: string;
  component: string;
  weight_bytes: number;
  weight_bytes_at_most?: boolean;
  sources: Source[];
  destination: Place;
}

/** A row, with the run's index in the trace. */
export interface LogRow extends LogOp {
  run: number;
}

export interface LogCount {
  /** Counted so far; all of them when done. */
  rows: number;
  done: boolean;
  runs_done: number;
  runs: number;
  rows_estimate: number;
  /** Why rows after these cannot be read. */
  ended_by: string | null;
  /** Of sorted rows, which are only the first: how many there are in the order of time. */
  all_rows?: number;
}

export interface LogRows extends LogCount {
  first: number;
  ops: LogOp[];
  run: number[];
}

export interface LogPlace extends LogCount {
  row: number;
  found: boolean;
}
