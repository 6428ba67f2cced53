// Search results, and what choosing one selects.

import { getJson, ofTrace } from "../api/client";
import { bytes, counted, plainName, visible } from "../draw/format";
import { select, selection, type Selection } from "../state/selection";

interface TensorFound {
  name: string;
  weight: boolean;
  layer_id: number | null;
  size_bytes: number;
}

interface OpFound {
  op: string;
  nodes: number;
}

interface LayerFound {
  layer_id: number;
}

interface TokenFound {
  batch_id: number;
  phase: string;
  n_tokens: number;
  text: string | null;
}

interface BufferFound {
  buffer: number;
  buffer_id: number;
  name: string;
  buffer_kind: string;
  size_bytes: number;
}

type Group =
  | { kind: "tensor"; count: number; results: TensorFound[] }
  | { kind: "op"; count: number; results: OpFound[] }
  | { kind: "layer"; count: number; results: LayerFound[] }
  | { kind: "batch"; count: number; results: TokenFound[] }
  | { kind: "buffer"; count: number; results: BufferFound[] };

export interface Answer {
  q: string;
  groups: Group[];
  /** Not all names were looked through. */
  cut: boolean;
}

/** One result, ready to be shown and chosen. */
export interface Found {
  readonly title: string;
  readonly about: string;
  readonly choose: () => Promise<void> | void;
}

export interface FoundGroup {
  readonly title: string;
  /** In the trace; more than are listed, perhaps. */
  readonly count: number;
  readonly list: readonly Found[];
}

export const LIMIT = 50;

export function find(trace: number, q: string): Promise<Answer> {
  return getJson<Answer>(ofTrace(trace, "find"), { q, limit: LIMIT });
}

interface FirstRow {
  ops: { node: number; batch_id: number | null; layer_id: number | null }[];
  run: number[];
}

/** The first execution of the op: of the selected token, if it has one. */
async function chooseOp(op: string): Promise<void> {
  const { trace, token } = selection.peek();
  const ask = (params: { batch?: number }) =>
    getJson<FirstRow>(ofTrace(trace, "log/rows"), { op, first: 0, n: 1, ...params });
  let rows = await ask(token === null ? {} : { batch: token });
  if (!rows.ops.length && token !== null) rows = await ask({});
  const row = rows.ops[0];
  const run = rows.run[0];
  if (!row || run === undefined) return;
  select({ op: { run, node: row.node }, token: row.batch_id, layer: row.layer_id, tensor: null });
}

/** Choosing a thing of another kind than the op that is selected leaves that op. */
function choose(patch: Partial<Selection>): () => void {
  return () => select({ op: null, ...patch });
}

function group(g: Group): FoundGroup {
  switch (g.kind) {
    case "tensor":
      return {
        title: "Tensors",
        count: g.count,
        list: g.results.map((t) => ({
          title: plainName(t.name),
          about: `${t.weight ? "weight" : "value"}, ${t.layer_id === null ? "no layer" : `layer ${t.layer_id}`}, ${bytes(t.size_bytes)}`,
          choose: choose({ tensor: t.name, layer: t.layer_id, region: null }),
        })),
      };
    case "op":
      return {
        title: "Ops",
        count: g.count,
        list: g.results.map((o) => ({
          title: plainName(o.op),
          about: counted(o.nodes, "node"),
          choose: () => chooseOp(o.op),
        })),
      };
    case "layer":
      return {
        title: "Layers",
        count: g.count,
        list: g.results.map((l) => ({
          title: `Layer ${l.layer_id}`,
          about: "",
          choose: choose({ layer: l.layer_id, tensor: null, region: null }),
        })),
      };
    case "batch":
      return {
        title: "Tokens",
        count: g.count,
        list: g.results.map((t) => ({
          title: `Token ${t.batch_id}${t.text === null ? "" : ` ${visible(t.text)}`}`,
          about: t.n_tokens > 1 ? `${t.phase}, ${counted(t.n_tokens, "token")}` : t.phase,
          choose: choose({ token: t.batch_id, time: null }),
        })),
      };
    case "buffer":
      return {
        title: "Buffers",
        count: g.count,
        list: g.results.map((b) => ({
          title: `Buffer ${b.buffer_id} ${plainName(b.name)}`,
          about: `${b.buffer_kind}, ${bytes(b.size_bytes)}`,
          choose: choose({ tensor: null, region: { segment: `buffer${b.buffer}`, from: 0, to: b.size_bytes } }),
        })),
      };
  }
}

/** Groups that have something. */
export function groups(answer: Answer): FoundGroup[] {
  return answer.groups.map(group).filter((g) => g.count > 0);
}
