// Completions of the filter.

import { summary, tensors } from "../../state/trace";
import { EXAMPLES, KEYS, termText, type Key } from "../../state/logTerms";

export interface Completion {
  /** Description of the completion. */
  readonly text: string;
  readonly about: string;
  /** Whether the filter is complete; else it needs a value. */
  readonly whole: boolean;
}

const OFFERS_MAX = 12;
/** Numbers that are tried: a damaged trace may claim any number of layers. */
const NUMBERS_MAX = 10_000;

function value(key: Key, text: string, about = ""): Completion {
  return { text: termText({ key, value: text, sign: ":" }), about, whole: true };
}

function numbered(key: Key, typed: string, n: number): Completion[] {
  const list: Completion[] = [];
  for (let i = 0; i < Math.min(n, NUMBERS_MAX) && list.length < OFFERS_MAX; i++)
    if (String(i).startsWith(typed)) list.push(value(key, String(i)));
  return list;
}

function named(key: Key, typed: string, names: Iterable<string>): Completion[] {
  const found = new Set<string>();
  const wanted = typed.replaceAll("*", "").toLowerCase();
  for (const name of names) {
    if (name.toLowerCase().includes(wanted)) found.add(name);
    if (found.size === OFFERS_MAX) break;
  }
  return [...found].map((name) => value(key, name));
}

function valuesOf(key: Key, typed: string, ops: () => Iterable<string>): Completion[] {
  switch (key) {
    case "layer":
      return [
        ...numbered(key, typed, summary.value?.n_layers ?? 0),
        ...("none".startsWith(typed) ? [value(key, "none", "outside any layer")] : []),
      ];
    case "thread":
      return numbered(key, typed, summary.value?.n_lanes ?? 0);
    case "origin":
      return ["file", "buffer"].filter((v) => v.startsWith(typed)).map((v) => value(key, v));
    case "phase":
      return ["prompt", "generate", "mixed", "warmup"].filter((v) => v.startsWith(typed)).map((v) => value(key, v));
    case "op":
      return named(key, typed, ops());
    case "tensor": {
      const around = typed && !typed.includes("*") ? [value(key, `*${typed}*`, "names that contain this")] : [];
      return [...around, ...named(key, typed, tensors.value?.name ?? [])].slice(0, OFFERS_MAX);
    }
    default:
      return [];
  }
}

/** For the text so far: keys, or values of the key. */
export function completions(typed: string, ops: () => Iterable<string>): Completion[] {
  const match = /^(\w+):(.*)$/s.exec(typed);
  const key = KEYS.find((k) => k === match?.[1]?.toLowerCase());
  if (match && key) return valuesOf(key, match[2]!.replaceAll('"', ""), ops);
  const keys = KEYS.filter((k) => k !== "text" && k.startsWith(typed.toLowerCase())).map((k) => ({
    text: k === "dur" ? "dur>" : `${k}:`,
    about: EXAMPLES[k],
    whole: false,
  }));
  const anywhere = typed.trim() ? [{ ...value("text", typed.trim(), EXAMPLES.text), text: typed.trim() }] : [];
  return [...keys, ...anywhere];
}
