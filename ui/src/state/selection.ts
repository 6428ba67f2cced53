// The one selection that drives every view.

import { batch, computed, type ReadonlySignal } from "@preact/signals";
import { makeHistoryEntry, rawParam } from "./url";

/** An executed op: the run (its index in the trace) and the node in that run's graph. */
export interface OpRef {
  readonly run: number;
  readonly node: number;
}

/** Bytes of a model file ("file0") or of a buffer ("buffer7", by its index in the trace). */
export interface Region {
  readonly segment: string;
  readonly from: number;
  readonly to: number;
}

export interface Selection {
  /** Which of the served traces the views show. */
  readonly trace: number;
  /** The batch's number. */
  readonly token: number | null;
  /** Another batch, which it is compared with; null without a token. */
  readonly token2: number | null;
  /** ns since the trace's zero. */
  readonly time: readonly [number, number] | null;
  readonly layer: number | null;
  readonly op: OpRef | null;
  /** A tensor's name. */
  readonly tensor: string | null;
  /** The expert whose slice of that tensor is selected; null: all of the tensor. */
  readonly slice: number | null;
  readonly region: Region | null;
}

const raw = {
  trace: rawParam("trace"),
  token: rawParam("token"),
  token2: rawParam("token2"),
  time: rawParam("time"),
  layer: rawParam("layer"),
  op: rawParam("op"),
  tensor: rawParam("tensor"),
  slice: rawParam("slice"),
  region: rawParam("region"),
};

function whole(text: string | null): number | null {
  return text !== null && /^-?\d{1,15}$/.test(text) ? Number(text) : null;
}

function pair(text: string | null, separator: string): [number, number] | null {
  const parts = text?.split(separator) ?? [];
  if (parts.length !== 2) return null;
  const from = Number(parts[0]);
  const to = Number(parts[1]);
  return parts[0] !== "" && parts[1] !== "" && Number.isFinite(from) && Number.isFinite(to) ? [from, to] : null;
}

function regionOf(text: string | null): Region | null {
  const match = /^((?:file|buffer)\d{1,9}):(\d{1,15})-(\d{1,15})$/.exec(text ?? "");
  return match ? { segment: match[1]!, from: Number(match[2]), to: Number(match[3]) } : null;
}

function opOf(text: string | null): OpRef | null {
  const parts = pair(text, ".");
  return parts && parts.every((n) => Number.isInteger(n) && n >= 0) ? { run: parts[0], node: parts[1] } : null;
}

function timeOf(text: string | null): [number, number] | null {
  const range = pair(text, "~");
  return range && range[0] < range[1] ? range : null;
}

/** The selection. A view reads the fields that it shows. */
export const selection: ReadonlySignal<Selection> = computed(() => ({
  trace: Math.max(0, whole(raw.trace.value) ?? 0),
  token: whole(raw.token.value),
  token2: raw.token2.value === raw.token.value || whole(raw.token.value) === null ? null : whole(raw.token2.value),
  time: timeOf(raw.time.value),
  layer: whole(raw.layer.value),
  op: opOf(raw.op.value),
  tensor: raw.tensor.value,
  slice: raw.tensor.value === null || !/^\d{1,6}$/.test(raw.slice.value ?? "") ? null : Number(raw.slice.value),
  region: regionOf(raw.region.value),
}));

// A signal per field, so that a reader of one is not notified of the others.
export const selectedTrace = computed(() => selection.value.trace);
export const selectedToken = computed(() => selection.value.token);
export const otherToken = computed(() => selection.value.token2);
export const selectedLayer = computed(() => selection.value.layer);
export const selectedTensor = computed(() => selection.value.tensor);

/** The selected tensor as `heat` lists it, "blk.0.ffn_up_exps.weight[3]"; null: no slice is selected. */
export const selectedSlice = computed(() => {
  const { tensor, slice } = selection.value;
  return slice === null ? null : `${tensor}[${slice}]`;
});

/** Changes the named fields and leaves the others. Each call can be undone with the browser's Back,
 * unless `transient` (playback, a drag in progress). */
export function select(patch: Partial<Selection>, transient = false): void {
  if (!transient) makeHistoryEntry();
  // Times, ops and regions are those of one trace: in another they mean something else.
  if (patch.trace !== undefined && patch.trace !== selection.peek().trace)
    patch = { time: null, op: null, region: null, ...patch };
  // Another tensor has other slices.
  if (patch.tensor !== undefined) patch = { slice: null, ...patch };
  batch(() => {
    if (patch.trace !== undefined) raw.trace.value = patch.trace ? String(patch.trace) : null;
    if (patch.token !== undefined) raw.token.value = patch.token === null ? null : String(patch.token);
    if (patch.token2 !== undefined) raw.token2.value = patch.token2 === null ? null : String(patch.token2);
    if (patch.time !== undefined)
      raw.time.value = patch.time && `${Math.round(patch.time[0])}~${Math.round(patch.time[1])}`;
    if (patch.layer !== undefined) raw.layer.value = patch.layer === null ? null : String(patch.layer);
    if (patch.op !== undefined) raw.op.value = patch.op && `${patch.op.run}.${patch.op.node}`;
    if (patch.tensor !== undefined) raw.tensor.value = patch.tensor;
    if (patch.slice !== undefined) raw.slice.value = patch.slice === null ? null : String(patch.slice);
    if (patch.region !== undefined)
      raw.region.value = patch.region && `${patch.region.segment}:${patch.region.from}-${patch.region.to}`;
  });
}

/** Shift+click: compares the selected token with that one; the same again, or itself: no longer. */
export function compareWith(token: number): void {
  const now = selection.peek();
  if (now.token === null) select({ token });
  else select({ token2: token === now.token2 || token === now.token ? null : token });
}

/** Everything but the trace. */
export function clearSelection(): void {
  select({ token: null, token2: null, time: null, layer: null, op: null, tensor: null, region: null });
}

export const hasSelection = computed(() => {
  const s = selection.value;
  return (
    s.token !== null || s.time !== null || s.layer !== null || s.op !== null || s.tensor !== null || s.region !== null
  );
});
