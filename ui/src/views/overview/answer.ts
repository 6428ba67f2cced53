// Reply of the endpoint `overview` (docs/api-http.md).

import { duration } from "../../draw/format";

export interface Tile {
  readonly key: string;
  readonly title: string;
  /** null: not known. */
  readonly value: number | null;
  readonly unit: string;
  readonly text: string;
  readonly why_not: string | null;
}

export interface Part {
  readonly part: string;
  readonly title: string;
  /** null: not known; then its time is in another part. */
  readonly time_ns: number | null;
  readonly share: number | null;
}

export interface Usual {
  readonly median_ns: number;
  readonly low_ns: number;
  readonly high_ns: number;
  readonly batches: number;
}

export interface Slow {
  readonly batch_id: number;
  readonly time_ns: number;
  /** How late it began; null: it took long. */
  readonly late_ns: number | null;
  readonly ratio: number;
  /** null: not known. */
  readonly cause: string | null;
  readonly text: string;
}

export interface TopTensor {
  readonly tensor: string;
  readonly size_bytes: number | null;
  readonly read_bytes: number;
  readonly time_ns: number | null;
  readonly work_ns: number | null;
  readonly share: number | null;
}

/** What is selected to see it; null: not that. */
export interface Selects {
  readonly batch_id: number | null;
  readonly layer_id: number | null;
  readonly tensor: string | null;
  readonly run: number | null;
  readonly node: number | null;
  readonly lane: number | null;
}

export interface Finding {
  readonly severity: "error" | "warning" | "note";
  readonly kind: string;
  readonly text: string;
  /** The id of the view that shows it. */
  readonly view: string | null;
  readonly select: Partial<Selects> | null;
}

export interface Missing {
  readonly what: string;
  readonly text: string;
  readonly option: string | null;
}

export interface Overview {
  readonly headline: string;
  readonly tiles: readonly Tile[];
  readonly time: {
    /** null: no clock. */
    readonly total_ns: number | null;
    readonly parts: readonly Part[];
    readonly not_known: readonly string[];
  };
  /** null: too few tokens to tell. */
  readonly usual: Usual | null;
  readonly slow: readonly Slow[];
  /** The most severe first. */
  readonly findings: readonly Finding[];
  readonly tensors: readonly TopTensor[];
  readonly not_recorded: readonly Missing[];
  /** What follows the options of `run` to record it again; null: not known. */
  readonly again: string | null;
}

const CAUSES: Record<string, string> = {
  kernel: "work in the kernel",
  processor: "no processor",
  more_threads: "more threads than processors",
  throttled: "throttled",
  off_cpu: "off CPU",
  disk: "disk",
  long_prompt: "prompt in the batch",
  recomputed: "computed again",
  cold_expert: "cold expert",
  between_ops: "between ops",
  between_batches: "between batches",
  stopped: "stopped",
  waits: "waiting for a thread",
  context: "longer context",
  more_bytes: "more bytes read",
};

/** What is unusual of it: "2.74 ms", "3.82 ms late". */
export function slowTime(slow: Slow): string {
  return slow.late_ns === null ? duration(slow.time_ns) : `${duration(slow.late_ns)} late`;
}

/** A few words, for a mark: "off CPU". */
export function causeWords(cause: string | null): string {
  return cause === null ? "cause not known" : (CAUSES[cause] ?? cause.replace(/_/g, " "));
}
