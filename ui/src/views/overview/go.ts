// Where a finding leads: what it names is selected, and its view shown.

import { select, type Selection } from "../../state/selection";
import { summary } from "../../state/trace";
import { showView } from "../../state/view";
import { selectLanes } from "../../state/timelineLanes";
import { rawParam } from "../../state/url";
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

/** What a view is to show of a kind of finding: parameters of the address. */
const SHOWN: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  "memory disk": { memory_as: "map", memory_by: "faults" },
  "experts cold_experts": { experts_of: "all", experts_by: "count", experts_show: "matrix" },
  "values nan": { values_by: "bad" },
};

export function follow(f: Finding): void {
  for (const [name, value] of Object.entries(SHOWN[`${f.view} ${f.kind}`] ?? {})) rawParam(name).value = value;
  select(selectionOf(f.select ?? {}));
  const lane = f.select?.lane ?? null;
  if (lane !== null) selectLanes([`lane${lane}`]);
  if (f.view !== null) showView(f.view);
}
