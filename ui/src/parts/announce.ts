// What a screen reader says aloud: one live region for the whole page.

import { signal } from "@preact/signals";

export const announcement = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;

/** Says it when nothing newer has come for a moment: who holds a key hears where it ended. */
export function announce(text: string): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    announcement.value = text;
  }, 200);
}
