// The two compared traces, and how their tokens and ops correspond.

import { batch, computed, signal } from "@preact/signals";
import { getJson, ofTrace } from "../../api/client";
import { index } from "../../state/trace";
import { select, selection, type OpRef } from "../../state/selection";
import { urlParam } from "../../state/url";
import type { Pair, Row } from "./answer";

export interface Traces {
  readonly a: number;
  readonly b: number;
}

/** "0.1": A is the first trace, B the second. */
const chosen = urlParam("diff", "");
/** The chosen row of the table of nodes: its name in A and in B. */
const rowA = urlParam("diff_row", "");
const rowB = urlParam("diff_row_b", "");

/** The ids of A and B; null: fewer than two traces are served. */
export const traces = computed<Traces | null>(() => {
  const ids = index.value?.traces.map((t) => t.id) ?? [];
  if (ids.length < 2) return null;
  const wanted = chosen.value.split(".").map(Number);
  const [a, b] = wanted;
  if (wanted.length === 2 && a !== b && ids.includes(a!) && ids.includes(b!)) return { a: a!, b: b! };
  return { a: ids[0]!, b: ids[1]! };
});

export function traceName(id: number): string {
  return index.value?.traces.find((t) => t.id === id)?.name ?? `trace ${id}`;
}

/** Changes the compared traces; choosing the other side's trace swaps them. */
export function compareTraces(a: number, b: number): void {
  const now = traces.peek();
  batch(() => {
    if (now && a === b) chosen.value = a === now.a ? `${now.b}.${now.a}` : `${b}.${a === now.b ? now.a : a}`;
    else chosen.value = `${a}.${b}`;
    rowA.value = "";
    rowB.value = "";
  });
}

export function swapSides(): void {
  const now = traces.peek();
  if (!now) return;
  batch(() => {
    chosen.value = `${now.b}.${now.a}`;
    const [a, b] = [rowA.value, rowB.value];
    rowA.value = b || a;
    rowB.value = b ? a : "";
  });
}

/** Which side the other views show; null: another trace than these two. */
export const shownSide = computed<"a" | "b" | null>(() => {
  const now = traces.value;
  if (!now) return null;
  return selection.value.trace === now.a ? "a" : selection.value.trace === now.b ? "b" : null;
});

/** The chosen op, by its name on either side. */
export const chosenRow = computed(() => (rowA.value ? { name: rowA.value, name_b: rowB.value || rowA.value } : null));

export function askPair(now: Traces, side: "a" | "b", token: number, abort?: AbortSignal): Promise<Pair> {
  const row = chosenRow.peek();
  return getJson<Pair>(
    ofTrace(now.a, "diff/pair"),
    { other: now.b, side, batch: token, name: row?.name, name_b: row?.name_b },
    abort,
  );
}

/** Why the last choice could not be carried over to the other views. */
export const choiceProblem = signal("");

/** Selects the op of the chosen row, in that token of that side, in all views. */
async function selectOp(side: "a" | "b", token: number | null, layer: number | null): Promise<void> {
  const now = traces.peek();
  const row = chosenRow.peek();
  choiceProblem.value = "";
  if (!now) return;
  if (token === null || !row) {
    select({ trace: now[side], layer, op: null, tensor: null });
    return;
  }
  try {
    const other = side === "a" ? "b" : "a";
    const found = await askPair(now, side, token);
    const op = found[side]?.op ?? null;
    if (chosenRow.peek()?.name !== row.name) return;
    if (!op && found[other]?.op) choiceProblem.value = `${side.toUpperCase()} has no such op in this token`;
    select({ trace: now[side], token, layer, op: op && { run: op.run, node: op.node }, tensor: op?.tensor ?? null });
  } catch (reason) {
    choiceProblem.value = reason instanceof Error ? reason.message : String(reason);
    select({ trace: now[side], layer, op: null, tensor: null });
  }
}

/** Selects an op's row. `token` is shown if none is selected. */
export function chooseRow(row: Row, token: number | null): void {
  const side = shownSide.peek() ?? "a";
  batch(() => {
    rowA.value = row.name ?? "";
    rowB.value = row.name_b ?? "";
  });
  void selectOp(side, selection.peek().token ?? token, row.layer_id ?? null);
}

/** Selects an op at a clicked position; its weight is requested. */
export async function chooseOp(
  side: "a" | "b",
  token: number,
  what: { name: string; layer: number | null; op: OpRef },
): Promise<void> {
  const now = traces.peek();
  if (!now) return;
  batch(() => {
    rowA.value = what.name;
    rowB.value = "";
    select({ trace: now[side], token, layer: what.layer, op: what.op, tensor: null });
  });
  try {
    const found = (await askPair(now, side, token))[side]?.op;
    const still = selection.peek().op;
    if (found?.tensor && still?.run === what.op.run && still.node === what.op.node) select({ tensor: found.tensor }, true);
  } catch (reason) {
    choiceProblem.value = reason instanceof Error ? reason.message : String(reason);
  }
}

/** Shows the other trace in the other views, at the corresponding token and op. */
export async function showSide(side: "a" | "b"): Promise<void> {
  const now = traces.peek();
  const from = shownSide.peek();
  const { token, layer } = selection.peek();
  if (!now || from === side) return;
  let there = token;
  if (from && token !== null) {
    try {
      there = (await askPair(now, from, token))[side]?.batch_id ?? null;
    } catch {
      there = null;
    }
  }
  // Times, ops and regions are those of one trace.
  select({ trace: now[side], token: there, time: null, op: null, region: null });
  if (chosenRow.peek()) await selectOp(side, there, layer);
}
