// The command that prints what this view shows.

import { order, ORDERS } from "../../parts/log/order";
import { option, pathOf, viewCommands, type CommandWords } from "../../state/command";
import { selectedTrace } from "../../state/selection";
import { urlParam } from "../../state/url";
import { filterText } from "../../state/logFilter";
import { fault, termsOf, type Term } from "../../state/logTerms";

const lanesText = urlParam("lanes", "");

function termOptions(term: Term): string[] {
  const [from, to] = term.value.split("..") as [string, string | undefined];
  switch (term.key) {
    case "token":
      return option("batch", to === undefined ? from : `${from || 0}..${to}`);
    case "time":
      return [...option("from", from || null), ...option("to", (to ?? from) || null)];
    case "dur":
      return option(term.sign === ">" ? "min-duration" : "max-duration", term.value);
    default:
      return option(term.key, term.value);
  }
}

function logWords(): CommandWords {
  const terms = termsOf(filterText.value).filter((t) => !fault(t));
  const { id, most } = order();
  return [
    "log", pathOf(selectedTrace.value), ...terms.flatMap(termOptions), lanesText.value === "1" ? "--lanes" : null,
    ...option("sort", id && ORDERS[id]), ...option("limit", most === Infinity ? null : most),
  ];
}

viewCommands.set("log", logWords);
