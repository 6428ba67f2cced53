// The page's title: which trace, which view. Of several open pages it is all one sees.

import { effect } from "@preact/signals";
import { plainName } from "../draw/format";
import { summary } from "./trace";
import { shownView } from "./view";

/** Called once. */
export function startTitle(): void {
  effect(() => {
    const view = shownView.value;
    const name = summary.value?.name;
    document.title = name ? `${plainName(name)} · ${view.title} · tensortrace` : "tensortrace";
  });
}
