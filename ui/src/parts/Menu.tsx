// A button with a panel under it, closed by Escape, a press elsewhere, or choosing.

import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import "./Menu.css";

export function Menu(props: { title: string; label?: string; class?: string; children: ComponentChildren }) {
  const box = useRef<HTMLDetailsElement>(null);
  useEffect(() => {
    const onPress = (event: PointerEvent) => {
      const menu = box.current;
      if (menu?.open && event.target instanceof Node && !menu.contains(event.target)) menu.open = false;
    };
    addEventListener("pointerdown", onPress);
    return () => removeEventListener("pointerdown", onPress);
  }, []);
  return (
    <details
      class={`menu no-picture ${props.class ?? ""}`}
      ref={box}
      onKeyDown={(event) => {
        if (event.key !== "Escape" || !box.current?.open) return;
        event.preventDefault();
        event.stopPropagation();
        box.current.open = false;
        box.current.querySelector("summary")?.focus();
      }}
    >
      <summary aria-label={props.label} title={props.label}>
        {props.title}
      </summary>
      {props.children}
    </details>
  );
}
