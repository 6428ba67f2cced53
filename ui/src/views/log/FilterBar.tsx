// The filters of the log as chips, and where new ones are typed, with completion.

import { useSignal } from "@preact/signals";
import { useId, useRef } from "preact/hooks";
import type { MutableRef } from "preact/hooks";
import { plainName } from "../../draw/format";
import { announce } from "../../parts/announce";
import { fault, termOf, termText, withTerm, type Term } from "../../state/logTerms";
import { completions, type Completion } from "./complete";

export interface FilterBarProps {
  terms: readonly Term[];
  onTerms: (terms: Term[]) => void;
  onClear: () => void;
  /** Names of ops to offer. */
  ops: () => Iterable<string>;
  inputRef: MutableRef<HTMLInputElement | null>;
}

function Chip(props: { term: Term; onRemove: () => void; onEdit: () => void }) {
  const text = plainName(termText(props.term));
  const wrong = fault(props.term);
  return (
    <li class={wrong ? "log-chip log-wrong" : "log-chip"} title={wrong ?? undefined}>
      <button type="button" class="log-chip-text" aria-label={`Change the filter ${text}`} onClick={props.onEdit}>
        {text}
      </button>
      <button type="button" aria-label={`Remove the filter ${text}`} onClick={props.onRemove}>
        ×
      </button>
    </li>
  );
}

function Offers(props: { id: string; list: readonly Completion[]; at: number; onChoose: (c: Completion) => void }) {
  return (
    <ul class="log-offers" role="listbox" id={props.id} aria-label="Matching filters">
      {props.list.map((c, i) => (
        <li
          key={c.text}
          id={`${props.id}-${i}`}
          role="option"
          aria-selected={i === props.at}
          // Not click: the input would lose the focus before.
          onPointerDown={(event) => {
            event.preventDefault();
            props.onChoose(c);
          }}
        >
          <span>{plainName(c.text)}</span> <small>{c.about}</small>
        </li>
      ))}
    </ul>
  );
}

export function FilterBar(props: FilterBarProps) {
  const id = useId();
  const text = useSignal("");
  const at = useSignal(-1);
  const open = useSignal(false);
  const said = useSignal<string | null>(null);
  const latest = useRef(props);
  latest.current = props;

  const offers = open.value ? completions(text.value, props.ops) : [];
  const set = (terms: Term[]) => props.onTerms(terms);
  const type = (value: string) => {
    text.value = value;
    at.value = -1;
    said.value = null;
    open.value = true;
  };
  const add = (written: string) => {
    if (written.trim() === "") return;
    const term = termOf(written.trim());
    said.value = fault(term);
    if (said.value) {
      announce(said.value);
      return;
    }
    set(withTerm(latest.current.terms, term));
    announce(`Filter ${termText(term)}`);
    text.value = "";
    at.value = -1;
    open.value = false;
  };
  const choose = (c: Completion) => (c.whole ? add(c.text) : type(c.text));
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault();
      open.value = true;
      const n = completions(text.value, props.ops).length;
      const step = event.key === "ArrowDown" ? 1 : -1;
      at.value = n ? (at.value < 0 && step < 0 ? n - 1 : (at.value + step + n) % n) : -1;
    } else if (event.key === "Enter" || (event.key === "Tab" && at.value >= 0)) {
      event.preventDefault();
      const offer = offers[at.value];
      if (offer) choose(offer);
      else add(text.value);
    } else if (event.key === "Escape" && (open.value || text.value)) {
      event.preventDefault();
      event.stopPropagation();
      if (open.value) open.value = false;
      else type("");
    } else if (event.key === "Backspace" && text.value === "" && props.terms.length) {
      event.preventDefault();
      const last = props.terms.at(-1)!;
      set(props.terms.slice(0, -1));
      announce(`Removed the filter ${termText(last)}`);
    }
  };
  const remove = (i: number) => {
    set(props.terms.filter((_, k) => k !== i));
    props.inputRef.current?.focus();
  };
  const edit = (i: number) => {
    const written = termText(props.terms[i]!);
    remove(i);
    type(written);
  };
  return (
    <div class="log-filter">
      <ul class="log-chips" aria-label="Filters">
        {props.terms.map((term, i) => (
          <Chip key={termText(term)} term={term} onRemove={() => remove(i)} onEdit={() => edit(i)} />
        ))}
      </ul>
      {props.terms.length > 1 && (
        <button type="button" title="Remove all filters (Shift+0)" onClick={props.onClear}>
          Clear
        </button>
      )}
      <div class="log-entry">
        <input
          ref={props.inputRef}
          type="text"
          role="combobox"
          aria-label="Add a filter"
          aria-expanded={offers.length > 0}
          aria-controls={`${id}-offers`}
          aria-activedescendant={at.value >= 0 && offers.length ? `${id}-offers-${at.value}` : undefined}
          aria-invalid={said.value !== null}
          aria-describedby={`${id}-said`}
          autocomplete="off"
          spellcheck={false}
          placeholder="Filter: layer:3 op:MUL_MAT tensor:*ffn* dur>1ms"
          value={text.value}
          onInput={(event) => type(event.currentTarget.value)}
          onFocus={() => (open.value = true)}
          onBlur={() => (open.value = false)}
          onKeyDown={onKeyDown}
        />
        {offers.length > 0 && <Offers id={`${id}-offers`} list={offers} at={at.value} onChoose={choose} />}
        <p class="log-said" id={`${id}-said`} role="alert">
          {said.value}
        </p>
      </div>
    </div>
  );
}
