// The command that prints what this view shows.

import { layerOptions, option, pathOf, viewCommands, type CommandWords } from "../../state/command";
import { selectedTrace, selection } from "../../state/selection";
import { timeAxis } from "../../state/timeWindow";

/** To the nanosecond. */
const moment = (ns: number) => `${Math.round(ns)}ns`;

function timelineWords(): CommandWords {
  const { token, time, layer } = selection.value;
  const { from, to } = timeAxis.target;
  const { extent } = timeAxis;
  const all = from <= extent.from && to >= extent.to;
  const range = time ?? (all || token !== null ? null : [from, to]);
  return [
    "log", pathOf(selectedTrace.value), "--lanes",
    ...option("batch", time ? null : token), ...layerOptions(layer),
    ...(range ? [...option("from", moment(range[0])), ...option("to", moment(range[1]))] : []),
  ];
}

viewCommands.set("timeline", timelineWords);
