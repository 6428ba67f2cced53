// A modal dialog: Escape closes it, and the focus returns to where it was; all by the browser's own
// <dialog>.

import type { Signal } from "@preact/signals";
import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";
import "./dialog.css";

export function Dialog(props: { open: Signal<boolean>; label: string; class?: string; children: ComponentChildren }) {
  const element = useRef<HTMLDialogElement>(null);
  // Close events that have not arrived yet: the dialog may have been opened again.
  const ours = useRef(0);
  const isOpen = props.open.value;
  // Before further key presses: they are meant for the dialog.
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
