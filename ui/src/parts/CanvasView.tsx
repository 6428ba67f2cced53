// An accessible canvas: focusable, with a description and its keys, followed by a table of the same
// content.

import type { ComponentChildren, JSX } from "preact";
import type { MutableRef } from "preact/hooks";
import { useId, useReducer, useRef } from "preact/hooks";
import { playing } from "../state/playback";
import { asksForMenu, openMenu, type MenuItems } from "./ContextMenu";

/** What a context menu is of. */
export interface Asked {
  /** CSS pixels from the canvas's corner, where keys open it. */
  readonly x: number;
  readonly y: number;
  readonly label: string;
  readonly items: MenuItems;
}

export interface CanvasMenu {
  /** Of what is at that position; null: nothing, the browser's own menu opens. */
  readonly at: (x: number, y: number) => Asked | null;
  /** Of what keys are at, or else of what is selected. */
  readonly ofKeys: () => Asked | null;
}

export interface CanvasViewProps {
  /** Name: "Timeline of 2 threads". */
  label: string;
  /** How it is worked: "W and S zoom, ...". */
  keys: string;
  /** The focused or selected item as text. */
  value?: string;
  /** The canvases, bottom to top. */
  children: ComponentChildren;
  /** The same content as a table (shown on demand, always there for screen readers). */
  table?: ComponentChildren;
  focusRef?: MutableRef<HTMLDivElement | null>;
  menu?: CanvasMenu;
  on?: Pick<
    JSX.HTMLAttributes<HTMLDivElement>,
    | "onPointerDown"
    | "onPointerMove"
    | "onPointerUp"
    | "onPointerLeave"
    | "onPointerCancel"
    | "onDblClick"
    | "onKeyDown"
    | "onFocus"
    | "onBlur"
  >;
}

/** At the pointer, or within the canvas where the keys are. */
function openOn(box: HTMLElement, asked: Asked, pointer?: MouseEvent): void {
  const { left, top, width, height } = box.getBoundingClientRect();
  const x = left + Math.min(width, Math.max(0, asked.x));
  const y = top + Math.min(height, Math.max(0, asked.y));
  openMenu(pointer?.clientX ?? x, pointer?.clientY ?? y, asked.label, asked.items);
}

/** While the film runs a shut table stays as it was: making its rows anew for each token would be most of a frame. */
function Equivalent(props: { table: ComponentChildren }) {
  const box = useRef<HTMLDetailsElement>(null);
  const kept = useRef(props.table);
  const [, again] = useReducer((n: number) => n + 1, 0);
  if (!playing.value || box.current?.open) kept.current = props.table;
  return (
    <details class="equivalent" ref={box} onToggle={() => again(0)}>
      <summary>As a table</summary>
      {kept.current}
    </details>
  );
}

export function CanvasView(props: CanvasViewProps) {
  const id = useId();
  const { menu, on } = props;
  const byPointer = (event: JSX.TargetedMouseEvent<HTMLDivElement>) => {
    const box = event.currentTarget;
    const { left, top } = box.getBoundingClientRect();
    const asked = menu?.at(event.clientX - left, event.clientY - top);
    if (!asked) return;
    event.preventDefault();
    // The menu gives the focus back to where keys work.
    box.focus({ preventScroll: true });
    openOn(box, asked, event);
  };
  const byKeys = (event: JSX.TargetedKeyboardEvent<HTMLDivElement>) => {
    if (!menu || !asksForMenu(event)) return on?.onKeyDown?.(event);
    event.preventDefault();
    event.stopPropagation();
    const asked = menu.ofKeys();
    if (asked) openOn(event.currentTarget, asked);
    return undefined;
  };
  return (
    <div class="canvas-view">
      <div
        class="canvas-proxy"
        role="application"
        tabIndex={0}
        aria-label={props.value ? `${props.label}. ${props.value}` : props.label}
        aria-describedby={id}
        ref={props.focusRef}
        {...on}
        onKeyDown={byKeys}
        onContextMenu={menu && byPointer}
      >
        {props.children}
      </div>
      <p class="sr-only" id={id}>
        {props.keys}
      </p>
      {props.table && <Equivalent table={props.table} />}
    </div>
  );
}
