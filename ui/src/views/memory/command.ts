// The command that prints what this view shows.

import { layerOptions, option, pathOf, viewCommands, type CommandWords } from "../../state/command";
import { selectedLayer, selectedToken, selectedTrace } from "../../state/selection";
import { timeAxis } from "../../state/timeWindow";
import { metric, tokensShown } from "./data";
import { mode } from "./mode";
import { pagedOf } from "./pages";
import { byShown, whatShown } from "./tokens";

const HEAT_SORT: Record<string, string> = { accesses: "accesses", bytes: "read_bytes", time: "time_ns", recency: "last_relative_ns" };

/** The legend's figures of the whole run; of a part of it its ops in order, which are all that takes a time. */
function pathWords(file: string): CommandWords {
  const { extent, target } = timeAxis;
  if (target.from <= extent.from && target.to >= extent.to) return ["heat", file, "--count-copies-as-file"];
  return ["log", file, "--from", `${Math.round(target.from)}ns`, "--to", `${Math.round(target.to)}ns`];
}

/** The selected token's row; else the sums over all tokens. */
function tokensWords(file: string): CommandWords {
  const by = byShown();
  const what = whatShown();
  const batch = option("batch", selectedToken.value);
  const layer = selectedLayer.value;
  const ofLayer = by === "expert" && layer !== null && layer >= 0 ? layerOptions(layer) : [];
  if (what === "faults") return ["faults", file, "--by", by === "layer" ? "layer" : "tensor", ...batch, ...ofLayer];
  return ["heat", file, "--by", by === "file" ? "tensor" : by, ...batch, ...ofLayer, "--sort", what];
}

function memoryWords(): CommandWords {
  if (mode.value === "path") return pathWords(pathOf(selectedTrace.value));
  if (mode.value === "tokens") return tokensWords(pathOf(selectedTrace.value));
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
