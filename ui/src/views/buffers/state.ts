// State of the view Buffers.

import { Axis } from "../../draw/axis";
import { rawParam, urlParam } from "../../state/url";

/** One axis for the plot and the bars below it. */
export const axis = new Axis(1000);

/** Whether mappings of files are stacked, too. */
const mapped = urlParam("buffers_mapped", "1");
export function showsMapped(): boolean {
  return mapped.value === "1";
}
export function setMapped(on: boolean): void {
  mapped.value = on ? "1" : "0";
}

const momentParam = rawParam("buffers_at");

/** The moment that is looked at, in ns; null: the peak. */
export function momentAt(): number | null {
  const text = momentParam.value;
  return text !== null && /^-?\d{1,18}$/.test(text) ? Number(text) : null;
}

export function lookAt(ns: number | null): void {
  momentParam.value = ns === null ? null : String(Math.round(ns));
}
