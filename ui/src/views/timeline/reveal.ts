// Scrolls to the selection when it was made elsewhere: in another view, by the scrubber.

import { effect, untracked } from "@preact/signals";
import { selection } from "../../state/selection";
import { summary } from "../../state/trace";
import { intervalOf } from "./interval";
import { hasExtent, timeAxis } from "../../state/timeWindow";

function keyOf(): string {
  const { trace, op, token, time } = selection.value;
  return JSON.stringify([trace, op, token, time]);
}

/** The selection at the last check. The page's address may hold both a selection and a range: that
 * is not a change. */
let seen: string | null = null;

async function reveal(key: string): Promise<void> {
  const interval = await intervalOf(selection.peek());
  if (!interval || key !== seen) return;
  const { from, to } = timeAxis.target;
  if (interval[1] < from || interval[0] > to) timeAxis.centre(interval[0], interval[1]);
}

/** Follows the selection while the timeline is shown; stops when the returned function is
 * called. */
export function followSelection(): () => void {
  return effect(() => {
    const key = keyOf();
    if (!summary.value || !hasExtent.value) return;
    const first = seen === null;
    if (key === seen) return;
    seen = key;
    if (!first) untracked(() => void reveal(key));
  });
}
