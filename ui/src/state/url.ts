// All state of the page is in the location's fragment: a copied address shows the same thing, a
// reload restores it. The fragment never reaches the server.

import { batch, effect, signal, type Signal } from "@preact/signals";

const params = new Map<string, Signal<string | null>>();
let applying = false;
let timer: ReturnType<typeof setTimeout> | undefined;
let changed_ms = 0;
let wantsEntry = false;

function fragment(): URLSearchParams {
  return new URLSearchParams(location.hash.replace(/^#/, ""));
}

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

/** The next change of the address makes an entry in the browser's history: Back undoes it. */
export function makeHistoryEntry(): void {
  wantsEntry = true;
}

/** Browsers refuse more than some 100 changes of the address in half a minute, and each costs some
 * milliseconds: while something moves there are few of them. */
const STILL_MS = 300;
const MOVING_MS = 2000;

function schedule(): void {
  const now = performance.now();
  if (timer === undefined) changed_ms = now;
  clearTimeout(timer);
  timer = setTimeout(write, wantsEntry ? 0 : Math.max(0, Math.min(STILL_MS, changed_ms + MOVING_MS - now)));
}

function write(): void {
  clearTimeout(timer);
  timer = undefined;
  const next = fragment();
  for (const [name, param] of params) {
    if (param.value === null) next.delete(name);
    else next.set(name, param.value);
  }
  const hash = "#" + next.toString();
  if (hash === (location.hash || "#")) return;
  if (wantsEntry) history.pushState(null, "", hash);
  else history.replaceState(null, "", hash);
  wantsEntry = false;
}

function read(): void {
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
