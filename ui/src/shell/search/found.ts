// Search results, and what choosing one selects.

import { getJson, ofTrace, type Params } from "../../api/client";
import { bytes, counted, plainName, visible } from "../../draw/format";
import { layerName, layerWords } from "../../state/layers";
import { selection, type Selection } from "../../state/selection";
import { tensors } from "../../state/trace";
import type { Entry, EntryGroup } from "./entry";

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
  kind: string;
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

/** Of each kind. */
const LIMIT = 20;

interface FirstRow {
  ops: { node: number; batch_id: number | null; layer_id: number | null }[];
  run: number[];
}

/** What selects the first row of the log with these parameters; null: there is none. */
export async function patchOfRow(trace: number, params: Params): Promise<Partial<Selection> | null> {
  const rows = await getJson<FirstRow>(ofTrace(trace, "log/rows"), { first: 0, n: 1, ...params });
  const row = rows.ops[0];
  const run = rows.run[0];
  if (!row || run === undefined) return null;
  return { op: { run, node: row.node }, token: row.batch_id, layer: row.layer_id, tensor: null };
}

/** The first execution of the op: of the selected token, if it has one. */
async function patchOfOp(op: string): Promise<Partial<Selection> | null> {
  const { trace, token } = selection.peek();
  const here = token === null ? null : await patchOfRow(trace, { op, batch: token });
  return here ?? patchOfRow(trace, { op });
}

/** Choosing a thing of another kind than the op that is selected leaves that op. */
function chooses(patch: Partial<Selection>): Pick<Entry, "patch"> {
  return { patch: { op: null, ...patch } };
}

function group(g: Group): EntryGroup {
  const { count } = g;
  switch (g.kind) {
    case "tensor":
      return {
        title: "Tensors",
        count,
        list: g.results.map((t) => ({
          key: `tensor ${t.name}`,
          title: plainName(t.name),
          about: `${t.weight ? "weight" : "value"}, ${layerWords(t.layer_id)}, ${bytes(t.size_bytes)}`,
          ...chooses({ tensor: t.name, layer: t.layer_id, region: null }),
        })),
      };
    case "op":
      return {
        title: "Ops",
        count,
        list: g.results.map((o) => ({
          key: `op ${o.op}`,
          title: plainName(o.op),
          about: counted(o.nodes, "node"),
          find: () => patchOfOp(o.op),
        })),
      };
    case "layer":
      return {
        title: "Layers",
        count,
        list: g.results.map((l) => ({
          key: `layer ${l.layer_id}`,
          title: `Layer ${layerName(l.layer_id)}`,
          about: "",
          ...chooses({ layer: l.layer_id, tensor: null, region: null }),
        })),
      };
    case "batch":
      return {
        title: "Tokens",
        count,
        list: g.results.map((t) => ({
          key: `token ${t.batch_id}`,
          title: `Token ${t.batch_id}${t.text === null ? "" : ` ${visible(t.text)}`}`,
          about: t.n_tokens > 1 ? `${t.phase}, ${counted(t.n_tokens, "token")}` : t.phase,
          ...chooses({ token: t.batch_id, time: null }),
        })),
      };
    case "buffer":
      return {
        title: "Buffers",
        count,
        list: g.results.map((b) => ({
          key: `buffer ${b.buffer}`,
          title: `Buffer ${b.buffer_id} ${plainName(b.name)}`,
          about: `${b.kind}, ${bytes(b.size_bytes)}`,
          ...chooses({ tensor: null, region: { segment: `buffer${b.buffer}`, from: 0, to: b.size_bytes } }),
        })),
      };
  }
}

/** "expert 3", "layer 2 expert 3", "ffn_up_exps[3]": slices of the weights of experts. */
function experts(q: string): EntryGroup | null {
  const all = tensors.peek();
  const asked = /^(?:layer\s*(\d+)\s+)?expert\s*(\d+)?$|^(.+)\[(\d+)\]$/i.exec(q.trim());
  if (!all || !asked) return null;
  const [, layer, number, name, slice] = asked;
  const expert = Number(number ?? slice ?? 0);
  const list: Entry[] = [];
  all.name.forEach((tensor, i) => {
    const n = all.ne[i]![2] ?? 1;
    if (n <= expert || !/_exps\b/.test(tensor)) return;
    if (layer !== undefined && (all.layer_id[i] ?? -1) % 65536 !== Number(layer)) return;
    if (name !== undefined && !tensor.includes(name)) return;
    const title = `${tensor}[${expert}]`;
    list.push({
      key: `expert ${title}`,
      title: plainName(title),
      about: `expert ${expert} of ${n}, ${bytes(all.size_bytes[i]! / n)}`,
      ...chooses({ tensor, slice: expert, layer: all.layer_id[i] ?? null, region: null }),
    });
  });
  return { title: "Experts", count: list.length, list: list.slice(0, LIMIT) };
}

/** What a number or a name says exactly comes first. */
const ORDERS: readonly (readonly [RegExp, Group["kind"]])[] = [
  [/^token\b|^\d+$/i, "batch"],
  [/^layer\b/i, "layer"],
  [/^buffer\b/i, "buffer"],
  [/^[A-Z_]+$/, "op"],
];

/** Groups that have something. */
export function groupsOf(answer: Answer): EntryGroup[] {
  const first = ORDERS.find(([like]) => like.test(answer.q.trim()))?.[1];
  const sorted = [...answer.groups].sort((a, b) => Number(b.kind === first) - Number(a.kind === first));
  const found = [experts(answer.q), ...sorted.map(group)];
  return found.filter((g): g is EntryGroup => g !== null && g.count > 0);
}

/** GET find. */
export function find(trace: number, q: string): Promise<Answer> {
  return getJson<Answer>(ofTrace(trace, "find"), { q, limit: LIMIT });
}
