// Where times are among the bars: each token has the same width, whatever it took, so that a place
// between two edges is a time inside a token. What lies between two tokens has no width.

import type { Batches } from "../../api/types";

export interface Places {
  readonly batches: Batches;
  /** Of a token. */
  readonly pitch: number;
  /** The run's. */
  readonly from_ns: number;
  readonly to_ns: number;
}

/** Whether any token has a time: else places are shares of the run. */
function isTimed(p: Places): boolean {
  return p.batches.start_relative_ns.some((ns) => ns !== null);
}

function begin(p: Places, i: number): number {
  return p.batches.start_relative_ns[i] ?? (i > 0 ? begin(p, i - 1) : p.from_ns);
}

export function placeOf(p: Places, ns: number): number {
  const n = p.batches.batch_id.length;
  const width = n * p.pitch;
  if (!isTimed(p)) return (width * (ns - p.from_ns)) / (p.to_ns - p.from_ns || 1);
  let low = 0;
  let high = n;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (begin(p, middle) <= ns) low = middle + 1;
    else high = middle;
  }
  const i = low - 1;
  if (i < 0) return 0;
  const end = p.batches.end_relative_ns[i] ?? begin(p, i);
  const share = end > begin(p, i) ? Math.min(1, (ns - begin(p, i)) / (end - begin(p, i))) : 1;
  return (i + share) * p.pitch;
}

export function timeAt(p: Places, x: number): number {
  const n = p.batches.batch_id.length;
  const width = n * p.pitch;
  if (!isTimed(p)) return p.from_ns + ((p.to_ns - p.from_ns) * x) / (width || 1);
  if (x <= 0) return p.from_ns;
  if (x >= width) return p.to_ns;
  const i = Math.min(n - 1, Math.floor(x / p.pitch));
  const from = begin(p, i);
  const end = p.batches.end_relative_ns[i] ?? from;
  return from + (end - from) * (x / p.pitch - i);
}
