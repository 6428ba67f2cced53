// Which views are shown: one, or two or three beside each other. Keys go to the focused one, which is
// "the" view for tabs, title and links.

import { computed } from "@preact/signals";
import { VIEWS } from "../views/all";
import type { ViewEntry } from "../views/module";
import { isNarrow } from "./screen";
import { makeHistoryEntry, rawParam } from "./url";

export const PANES_MOST = 3;
/** Of the width of all panes. */
export const PANE_LEAST = 0.15;

const wanted = rawParam("view");
const panesParam = rawParam("panes");
const splitParam = rawParam("split");

function viewOf(id: string | null | undefined): ViewEntry | undefined {
  return VIEWS.find((v) => v.id === id);
}

/** The panes of the address; a single one is no panes. */
const asked = computed<readonly ViewEntry[]>(() => {
  const ids = [...new Set(panesParam.value?.split(",") ?? [])];
  const views = ids.flatMap((id) => viewOf(id) ?? []).slice(0, PANES_MOST);
  return views.length > 1 ? views : [];
});

/** The focused view: the one in the address, or the first one. */
export const shownView = computed(() => {
  const view = viewOf(wanted.value);
  const panes = asked.value;
  if (panes.length > 0 && !(view && panes.includes(view))) return panes[0]!;
  return view ?? VIEWS[0]!;
});

/** All that are shown, from the left. A narrow window has room for the focused one only. */
export const panes = computed<readonly ViewEntry[]>(() =>
  asked.value.length > 0 && !isNarrow.value ? asked.value : [shownView.value],
);

/** Where each pane ends, as a share of the width; the last one's is 1. */
export const paneEnds = computed<readonly number[]>(() => {
  const n = panes.value.length;
  const given = (splitParam.value ?? "").split(",").map(Number);
  const fit = given.length === n - 1 && [...given, 1].every((end, i) => end - (given[i - 1] ?? 0) > PANE_LEAST - 0.01);
  return fit ? [...given, 1] : Array.from({ length: n }, (_, i) => (i + 1) / n);
});

/** The id of the focused view. */
export function currentView(): string {
  return shownView.value.id;
}

function put(id: string): void {
  wanted.value = id === VIEWS[0]!.id ? null : id;
}

/** Shows it in place of the focused one, or focuses its pane. */
export function showView(id: string): void {
  const shown = currentView();
  if (shown === id) return;
  makeHistoryEntry();
  const list = asked.peek().map((v) => v.id);
  if (list.length > 0 && !list.includes(id)) panesParam.value = list.map((each) => (each === shown ? id : each)).join(",");
  put(id);
}

/** Keys go to that pane; no entry of the history. */
export function focusPane(id: string): void {
  if (currentView() !== id && panes.peek().some((v) => v.id === id)) put(id);
}

/** To the next pane. */
export function nextPane(by: 1 | -1): void {
  const list = panes.peek();
  const at = list.indexOf(shownView.peek());
  put(list[(at + by + list.length) % list.length]!.id);
}

/** Shows another view beside the others; it takes the place of the last one when there are enough. */
export function showBeside(id: string): void {
  const list = asked.peek().length > 0 ? asked.peek().map((v) => v.id) : [currentView()];
  makeHistoryEntry();
  if (!list.includes(id)) {
    panesParam.value = [...list.slice(0, PANES_MOST - 1), id].join(",");
    splitParam.value = null;
  }
  put(id);
}

/** What is added first. */
const COMPANIONS = ["memory", "log", "graph", "timeline"];

/** So many views beside each other: others join the focused one, or leave. */
export function setPaneCount(n: number): void {
  const shown = currentView();
  const list = asked.peek().length > 0 ? asked.peek().map((v) => v.id) : [shown];
  const wish = Math.min(PANES_MOST, Math.max(1, n));
  for (const id of COMPANIONS) if (list.length < wish && !list.includes(id)) list.push(id);
  while (list.length > wish) list.splice(list.at(-1) === shown ? list.length - 2 : list.length - 1, 1);
  showPanes(list);
}

/** These and no others. */
export function showPanes(ids: readonly string[]): void {
  makeHistoryEntry();
  panesParam.value = ids.length > 1 ? ids.join(",") : null;
  splitParam.value = null;
  if (!ids.includes(currentView())) put(ids[0]!);
}

export function closePane(id: string): void {
  const list = asked.peek().map((v) => v.id);
  const at = list.indexOf(id);
  if (at < 0) return;
  makeHistoryEntry();
  list.splice(at, 1);
  panesParam.value = list.length > 1 ? list.join(",") : null;
  splitParam.value = null;
  if (currentView() === id || list.length === 1) put(list[Math.min(at, list.length - 1)]!);
}

/** Another view in that pane; the one that shows it already comes here from there. */
export function changePane(from: string, to: string): void {
  const swap = (id: string) => (id === from ? to : id === to ? from : id);
  makeHistoryEntry();
  panesParam.value = asked.peek().map((v) => swap(v.id)).join(",");
  put(to);
}

/** Exchanges it with its neighbour. */
export function movePane(id: string, by: 1 | -1): void {
  const list = asked.peek().map((v) => v.id);
  const other = list[list.indexOf(id) + by];
  if (other === undefined) return;
  const keep = currentView();
  changePane(id, other);
  put(keep);
}

/** Moves the right edge of the i-th pane; a share of the whole width. */
export function resizePane(i: number, end: number): void {
  const ends = [...paneEnds.peek()];
  const least = (ends[i - 1] ?? 0) + PANE_LEAST;
  const most = ends[i + 1]! - PANE_LEAST;
  ends[i] = Math.min(most, Math.max(least, end));
  splitParam.value = ends.slice(0, -1).map((each) => each.toFixed(3)).join(",");
}
