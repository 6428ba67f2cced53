// Every command by name.

import { computed, signal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { allBindings, bind, chordText, type Binding } from "../input/keys";
import { Dialog } from "./Dialog";
import { fuzzy, type Match } from "./fuzzy";

export const paletteOpen = signal(false);

const query = signal("");
const marked = signal(0);

interface Found {
  readonly binding: Binding;
  readonly match: Match;
}

const found = computed<Found[]>(() => {
  if (!paletteOpen.value) return [];
  const list: Found[] = [];
  for (const binding of allBindings.value) {
    if (binding.id === "palette.open" || !(binding.when?.() ?? true)) continue;
    const match = fuzzy(query.value, binding.title);
    if (match) list.push({ binding, match });
  }
  return query.value.trim() ? list.sort((a, b) => b.match.score - a.match.score) : list;
});

/** A held key has no end here: it is held for a fifth of a second. */
function runBinding(binding: Binding): void {
  if (binding.run) binding.run();
  for (let i = 0; !binding.run && i < 12; i++) binding.held?.(1 / 60);
}

function choose(at: number): void {
  const entry = found.value[at];
  if (!entry) return;
  paletteOpen.value = false;
  // When the dialog has given the focus back: the command may want it elsewhere.
  setTimeout(() => runBinding(entry.binding), 0);
}

function onKey(event: KeyboardEvent): void {
  const n = found.value.length;
  const by = { ArrowDown: 1, ArrowUp: -1, PageDown: 8, PageUp: -8 }[event.code];
  if (event.isComposing) return;
  if (by !== undefined && n > 0) {
    marked.value = Math.abs(by) === 1 ? (marked.value + by + n) % n : Math.min(n - 1, Math.max(0, marked.value + by));
    event.preventDefault();
  } else if (event.code === "Enter" || event.code === "NumpadEnter") {
    event.preventDefault();
    choose(marked.value);
  }
}

function Marked(props: { text: string; at: readonly number[] }) {
  const parts = [];
  let plain = "";
  for (let i = 0; i < props.text.length; i++) {
    if (!props.at.includes(i)) {
      plain += props.text[i];
      continue;
    }
    parts.push(plain, <mark key={i}>{props.text[i]}</mark>);
    plain = "";
  }
  return (
    <span>
      {parts}
      {plain}
    </span>
  );
}

function List() {
  const list = useRef<HTMLUListElement>(null);
  useLayoutEffect(() => {
    list.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  });
  if (found.value.length === 0) return <p role="status">No command has these letters in this order.</p>;
  return (
    <ul role="listbox" id="palette-list" aria-label="Commands" ref={list}>
      {found.value.map(({ binding, match }, i) => (
        <li
          key={binding.id}
          id={`palette-${i}`}
          role="option"
          aria-selected={i === marked.value}
          onClick={() => choose(i)}
        >
          <Marked text={binding.title} at={query.value.trim() ? match.at : []} />
          <span class="scope">{binding.scope}</span>
          <span>{binding.keys[0] !== undefined && <kbd>{chordText(binding.keys[0])}</kbd>}</span>
        </li>
      ))}
    </ul>
  );
}

/** Opened by Ctrl+Shift+P. */
export function Palette() {
  useEffect(
    () =>
      bind({
        id: "palette.open",
        // Firefox keeps the first one for itself.
        keys: ["Ctrl+Shift+KeyP", "Ctrl+KeyK"],
        title: "Run a command by its name",
        scope: "Everywhere",
        run: () => {
          query.value = "";
          marked.value = 0;
          paletteOpen.value = true;
        },
      }),
    [],
  );
  return (
    <Dialog open={paletteOpen} label="Commands" class="palette">
      <div class="dialog-body">
        <input
          type="text"
          role="combobox"
          aria-label="Command"
          aria-expanded={found.value.length > 0}
          aria-controls="palette-list"
          aria-autocomplete="list"
          aria-activedescendant={found.value.length > 0 ? `palette-${marked.value}` : undefined}
          placeholder="A command: a few of its letters"
          autocomplete="off"
          spellcheck={false}
          autoFocus
          value={query.value}
          onInput={(event) => {
            query.value = event.currentTarget.value;
            marked.value = 0;
          }}
          onKeyDown={onKey}
        />
        <List />
      </div>
    </Dialog>
  );
}
