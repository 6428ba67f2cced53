// One box for all there is to find and to do: tensors, ops, tokens, layers, buffers, experts,
// commands and views.

import { computed, effect, signal, untracked } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { Latest } from "../../api/client";
import { count } from "../../draw/format";
import { bind } from "../../input/keys";
import { selection } from "../../state/selection";
import { allCommands, commandsLike } from "./commands";
import { choose, recent, type Entry, type EntryGroup } from "./entry";
import { find, groupsOf, type Answer } from "./found";
import { askQuestions, questions } from "./questions";
import "./search.css";

const open = signal(false);
const text = signal("");
const marked = signal(0);
const answer = signal<Answer | null>(null);
const failure = signal<string | null>(null);
/** Enter was pressed before the answer had come. */
const awaited = signal(false);

const COMMANDS_MOST = 6;

const request = new Latest<string, Answer | null>(
  (q) => (q ? find(selection.peek().trace, q) : Promise.resolve(null)),
  (found, q) => {
    if (q !== text.peek().trim()) return;
    answer.value = found;
    failure.value = null;
  },
  (reason) => {
    failure.value = reason instanceof Error ? reason.message : String(reason);
  },
);

const isAnswered = computed(() => !text.value.trim() || failure.value !== null || answer.value?.q === text.value.trim());

function groupOf(title: string, list: readonly Entry[]): EntryGroup {
  return { title, count: list.length, list };
}

/** What was chosen before; a command has no action of its own once the page is loaded again. */
function recentEntries(commands: readonly Entry[]): Entry[] {
  return recent().flatMap((kept) => {
    if (kept.patch) return [{ ...kept, key: `recent ${kept.key}` }];
    const command = commands.find((each) => each.key === kept.key);
    return command ? [{ ...command, key: `recent ${kept.key}` }] : [];
  });
}

const groups = computed<readonly EntryGroup[]>(() => {
  if (!open.value) return [];
  const q = text.value.trim();
  if (!q) {
    const commands = allCommands();
    return [groupOf("Recent", recentEntries(commands)), groupOf("Questions", questions.value), groupOf("Commands", commands)].filter((g) => g.list.length > 0);
  }
  const { named, like } = commandsLike(q);
  const found = answer.value?.q === q ? groupsOf(answer.value) : [];
  const asked = questions.value.filter((each) => each.title.toLowerCase().includes(q.toLowerCase()));
  // Letters that merely occur in a title in this order are a guess: what has the text comes first.
  const guesses = found.length + asked.length + named.length === 0 ? like.slice(0, COMMANDS_MOST) : [];
  return [groupOf("Questions", asked), groupOf("Commands", named.slice(0, COMMANDS_MOST)), ...found, groupOf("Commands like it", guesses)].filter(
    (g) => g.list.length > 0,
  );
});

const entries = computed(() => groups.value.flatMap((g) => g.list));

let before: HTMLElement | null = null;

function openSearch(): void {
  const input = document.getElementById("search") as HTMLInputElement | null;
  if (document.activeElement !== input) before = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  input?.focus();
  input?.select();
}

/** The focus goes back to where the keys worked before. */
function close(): void {
  open.value = false;
  awaited.value = false;
  text.value = "";
  const back = before?.isConnected ? before : document.getElementById("main");
  before = null;
  if (back && back !== document.body) back.focus({ preventScroll: true });
  else (document.activeElement as HTMLElement | null)?.blur();
}

function pick(i: number, stays: boolean): void {
  const entry = entries.peek()[i];
  if (!entry) return;
  marked.value = i;
  if (stays && !entry.run) return void choose(entry);
  close();
  // When the focus is back: a command may want it elsewhere.
  setTimeout(() => void choose(entry), 0);
}

function type(value: string): void {
  text.value = value;
  marked.value = 0;
  awaited.value = false;
  open.value = true;
  request.ask(value.trim());
}

function onKey(event: KeyboardEvent): void {
  if (event.isComposing) return;
  const n = entries.value.length;
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.code];
  if (event.code === "Escape") close();
  else if (by !== undefined) {
    open.value = true;
    if (n > 0) marked.value = Math.abs(by) === 1 ? (marked.value + by + n) % n : Math.min(n - 1, Math.max(0, marked.value + by));
  } else if (event.code === "Enter" || event.code === "NumpadEnter") {
    if (n > 0 && (isAnswered.value || entries.value[0]!.run)) pick(marked.value, event.shiftKey);
    else awaited.value = !isAnswered.value;
  } else return;
  event.preventDefault();
  event.stopPropagation();
}

function Marked(props: { text: string; at: readonly number[] }) {
  if (props.at.length === 0) return <span>{props.text}</span>;
  return (
    <span>
      {[...props.text].map((letter, i) => (props.at.includes(i) ? <mark key={i}>{letter}</mark> : letter))}
    </span>
  );
}

function Line(props: { entry: Entry; i: number }) {
  const { entry, i } = props;
  return (
    <div
      id={`search-${i}`}
      role="option"
      aria-selected={i === marked.value}
      onPointerDown={(event) => {
        // The focus stays in the box.
        event.preventDefault();
        if (event.button === 0) pick(i, event.shiftKey);
      }}
    >
      <Marked text={entry.title} at={entry.at ?? []} /> <small>{entry.about}</small>
      {entry.chord !== undefined && <kbd>{entry.chord}</kbd>}
    </div>
  );
}

function List() {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    box.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  });
  let i = 0;
  return (
    <div class="search-list" ref={box} role="listbox" id="search-list" aria-label="What there is">
      {groups.value.map((g) => (
        <div role="group" aria-label={g.title} key={g.title}>
          <div class="search-group" role="presentation">
            {g.title} {g.count > g.list.length && <small>{`${count(g.list.length)} of ${count(g.count)}`}</small>}
          </div>
          {g.list.map((entry) => (
            <Line key={entry.key} entry={entry} i={i++} />
          ))}
        </div>
      ))}
    </div>
  );
}

function Popup() {
  const nothing = text.value.trim() !== "" && entries.value.length === 0;
  return (
    <div class="search-popup">
      {failure.value !== null && <p role="alert">{failure.value}</p>}
      {nothing && <p role="status">{isAnswered.value ? "No match." : "Searching…"}</p>}
      {entries.value.length > 0 && <List />}
      {answer.value?.cut && text.value.trim() === answer.value.q && <p>The trace has more names than were searched.</p>}
      <p class="search-foot" aria-hidden="true">
        <kbd>↑</kbd> <kbd>↓</kbd> choose, <kbd>Enter</kbd> select or run, <kbd>Shift+Enter</kbd> and go on, <kbd>?</kbd> in the
        page: all keys
      </p>
    </div>
  );
}

function useSearch(): void {
  useEffect(
    () =>
      bind({
        id: "search.open",
        keys: ["Ctrl+KeyK", "Ctrl+Shift+KeyP", "Ctrl+KeyF", "key:/"],
        title: "Search, or run a command",
        scope: "Everywhere",
        run: openSearch,
      }),
    [],
  );
  useEffect(
    () =>
      effect(() => {
        if (!awaited.value || !isAnswered.value) return;
        awaited.value = false;
        untracked(() => pick(0, false));
      }),
    [],
  );
}

/** In the middle of the top bar. */
export function Search() {
  useSearch();
  const isOpen = open.value;
  return (
    <div
      class="search"
      role="search"
      aria-label="Search or run a command"
      onFocusOut={(event) => {
        if (!(event.currentTarget as HTMLElement).contains(event.relatedTarget as Node | null)) open.value = false;
      }}
    >
      <input
        id="search"
        type="text"
        role="combobox"
        aria-label="Search or run a command"
        aria-expanded={isOpen && entries.value.length > 0}
        aria-controls="search-list"
        aria-autocomplete="list"
        aria-activedescendant={isOpen && entries.value.length > 0 ? `search-${marked.value}` : undefined}
        autocomplete="off"
        spellcheck={false}
        maxLength={100}
        placeholder="Search or run a command (Ctrl+K)"
        value={text.value}
        onFocus={() => {
          marked.value = 0;
          open.value = true;
          askQuestions();
        }}
        onPointerDown={() => (open.value = true)}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={onKey}
      />
      {isOpen && <Popup />}
    </div>
  );
}
