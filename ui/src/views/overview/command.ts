// The command that prints what this view shows.

import { layerWord, option, pathOf, viewCommands, type CommandWords } from "../../state/command";
import { selectedTrace, selection } from "../../state/selection";

function overviewWords(): CommandWords {
  const { token, layer } = selection.value;
  return ["why", pathOf(selectedTrace.value), ...option("batch", token), ...option("layer", layerWord(layer))];
}

viewCommands.set("overview", overviewWords);
