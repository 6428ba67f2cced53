// What the dialog of the notes has: a new one, and the list.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { plainName } from "../draw/format";
import { announce } from "../parts/announce";
import { addNote, changeNote, goToNote, notes, notesWhyNot, noteWhere, removeNote, type Note } from "../state/notes";
import { selection } from "../state/selection";
import { summary } from "../state/trace";
import { selectionWords } from "../state/words";
import { changedNote, notesOpen } from "./Notes";

const TEXT_MOST = 1000;

async function tried(what: Promise<void>, said: string): Promise<boolean> {
  try {
    await what;
    announce(said);
    return true;
  } catch (reason) {
    announce(reason instanceof Error ? reason.message : String(reason));
    return false;
  }
}

function Row(props: { note: Note; text: { value: string } }) {
  const { note } = props;
  const where = noteWhere(note);
  return (
    <li>
      <p class="note-text">{plainName(note.text)}</p>
      <p class="note-where">{where ? plainName(where) : "the run"}</p>
      <button type="button" onClick={() => { notesOpen.value = false; goToNote(note); }}>
        Go there
      </button>
      {notesWhyNot.value === null && (
        <>
          <button type="button" onClick={() => { changedNote.value = note; props.text.value = note.text; }}>
            Change
          </button>
          <button type="button" onClick={() => void tried(removeNote(note), "Note removed")}>
            Remove
          </button>
        </>
      )}
    </li>
  );
}

export function NotesContent() {
  const text = useSignal("");
  const box = useRef<HTMLTextAreaElement>(null);
  useEffect(() => box.current?.focus(), []);
  const problem = useSignal("");
  const save = async () => {
    const words = text.value.trim();
    if (!words) return;
    const note = changedNote.peek();
    const done = await tried(note ? changeNote(note, words) : addNote(words), note ? "Note changed" : "Note added");
    problem.value = done ? "" : "It could not be kept; the server said why.";
    if (!done) return;
    text.value = "";
    changedNote.value = null;
    if (!note) notesOpen.value = false;
  };
  const why = notesWhyNot.value;
  const words = selectionWords(selection.value);
  return (
    <div class="notes">
        {why !== null ? (
          <p>No notes can be added: {why}.</p>
        ) : (
          <form onSubmit={(event) => { event.preventDefault(); void save(); }}>
            <label for="note-text">
              {changedNote.value ? "Change the note" : `A note on: ${words === "Nothing is selected" ? "the run" : words.replace(/^Selected: /, "")}`}
            </label>
            <textarea
              id="note-text"
              rows={3}
              maxLength={TEXT_MOST}
              ref={box}
              value={text.value}
              onInput={(event) => (text.value = event.currentTarget.value)}
              onKeyDown={(event) => {
                if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) void save();
              }}
            />
            <button type="submit" disabled={!text.value.trim()} title="Ctrl+Enter">
              {changedNote.value ? "Save" : "Add"}
            </button>
            {problem.value && <span role="alert"> {problem.value}</span>}
          </form>
        )}
        {notes.value.length > 0 && (
          <ul aria-label="Notes on this trace">
            {notes.value.map((note) => (
              <Row key={note.note_id} note={note} text={text} />
            ))}
          </ul>
        )}
        <p class="note-where">They are kept beside the trace, in {plainName(summary.value?.name ?? "FILE")}.notes.json, and are in its report.</p>
    </div>
  );
}
