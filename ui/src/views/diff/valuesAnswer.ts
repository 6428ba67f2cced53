// Reply of `diff/values` (docs/api-http.md): `tensortrace diff --values --json`.

export type Verdict = "equal" | "close" | "other_bits" | "differs" | "nan" | "shape" | "unmeasured";
export type Blame = "none" | "own" | "inherited" | "unknown";
export type Counts = Readonly<Record<Verdict, number>>;

/** A value on one side. */
export interface ValuePlace {
  readonly name: string;
  readonly op: string | null;
  readonly batch_id: number | null;
  /** Index of the run in the trace; the node of the output. */
  readonly run: number | null;
  readonly node: number | null;
  readonly nan: number;
  readonly inf: number;
  readonly rms: number | null;
}

export interface ValueItem {
  /** In `steps`. */
  readonly pair: number;
  readonly position: number | null;
  readonly layer: number | null;
  readonly stage: string;
  readonly occurrence: number;
  readonly verdict: Verdict;
  readonly blame: Blame;
  readonly basis: string;
  readonly rel_l2: number | null;
  readonly rel_l2_infinite: boolean;
  /** rel_l2 is a lower bound. */
  readonly rel_l2_at_least: boolean;
  readonly cosine: number | null;
  readonly max_abs: number | null;
  readonly input_rel_l2: number | null;
  readonly tolerance_rel_l2: number | null;
  readonly a: ValuePlace | null;
  readonly b: ValuePlace | null;
}

export interface ValueInput {
  readonly name: string;
  readonly stage: string;
  readonly verdict: Verdict;
  readonly rel_l2: number | null;
}

export interface ValueStep {
  readonly pairing: "both" | "only_a" | "only_b" | "batches" | "tokens";
  readonly batch_id_a: number | null;
  readonly batch_id_b: number | null;
  readonly position: number | null;
  readonly counts: Counts;
  /** The largest; null: not known. */
  readonly rel_l2: number | null;
}

export interface Depth {
  readonly pair: number;
  readonly layer: number | null;
  readonly behind: boolean;
  readonly counts: Counts;
  readonly rel_l2: number | null;
  readonly cosine_gap: number | null;
  readonly stage: string | null;
}

export interface ValueDiff {
  /** tokens: close, as far as the tokens are the same. */
  readonly verdict: "equal" | "close" | "tokens" | "differs" | "nothing";
  readonly text: string;
  readonly compared: number;
  readonly counts: Counts;
  readonly not_comparable_from: { readonly position: number | null; readonly token_id_a: number; readonly token_id_b: number } | null;
  readonly first: (ValueItem & { readonly inputs: readonly ValueInput[]; readonly cache: Verdict | null }) | null;
  readonly steps: readonly ValueStep[];
  readonly depth: readonly Depth[];
  readonly layers: readonly { readonly layer: number | null; readonly behind: boolean; readonly counts: Counts; readonly rel_l2: number | null }[];
  readonly items: readonly ValueItem[];
  readonly items_left_out: number;
  readonly notes: readonly string[];
}

/** Never colour alone: a word each, the loud ones in capitals. */
export const VERDICTS: Record<Verdict, string> = {
  equal: "equal",
  close: "close",
  other_bits: "other bits",
  differs: "differs",
  nan: "NaN",
  shape: "other shape",
  unmeasured: "not measured",
};

export const BLAMES: Record<Blame, string> = {
  none: "",
  own: "own error",
  inherited: "inherited",
  unknown: "not known",
};

/** "input", "3", "final", "output": a stage on the axis of depth. */
export function depthText(at: { readonly layer: number | null; readonly behind: boolean }): string {
  if (at.layer === null) return "unknown";
  if (at.layer >= 0) return String(at.layer);
  if (at.layer < -1) return "final";
  return at.behind ? "output" : "input";
}

const DEPTHS: Record<string, string> = {
  input: "before the layers",
  final: "after all layers",
  output: "at the output",
  unknown: "in an unknown layer",
};

export function depthWords(name: string): string {
  return DEPTHS[name] ?? `layer ${name}`;
}

/** 1.2e-3; relative to zero it is infinite. */
export function errorText(v: number | null | undefined, infinite = false, atLeast = false): string {
  if (infinite) return "infinite";
  if (atLeast && typeof v === "number") return `≥ ${errorText(v)}`;
  if (v === null || v === undefined) return "not known";
  return v === 0 ? "0" : v >= 0.001 && v < 1000 ? v.toPrecision(3) : v.toExponential(1);
}

/** Error over depth of one pair of steps. */
export interface DepthLine {
  readonly pair: number;
  /** By stage; null: not known. */
  readonly rel_l2: readonly (number | null)[];
  readonly at: readonly (Depth | null)[];
}

export interface DepthChart {
  /** Names of the stages, in execution order. */
  readonly names: readonly string[];
  readonly lines: readonly DepthLine[];
  /** By pair, its index in `lines`. */
  readonly lineOf: ReadonlyMap<number, number>;
}

export function depthChart(diff: ValueDiff): DepthChart {
  const key = (d: { layer: number | null; behind: boolean }) => `${d.layer} ${d.behind}`;
  const places = new Map(diff.layers.map((row, i) => [key(row), i]));
  const byPair = new Map<number, (Depth | null)[]>();
  for (const d of diff.depth) {
    const at = places.get(key(d));
    if (at === undefined) continue;
    let row = byPair.get(d.pair);
    if (!row) byPair.set(d.pair, (row = diff.layers.map(() => null)));
    row[at] = d;
  }
  const lines = [...byPair].map(([pair, at]) => ({ pair, at, rel_l2: at.map((d) => d?.rel_l2 ?? null) }));
  return { names: diff.layers.map(depthText), lines, lineOf: new Map(lines.map((l, i) => [l.pair, i])) };
}
