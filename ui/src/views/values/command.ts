// The command that prints what this view shows.

import { layerOptions, option, pathOf, viewCommands, type CommandWords } from "../../state/command";
import { selectedTrace, selection } from "../../state/selection";
import { place } from "./state";

function valuesWords(): CommandWords {
  const { token, layer } = selection.value;
  const file = pathOf(selectedTrace.value);
  if (token === null && layer === null) return ["values", file, "--growth", ...option("base-name", place())];
  return ["values", file, ...option("batch", token), ...layerOptions(layer)];
}

viewCommands.set("values", valuesWords);
