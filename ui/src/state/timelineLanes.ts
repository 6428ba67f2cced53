// Lanes of a selected time range: in the address, beside the range itself.

import { computed, effect } from "@preact/signals";
import { selection } from "./selection";
import { rawParam } from "./url";

const lanes = rawParam("lanes");

/** Ids of rows; null: all lanes. */
export const selectedLanes = computed<ReadonlySet<string> | null>(() =>
  lanes.value ? new Set(lanes.value.split(",")) : null,
);

/** Their tracks, as the server takes them; null: all. */
export const selectedTracks = computed(() => {
  const list = lanes.value?.split(",").flatMap((id) => /^lane(\d{1,4})$/.exec(id)?.[1] ?? []) ?? [];
  return list.length ? list.join() : null;
});

export function selectLanes(ids: readonly string[] | null): void {
  lanes.value = ids?.join() ?? null;
}

/** Cleared without a range; stops when the returned function is called. */
export function followLanes(): () => void {
  return effect(() => {
    if (!selection.value.time) lanes.value = null;
  });
}
