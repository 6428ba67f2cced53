// The second token, which the selected one is compared with: its strip below the lanes begins where
// the selected token begins, on the same scale.

import { computed } from "@preact/signals";
import type { Range } from "../../draw/axis";
import { otherToken, selectedToken } from "../../state/selection";
import { summary, tokenStretch } from "../../state/trace";
import type { Pen } from "./pen";

export interface Other extends Range {
  /** The batch's number. */
  readonly token: number;
  /** The one it begins with. */
  readonly beside: number;
  /** Added to its times, they are those of the axis. */
  readonly shift_ns: number;
}

/** null: no token is compared, or one of the two has no time. */
export const other = computed<Other | null>(() => {
  void summary.value;
  const [token, beside] = [otherToken.value, selectedToken.value];
  const its = tokenStretch(token);
  const first = tokenStretch(beside);
  if (token === null || beside === null || !its || !first || its[0] >= its[1]) return null;
  return { token, beside, from: its[0], to: its[1], shift_ns: first[0] - its[0] };
});

/** The part of it that is seen in a range of the axis, in its own times; null: none. */
export function otherPart(o: Other, range: Range): Range | null {
  const from = Math.max(o.from, range.from - o.shift_ns);
  const to = Math.min(o.to, range.to - o.shift_ns);
  return from < to ? { from, to } : null;
}

/** A pen that takes its times. */
export function otherPen(pen: Pen, o: Other): Pen {
  return {
    ...pen,
    range: { from: pen.range.from - o.shift_ns, to: pen.range.to - o.shift_ns },
    pointer_ns: pen.pointer_ns === null ? null : pen.pointer_ns - o.shift_ns,
    x: (ns) => pen.x(ns + o.shift_ns),
  };
}

/** Where an interval of that token is on the axis. */
export function onAxis(token: number | null, from: number, to: number): readonly [number, number] {
  const o = other.peek();
  const shift_ns = o && token === o.token ? o.shift_ns : 0;
  return [from + shift_ns, to + shift_ns];
}
