// The commands of the search box: everything that a key can do, and views.

import { allBindings, chordText, type Binding } from "../../input/keys";
import type { Entry } from "./entry";
import { fuzzy } from "./fuzzy";

/** A held key has no end here: it is held for a fifth of a second. */
function runBinding(binding: Binding): void {
  if (binding.run) binding.run();
  for (let i = 0; !binding.run && i < 12; i++) binding.held?.(1 / 60);
}

function entryOf(binding: Binding, at: readonly number[] = []): Entry {
  const chord = binding.keys[0];
  return {
    key: `command ${binding.id}`,
    title: binding.title,
    about: binding.scope === "Everywhere" ? "" : binding.scope,
    at,
    ...(chord === undefined ? {} : { chord: chordText(chord) }),
    run: () => runBinding(binding),
  };
}

function available(): Binding[] {
  return allBindings.value.filter((b) => b.id !== "search.open" && (b.when?.() ?? true));
}

export interface Commands {
  /** Their titles have the text in them. */
  readonly named: Entry[];
  /** They only have its letters, in this order. */
  readonly like: Entry[];
}

export function commandsLike(query: string): Commands {
  const text = query.trim().toLowerCase();
  const found = available().flatMap((binding) => {
    const match = fuzzy(query, binding.title);
    return match ? [{ binding, match }] : [];
  });
  found.sort((a, b) => b.match.score - a.match.score);
  const isNamed = ({ binding }: { binding: Binding }) => binding.title.toLowerCase().includes(text);
  const entries = (list: typeof found) => list.map(({ binding, match }) => entryOf(binding, match.at));
  return { named: entries(found.filter(isNamed)), like: entries(found.filter((each) => !isNamed(each))) };
}

export function allCommands(): Entry[] {
  return available().map((binding) => entryOf(binding));
}
