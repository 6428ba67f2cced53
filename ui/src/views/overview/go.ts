// Where a finding leads: what it names is selected, and its view shown.

import { select, type Selection } from "../../state/selection";
import { summary } from "../../state/trace";
import { showView } from "../../state/view";
import { selectLanes } from "../../state/timelineLanes";
import { VIEWS } from "../all";
import type { Finding, Selects } from "./answer";

/** Exactly that is selected afterwards. */
function selectionOf(s: Partial<Selects>): Partial<Selection> {
  const run = s.run ?? null;
  const node = s.node ?? null;
  const all = summary.value;
  // A lane is selected for a time.
  const time = s.lane != null && all ? ([all.start_relative_ns, all.end_relative_ns] as const) : null;
  return {
    token: s.batch_id ?? null,
    layer: s.layer_id ?? null,
    tensor: s.tensor ?? null,
    op: run !== null && node !== null ? { run, node } : null,
    region: null,
    time,
  };
}

export function titleOf(view: string): string {
  return VIEWS.find((v) => v.id === view)?.title ?? view;
}

/** Whether a click on it does something. */
export function leadsSomewhere(f: Finding): boolean {
  return f.view !== null || Object.values(f.select ?? {}).some((value) => value !== null);
}

export function follow(f: Finding): void {
  select(selectionOf(f.select ?? {}));
  const lane = f.select?.lane ?? null;
  if (lane !== null) selectLanes([`lane${lane}`]);
  if (f.view !== null) showView(f.view);
}
