// How much room the window has.

import { signal } from "@preact/signals";

const query = matchMedia("(max-width: 900px)");

/** As on a phone: one view at a time, and the inspector below it. The sheets ask the same. */
export const isNarrow = signal(query.matches);
query.addEventListener("change", () => (isNarrow.value = query.matches));
