// A box beside the pointer that never leaves the window and never takes the pointer.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

const GAP = 14;

/** x, y: CSS pixels in the window. */
export function Tooltip(props: { x: number; y: number; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const { width, height } = element.getBoundingClientRect();
    const x = props.x + GAP + width > innerWidth ? props.x - GAP - width : props.x + GAP;
    const y = props.y + GAP + height > innerHeight ? props.y - GAP - height : props.y + GAP;
    element.style.transform = `translate(${Math.max(4, x)}px, ${Math.max(4, y)}px)`;
  });
  return (
    <div class="tooltip" ref={box} role="presentation">
      {props.children}
    </div>
  );
}
