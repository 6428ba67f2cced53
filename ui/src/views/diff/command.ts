// The command that prints what this view shows.

import { pathOf, viewCommands, type CommandWords } from "../../state/command";
import { selectedTrace } from "../../state/selection";
import { traces } from "./pair";

function diffWords(): CommandWords {
  const both = traces.value;
  return both ? ["diff", pathOf(both.a), pathOf(both.b)] : ["info", pathOf(selectedTrace.value)];
}

viewCommands.set("diff", diffWords);
