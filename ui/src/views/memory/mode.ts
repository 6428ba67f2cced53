// Which picture the memory view shows.

import { computed } from "@preact/signals";
import { announce } from "../../parts/announce";
import { urlParam } from "../../state/url";

export type Mode = "map" | "path" | "tokens";

export const MODES: readonly { readonly id: Mode; readonly title: string; readonly about: string }[] = [
  { id: "map", title: "Map", about: "The bytes of the file and of the buffers, by layer" },
  { id: "path", title: "Path", about: "The order of the reads: time across, file offset up" },
  { id: "tokens", title: "Tokens", about: "What each token read: a row for each" },
];

const param = urlParam("memory_as", "map");
export const mode = computed<Mode>(() => MODES.find((m) => m.id === param.value)?.id ?? "map");

export function showMode(to: Mode): void {
  param.value = to;
  announce(MODES.find((m) => m.id === to)!.about);
}
