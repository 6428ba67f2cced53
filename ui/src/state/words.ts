// The selection as text: for the inspector's headings and for screen readers.

import { bytes, counted, duration, ends, plainName, visible } from "../draw/format";
import type { Region, Selection } from "./selection";
import { batchIndex, summary } from "./trace";
import { layerWords } from "./layers";

const LONGEST_TEXT = 48;

/** A token's text between quotation marks, its middle left out when it is long; null: not observed. */
export function quoted(text: string | null): string {
  if (text === null) return "text not observed";
  const shown = visible(text);
  if (shown.length <= LONGEST_TEXT) return `“${shown}”`;
  return `“${shown.slice(0, LONGEST_TEXT / 2)}…${shown.slice(-LONGEST_TEXT / 2)}”`;
}

export function phaseWord(phase: string): string {
  if (phase === "prompt") return "prompt";
  if (phase === "generate") return "generated";
  if (phase === "mixed") return "prompt and generated";
  if (phase === "warmup") return "warm-up";
  return "phase not observed";
}

/** "12 tokens"; "69 tokens in 61 batches" where a batch holds several, as a prompt does. */
export function allTokensWords(): string {
  const batches = summary.value?.batches;
  const n = batches?.batch_id.length ?? 0;
  const tokens = batches?.n_tokens.reduce((sum, each) => sum + each, 0) ?? 0;
  return tokens <= n ? counted(n, "token") : `${counted(tokens, "token")} in ${counted(n, "batch", "batches")}`;
}

/** "token 3, generated, “ time”, 4.2 ms". */
export function tokenWords(token: number): string {
  const batches = summary.value?.batches;
  const i = batchIndex(token);
  if (!batches || i < 0) return `token ${token}, which the trace does not have`;
  const begin = batches.start_relative_ns[i] ?? null;
  const end = batches.end_relative_ns[i] ?? null;
  const time = begin === null || end === null ? "time not observed" : duration(end - begin);
  return `token ${token}, ${phaseWord(batches.phase[i]!)}, ${quoted(batches.text[i] ?? null)}, ${time}`;
}

/** "tiny.gguf" or "buffer 7 CPU": named as the lists name them, which is not by the index that the
 * selection has. */
export function segmentWords(segment: string): string {
  const at = Number(/\d+$/.exec(segment)?.[0]);
  const s = summary.value;
  const isFile = segment.startsWith("file");
  const name = isFile ? s?.model_files[at]?.name : s?.buffers.name[at];
  if (name === undefined) return `a ${isFile ? "file" : "buffer"} that the trace does not have`;
  return isFile ? plainName(name) : `buffer ${s!.buffers.buffer_id[at]} ${plainName(name)}`;
}

export function regionWords(region: Region): string {
  return `${bytes(region.to - region.from)} of ${segmentWords(region.segment)} from byte ${region.from}`;
}

/** Everything that is selected, in one sentence. */
export function selectionWords(s: Selection): string {
  const parts: string[] = [];
  if (s.token !== null) parts.push(tokenWords(s.token));
  if (s.token2 !== null) parts.push(`compared with ${tokenWords(s.token2)}`);
  if (s.layer !== null) parts.push(layerWords(s.layer));
  if (s.op) parts.push(`op, node ${s.op.node}`);
  if (s.tensor !== null) parts.push(`tensor ${plainName(s.tensor)}${s.slice === null ? "" : `, expert ${s.slice}`}`);
  if (s.time) parts.push(`${duration(s.time[1] - s.time[0])} from ${ends(s.time)[0]}`);
  if (s.region) parts.push(regionWords(s.region));
  return parts.length > 0 ? `Selected: ${parts.join("; ")}` : "Nothing is selected";
}
