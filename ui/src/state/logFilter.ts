// The log's filter in the address.

import { termsText, type Term } from "./logTerms";
import { urlParam } from "./url";

export const filterText = urlParam("log", "");

export function setLogFilter(terms: readonly Term[]): void {
  filterText.value = termsText(terms);
}
