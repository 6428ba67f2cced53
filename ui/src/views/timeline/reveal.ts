// Keeps what is selected in view when it was selected elsewhere: in another view, by the scrubber.

import { effect, untracked } from "@preact/signals";
import { selection } from "../../state/selection";
import { summary } from "../../state/trace";
import { stretchOf } from "./stretch";
import { hasExtent, timeAxis } from "./window";

function keyOf(): string {
  const { trace, op, token, time } = selection.value;
  return JSON.stringify([trace, op, token, time]);
}

/** What was selected when the timeline looked last. The page's address may say both what is
 * selected and what is shown: that is not a change. */
let seen: string | null = null;

async function reveal(key: string): Promise<void> {
  const stretch = await stretchOf(selection.peek());
  if (!stretch || key !== seen) return;
  const { from, to } = timeAxis.target;
  if (stretch[1] < from || stretch[0] > to) timeAxis.centre(stretch[0], stretch[1]);
}

/** Follows the selection while the timeline is shown; stops when what is returned is called. */
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
