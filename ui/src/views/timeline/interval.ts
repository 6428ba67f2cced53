// When the selection was.

import type { Selection } from "../../state/selection";
import { tokenStretch } from "../../state/trace";
import { opDetails } from "./op";
import { onAxis, other } from "./other";

/** Range of the selected op; else of the time, else of the token, and of the one below it; null: none. */
export async function intervalOf(s: Selection): Promise<readonly [number, number] | null> {
  if (s.op) {
    const d = await opDetails(s.op).catch(() => null);
    if (d) return onAxis(d.batch_id, d.start_relative_ns, d.end_relative_ns ?? d.start_relative_ns);
  }
  if (s.time) return s.time;
  const token = tokenStretch(s.token);
  const o = other.peek();
  return token && o ? [token[0], Math.max(token[1], o.to + o.shift_ns)] : token;
}
