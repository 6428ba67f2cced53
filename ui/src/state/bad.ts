// Which ops of the selected trace have NaN or infinities in their outputs: for all views that mark them.

import { effect, signal } from "@preact/signals";
import { getBinary, ofTrace } from "../api/client";
import { decodeColumns, NO_U32 } from "../api/columns";
import { selectedTrace } from "./selection";
import { generation, summary } from "./trace";

export type Bad = "NaN" | "Inf";

/** GET values/bad: an entry an output, in the order of execution. */
export class BadOutputs {
  /** By op: its worst value. */
  private readonly byOp = new Map<number, Bad>();
  /** Entries with a time, by that. */
  readonly inTime: readonly number[];

  constructor(
    readonly total: number,
    readonly run: Uint32Array,
    readonly op: Uint32Array,
    readonly n_nan: Float64Array,
    readonly start_ns: Float64Array,
    readonly end_ns: Float64Array,
    /** Of the first of them. */
    readonly first: { readonly token: number | null; readonly layer: number | null },
  ) {
    const timed: number[] = [];
    for (let i = 0; i < run.length; i++) {
      const key = BadOutputs.key(run[i]!, op[i]!);
      if (this.byOp.get(key) !== "NaN") this.byOp.set(key, this.kind(i));
      if (!Number.isNaN(start_ns[i]!)) timed.push(i);
    }
    this.inTime = timed.sort((a, b) => start_ns[a]! - start_ns[b]!);
  }

  /** Nodes have 20 bits. */
  private static key(run: number, op: number): number {
    return run * 2 ** 20 + op;
  }

  kind(i: number): Bad {
    return this.n_nan[i]! > 0 ? "NaN" : "Inf";
  }

  /** op: its first node. */
  of(run: number, op: number): Bad | null {
    return this.byOp.get(BadOutputs.key(run, op)) ?? null;
  }
}

/** null: none, or not known yet. */
export const badOutputs = signal<BadOutputs | null>(null);

async function load(trace: number): Promise<BadOutputs | null> {
  const c = decodeColumns<{ bad: number }>(await getBinary(ofTrace(trace, "values/bad")));
  if (c.header.bad === 0) return null;
  const first = (name: string) => {
    const number = c.u32(name)[0];
    return number === undefined || number === NO_U32 ? null : number;
  };
  return new BadOutputs(c.header.bad, c.u32("run"), c.u32("op"), c.f64("n_nan"), c.f64("start_relative_ns"), c.f64("end_relative_ns"), {
    token: first("batch_id"),
    layer: first("layer_key"),
  });
}

let loaded = "";

/** Follows the selected trace; called once. */
export function startBad(): void {
  effect(() => {
    const key = `${selectedTrace.value} ${generation.value}`;
    if (!summary.value) {
      // Another trace is being read: what is known is not of it.
      badOutputs.value = null;
      loaded = "";
      return;
    }
    if (key === loaded) return;
    const trace = selectedTrace.peek();
    const recorded = summary.value.values_recorded;
    loaded = key;
    if (!recorded) {
      badOutputs.value = null;
      return;
    }
    load(trace)
      .then((found) => {
        if (loaded === key) badOutputs.value = found;
      })
      // The view Values shows why.
      .catch(() => {
        if (loaded === key) loaded = "";
      });
  });
}

/** Reads the signal. "its output has NaN". */
export function badWords(run: number | null, op: number): string | null {
  const what = run === null ? null : (badOutputs.value?.of(run, op) ?? null);
  return what && `its output has ${what}`;
}
