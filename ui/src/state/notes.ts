// Notes on places of the selected trace: kept beside it by the server.

import { computed, effect, signal } from "@preact/signals";
import { getJson, ofTrace, postJson } from "../api/client";
import { selectedTrace, selection } from "./selection";
import { summary, tokenStretch } from "./trace";
import { layerWords } from "./layers";

export interface Note {
  readonly note_id: number;
  readonly text: string;
  /** Since the trace's zero. */
  readonly time_ns: number | null;
  readonly batch_id: number | null;
  readonly layer_id: number | null;
  readonly tensor: string | null;
  /** The fragment of the page's address. */
  readonly fragment: string | null;
}

interface Answer {
  readonly writable: boolean;
  readonly why_not: string | null;
  readonly notes: readonly Note[];
}

export const notes = signal<readonly Note[]>([]);
/** Why none can be added; null: they can. */
export const notesWhyNot = signal<string | null>(null);
/** Those with a moment, for what is drawn over time. */
export const notesInTime = computed(() => notes.value.filter((n): n is Note & { time_ns: number } => n.time_ns !== null));

function take(answer: Answer): void {
  notes.value = answer.notes;
  notesWhyNot.value = answer.writable ? null : (answer.why_not ?? "notes cannot be kept");
}

/** Follows the selected trace; called once. */
export function startNotes(): void {
  effect(() => {
    const trace = selectedTrace.value;
    notes.value = [];
    if (!summary.value) return;
    getJson<Answer>(ofTrace(trace, "notes"))
      .then((answer) => {
        if (trace === selectedTrace.peek()) take(answer);
      })
      .catch((reason: unknown) => {
        notesWhyNot.value = reason instanceof Error ? reason.message : String(reason);
      });
  });
}

/** Throws what the server said. */
async function change(what: object): Promise<void> {
  take(await postJson<Answer>(ofTrace(selectedTrace.peek(), "notes"), what));
}

/** What the address says, but for what is not the note's: which of the served traces, and the colours. */
function placeNow(): string {
  const now = new URLSearchParams(location.hash.slice(1));
  for (const name of ["trace", "theme"]) now.delete(name);
  return now.toString();
}

/** A note on what is selected. */
export function addNote(text: string): Promise<void> {
  const { token, layer, tensor, time } = selection.peek();
  const begin = time?.[0] ?? tokenStretch(token)?.[0] ?? null;
  return change({
    add: {
      text,
      time_ns: begin,
      batch_id: token,
      layer_id: layer !== null && layer >= 0 ? layer : null,
      tensor,
      fragment: placeNow(),
    },
  });
}

export function removeNote(note: Note): Promise<void> {
  return change({ remove: note.note_id });
}

export function changeNote(note: Note, text: string): Promise<void> {
  return change({ change: { note_id: note.note_id, text } });
}

/** Shows what was shown when it was written. */
export function goToNote(note: Note): void {
  const now = new URLSearchParams(location.hash.slice(1));
  const place = new URLSearchParams(note.fragment ?? "");
  if (note.fragment === null && note.batch_id !== null) place.set("token", String(note.batch_id));
  for (const name of ["trace", "theme"]) {
    place.delete(name);
    const kept = now.get(name);
    if (kept !== null) place.set(name, kept);
  }
  location.hash = place.toString();
}

/** "token 12, layer 3, blk.3.ffn_down.weight"; "" for the whole run. */
export function noteWhere(note: Note): string {
  const parts = [
    note.batch_id === null ? null : `token ${note.batch_id}`,
    note.layer_id === null ? null : layerWords(note.layer_id),
    note.tensor,
  ];
  return parts.filter((part) => part !== null).join(", ");
}

/** Whether it is about something that is selected; all are when nothing is. */
export function isRelated(note: Note): boolean {
  const { token, layer, tensor } = selection.value;
  if (token === null && layer === null && tensor === null) return true;
  return (token !== null && note.batch_id === token) || (layer !== null && note.layer_id === layer) || (tensor !== null && note.tensor === tensor);
}
