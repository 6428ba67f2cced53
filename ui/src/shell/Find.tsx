// Finding tensors, ops, layers, tokens and buffers by text.

import { signal, useSignal } from "@preact/signals";
import { useEffect, useId, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import { Latest } from "../api/client";
import { count } from "../draw/format";
import { bind } from "../input/keys";
import { announce } from "../parts/announce";
import { selection } from "../state/selection";
import { find, groups, type Answer, type Found, type FoundGroup } from "./found";
import "./find.css";

const isOpen = signal(false);

/** Also for a button or the palette. */
export function openFind(): void {
  isOpen.value = true;
}

/** The typed text and the reply to it. */
function useAnswers() {
  const state = useMemo(() => {
    const answer = signal<Answer | null>(null);
    const error = signal<string | null>(null);
    const latest = new Latest<string, Answer | null>(
      (q) => (q ? find(selection.peek().trace, q) : Promise.resolve(null)),
      (found) => {
        answer.value = found;
        error.value = null;
      },
      (reason) => {
        error.value = reason instanceof Error ? reason.message : String(reason);
      },
    );
    return { answer, error, latest };
  }, []);
  return state;
}

function Results(props: { id: string; groups: readonly FoundGroup[]; at: number; onChoose: (i: number) => void }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    box.current?.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" });
  }, [props.at]);
  let i = 0;
  return (
    <div class="find-results" ref={box} role="listbox" id={props.id} aria-label="What was found">
      {props.groups.map((g) => (
        <div role="group" aria-label={g.title} key={g.title}>
          <div class="find-group" role="presentation">
            {g.title}{" "}
            <small>{g.count > g.list.length ? `${count(g.list.length)} of ${count(g.count)}` : count(g.count)}</small>
          </div>
          {g.list.map((f) => {
            const at = i++;
            return (
              <div
                key={at}
                id={`${props.id}-${at}`}
                role="option"
                aria-selected={at === props.at}
                onPointerDown={(event) => {
                  event.preventDefault();
                  props.onChoose(at);
                }}
              >
                <span>{f.title}</span> <small>{f.about}</small>
              </div>
            );
          })}
        </div>
      ))}
    </div>
  );
}

function Box() {
  const id = useId();
  const { answer, error, latest } = useAnswers();
  const text = useSignal("");
  const at = useSignal(-1);
  const input = useRef<HTMLInputElement>(null);
  const before = useRef<Element | null>(null);
  useLayoutEffect(() => {
    before.current = document.activeElement;
    input.current?.focus();
  }, []);
  const close = () => {
    isOpen.value = false;
    // Back to where the keys worked before.
    if (before.current instanceof HTMLElement) before.current.focus();
  };
  const shown = answer.value && answer.value.q === text.value ? groups(answer.value) : [];
  const list: readonly Found[] = shown.flatMap((g) => g.list);
  const choose = (i: number) => {
    const found = list[i];
    if (!found) return;
    at.value = i;
    void Promise.resolve(found.choose()).catch((reason: unknown) => announce(String(reason)));
    announce(`${i + 1} of ${list.length}: ${found.title}, ${found.about}`);
  };
  // Enter may come before the answer: it is done when that is there.
  const hurry = useRef(0);
  const step = (by: number) => {
    const isAnswered = answer.value?.q === text.value || error.value !== null;
    hurry.current = isAnswered ? 0 : by;
    if (list.length) choose(at.value < 0 ? (by > 0 ? 0 : list.length - 1) : (at.value + by + list.length) % list.length);
  };
  useLayoutEffect(() => {
    if (hurry.current && answer.value?.q === text.value) step(hurry.current);
  }, [answer.value]);
  const onKeyDown = (event: KeyboardEvent) => {
    const by = { Enter: event.shiftKey ? -1 : 1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "Escape") close();
    else if (by) step(by);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const nothing = text.value !== "" && answer.value?.q === text.value && list.length === 0;
  return (
    <div class="find" role="search" aria-label="Find in the trace" onKeyDown={onKeyDown}>
      <div class="find-head">
        <input
          ref={input}
          type="text"
          role="combobox"
          aria-label="Find tensors, ops, layers, tokens, buffers"
          aria-expanded={list.length > 0}
          aria-controls={`${id}-results`}
          aria-activedescendant={at.value >= 0 ? `${id}-results-${at.value}` : undefined}
          autocomplete="off"
          spellcheck={false}
          maxLength={100}
          placeholder="Tensor, op, layer 3, token text, buffer"
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
            at.value = -1;
            hurry.current = 0;
            latest.ask(text.value);
          }}
        />
        <span class="find-count" role="status">
          {list.length > 0 ? `${at.value + 1} of ${count(list.length)}` : nothing ? "Nothing found" : ""}
        </span>
        <button type="button" title="Previous (Shift+Enter)" aria-label="Previous" onClick={() => step(-1)}>
          ↑
        </button>
        <button type="button" title="Next (Enter)" aria-label="Next" onClick={() => step(1)}>
          ↓
        </button>
        <button type="button" title="Close (Esc)" aria-label="Close" onClick={close}>
          ×
        </button>
      </div>
      {error.value !== null && <p role="alert">{error.value}</p>}
      {shown.length > 0 && <Results id={`${id}-results`} groups={shown} at={at.value} onChoose={choose} />}
      {answer.value?.cut && <p>There are more names than were looked through.</p>}
    </div>
  );
}

/** Opened by Ctrl+F. */
export function Find() {
  useEffect(
    () =>
      bind({
        id: "find.open",
        keys: ["Ctrl+KeyF"],
        title: "Find tensors, ops, layers, tokens, buffers",
        scope: "Everywhere",
        run: () => {
          if (isOpen.peek()) document.querySelector<HTMLInputElement>(".find input")?.select();
          openFind();
        },
      }),
    [],
  );
  return isOpen.value ? <Box /> : null;
}
