// What is selected in the picture of what each token read, and steps from there.

import { plainName } from "../../draw/format";
import { announce } from "../../parts/announce";
import { select, selection, type Selection } from "../../state/selection";
import { tensors } from "../../state/trace";
import { atlas } from "./data";
import { columnWords, rowWords, type Grid } from "./tokens";

/** The row of a token; -1: none. */
export function rowOf(g: Grid, token: number | null): number {
  const i = token === null ? -1 : g.batches.indexOf(token);
  return i < 0 ? -1 : Math.floor(i / g.head.batches_each);
}

/** From and to of what is selected: bytes, layers or experts. */
export function columnsOf(g: Grid): readonly [number, number] | null {
  const { tensor, layer, slice } = selection.value;
  const t = tensors.value;
  const row = tensor === null || !t ? -1 : t.name.indexOf(tensor);
  const column = g.head.layers?.indexOf(layer) ?? -1;
  if (g.by === "layer") return layer === null || column < 0 ? null : [column, column + 1];
  if (g.by === "expert") return slice === null ? null : [slice, slice + 1];
  if (row < 0 || t!.model_file_id[row] !== 0) return null;
  return [t!.file_offset_bytes[row]!, t!.file_offset_bytes[row]! + t!.size_bytes[row]!];
}

/** The tensor with most bytes of a column of the file. */
export function tensorOf(g: Grid, column: number): number {
  const t = tensors.value;
  const [from, to] = [g.from + column * g.each, g.from + (column + 1) * g.each];
  let best = -1;
  let most = 0;
  t?.name.forEach((_, i) => {
    const part = Math.min(to, t.file_offset_bytes[i]! + t.size_bytes[i]!) - Math.max(from, t.file_offset_bytes[i]!);
    if (t.model_file_id[i] === 0 && part > most) [best, most] = [i, part];
  });
  return best;
}

/** A tensor that has the expert, of the layer (of all: of any): the selected one before others. */
function tensorOfExpert(expert: number, layer: number | null): string | null {
  const map = atlas.peek();
  const fits = (r: number) => map!.regions.n_slices[r]! > expert && (layer === null || layer < 0 || map!.regions.layer_id[r] === layer);
  const { tensor } = selection.peek();
  if (!map) return null;
  if (tensor !== null && map.byName.get(tensor)?.some(fits)) return tensor;
  return map.regions.tensor.find((name, r) => name !== null && fits(r)) ?? null;
}

function ofTensor(i: number): Partial<Selection> {
  const t = tensors.peek();
  return i < 0 || !t ? {} : { tensor: t.name[i]!, layer: t.layer_id[i] ?? null };
}

/** Of a column: the layer, the expert (in the layer that is shown) or the tensor. */
function ofColumn(g: Grid, column: number): Partial<Selection> {
  const n = g.from + column;
  if (g.by === "layer") return { layer: g.head.layers?.[column] ?? null, tensor: null };
  if (g.by === "file") return ofTensor(tensorOf(g, column));
  const tensor = tensorOfExpert(n, selection.peek().layer);
  return tensor === null ? {} : { tensor, slice: n };
}

export function choose(g: Grid, row: number, column: number): void {
  select({ token: g.batches[row * g.head.batches_each]!, op: null, time: null, region: null, ...ofColumn(g, column) });
}

/** To the row above or below. */
export function stepRow(g: Grid, by: 1 | -1): void {
  const now = rowOf(g, selection.peek().token);
  const row = Math.min(g.head.grid_rows - 1, Math.max(0, now < 0 ? (by > 0 ? 0 : g.head.grid_rows - 1) : now + by));
  if (row === now || g.head.grid_rows === 0) return announce(by > 0 ? "No more tokens below" : "No more tokens above");
  select({ token: g.batches[row * g.head.batches_each]!, op: null, time: null });
  return announce(rowWords(g, row));
}

/** The tensor behind or before the selected one, in the order of the file; -1: none. */
function tensorBeside(by: 1 | -1): number {
  const t = tensors.peek();
  const { tensor } = selection.peek();
  const order = [...(t?.name.keys() ?? [])].filter((i) => t!.model_file_id[i] === 0).sort((a, b) => t!.file_offset_bytes[a]! - t!.file_offset_bytes[b]!);
  const now = order.findIndex((i) => t!.name[i] === tensor);
  return order[now < 0 ? (by > 0 ? 0 : order.length - 1) : now + by] ?? -1;
}

/** To the tensor, layer or expert beside the selected one. */
export function stepColumn(g: Grid, by: 1 | -1): void {
  const none = () => announce(by > 0 ? "No more to the right" : "No more to the left");
  if (g.by === "file") {
    const i = tensorBeside(by);
    if (i < 0) return none();
    select({ op: null, time: null, region: null, ...ofTensor(i) });
    return announce(plainName(tensors.peek()!.name[i]!));
  }
  const now = g.by === "layer" ? Math.max(0, g.head.layers?.indexOf(selection.peek().layer) ?? 0) : selection.peek().slice;
  const last = g.head.grid_columns - 1;
  const column = now === null ? (by > 0 ? 0 : last) : now - g.from + by;
  if (column < 0 || column > last) return none();
  select({ op: null, time: null, region: null, ...ofColumn(g, column) });
  return announce(columnWords(g, column));
}
