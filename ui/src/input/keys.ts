// All key bindings of the page: the search box and the help list what is bound here.
//
// Letters and digits use KeyboardEvent.code (the physical key), so that W A S D are adjacent on
// every layout; signs that move between layouts use KeyboardEvent.key.

import { signal, type ReadonlySignal } from "@preact/signals";

export interface Binding {
  /** "timeline.fit"; one binding an id. */
  readonly id: string;
  /** "KeyW", "Shift+KeyN", "Ctrl+Shift+KeyP", "key:?" (by sign); the first one is shown. */
  readonly keys: readonly string[];
  /** Description: "Zoom in". */
  readonly title: string;
  /** "Everywhere", or a view's title: where it works. */
  readonly scope: string;
  /** Called once for a press. */
  readonly run?: () => void;
  /** Called for every frame while it is held, with the seconds since the last one. */
  readonly held?: (seconds: number) => void;
  /** Whether it applies now; the default: always. */
  readonly when?: () => boolean;
}

const bindings = signal<readonly Binding[]>([]);
export const allBindings: ReadonlySignal<readonly Binding[]> = bindings;

/** Binds; the function that is returned takes them back. Later ones win over earlier ones. */
export function bind(...list: Binding[]): () => void {
  bindings.value = [...bindings.value, ...list];
  return () => {
    bindings.value = bindings.value.filter((b) => !list.includes(b));
  };
}

function chords(event: KeyboardEvent): string[] {
  const ctrl = event.ctrlKey || event.metaKey ? "Ctrl+" : "";
  const alt = event.altKey ? "Alt+" : "";
  const shift = event.shiftKey ? "Shift+" : "";
  return [ctrl + alt + shift + event.code, "key:" + ctrl + alt + event.key];
}

/** Whether the user types text there. */
function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target instanceof HTMLTextAreaElement) return true;
  return target instanceof HTMLInputElement && !["checkbox", "radio", "range", "button"].includes(target.type);
}

/** Buttons, menus and the like keep the keys that work them. */
function belongsToControl(event: KeyboardEvent): boolean {
  const target = event.target;
  if (!(target instanceof HTMLElement) || event.ctrlKey || event.metaKey) return false;
  if (target instanceof HTMLSelectElement) return event.code !== "Escape";
  if (target instanceof HTMLInputElement) return /^(Arrow|Home|End|Page|Space)/.test(event.code);
  if (target.closest("button, a[href], summary, [role=tab], [role=menuitem], [role=option], [role=separator]"))
    return /^(Enter|Space|Arrow|Home|End)/.test(event.code);
  return false;
}

const heldDown = new Map<string, Binding>();
let frame = 0;
let before = 0;

function tick(now: number): void {
  const seconds = Math.min(0.05, (now - before) / 1000);
  before = now;
  for (const binding of heldDown.values()) binding.held?.(seconds);
  frame = heldDown.size ? requestAnimationFrame(tick) : 0;
}

let inFocus: (scope: string) => boolean = () => true;

/** Which scopes get keys: of views that are shown beside each other, those of the focused one. */
export function setScopes(isFocused: (scope: string) => boolean): void {
  inFocus = isFocused;
}

function find(event: KeyboardEvent): Binding | undefined {
  const pressed = chords(event);
  return bindings.value.findLast((b) => b.keys.some((k) => pressed.includes(k)) && inFocus(b.scope) && (b.when?.() ?? true));
}

function onDown(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  if (isTyping(event.target) && !event.ctrlKey && !event.metaKey && event.code !== "Escape") return;
  if (belongsToControl(event)) return;
  const binding = find(event);
  if (!binding) return;
  event.preventDefault();
  if (binding.held) {
    if (heldDown.has(event.code)) return;
    heldDown.set(event.code, binding);
    // The first step at once: a short press must do something.
    binding.held(1 / 60);
    if (!frame) {
      before = performance.now();
      frame = requestAnimationFrame(tick);
    }
  } else {
    binding.run?.();
  }
}

/** Listens; called once. */
export function startKeys(): void {
  addEventListener("keydown", onDown);
  addEventListener("keyup", (event) => {
    heldDown.delete(event.code);
    // Of a modified key, the release of the modifier is all that may be seen.
    if (/^(Control|Meta|Shift|Alt)/.test(event.code)) heldDown.clear();
  });
  addEventListener("blur", () => heldDown.clear());
}

const NAMES: Record<string, string> = {
  ArrowLeft: "←",
  ArrowRight: "→",
  ArrowUp: "↑",
  ArrowDown: "↓",
  Escape: "Esc",
  Equal: "+",
  Minus: "-",
  Period: ".",
  Comma: ",",
  Slash: "/",
  Backslash: "\\",
  BracketLeft: "[",
  BracketRight: "]",
  PageUp: "Page up",
  PageDown: "Page down",
};

/** A chord as people write it: "Ctrl+Shift+P". */
export function chordText(chord: string): string {
  const text = chord.replace(/^key:/, "");
  const parts = text.split("+");
  // "+" itself splits into two empty parts.
  if (text.endsWith("+")) parts.splice(-2, 2, "+");
  return parts.map((p) => NAMES[p] ?? p.replace(/^(Key|Digit|Numpad)/, "")).join("+");
}
