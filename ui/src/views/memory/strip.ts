// Whether the map stands in two lines above the other views.

import { urlParam } from "../../state/url";

const param = urlParam("strip", "0");

export function isStripShown(): boolean {
  return param.value === "1";
}

export function showStrip(on: boolean): void {
  param.value = on ? "1" : "0";
}
