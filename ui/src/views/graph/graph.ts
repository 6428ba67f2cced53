// A token's graph, with indices that the views need.

import { bytes, count, counted, duration, plainName, shape } from "../../draw/format";
import { badWords } from "../../state/bad";
import { layerName } from "../../state/layers";
import type { GraphReply } from "./reply";

export type Origin = "file" | "buffer" | "computed" | "unknown";

/** Lists of lists in two arrays: of i, list[start[i]] .. list[start[i + 1] - 1]. */
interface Lists {
  readonly start: Uint32Array;
  readonly list: Uint32Array;
}

function listsOf(n: number, keys: readonly number[], values: (i: number) => number): Lists {
  const start = new Uint32Array(n + 1);
  for (const key of keys) start[key + 1]!++;
  for (let i = 0; i < n; i++) start[i + 1]! += start[i]!;
  const at = start.slice();
  const list = new Uint32Array(keys.length);
  keys.forEach((key, i) => {
    list[at[key]!++] = values(i);
  });
  return { start, list };
}

function of(lists: Lists, i: number): Uint32Array {
  return lists.list.subarray(lists.start[i]!, lists.start[i + 1]!);
}

export class TokenGraph {
  readonly nNodes: number;
  readonly nTensors: number;
  readonly nParts: number;
  private readonly into: Lists;
  private readonly outOf: Lists;
  private readonly byPart: Lists;
  private readonly byOp: Lists;
  private readonly step = new Map<number, number>();

  constructor(readonly reply: GraphReply) {
    const { tensors, edges, parts } = reply;
    this.nTensors = tensors.name.length;
    this.nNodes = tensors.part.length;
    this.nParts = parts.layer_id.length;
    this.into = listsOf(this.nTensors, edges.target, (i) => i);
    this.outOf = listsOf(this.nTensors, edges.source, (i) => i);
    this.byPart = listsOf(this.nParts, tensors.part, (i) => i);
    const ops = tensors.fused_into.map((into, i) => into ?? i);
    this.byOp = listsOf(this.nNodes, ops, (i) => i);
    reply.critical_path.nodes.forEach((node, i) => this.step.set(node, i));
  }

  /** Edges by their numbers. */
  edgesInto(tensor: number): Uint32Array {
    return of(this.into, tensor);
  }

  edgesOutOf(tensor: number): Uint32Array {
    return of(this.outOf, tensor);
  }

  nodesOf(part: number): Uint32Array {
    return of(this.byPart, part);
  }

  isNode(tensor: number): boolean {
    return tensor < this.nNodes;
  }

  /** The first node of its op; itself if no op was recorded for it. */
  opOf(node: number): number {
    return this.reply.tensors.fused_into[node] ?? node;
  }

  /** The nodes of one op. */
  members(op: number): Uint32Array {
    return of(this.byOp, op);
  }

  /** Position on the critical path, from 0; null: not on it. */
  criticalStep(op: number): number | null {
    return this.step.get(op) ?? null;
  }

  private word(i: number | null | undefined): string | null {
    return i === null || i === undefined ? null : (this.reply.words[i] ?? null);
  }

  name(tensor: number): string {
    return plainName(this.reply.tensors.name[tensor] ?? "") || "(no name)";
  }

  /** "MUL_MAT", "RMS_NORM+MUL". */
  op(tensor: number): string {
    if (!this.isNode(tensor)) return "leaf";
    const parts = [...this.members(tensor)].map((i) => this.word(this.reply.tensors.op_desc[i]) ?? "?");
    return plainName(parts.join("+") || (this.word(this.reply.tensors.op_desc[tensor]) ?? "?"));
  }

  type(tensor: number): string {
    return this.word(this.reply.tensors.type[tensor]) ?? "?";
  }

  category(tensor: number): string {
    return this.word(this.reply.tensors.category[tensor]) ?? "other";
  }

  component(tensor: number): string {
    return plainName(this.word(this.reply.tensors.component[tensor]) ?? "");
  }

  backend(node: number): string | null {
    return this.word(this.reply.tensors.backend[node]);
  }

  ne(tensor: number): number[] {
    return this.reply.tensors.ne.slice(tensor * 4, tensor * 4 + 4);
  }

  /** Where a value that is read comes from. */
  origin(tensor: number): Origin {
    if (this.reply.tensors.computed[tensor]) return "computed";
    const origin = this.word(this.reply.tensors.origin[tensor]);
    return origin === "file" || origin === "buffer" ? origin : "unknown";
  }

  /** "file: file 0 at 1,234", "buffer CPU (compute) at 0". */
  place(tensor: number): string {
    const t = this.reply.tensors;
    const buffer = t.buffer[tensor];
    const inBuffer =
      buffer === null || buffer === undefined
        ? null
        : `buffer ${plainName(this.reply.buffers[buffer]?.name ?? String(buffer))} at ${count(t.buffer_offset_bytes[tensor])}`;
    const inFile = t.model_file_id[tensor] === null ? null : `file ${t.model_file_id[tensor]} at ${count(t.file_offset_bytes[tensor])}`;
    const origin = this.origin(tensor);
    if (origin === "file") return `file: ${inFile ?? "offset not observed"}`;
    if (origin === "computed") return `computed${inBuffer ? `, in ${inBuffer}` : ""}`;
    if (origin === "buffer") return `${inBuffer ?? "buffer"}${inFile ? ` (a copy of ${inFile})` : ""}`;
    return `origin not observed${inFile ? ` (of ${inFile})` : ""}`;
  }

  partOf(node: number): number {
    return this.reply.tensors.part[node]!;
  }

  /** In the address: "in", "out", "7". Those of a part stay when the token changes. */
  partKey(part: number): string {
    const layer = this.reply.parts.layer_id[part];
    return layer === null || layer === undefined ? (this.reply.parts.behind[part] ? "out" : "in") : String(layer);
  }

  partTitle(part: number): string {
    const layer = this.reply.parts.layer_id[part];
    if (layer !== null && layer !== undefined) return `Layer ${layerName(layer)}`;
    if (this.nParts === 1) return "Graph";
    return this.reply.parts.behind[part] ? "Output" : "Input";
  }

  partOfLayer(layer: number): number {
    return this.reply.parts.layer_id.indexOf(layer);
  }

  shapeKey(part: number): string {
    return this.reply.shapes[this.reply.parts.shape[part]!] ?? "";
  }

  /** The first weight that an op reads, by name. */
  weightOf(op: number): string | null {
    const members = this.isNode(op) ? [...this.members(op)] : [];
    for (const node of members)
      for (const edge of this.edgesInto(node)) {
        const weight = this.reply.tensors.weight[this.reply.edges.source[edge]!];
        if (weight) return weight;
      }
    return null;
  }

  /** Sources of an op or another node: tensors outside of it, each once. */
  inputs(op: number): number[] {
    const found = new Set<number>();
    const members = this.members(op);
    for (const node of members.length ? members : [op])
      for (const edge of this.edgesInto(node)) {
        const source = this.reply.edges.source[edge]!;
        if (!this.isNode(source) || this.opOf(source) !== op) found.add(source);
      }
    return [...found];
  }

  /** Users of an op's outputs (or of a leaf): ops or other nodes, each once. */
  consumers(tensor: number): number[] {
    const found = new Set<number>();
    const members = this.isNode(tensor) ? [...this.members(tensor)] : [];
    for (const each of members.length ? members : [tensor])
      for (const edge of this.edgesOutOf(each)) {
        const target = this.reply.edges.target[edge]!;
        const op = this.isNode(target) ? this.opOf(target) : target;
        if (op !== tensor) found.add(op);
      }
    return [...found];
  }

  executes(node: number): boolean {
    return this.reply.tensors.executes[node] ?? false;
  }

  /** A sentence for the live region. */
  sentence(tensor: number): string {
    const t = this.reply.tensors;
    if (!this.isNode(tensor))
      return `${this.name(tensor)}, ${this.type(tensor)} ${shape(this.ne(tensor))}, ${bytes(t.size_bytes[tensor])}, ${this.place(tensor)}; used by ${counted(this.consumers(tensor).length, "op")}`;
    const inputs = this.inputs(tensor).map((i) => `${this.name(i)} (${this.origin(i)})`);
    const step = this.criticalStep(tensor);
    const bad = badWords(this.reply.run, tensor);
    const time = this.executes(tensor) ? `, ${duration(t.duration_ns[tensor])}` : ", takes no time";
    return (
      `${this.op(tensor)} ${this.name(tensor)}, ${this.partTitle(this.partOf(tensor))}${time}` +
      (step === null ? "" : `, step ${step + 1} of the critical path`) +
      (bad ? `, ${bad}` : "") +
      `; computed from ${inputs.join(", ") || "nothing"}; used by ${counted(this.consumers(tensor).length, "op")}`
    );
  }

  partSentence(part: number): string {
    const p = this.reply.parts;
    return `${this.partTitle(part)}: ${counted(p.nodes[part]!, "node")}, ${counted(p.ops[part]!, "op")} recorded, ${duration(p.total_ns[part])}, weights read: ${bytes(p.weight_bytes[part])}`;
  }
}
