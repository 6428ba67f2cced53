// Loads the code of the views: on demand, and the others when the page is idle.

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { VIEWS } from "./all";
import type { ViewEntry } from "./module";

const components = signal<ReadonlyMap<string, ComponentType>>(new Map());
const failures = signal<ReadonlyMap<string, Error>>(new Map());
const underWay = new Set<string>();

export interface LoadedView {
  /** null: not there yet. */
  readonly Component: ComponentType | null;
  readonly error: Error | null;
}

/** Loads the view's code unless it is loaded or loading. */
export async function fetchView(view: ViewEntry): Promise<void> {
  if (components.peek().has(view.id) || underWay.has(view.id)) return;
  underWay.add(view.id);
  try {
    const { Component } = await view.load();
    components.value = new Map(components.peek()).set(view.id, Component);
    const others = new Map(failures.peek());
    others.delete(view.id);
    failures.value = others;
  } catch {
    const error = new Error("the server does not answer; start `tensortrace serve` again");
    failures.value = new Map(failures.peek()).set(view.id, error);
  } finally {
    underWay.delete(view.id);
  }
}

export function loadedView(view: ViewEntry): LoadedView {
  return { Component: components.value.get(view.id) ?? null, error: failures.value.get(view.id) ?? null };
}

const IDLE_MS_MOST = 3000;
/** A page that waits for its first answers is idle, too. */
const FIRST_MS = 1500;

function whenIdle(run: () => void): void {
  if ("requestIdleCallback" in globalThis) requestIdleCallback(run, { timeout: IDLE_MS_MOST });
  else setTimeout(run, IDLE_MS_MOST);
}

let fetchingOthers = false;
let begun = false;

/** Sequentially, so that the shown view has priority. */
export function fetchOthersWhenIdle(): void {
  if (fetchingOthers) return;
  const next = VIEWS.find(
    ({ id }) => !components.peek().has(id) && !failures.peek().has(id) && !underWay.has(id),
  );
  if (!next) return;
  fetchingOthers = true;
  const fetchNext = () =>
    whenIdle(() => {
      void fetchView(next).then(() => {
        fetchingOthers = false;
        fetchOthersWhenIdle();
      });
    });
  if (begun) fetchNext();
  else setTimeout(fetchNext, FIRST_MS);
  begun = true;
}
