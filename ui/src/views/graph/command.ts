// The command that prints what this view shows.

import { layerOptions, option, pathOf, viewCommands, type CommandWords } from "../../state/command";
import { selectedTrace, selection } from "../../state/selection";

function graphWords(): CommandWords {
  const { token, layer } = selection.value;
  return ["graph", pathOf(selectedTrace.value), ...option("batch", token), ...layerOptions(layer)];
}

viewCommands.set("graph", graphWords);
