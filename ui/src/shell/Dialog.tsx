// A dialog over the page: the rest of the page waits, Escape closes, and the focus goes back to
// where it was. All of that is the browser's own <dialog>.

import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import "./dialog.css";

export function Dialog(props: { open: Signal<boolean>; label: string; class?: string; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  // Closings whose event is still to come: it may be open again by then.
  const ours = useRef(0);
  const isOpen = props.open.value;
  // Before anything else can be typed: what is typed next is meant for it.
  useLayoutEffect(() => {
    const dialog = element.current;
    if (!dialog) return undefined;
    if (isOpen && !dialog.open) dialog.showModal();
    if (!isOpen && dialog.open) {
      ours.current++;
      dialog.close();
    }
    return undefined;
  }, [isOpen]);
  const close = () => {
    props.open.value = false;
  };
  return (
    <dialog
      ref={element}
      class={`dialog ${props.class ?? ""}`}
      aria-label={props.label}
      onClose={() => {
        if (ours.current > 0) ours.current--;
        else close();
      }}
      onCancel={(event) => {
        event.preventDefault();
        close();
      }}
      // The page's keys are not meant while it is open.
      onKeyDown={(event) => event.stopPropagation()}
      onPointerDown={(event) => {
        // On the backdrop, which belongs to the dialog.
        if (event.target === element.current) close();
      }}
    >
      {isOpen && props.children}
    </dialog>
  );
}
