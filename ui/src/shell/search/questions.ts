// Questions that a trace can be asked at once: each answer is a selection.

import { signal } from "@preact/signals";
import { getJson, ofTrace } from "../../api/client";
import type { Experts } from "../../api/experts";
import { counted, duration, plainName } from "../../draw/format";
import { layerWords } from "../../state/layers";
import { selectedTrace } from "../../state/selection";
import { generation, summary } from "../../state/trace";
import type { Entry } from "./entry";
import { patchOfRow } from "./found";

/** The generated token that took longest; of a run without, any. */
function slowestToken(): Entry | null {
  const b = summary.peek()?.batches;
  if (!b) return null;
  let slowest = -1;
  let most = -1;
  const some = b.phase.includes("generate");
  b.batch_id.forEach((_, i) => {
    const begin = b.start_relative_ns[i] ?? null;
    const end = b.end_relative_ns[i] ?? null;
    if (begin === null || end === null || (some && b.phase[i] !== "generate") || end - begin <= most) return;
    most = end - begin;
    slowest = i;
  });
  if (slowest < 0) return null;
  const token = b.batch_id[slowest]!;
  return {
    key: "question slowest",
    title: "Slowest token",
    about: `token ${token}, ${duration(most)}`,
    patch: { token, op: null, time: null },
    view: "timeline",
  };
}

interface First {
  first: { output: { run: number; op_node: number; batch_id: number | null; layer_id: number | null; name: string; n_nan: number } } | null;
}

async function firstNan(trace: number): Promise<Entry | null> {
  if (!summary.peek()?.values_recorded) return null;
  const { first } = await getJson<First>(ofTrace(trace, "values/first"));
  if (!first) return null;
  const { run, op_node, batch_id, layer_id, name, n_nan } = first.output;
  const where = [plainName(name), layer_id === null ? "" : layerWords(layer_id), batch_id === null ? "" : `token ${batch_id}`];
  return {
    key: "question nan",
    title: n_nan > 0 ? "First NaN" : "First infinity",
    about: where.filter(Boolean).join(", "),
    patch: { op: { run, node: op_node }, token: batch_id, layer: layer_id, tensor: null, time: null },
    view: "values",
  };
}

/** The expert that was chosen least, of all layers. */
async function coldestExperts(trace: number): Promise<Entry | null> {
  if (!summary.peek()?.n_experts) return null;
  const { layers } = await getJson<Experts>(ofTrace(trace, "experts"));
  let coldest: { layer: number | null; expert: number; count: number; tensor: string | null } | null = null;
  let never = 0;
  for (const layer of layers)
    layer.count.forEach((count, expert) => {
      if (count === 0) never++;
      if (coldest && count >= coldest.count) return;
      coldest = { layer: layer.layer_id, expert, count, tensor: layer.slices[0]?.tensor ?? null };
    });
  if (!coldest) return null;
  const { layer, expert, count, tensor } = coldest;
  const where = `${layer === null ? "" : `${layerWords(layer)}, `}expert ${expert}`;
  return {
    key: "question experts",
    title: "Coldest experts",
    about: never > 0 ? `${counted(never, "expert")} never chosen; ${where}` : `${where}, chosen ${counted(count, "time")}`,
    patch: { layer, tensor, slice: tensor === null ? null : expert, op: null, region: null },
    view: "experts",
  };
}

interface Longest {
  ops: { op: string; name: string; batch_id: number | null; wait_ns: number | null }[];
}

/** The op whose threads waited longest, together. */
async function largestWait(trace: number): Promise<Entry | null> {
  if (!summary.peek()?.clock || !summary.peek()?.n_ops) return null;
  const params = { sort: "wait_ns" };
  const [op] = (await getJson<Longest>(ofTrace(trace, "log/rows"), { ...params, first: 0, n: 1 })).ops;
  if (!op?.wait_ns) return null;
  return {
    key: "question wait",
    title: "Largest wait",
    about: `${plainName(op.name)}${op.batch_id === null ? "" : `, token ${op.batch_id}`}, ${duration(op.wait_ns)} by all threads`,
    find: () => patchOfRow(trace, params),
    view: "log",
  };
}

/** Those that have an answer, so far. */
export const questions = signal<readonly Entry[]>([]);
let asked = "";

/** Asks them for the shown trace, once. */
export function askQuestions(): void {
  const trace = selectedTrace.peek();
  const key = `${trace} ${generation.peek()}`;
  if (!summary.peek() || key === asked) return;
  asked = key;
  const slots: (Entry | null)[] = [slowestToken(), null, null, null];
  const show = () => (questions.value = slots.filter((each) => each !== null));
  show();
  [firstNan, coldestExperts, largestWait].forEach((ask, i) => {
    ask(trace)
      .then((entry) => {
        if (key !== asked) return;
        slots[i + 1] = entry;
        show();
      })
      // The others are still there.
      .catch(() => undefined);
  });
}
