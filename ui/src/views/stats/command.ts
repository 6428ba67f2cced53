// The command that prints what this view shows.

import { layerOptions, option, pathOf, viewCommands, type CommandWords } from "../../state/command";
import { selectedTrace, selection } from "../../state/selection";
import { literal } from "../../state/logTerms";
import { dimension, opFilter, phaseFilter, sorting } from "./state";

function statsWords(): CommandWords {
  const { token, layer, tensor } = selection.value;
  const by = dimension().id;
  const { id, descending } = sorting();
  const own = (name: string) => name === by;
  return [
    "stats", pathOf(selectedTrace.value), ...option("by", by),
    ...option("batch", own("batch") ? null : token),
    ...layerOptions(own("layer") || own("tensor") ? null : layer),
    ...option("tensor", own("layer") || own("tensor") || tensor === null ? null : literal(tensor)),
    ...option("op", own("op") ? null : opFilter.value), ...option("phase", own("phase") ? null : phaseFilter.value),
    ...option("sort", id === "key" || !descending ? null : id),
  ];
}

viewCommands.set("stats", statsWords);
