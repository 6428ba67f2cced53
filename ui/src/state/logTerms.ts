// Filters as people write them: `layer:3 op:MUL_MAT tensor:*ffn* origin:file dur>1ms "any text"`.

import type { Params } from "../api/client";
import type { Selection } from "./selection";
import { layerTerm } from "./layers";

/** Keys of filters, in the order of completions. */
export const KEYS = ["token", "layer", "op", "tensor", "origin", "phase", "thread", "time", "dur", "text"] as const;
export type Key = (typeof KEYS)[number];

export interface Term {
  readonly key: Key;
  /** As written after the sign: "3..9", "*ffn*", "1ms". */
  readonly value: string;
  /** Of `dur`: at least, or at most. */
  readonly sign: ":" | ">" | "<";
}

export const EXAMPLES: Record<Key, string> = {
  token: "token:3 or token:3..9",
  layer: 'layer:3, layer:"enc 3" or layer:none',
  op: "op:MUL_MAT",
  tensor: "tensor:*ffn* (* ? and [...] as in a shell; blk.0.ffn_up_exps.weight[3]: its expert 3)",
  origin: "origin:file or origin:buffer",
  phase: "phase:prompt, phase:generate, phase:mixed or phase:warmup",
  thread: "thread:0, a row for each record of that thread",
  time: "time:12ms..15.5ms, the start of the op",
  dur: "dur>1ms or dur<20us",
  text: "any words: part of an op's or a tensor's name",
};

const TOKEN_MAX = 4294967295;
const UNITS: Record<string, number> = { ns: 1, us: 1e3, µs: 1e3, ms: 1e6, s: 1e9 };

/** "1.5ms" in ns; a bare number is milliseconds; null: no time. */
export function timeOf(text: string): number | null {
  const match = /^(-?\d+(?:\.\d+)?)(ns|us|µs|ms|s)?$/.exec(text.trim());
  return match ? Number(match[1]) * UNITS[match[2] ?? "ms"]! : null;
}

/** The shortest text that timeOf reads as the same, to the ns. */
export function timeText(ns: number): string {
  const exact = Math.round(ns * 1000) / 1000;
  for (const unit of ["s", "ms", "us"] as const)
    if (Number.isInteger((exact / UNITS[unit]!) * 1000)) return `${exact / UNITS[unit]!}${unit}`;
  return `${exact}ns`;
}

function range(value: string): [string, string] {
  const at = value.indexOf("..");
  return at < 0 ? [value, value] : [value.slice(0, at), value.slice(at + 2)];
}

/** Why the term is invalid; null: valid. */
export function fault(term: Term): string | null {
  const { key, value } = term;
  if (value === "") return `${key}: something is missing; for example ${EXAMPLES[key]}`;
  const whole = /^\d{1,9}$/;
  const bad = `${key}: “${value}” is not understood; for example ${EXAMPLES[key]}`;
  switch (key) {
    case "token": {
      const [from, to] = range(value);
      return (from === "" || whole.test(from)) && (to === "" || whole.test(to)) && (from || to) ? null : bad;
    }
    case "layer":
      return value === "none" || whole.test(value) || /^(?:[a-z][a-z.]*[ .]\d{1,5}|@\d{1,10})$/.test(value) ? null : bad;
    case "thread":
      return whole.test(value) ? null : bad;
    case "origin":
      return ["file", "buffer"].includes(value) ? null : bad;
    case "phase":
      return ["prompt", "generate", "mixed", "warmup"].includes(value) ? null : bad;
    case "time": {
      const [from, to] = range(value);
      return (from === "" || timeOf(from) !== null) && (to === "" || timeOf(to) !== null) && (from || to) ? null : bad;
    }
    case "dur":
      return timeOf(value) !== null && term.sign !== ":" ? null : bad;
    default:
      return value.length <= 200 ? null : `${key}: at most 200 characters`;
  }
}

/** Parses one term. A term without a known key is text. */
export function termOf(written: string): Term {
  const match = /^(\w+)([:<>])([\s\S]*)$/.exec(written);
  const key = KEYS.find((k) => k === match?.[1]?.toLowerCase());
  if (!match || !key || (match[2] !== ":" && key !== "dur"))
    return { key: "text", value: unquoted(written), sign: ":" };
  const value = unquoted(match[3]!);
  return { key, value, sign: match[2] as Term["sign"] };
}

function unquoted(text: string): string {
  return /^".*"$/s.test(text) && text.length > 1 ? text.slice(1, -1).replaceAll('\\"', '"') : text;
}

function quoted(text: string): string {
  return /[\s"]/.test(text) || text === "" ? `"${text.replaceAll('"', '\\"')}"` : text;
}

export function termText(term: Term): string {
  if (term.key === "text" && !/[:<>]/.test(term.value)) return quoted(term.value);
  return `${term.key}${term.sign}${quoted(term.value)}`;
}

/** Terms divided by blanks; a value in quotation marks may have some. */
export function termsOf(text: string): Term[] {
  const parts = text.match(/(?:[^\s"]*"(?:[^"\\]|\\.)*"|[^\s"]|")+/g) ?? [];
  return parts.map(termOf);
}

export function termsText(terms: readonly Term[]): string {
  return terms.map(termText).join(" ");
}

/** Replaces contradicting terms by this one: a key has one value, `dur` two ends. */
export function withTerm(terms: readonly Term[], term: Term): Term[] {
  return [...terms.filter((t) => t.key !== term.key || t.sign !== term.sign), term];
}

/** Parameters of the request; invalid terms are left out. */
export function paramsOf(terms: readonly Term[]): Params {
  const params: Params = {};
  for (const term of terms) {
    if (fault(term)) continue;
    const [from, to] = range(term.value);
    switch (term.key) {
      case "token":
        params.batch = from === "" ? 0 : from;
        params.batch_to = to === "" ? TOKEN_MAX : to;
        break;
      case "time":
        params.from_ns = from === "" ? null : timeOf(from);
        params.to_ns = to === "" ? null : timeOf(to);
        break;
      case "dur":
        params[term.sign === ">" ? "min_duration_ns" : "max_duration_ns"] = timeOf(term.value);
        break;
      default:
        params[term.key] = term.value;
    }
  }
  return params;
}

/** A name as a pattern that matches it alone. */
export function literal(name: string): string {
  return name.replace(/[*?[\]\\]/g, (sign) => `\\${sign}`);
}

/** The selection as filters. */
export function termsOfSelection(s: Selection): Term[] {
  const terms: Term[] = [];
  if (s.token !== null) terms.push({ key: "token", value: String(s.token), sign: ":" });
  if (s.time) terms.push({ key: "time", value: `${timeText(s.time[0])}..${timeText(s.time[1])}`, sign: ":" });
  if (s.layer !== null) terms.push({ key: "layer", value: layerTerm(s.layer), sign: ":" });
  if (s.tensor !== null) {
    // A number in brackets after a name is an expert.
    const expert = s.slice === null ? "" : `[${s.slice}]`;
    terms.push({ key: "tensor", value: literal(s.tensor) + expert, sign: ":" });
  }
  return terms;
}
