// Announcements for screen readers: one live region for the whole page.

import { signal } from "@preact/signals";

export const announcement = signal("");
let timer: ReturnType<typeof setTimeout> | undefined;

/** Within this callback a view's own announcement replaces the common one. */
const OWN_WORDS_MS = 150;
let own_ms = -Infinity;

/** Announces after a short pause without newer messages: holding a key announces only the end. */
export function announce(text: string): void {
  own_ms = performance.now();
  say(text);
}

/** Announces a selection made anywhere, unless the view has just announced it in more detail. */
export function announceCommon(text: string): void {
  if (performance.now() - own_ms > OWN_WORDS_MS) say(text);
}

function say(text: string): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    announcement.value = text;
  }, 200);
}
