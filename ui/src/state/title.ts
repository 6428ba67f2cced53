// The page's title: which trace, which view. Of several open pages it is all one sees.

import { effect } from "@preact/signals";
import { plainName } from "../draw/format";
import { VIEWS } from "../views/all";
import { summary } from "./trace";
import { currentView } from "./view";

/** Called once. */
export function startTitle(): void {
  effect(() => {
    const view = VIEWS.find((v) => v.id === currentView()) ?? VIEWS[0]!;
    const name = summary.value?.name;
    document.title = name ? `${plainName(name)} · ${view.title} · tensortrace` : "tensortrace";
  });
}
