// State of the view of values in the address; selects an output everywhere.

import { getJson, ofTrace } from "../../api/client";
import type { OfOp } from "../../api/values";
import { announce } from "../../parts/announce";
import { select, selectedTrace, selection } from "../../state/selection";
import { rawParam, urlParam } from "../../state/url";
import { MEASURES, type Measure } from "./measures";

const measureParam = urlParam("values_by", "rms");
const placeParam = rawParam("values_place");

export function measure(): Measure {
  return MEASURES.find((m) => m.id === measureParam.value) ?? MEASURES[0]!;
}
export function setMeasure(id: string): void {
  measureParam.value = id;
}

/** null: the server's default. */
export function place(): string | null {
  return placeParam.value;
}
export function setPlace(name: string | null): void {
  placeParam.value = name;
}

/** Where an output is: of a cell, of a row of a list. */
export interface Where {
  readonly run: number;
  readonly node: number;
  readonly token: number | null;
  readonly layer: number | null;
}

/** Selects the token, the layer and, once the server has found it, the op. */
export async function chooseOutput(where: Where, words: string): Promise<void> {
  const { run, node, token, layer } = where;
  select({ token, layer, op: null, tensor: null, region: null, time: null });
  announce(words);
  try {
    const found = await getJson<OfOp>(ofTrace(selectedTrace.peek(), "values/op"), { run, node });
    const now = selection.peek();
    if (found.op === null || now.op || now.token !== token || now.layer !== layer) return;
    select({ op: { run, node: found.op } }, true);
  } catch (reason) {
    announce(reason instanceof Error ? reason.message : String(reason));
  }
}
