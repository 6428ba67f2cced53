// What a screen reader says aloud: one live region for the whole page.

import { signal } from "@preact/signals";

export const announcement = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;

/** Within this a view's own words stand against the common ones for the same act. */
const OWN_WORDS_MS = 150;
let own_ms = -Infinity;

/** Says it when nothing newer has come for a moment: who holds a key hears where it ended. */
export function announce(text: string): void {
  own_ms = performance.now();
  say(text);
}

/** What is said of a selection wherever it was made: a view that has just told of it knows more. */
export function announceCommon(text: string): void {
  if (performance.now() - own_ms > OWN_WORDS_MS) say(text);
}

function say(text: string): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    announcement.value = text;
  }, 200);
}
