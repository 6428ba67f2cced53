// Replies about values (docs/api-http.md: values). Rows have the keys of `tensortrace values
// --json`.

import { decodeColumns } from "./columns";

/** An output: a node in a run. */
export interface Output {
  readonly batch_id: number | null;
  /** Index of the run in the trace. */
  readonly run: number;
  readonly node: number;
  readonly name: string;
  readonly op: string;
  /** The first node of the op that computed it. */
  readonly op_node: number;
  readonly layer_id: number | null;
  readonly type: string;
  readonly shape: readonly number[];
  readonly elements: number;
  readonly n_nan: number;
  readonly n_inf: number;
  readonly first_bad: number | null;
  readonly first_bad_at: readonly number[] | null;
  /** Its infinities are those of a mask. */
  readonly masking: boolean;
  /** null: no element is finite. */
  readonly min: number | null;
  readonly max: number | null;
  readonly mean: number | null;
  readonly rms: number | null;
  readonly hash: string;
  readonly blake3: string | null;
  readonly prefix?: readonly Sample[];
  readonly samples?: readonly Sample[];
}

/** JSON has no non-finite numbers. */
export type Sample = number | "nan" | "inf" | "-inf" | null;

/** Corresponding outputs of all layers: the same name but for the layer's number. */
export interface Place {
  readonly base_name: string;
  readonly outputs: number;
  /** Of these, with NaN, or with infinities that are not a mask's. */
  readonly bad: number;
}

export interface Summary {
  readonly outputs: number;
  readonly unmeasured: number;
  readonly bad: number;
  readonly n_nan: number;
  readonly n_inf: number;
  readonly incomplete: number;
}

/** GET values */
export interface Overview {
  /** null: the trace has no values. */
  readonly level: "stats" | "hash" | "full" | null;
  readonly base_names: { readonly rows: readonly Place[]; readonly summary: Summary };
}

/** GET values/grid: cell [layer x batches.length + batch]. */
export interface Grid {
  readonly base_name: string;
  readonly cut: boolean;
  /** null: of no layer. */
  readonly layers: readonly (number | null)[];
  readonly batches: readonly number[];
  /** NaN: nothing is finite, or nothing was measured. */
  readonly rms: Float64Array;
  readonly mean: Float64Array;
  readonly min: Float64Array;
  readonly max: Float64Array;
  readonly elements: Float64Array;
  readonly n_nan: Float64Array;
  readonly n_inf: Float64Array;
  readonly run: Uint32Array;
  readonly node: Uint32Array;
  /** 0: not measured. */
  readonly outputs: Uint32Array;
  readonly masking: Uint8Array;
}

export function gridOf(data: ArrayBuffer): Grid {
  const c = decodeColumns<Pick<Grid, "base_name" | "cut" | "layers" | "batches">>(data);
  return {
    ...c.header,
    rms: c.f64("rms"),
    mean: c.f64("mean"),
    min: c.f64("min"),
    max: c.f64("max"),
    elements: c.f64("elements"),
    n_nan: c.f64("n_nan"),
    n_inf: c.f64("n_inf"),
    run: c.u32("run"),
    node: c.u32("node"),
    outputs: c.u32("outputs"),
    masking: c.u8("masking"),
  };
}

export type State = "unmeasured" | "finite" | "masking" | "infinite" | "nan" | "weight" | "input";

export interface Source {
  readonly slot: number;
  readonly name: string;
  readonly state: State;
  /** The weight in the model file; null: it is no weight. */
  readonly weight: {
    readonly looked_at: boolean;
    readonly why_not: string | null;
    readonly elements: number | null;
    readonly n_bad: number | null;
    /** null: NaN and infinities are not distinguished. */
    readonly n_nan: number | null;
    readonly n_inf: number | null;
    readonly first_bad: number | null;
    readonly first_bad_at: readonly number[] | null;
  } | null;
}

/** A bad output without a known bad source. */
export interface Origin {
  readonly kind: "made" | "inherited" | "uncertain";
  /** Outputs of that name that were made bad, this one included. */
  readonly times: number;
  readonly output: Output;
  readonly sources: readonly Source[];
}

/** GET values/first */
export interface First {
  readonly found: boolean;
  readonly first: Origin | null;
  readonly origins_total: number;
  readonly summary: Summary;
}

/** GET values/list */
export interface List {
  readonly rows: readonly Output[];
  readonly rows_total: number;
}

/** GET values/op */
export interface OfOp {
  readonly run: number;
  /** The first node of the op that computed them; null: no op was recorded. */
  readonly op: number | null;
  readonly outputs: readonly Output[];
  /** Of each: its name without the layer's number. */
  readonly base_names: readonly string[];
}
