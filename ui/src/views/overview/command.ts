// The command that prints what this view shows.

import { layerOptions, option, pathOf, viewCommands, type CommandWords } from "../../state/command";
import { selectedTrace, selection } from "../../state/selection";

function overviewWords(): CommandWords {
  const { token, layer } = selection.value;
  return ["why", pathOf(selectedTrace.value), ...option("batch", token), ...layerOptions(layer)];
}

viewCommands.set("overview", overviewWords);
