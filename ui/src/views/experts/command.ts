// The command that prints what this view shows.

import { option, pathOf, viewCommands, type CommandWords } from "../../state/command";
import { selectedTrace, selection } from "../../state/selection";
import { keepPolicy, of, shown } from "./state";

function expertsWords(): CommandWords {
  const { layer, token } = selection.value;
  const part = of(token);
  if (shown() === "keep") return ["whatif", pathOf(selectedTrace.value), "--unit", "expert", "--warm", "--policy", keepPolicy().id, "--curve"];
  return ["routing", pathOf(selectedTrace.value), ...option("batch", part === "all" ? null : part === "token" ? token : `0..${token}`), ...(layer === null ? ["--matrix"] : option("layer", layer))];
}

viewCommands.set("experts", expertsWords);
