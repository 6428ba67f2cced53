// The order of the log's rows: that of time, or the largest first by a measure. In the address:
// "duration", "duration~100" for the first hundred only.

import { urlParam } from "../../state/url";

/** By column: what the server calls it. */
export const ORDERS: Readonly<Record<string, string>> = {
  duration: "duration_ns",
  wait: "wait_ns",
  bytes: "weight_bytes",
  busy: "busy_ns",
  off_cpu: "off_cpu_ns",
};

const param = urlParam("sort", "");

export interface Order {
  /** The column; null: in the order of time. */
  readonly id: string | null;
  readonly most: number;
}

export function order(): Order {
  const [id = "", most] = param.value.split("~");
  if (!ORDERS[id]) return { id: null, most: Infinity };
  return { id, most: most && /^[1-9]\d{0,5}$/.test(most) ? Number(most) : Infinity };
}

export function setOrder(id: string | null, most = Infinity): void {
  param.value = id === null ? "" : most === Infinity ? id : `${id}~${most}`;
}

/** A header was pressed: the largest first, and at the second time back to the order of time. */
export function toggleOrder(id: string): void {
  setOrder(id === "start" || order().id === id ? null : id);
}
