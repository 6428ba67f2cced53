// What was selected when it was last in view: what another view selects after that is brought into view, once.

import type { Selection } from "../../state/selection";
import { openedWith } from "../../state/url";

interface Seen {
  readonly op: string | null;
  readonly tensor: string | null;
  readonly layer: string | null;
}

function ofAddress(): Seen {
  // An address with a place in the graph shows that place.
  const kept = openedWith.get("view") === "graph" && openedWith.has("graph.at");
  const get = (name: string) => (kept ? openedWith.get(name) : null);
  return { op: get("op"), tensor: get("tensor"), layer: get("layer") };
}

let seen = ofAddress();

export function noteSeen(s: Selection): void {
  seen = {
    op: s.op && `${s.op.run}.${s.op.node}`,
    tensor: s.tensor,
    layer: s.layer === null ? null : String(s.layer),
  };
}

/** Whether there is something new to bring: stepping to another token only takes the op away. */
export function isUnseen(s: Selection): boolean {
  if (s.op) return seen.op !== `${s.op.run}.${s.op.node}`;
  if (s.tensor !== null) return seen.tensor !== s.tensor;
  return s.layer !== null && seen.layer !== String(s.layer);
}
