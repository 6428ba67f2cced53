// Which view is shown.

import { makeHistoryEntry, urlParam } from "./url";

const shown = urlParam("view", "memory");

/** The id of the view in the address; the shell shows the first one for an unknown id. */
export function currentView(): string {
  return shown.value;
}

export function showView(id: string): void {
  if (shown.value === id) return;
  makeHistoryEntry();
  shown.value = id;
}
