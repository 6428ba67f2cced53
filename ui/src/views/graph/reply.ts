// Reply of the endpoint `graph` (docs/api-http.md).

export interface BatchRun {
  run: number;
  graph_run: number;
  graph_id: number;
  nodes_total: number;
  duration_ns: number | null;
}

export interface GraphReply {
  graph_id: number;
  batch_id: number | null;
  phase: string;
  /** Index of the run in the trace; null: the graph was described, but not computed. */
  run: number | null;
  graph_run: number | null;
  nodes_total: number;
  leafs_total: number;
  edges_total: number;
  views_total: number;
  ops_recorded: number;
  missing_ops: number;
  fused_ops: number | null;
  start_relative_ns: number | null;
  duration_ns: number | null;
  total_ns: number | null;
  batch_runs: BatchRun[];
  /** Texts that columns of `tensors` refer to by number. */
  words: string[];
  tensors: {
    name: string[];
    op: number[];
    op_desc: number[];
    type: number[];
    /** Four a tensor. */
    ne: number[];
    layer_id: (number | null)[];
    category: number[];
    component: number[];
    flag: ("" | "input" | "output")[];
    size_bytes: number[];
    origin: number[];
    computed: boolean[];
    weight: (string | null)[];
    model_file_id: (number | null)[];
    file_offset_bytes: (number | null)[];
    buffer: (number | null)[];
    buffer_offset_bytes: (number | null)[];
    view_of_id: (number | null)[];
    // Of nodes, which come before the leafs:
    backend: (number | null)[];
    part: number[];
    executes: boolean[];
    fused_into: (number | null)[];
    op_nodes: (number | null)[];
    duration_ns: (number | null)[];
    weight_bytes: (number | null)[];
    weight_bytes_at_most: boolean[];
  };
  /** By target. */
  edges: { source: number[]; target: number[]; slot: (number | null)[]; is_view: boolean[] };
  parts: {
    layer_id: (number | null)[];
    behind: boolean[];
    shape: number[];
    nodes: number[];
    executes: number[];
    ops: number[];
    total_ns: (number | null)[];
    weight_bytes: (number | null)[];
    weight_bytes_at_most: boolean[];
  };
  shapes: string[];
  structure: string;
  passages: { source: number[]; target: number[]; id: number[] };
  critical_path: { nodes: number[]; total_ns: number | null; untimed_ops: number; ignored_sources: number };
  buffers: { name: string; kind: string }[];
}

export interface SearchReply {
  /** Also those beyond the ones that are listed. */
  total: number;
  ids: number[];
}
