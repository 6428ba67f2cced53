// The columns of the log.

import type { LogRow, Place, Source } from "../../api/log";
import { bytes, count, counted, duration, plainName, visible } from "../../draw/format";
import { badWords } from "../../state/bad";
import { batchIndex, summary } from "../../state/trace";
import type { Column } from "../VirtualTable";
import { layerName } from "../../state/layers";

function tokenText(token: number): string | null {
  const at = batchIndex(token);
  return at < 0 ? null : (summary.value?.batches.text[at] ?? null);
}

/** "file +4,096", "buffer 5 +4,096": where the bytes begin. */
export function placeText(p: Place): string {
  const at = (offset: number | null | undefined) => (offset === null || offset === undefined ? ", offset not observed" : ` +${count(offset)}`);
  if (p.origin === "file" && p.file_offset_bytes !== undefined) return `file${at(p.file_offset_bytes)}`;
  if (p.buffer_id !== undefined) return `buffer ${p.buffer_id}${at(p.buffer_offset_bytes)}`;
  return p.origin === "unknown" ? "location not observed" : p.origin;
}

function expertsText(s: Source): string {
  if (!s.experts?.length) return "";
  const shown = s.experts.slice(0, 8).map((e) => e.expert_id);
  return s.experts.length > 8 ? ` {${s.experts.length} experts}` : ` {${shown.join(",")}}`;
}

const hex = (offset: number | null | undefined) =>
  offset === null || offset === undefined ? "an offset not observed" : `0x${offset.toString(16)}`;

/** "m.gguf at 0x1080": the place in full; with that in the model file of a weight that was copied to a buffer. */
function placeInFull(p: Place): string {
  const file = `${p.model_file ? plainName(p.model_file.replace(/.*\//, "")) : "file"} at ${hex(p.file_offset_bytes)}`;
  if (p.origin === "file") return file;
  const buffer = p.buffer_id === undefined ? placeText(p) : `buffer ${p.buffer_id} at ${hex(p.buffer_offset_bytes)}`;
  return p.file_offset_bytes === undefined ? buffer : `${buffer}, a copy of ${file}`;
}

/** The layer that a tensor's name says, as in blk.3.attn_q.weight, Qcur-3 and cache_k_l3. */
function layerText(name: string): string {
  const block = /^(?:([a-z.]+)\.)?blk\.(\d+)\./.exec(name);
  if (block) return `layer ${block[1] ? `${block[1]} ` : ""}${block[2]}`;
  const found = /-(\d+)(?: |$)/.exec(name) ?? /_l(\d+)(?: |$)/.exec(name);
  return found ? `layer ${found[1]}` : "no layer in its name";
}

/** All that an op reads, a line each, and their sum. */
function card(r: LogRow): string {
  const lines = r.sources.map(
    (s) => `${plainName(s.name)}${expertsText(s)}: ${bytes(s.size_bytes)}, ${layerText(s.name)}, ${placeInFull(s)}`,
  );
  const sum = r.sources.reduce((all, s) => all + s.size_bytes, 0);
  return [`${plainName(r.op)} ${plainName(r.name)}`, ...lines, `${counted(r.sources.length, "source")}: ${bytes(sum)}`].join("\n");
}

function lanes(row: LogRow): string {
  return row.thread_id !== undefined ? `thread ${row.thread_id}` : String(row.threads ?? "");
}

/** A time of an op; null when the op's end was not seen, or when that time was not observed. */
function span(row: LogRow, ns: number | null): string {
  if (ns !== null) return duration(ns);
  return row.duration_ns === null ? "end not observed" : "not observed";
}

export const COLUMNS: readonly Column<LogRow>[] = [
  {
    id: "start",
    key: "start_relative_ns",
    value: (r) => r.start_relative_ns,
    title: "Start ms",
    width: 110,
    number: true,
    hint: "When the first thread started it, since the first batch. Press to sort by it again.",
    cell: (r) => (r.start_relative_ns / 1e6).toFixed(4),
  },
  {
    id: "duration",
    key: "duration_ns",
    value: (r) => r.duration_ns,
    title: "Duration",
    width: 84,
    number: true,
    hint: "From the first thread's start to the end of the last thread's work.",
    cell: (r) => span(r, r.duration_ns),
  },
  {
    id: "token",
    unsorted: true,
    title: "Token",
    width: 150,
    hint: "The batch's number and the text of its tokens.",
    tip: (r) => (r.batch_id === null ? undefined : (tokenText(r.batch_id) ?? undefined)),
    cell: (r) => {
      if (r.batch_id === null) return "outside a batch";
      const text = tokenText(r.batch_id);
      return (
        <>
          {r.batch_id} {text !== null && <span class="log-text">{visible(text)}</span>}
        </>
      );
    },
  },
  { id: "layer", unsorted: true, key: "layer_id", value: (r) => r.layer_id, title: "Layer", width: 60, number: true, cell: (r) => (r.layer_id === null ? "none" : layerName(r.layer_id)) },
  { id: "op", unsorted: true, title: "Op", width: 130, tip: card, middle: true, cell: (r) => plainName(r.op) },
  {
    id: "name",
    unsorted: true,
    title: "Name",
    width: 170,
    hint: "What the op computes.",
    tip: card,
    middle: true,
    cell: (r) => plainName(r.name),
  },
  {
    id: "threads",
    unsorted: true,
    title: "Threads",
    width: 74,
    number: true,
    hint: "The number of threads that executed it, or which one.",
    cell: lanes,
  },
  {
    id: "wait",
    key: "wait_ns",
    value: (r) => r.wait_ns,
    title: "Wait",
    width: 80,
    number: true,
    hint: "The threads' time at its barrier, summed.",
    cell: (r) => span(r, r.wait_ns),
  },
  {
    id: "bytes",
    key: "weight_bytes",
    value: (r) => r.weight_bytes,
    title: "Weights read",
    width: 112,
    number: true,
    hint: "Bytes of weights that it read.",
    cell: (r) => (r.weight_bytes_at_most ? "≤ " : "") + bytes(r.weight_bytes),
  },
  {
    id: "sources",
    unsorted: true,
    title: "Sources",
    width: 640,
    hint: "What it read: tensors, with the location of their bytes in the model file or in a buffer.",
    tip: card,
    cell: (r) =>
      r.sources.map((s, i) => (
        <span key={i} class={`log-source log-${s.origin}`}>
          {plainName(s.name)}
          {expertsText(s)} <small>{placeText(s)}</small>
        </span>
      )),
  },
  {
    id: "values",
    unsorted: true,
    title: "Values",
    width: 130,
    hint: "Whether its output has NaN or infinities, where values were recorded.",
    cell: (r) => badWords(r.run, r.node) ?? "",
  },
  { id: "phase", unsorted: true, title: "Phase", width: 80, cell: (r) => r.phase },
  { id: "busy", key: "busy_ns", value: (r) => r.busy_ns, title: "Busy", width: 84, number: true, hint: "Work of all threads, summed.", cell: (r) => span(r, r.busy_ns) },
  {
    id: "off_cpu",
    key: "off_cpu_ns",
    value: (r) => r.off_cpu_ns,
    title: "Off CPU",
    width: 84,
    number: true,
    hint: "The part of all threads' work in which they were off CPU, summed.",
    cell: (r) => span(r, r.off_cpu_ns),
  },
  { id: "component", unsorted: true, title: "Part", width: 120, cell: (r) => plainName(r.component) },
  { id: "category", unsorted: true, title: "Category", width: 90, cell: (r) => plainName(r.category) },
  {
    id: "destination",
    unsorted: true,
    title: "Destination",
    width: 220,
    hint: "What it wrote, and where.",
    cell: (r) => `${plainName(r.destination.name)} [${placeText(r.destination)}]`,
  },
  { id: "run", unsorted: true, title: "Run", width: 64, number: true, cell: (r) => count(r.graph_run) },
  { id: "node", unsorted: true, title: "Node", width: 60, number: true, hint: "In the run's graph.", cell: (r) => r.node },
];

const SHOWN_AT_FIRST = ["start", "duration", "token", "layer", "op", "name", "threads", "wait", "bytes", "sources"];

export interface ColumnChoice {
  readonly shown: readonly string[];
  readonly widths: Readonly<Record<string, number>>;
}

/** "start,op-200": which columns are shown, with the widths that were chosen. */
export function choiceOf(text: string): ColumnChoice {
  const shown: string[] = [];
  const widths: Record<string, number> = {};
  for (const part of text.split(",")) {
    const [id = "", width] = part.split("-");
    if (!COLUMNS.some((c) => c.id === id) || shown.includes(id)) continue;
    shown.push(id);
    if (width && /^\d{2,4}$/.test(width)) widths[id] = Number(width);
  }
  return { shown: shown.length ? shown : SHOWN_AT_FIRST, widths };
}

export function choiceText(choice: ColumnChoice): string {
  return choice.shown.map((id) => (choice.widths[id] ? `${id}-${choice.widths[id]}` : id)).join(",");
}

/** In a narrow table, if nothing was chosen. */
export const SHOWN_NARROW = ["start", "duration", "name", "op", "wait", "bytes", "layer", "token"];
/** What choiceText returns if nothing was chosen. */
export const DEFAULT_CHOICE = SHOWN_AT_FIRST.join(",");
