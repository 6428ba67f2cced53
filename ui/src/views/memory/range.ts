// The part of an axis that is shown, as shares of all of it: in the address, too.

import { effect } from "@preact/signals";
import { useEffect, useMemo } from "preact/hooks";
import { Axis, type Range } from "../../draw/axis";

/** No more of the axis can be zoomed away: a byte of a terabyte is still to be seen. */
const LEAST = 1e-9;
const ALL: Range = { from: 0, to: 1 };

function parse(text: string): Range {
  const [from, to] = text.split("~").map(Number);
  return from !== undefined && to !== undefined && from >= 0 && from < to && to <= 1 ? { from, to } : ALL;
}

export const isAll = (r: Range) => r.from <= 0 && r.to >= 1;

/** Follows the address, and is written into it. */
export function useRange(param: { value: string }, least = LEAST): Axis {
  const axis = useMemo(() => new Axis(least), []);
  useEffect(() => {
    let known: string | null = null;
    const stops = [
      effect(() => {
        const text = param.value;
        if (text === known) return;
        known = text;
        axis.go(parse(text), true);
      }),
      effect(() => {
        const r = axis.range.value;
        known = isAll(r) ? "" : `${r.from.toPrecision(10)}~${r.to.toPrecision(10)}`;
        param.value = known;
      }),
    ];
    return () => stops.forEach((stop) => stop());
  }, []);
  return axis;
}
