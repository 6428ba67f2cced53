// All state of the page is in the location's fragment: a copied address shows the same thing, a
// reload restores it. The fragment never reaches the server.

import { batch, effect, signal, type Signal } from "@preact/signals";

const params = new Map<string, Signal<string | null>>();
let applying = false;
let timer: ReturnType<typeof setTimeout> | undefined;
let changed_ms = 0;
let wantsEntry = false;
let entryWaits = false;
// Browsers refuse more than some 100 changes of the address in 30 s, and 200 entries in 10 s, and
// each costs some milliseconds: they are throttled during movements and held keys.
const STILL_MS = 300;
const MOVING_MS = 2000;
const ENTRY_GAP_MS = 80;
let entry_ms = -Infinity;
/** The address that was read or written last. */
let known = location.hash;

function fragment(): URLSearchParams {
  return new URLSearchParams(location.hash.replace(/^#/, ""));
}

/** What the page was opened with, or reloaded. */
export const openedWith: { get(name: string): string | null; has(name: string): boolean } = fragment();

/** A parameter of the fragment as a signal; null when it is not there. One signal a name. */
export function rawParam(name: string): Signal<string | null> {
  let param = params.get(name);
  if (param) return param;
  param = signal(fragment().get(name));
  params.set(name, param);
  let first = true;
  const watched = param;
  effect(() => {
    watched.value;
    if (!first && !applying) schedule();
    first = false;
  });
  return param;
}

/** The same with a default that is not written into the address. */
export function urlParam(name: string, otherwise: string): { value: string } {
  const raw = rawParam(name);
  return {
    get value() {
      return raw.value ?? otherwise;
    },
    set value(v: string) {
      raw.value = v === otherwise ? null : v;
    },
  };
}

/** The next change of the address makes one history entry. Earlier changes that are not yet written
 * belong to the entry before. */
export function makeHistoryEntry(): void {
  if (timer !== undefined && !wantsEntry) write();
  wantsEntry = true;
}

function schedule(): void {
  const now = performance.now();
  // An entry waits for the one before it, and no change that follows puts it off.
  if (timer !== undefined && wantsEntry && entryWaits) return;
  if (timer === undefined) changed_ms = now;
  clearTimeout(timer);
  entryWaits = wantsEntry;
  const wait = wantsEntry ? entry_ms + ENTRY_GAP_MS - now : Math.min(STILL_MS, changed_ms + MOVING_MS - now);
  timer = setTimeout(write, Math.max(0, wait));
}

function write(): void {
  clearTimeout(timer);
  timer = undefined;
  entryWaits = false;
  const next = fragment();
  for (const [name, param] of params) {
    if (param.value === null) next.delete(name);
    else next.set(name, param.value);
  }
  const hash = "#" + next.toString();
  if (hash === (location.hash || "#")) return;
  known = hash;
  if (wantsEntry) {
    history.pushState(null, "", hash);
    entry_ms = performance.now();
  } else history.replaceState(null, "", hash);
  wantsEntry = false;
}

/** An address that is set makes two events: what follows from the first reading is not undone by a second. */
function read(): void {
  if (location.hash === known) return;
  known = location.hash;
  const now = fragment();
  applying = true;
  batch(() => {
    for (const [name, param] of params) param.value = now.get(name);
  });
  applying = false;
}

addEventListener("popstate", read);
addEventListener("hashchange", read);
addEventListener("pagehide", () => {
  if (timer !== undefined) write();
});
