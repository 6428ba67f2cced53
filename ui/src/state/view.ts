// Which view is shown.

import { computed } from "@preact/signals";
import { VIEWS } from "../views/all";
import { makeHistoryEntry, rawParam } from "./url";

const wanted = rawParam("view");

/** The shown view: the one in the address, or the first one. */
export const shownView = computed(() => VIEWS.find((v) => v.id === wanted.value) ?? VIEWS[0]!);

/** Its id. */
export function currentView(): string {
  return shownView.value.id;
}

export function showView(id: string): void {
  if (currentView() === id) return;
  makeHistoryEntry();
  wanted.value = id === VIEWS[0]!.id ? null : id;
}
