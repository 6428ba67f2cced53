// A box beside the pointer that never leaves the window and never takes the pointer.

import type { ComponentChildren } from "preact";
import { useLayoutEffect, useRef } from "preact/hooks";

const GAP = 14;
const MARGIN = 4;

/** The target may be outside of the window: keys can move there. */
function within(at: number, most: number): number {
  return Math.max(MARGIN, Math.min(at, most - MARGIN));
}

/** x, y: CSS pixels in the window. */
export function Tooltip(props: { x: number; y: number; children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const element = box.current;
    if (!element) return;
    const { width, height } = element.getBoundingClientRect();
    const x = props.x + GAP + width > innerWidth ? props.x - GAP - width : props.x + GAP;
    const y = props.y + GAP + height > innerHeight ? props.y - GAP - height : props.y + GAP;
    element.style.transform = `translate(${within(x, innerWidth - width)}px, ${within(y, innerHeight - height)}px)`;
  });
  return (
    <div class="tooltip" ref={box} role="presentation">
      {props.children}
    </div>
  );
}
