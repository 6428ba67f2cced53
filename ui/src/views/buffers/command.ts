// The command that prints what this view shows.

import { pathOf, viewCommands, type CommandWords } from "../../state/command";
import { selectedTrace } from "../../state/selection";

function buffersWords(): CommandWords {
  return ["buffers", pathOf(selectedTrace.value), "--timeline"];
}

viewCommands.set("buffers", buffersWords);
