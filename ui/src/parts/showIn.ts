// Items of a context menu for something that can be selected: where to look at it.

import { select, type Selection } from "../state/selection";
import { showView } from "../state/view";
import { VIEWS } from "../views/all";
import type { MenuItem } from "./ContextMenu";

/** Selects it and shows a view; views: their ids. */
export function showIn(patch: Partial<Selection>, views: readonly string[]): MenuItem[] {
  return VIEWS.filter((v) => views.includes(v.id)).map((v) => ({
    title: `Show in ${v.title}`,
    run: () => {
      select(patch);
      showView(v.id);
    },
  }));
}
