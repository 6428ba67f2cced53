// When the selection was.

import type { Selection } from "../../state/selection";
import { tokenStretch } from "../../state/trace";
import { opDetails } from "./op";

/** Range of the selected op; else of the time, else of the token; null: none. */
export async function intervalOf(s: Selection): Promise<readonly [number, number] | null> {
  if (s.op) {
    const d = await opDetails(s.op).catch(() => null);
    if (d) return [d.start_ns, d.end_ns ?? d.start_ns];
  }
  if (s.time) return s.time;
  return tokenStretch(s.token);
}
