// The context menu of an op, a tensor, a layer or a token, wherever it is drawn.

import { filterText, setLogFilter } from "../state/logFilter";
import { literal, termsOf, termsText, termText, withTerm, type Term } from "../state/logTerms";
import type { Selection } from "../state/selection";
import { currentView, showView } from "../state/view";
import { announce } from "./announce";
import { copy } from "./clipboard";
import type { MenuItem, MenuItems } from "./ContextMenu";
import { showIn } from "./showIn";

export interface Thing {
  readonly name: string;
  /** What selects it. */
  readonly patch: Partial<Selection>;
  /** Each is one item; texts that repeat are left out. */
  readonly terms: readonly (Term | null)[];
  /** Ids of the views that show it; the one in which it is asked for is left out. */
  readonly views: readonly string[];
}

/** A filter of the log; null for what is not known. */
export function termFor(key: Term["key"], value: string | number | null | undefined): Term | null {
  return value === null || value === undefined ? null : { key, value: String(value), sign: ":" };
}

/** Of a tensor, or of one of its experts. */
export function tensorTerm(name: string | null, expert: number | null = null): Term | null {
  return name === null ? null : termFor("tensor", literal(name) + (expert === null ? "" : `[${expert}]`));
}

/** Adds filters, and shows the log. */
export function filterLog(terms: readonly Term[]): void {
  showView("log");
  setLogFilter(terms.reduce<Term[]>((all, term) => withTerm(all, term), termsOf(filterText.value)));
  announce(`Filtered by ${termsText(terms)}`);
}

/** Filters first, then the other views, then its name. */
export function menuOfThing(thing: Thing): MenuItems {
  const verb = currentView() === "log" ? "Filter by" : "Filter the log by";
  const texts = new Map<string, Term>();
  for (const term of thing.terms) if (term && !texts.has(termText(term))) texts.set(termText(term), term);
  const filters: MenuItem[] = [...texts].map(([text, term]) => ({ title: `${verb} ${text}`, run: () => filterLog([term]) }));
  const views = thing.views.filter((v) => v !== currentView());
  return [filters, showIn(thing.patch, views), [{ title: `Copy name ${thing.name}`, run: () => void copy(thing.name, "name.txt", thing.name) }]];
}
