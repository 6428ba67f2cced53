// The command that prints what this view shows.

import { option, pathOf, viewCommands, type CommandWords } from "../../state/command";
import { selectedTrace } from "../../state/selection";
import { metric, tokensShown } from "./data";
import { pagedOf } from "./pages";

const HEAT_SORT: Record<string, string> = { accesses: "accesses", bytes: "read_bytes", time: "time_ns", recency: "last_ns" };

function memoryWords(): CommandWords {
  const tokens = tokensShown.value;
  const batch = option("batch", tokens && (tokens[0] < tokens[1] ? `${tokens[0]}..${tokens[1]}` : tokens[1]));
  const file = pathOf(selectedTrace.value);
  const shown = metric.value;
  if (shown === "residency") return ["faults", file, "--residency", ...batch];
  if (shown === "faults") return ["faults", file, ...batch];
  const paged = pagedOf(shown);
  if (paged) return ["faults", file, paged === "loading" ? "--loading" : "--pages", ...(paged === "loading" ? [] : batch)];
  return ["heat", file, ...batch, ...option("sort", HEAT_SORT[shown])];
}

viewCommands.set("memory", memoryWords);
