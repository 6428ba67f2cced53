// The shared selection in this view: what a click selects, and which items are selected.

import type { MenuItems } from "../../parts/ContextMenu";
import { menuOfThing, tensorTerm, termFor } from "../../parts/thingMenu";
import { momentKey, momentOp } from "../../state/moment";
import { select, selection, type Selection } from "../../state/selection";
import type { TokenGraph } from "./graph";
import { itemOf } from "./path";
import type { Item, Scene } from "./scene";
import { noteSeen } from "./seen";

/** Selects what is in view here. */
function selectSeen(patch: Partial<Selection>): void {
  select(patch);
  noteSeen(selection.peek());
}

function layerOf(g: TokenGraph, tensor: number): number | null {
  return g.reply.tensors.layer_id[tensor] ?? null;
}

/** Location of a leaf that is not a weight, as a region of a buffer. */
function regionOf(g: TokenGraph, tensor: number): Selection["region"] {
  const t = g.reply.tensors;
  const [buffer, from] = [t.buffer[tensor], t.buffer_offset_bytes[tensor]];
  if (buffer === null || buffer === undefined || from === null || from === undefined) return null;
  return { segment: `buffer${buffer}`, from, to: from + (t.size_bytes[tensor] ?? 0) };
}

function ofTensor(g: TokenGraph, tensor: number): Partial<Selection> {
  if (!g.isNode(tensor)) {
    const weight = g.reply.tensors.weight[tensor];
    return {
      op: null,
      tensor: weight ?? g.reply.tensors.name[tensor] ?? null,
      layer: layerOf(g, tensor),
      region: weight ? null : regionOf(g, tensor),
    };
  }
  const op = g.opOf(tensor);
  const { run, batch_id } = g.reply;
  return {
    op: run === null ? null : { run, node: op },
    ...(batch_id === null ? {} : { token: batch_id }),
    layer: layerOf(g, op),
    tensor: g.weightOf(op),
    region: null,
  };
}

function ofItem(g: TokenGraph, item: Item): Partial<Selection> {
  if (item.kind !== "part") return ofTensor(g, item.tensor);
  return { layer: g.reply.parts.layer_id[item.part] ?? null, op: null, tensor: null, region: null };
}

/** Selects a tensor of the graph in every view. */
export function selectTensor(g: TokenGraph, tensor: number): void {
  selectSeen(ofTensor(g, tensor));
}

export function selectItem(g: TokenGraph, item: Item): void {
  selectSeen(ofItem(g, item));
}

const VIEWS_OF_LAYER = ["memory", "timeline", "log", "stats"];
const VIEWS_OF_OP = ["memory", "timeline", "log", "stats", "values"];

/** The context menu of an item. */
export function menuOfItem(g: TokenGraph, item: Item): { label: string; items: MenuItems } {
  const patch = ofItem(g, item);
  const { batch_id } = g.reply;
  const terms = [termFor("layer", patch.layer), termFor("token", batch_id)];
  if (item.kind === "part") {
    const name = g.partTitle(item.part);
    return { label: name, items: menuOfThing({ name, patch: { ...patch, token: batch_id }, terms, views: VIEWS_OF_LAYER }) };
  }
  const name = g.reply.tensors.name[item.tensor] ?? "";
  const op = g.isNode(item.tensor) && g.executes(item.tensor) ? termFor("op", g.op(item.tensor)) : null;
  return {
    label: g.name(item.tensor),
    items: menuOfThing({ name, patch, terms: [op, tensorTerm(patch.tensor ?? null), ...terms], views: g.isNode(item.tensor) ? VIEWS_OF_OP : VIEWS_OF_LAYER }),
  };
}

export interface Marks {
  readonly selected: ReadonlySet<number>;
  readonly related: ReadonlySet<number>;
  /** The item that the film is at. */
  readonly now: number | null;
}

/** Leafs, or results of that name. */
function tensorsNamed(g: TokenGraph, name: string): number[] {
  const { weight, name: names } = g.reply.tensors;
  const found: number[] = [];
  for (let i = g.nNodes; i < g.nTensors; i++) if (weight[i] === name || names[i] === name) found.push(i);
  for (let i = 0; found.length === 0 && i < g.nNodes; i++) if (names[i] === name) found.push(i);
  return found;
}

/** The op at the playhead, or the layer that it is in. */
function nowOf(g: TokenGraph, scene: Scene, isAlike: (run: number) => boolean): number | null {
  if (momentKey.value === null) return null;
  const { ops, i } = momentOp.peek()!;
  const [run, node] = [ops.run[i]!, ops.node[i]!];
  if (node >= g.nNodes || (run !== g.reply.run && !isAlike(run))) return null;
  return itemOf(g, scene, g.opOf(node));
}

/** The selected and related items. isAlike: whether a run's graph has the same structure. */
export function marksOf(g: TokenGraph, scene: Scene, s: Selection, isAlike: (run: number) => boolean): Marks {
  const selected = new Set<number>();
  const related = new Set<number>();
  if (s.op && s.op.node < g.nNodes && s.op.node >= 0) {
    const item = itemOf(g, scene, g.opOf(s.op.node));
    if (s.op.run === g.reply.run) selected.add(item);
    else if (isAlike(s.op.run)) related.add(item);
  }
  if (s.tensor !== null)
    for (const leaf of tensorsNamed(g, s.tensor)) {
      if (g.isNode(leaf)) selected.add(itemOf(g, scene, g.opOf(leaf)));
      for (const item of scene.boxesOf.get(leaf) ?? []) selected.add(item);
      for (const op of g.consumers(leaf)) related.add(itemOf(g, scene, op));
    }
  if (s.layer !== null) {
    const part = g.partOfLayer(s.layer);
    const item = scene.partItem[part];
    if (item !== undefined) (s.op || s.tensor ? related : selected).add(item);
  }
  for (const item of selected) related.delete(item);
  return { selected, related, now: nowOf(g, scene, isAlike) };
}

/** The tensor that F shows: the selected op, or the selected tensor. */
export function selectedTensorOf(g: TokenGraph, s: Selection, isAlike: (run: number) => boolean): number | null {
  if (s.op && s.op.node < g.nNodes && (s.op.run === g.reply.run || isAlike(s.op.run))) return g.opOf(s.op.node);
  return s.tensor === null ? null : (tensorsNamed(g, s.tensor)[0] ?? null);
}
