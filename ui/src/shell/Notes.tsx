// Notes: the dialog that adds, changes and lists them, and what the inspector shows of them.

import { signal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { plainName } from "../draw/format";
import { bind } from "../input/keys";
import { Lazy } from "../parts/Lazy";
import { goToNote, isRelated, notes, noteWhere, type Note } from "../state/notes";
import { summary } from "../state/trace";
import { Dialog } from "./Dialog";
import { Part } from "./inspector/Part";
import "./notes.css";

export const notesOpen = signal(false);
/** Which is being changed; null: a new one is written. */
export const changedNote = signal<Note | null>(null);

export function NotesDialog() {
  useEffect(
    () =>
      bind({
        id: "notes.open",
        keys: ["Shift+KeyM"],
        title: "Write a note on what is selected, and list all notes",
        scope: "Everywhere",
        when: () => summary.peek() !== null,
        run: () => {
          changedNote.value = null;
          notesOpen.value = true;
        },
      }),
    [],
  );
  return (
    <Dialog open={notesOpen} label="Notes">
      <div class="dialog-body">
        <div class="dialog-head">
          <h2>Notes</h2>
          <button type="button" onClick={() => (notesOpen.value = false)}>
            Close <kbd>Esc</kbd>
          </button>
        </div>
        <Lazy what="the notes" load={async () => (await import("./NotesContent")).NotesContent} with={{}} />
      </div>
    </Dialog>
  );
}

/** In the inspector: the notes on what is selected, or all. */
export function NotesPart() {
  const shown = notes.value.filter(isRelated);
  if (shown.length === 0) return null;
  return (
    <Part kind="Notes" title={String(shown.length)}>
      <ul class="notes-part">
        {shown.map((note) => (
          <li key={note.note_id}>
            <button type="button" class="link" onClick={() => goToNote(note)}>
              {noteWhere(note) ? plainName(noteWhere(note)) : "the run"}
            </button>
            <span class="note-text">{plainName(note.text)}</span>
          </li>
        ))}
      </ul>
    </Part>
  );
}
