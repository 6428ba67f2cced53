// Details of an op, cached: stepping along a track requests them repeatedly.

import { effect, signal } from "@preact/signals";
import { getJson, ofTrace } from "../../api/client";
import { layerWords } from "../../state/layers";
import { otherToken, select, selectedTrace, selection, type OpRef } from "../../state/selection";
import { generation } from "../../state/trace";

export interface Step extends OpRef {
  start_relative_ns: number;
  end_relative_ns: number | null;
}

export interface OpLane {
  lane: number;
  track: number | null;
  start_relative_ns: number;
  /** null: its end was not observed. */
  busy_ns: number | null;
  wait_ns: number | null;
  off_cpu_ns: number | null;
  minor_faults: number | null;
  major_faults: number | null;
  cpu_ns: number | null;
  read_bytes: number | null;
  before: Step | null;
  behind: Step | null;
}

/** GET .../op */
export interface OpDetails extends OpRef {
  batch_id: number | null;
  start_relative_ns: number;
  end_relative_ns: number | null;
  log: {
    op: string;
    name: string;
    layer_id: number | null;
    stack: string | null;
    category: string;
    duration_ns: number | null;
    /** experts: of a stack of weights, those that it read; absent: not known, or no stack. */
    sources: { name: string; read_bytes?: number | null; experts?: { expert_id: number }[] }[];
  };
  /** Name of the first weight that it reads. */
  tensor: string | null;
  lanes: OpLane[];
}

const KEPT = 64;
const kept = new Map<string, Promise<OpDetails>>();

export function opDetails(op: OpRef): Promise<OpDetails> {
  const trace = selectedTrace.peek();
  const key = `${trace} ${generation.peek()} ${op.run} ${op.node}`;
  let details = kept.get(key);
  if (!details) {
    details = getJson<OpDetails>(ofTrace(trace, "op"), { run: op.run, node: op.node });
    details.catch(() => kept.delete(key));
    kept.set(key, details);
    if (kept.size > KEPT) kept.delete(kept.keys().next().value!);
  }
  return details;
}

/** Details of the selected op; null: none selected, or not loaded yet. */
export const chosenOp = signal<OpDetails | null>(null);

/** Follows the selection; stops when the returned function is called. */
export function followOp(): () => void {
  return effect(() => {
    const { op } = selection.value;
    generation.value;
    const before = chosenOp.peek();
    if (before && (before.run !== op?.run || before.node !== op.node)) chosenOp.value = null;
    if (!op) return;
    void opDetails(op)
      .then((details) => {
        const now = selection.peek().op;
        if (now?.run === op.run && now.node === op.node) chosenOp.value = details;
      })
      // The inspector shows why there are none.
      .catch(() => undefined);
  });
}

/** Selects an op, with its token, layer and tensor. The two tokens that are compared stay so. */
export function selectOp(op: OpRef, token: number | null, layer: number | null, tensor: string | null): void {
  if (token !== null && token === otherToken.peek()) select({ op, layer, tensor });
  else select({ op, token, layer, tensor });
}

/** As a sentence for screen readers. */
export function opInWords(d: OpDetails, duration: (ns: number | null) => string): string {
  const layer = d.log.layer_id === null ? "" : `, ${layerWords(d.log.layer_id)}`;
  const lanes = d.lanes.map((l) => `thread ${l.lane} busy ${duration(l.busy_ns)}, waits ${duration(l.wait_ns)}`);
  return `${d.log.name}, ${d.log.op}${layer}${d.batch_id === null ? "" : `, token ${d.batch_id}`}; ${lanes.join("; ")}`;
}
