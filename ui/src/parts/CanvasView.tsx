// An accessible canvas: focusable, with a description and its keys, followed by a table of the same
// content.

import type { ComponentChildren, JSX } from "preact";
import type { MutableRef } from "preact/hooks";
import { useId } from "preact/hooks";

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
  on?: Pick<
    JSX.HTMLAttributes<HTMLDivElement>,
    | "onPointerDown"
    | "onPointerMove"
    | "onPointerUp"
    | "onPointerLeave"
    | "onPointerCancel"
    | "onDblClick"
    | "onContextMenu"
    | "onKeyDown"
    | "onFocus"
    | "onBlur"
  >;
}

export function CanvasView(props: CanvasViewProps) {
  const id = useId();
  return (
    <div class="canvas-view">
      <div
        class="canvas-proxy"
        role="application"
        tabIndex={0}
        aria-label={props.value ? `${props.label}. ${props.value}` : props.label}
        aria-describedby={id}
        ref={props.focusRef}
        {...props.on}
      >
        {props.children}
      </div>
      <p class="sr-only" id={id}>
        {props.keys}
      </p>
      {props.table && (
        <details class="equivalent">
          <summary>As a table</summary>
          {props.table}
        </details>
      )}
    </div>
  );
}
