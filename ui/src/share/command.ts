// The command line that prints what the view shows.

import { selection, selectedTrace } from "../state/selection";
import { index } from "../state/trace";
import { urlParam } from "../state/url";
import { currentView } from "../state/view";
import { cumulative, metric } from "../views/memory/data";
import { pagedOf } from "../views/memory/pages";
import { keepPolicy, of as expertsOf, shown as expertsShown } from "../views/experts/state";
import { filterText } from "../views/log/filter";
import { order, ORDERS } from "../views/log/order";
import { fault, termsOf, timeText, type Term } from "../views/log/terms";
import { dimension, literal, opFilter, phaseFilter, sorting } from "../views/stats/state";
import { timeAxis } from "../views/timeline/window";
import { place } from "../views/values/state";
import { traces } from "../views/diff/pair";

/** As a POSIX shell reads it back to the letter; control characters, which a terminal would obey when it is pasted,
 * as $'...', which bash, zsh and ksh know. */
export function shellWord(text: string): string {
  if (/^[A-Za-z0-9_./:@%+,=-]+$/.test(text)) return text;
  if (!/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/.test(text)) return `'${text.replaceAll("'", "'\\''")}'`;
  const bytes = [...new TextEncoder().encode(text)];
  return `$'${bytes.map((b) => (b === 0x27 || b === 0x5c ? `\\${String.fromCharCode(b)}` : b >= 0x20 && b < 0x7f ? String.fromCharCode(b) : `\\x${b.toString(16).padStart(2, "0")}`)).join("")}'`;
}

/** The path as `serve` was given it; it must not be taken for an option. */
function pathOf(trace: number): string {
  const path = index.value?.traces.find((t) => t.id === trace)?.path ?? "FILE";
  return path.startsWith("-") ? `./${path}` : path;
}

type Words = (string | null)[];

function option(name: string, value: string | number | null | undefined): string[] {
  return value === null || value === undefined ? [] : [`--${name}`, String(value)];
}

/** A layer's number as commands take it. */
function layerWord(layer: number | null): string | null {
  return layer === null ? null : layer < 0 ? "none" : String(layer);
}

function termOptions(term: Term): string[] {
  const [from, to] = term.value.split("..") as [string, string | undefined];
  switch (term.key) {
    case "token":
      return option("batch", to === undefined ? from : `${from || 0}..${to}`);
    case "time":
      return [...option("from", from || null), ...option("to", (to ?? from) || null)];
    case "dur":
      return option(term.sign === ">" ? "min-duration" : "max-duration", term.value);
    default:
      return option(term.key, term.value);
  }
}

const lanesText = urlParam("lanes", "");

function logWords(): Words {
  const terms = termsOf(filterText.value).filter((t) => !fault(t));
  const { id, most } = order();
  return [
    "log", pathOf(selectedTrace.value), ...terms.flatMap(termOptions), lanesText.value === "1" ? "--lanes" : null,
    ...option("sort", id && ORDERS[id]), ...option("limit", most === Infinity ? null : most),
  ];
}

function timelineWords(): Words {
  const { token, time, layer } = selection.value;
  const { from, to } = timeAxis.target;
  const { extent } = timeAxis;
  const all = from <= extent.from && to >= extent.to;
  const range = time ?? (all || token !== null ? null : [from, to]);
  return [
    "log", pathOf(selectedTrace.value), "--lanes",
    ...option("batch", time ? null : token), ...option("layer", layerWord(layer)),
    ...(range ? [...option("from", timeText(Math.round(range[0]))), ...option("to", timeText(Math.round(range[1])))] : []),
  ];
}

const HEAT_SORT: Record<string, string> = { accesses: "accesses", bytes: "read_bytes", time: "time_ns", recency: "last_ns" };

function memoryWords(): Words {
  const { token } = selection.value;
  const batch = option("batch", token === null ? null : cumulative.value && token > 0 ? `0..${token}` : token);
  const file = pathOf(selectedTrace.value);
  const shown = metric.value;
  if (shown === "residency") return ["faults", file, "--residency", ...batch];
  if (shown === "faults") return ["faults", file, ...batch];
  const paged = pagedOf(shown);
  if (paged) return ["faults", file, paged === "loading" ? "--loading" : "--pages", ...(paged === "loading" ? [] : batch)];
  return ["heat", file, ...batch, ...option("sort", HEAT_SORT[shown])];
}

function statsWords(): Words {
  const { token, layer, tensor } = selection.value;
  const by = dimension().id;
  const { id, descending } = sorting();
  const own = (name: string) => name === by;
  return [
    "stats", pathOf(selectedTrace.value), ...option("by", by),
    ...option("batch", own("batch") ? null : token),
    ...option("layer", own("layer") || own("tensor") ? null : layerWord(layer)),
    ...option("tensor", own("layer") || own("tensor") || tensor === null ? null : literal(tensor)),
    ...option("op", own("op") ? null : opFilter.value), ...option("phase", own("phase") ? null : phaseFilter.value),
    ...option("sort", id === "key" || !descending ? null : id),
  ];
}

function graphWords(): Words {
  const { token, layer } = selection.value;
  return ["graph", pathOf(selectedTrace.value), ...option("batch", token), ...option("layer", layerWord(layer))];
}

function expertsWords(): Words {
  const { layer, token } = selection.value;
  const part = expertsOf(token);
  if (expertsShown() === "keep") return ["whatif", pathOf(selectedTrace.value), "--unit", "expert", "--warm", "--policy", keepPolicy().id, "--curve"];
  return ["routing", pathOf(selectedTrace.value), ...option("batch", part === "all" ? null : part === "token" ? token : `0..${token}`), ...(layer === null ? ["--matrix"] : option("layer", layer))];
}

function valuesWords(): Words {
  const { token, layer } = selection.value;
  const file = pathOf(selectedTrace.value);
  if (token === null && layer === null) return ["values", file, "--growth", ...option("place", place())];
  return ["values", file, ...option("batch", token), ...option("layer", layerWord(layer))];
}

function diffWords(): Words {
  const both = traces.value;
  return both ? ["diff", pathOf(both.a), pathOf(both.b)] : ["info", pathOf(selectedTrace.value)];
}

const OF_VIEW: Record<string, () => Words> = {
  memory: memoryWords,
  timeline: timelineWords,
  graph: graphWords,
  log: logWords,
  experts: expertsWords,
  buffers: () => ["buffers", pathOf(selectedTrace.value), "--timeline"],
  stats: statsWords,
  values: valuesWords,
  diff: diffWords,
};

/** Reads signals. */
export function commandLine(): string {
  const words = (OF_VIEW[currentView()] ?? (() => ["info", pathOf(selectedTrace.value)]))();
  return ["tensortrace", ...words.filter((word) => word !== null)].map(shellWord).join(" ");
}
