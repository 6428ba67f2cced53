// The log's filter in the address, for whoever sets one.

import { announce } from "../../parts/announce";
import { urlParam } from "../../state/url";
import { showView } from "../../state/view";
import { termsOf, termsText, withTerm, type Term } from "./terms";

export const filterText = urlParam("log", "");

export function setLogFilter(terms: readonly Term[]): void {
  filterText.value = termsText(terms);
}

/** Adds filters, and shows the log. */
export function filterLog(terms: readonly Term[]): void {
  showView("log");
  setLogFilter(terms.reduce<Term[]>((all, term) => withTerm(all, term), termsOf(filterText.value)));
  announce(`Filtered by ${termsText(terms)}`);
}
