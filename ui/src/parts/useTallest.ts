// Lines above or below a picture whose figures change: the picture must not move when they wrap.

import { useLayoutEffect, useRef, type MutableRef } from "preact/hooks";

/** The element keeps the largest height that it had at its width. key: when it changes, it has other content, and
 * begins anew. */
export function useTallest<E extends HTMLElement>(key = ""): MutableRef<E | null> {
  const ref = useRef<E | null>(null);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    let [width, height] = [0, 0];
    const keep = () => {
      if (element.offsetWidth !== width) {
        element.style.minHeight = "";
        [width, height] = [element.offsetWidth, 0];
      }
      const now = element.getBoundingClientRect().height;
      if (now <= height) return;
      height = now;
      element.style.minHeight = `${height}px`;
    };
    keep();
    const observer = new ResizeObserver(keep);
    observer.observe(element);
    return () => {
      observer.disconnect();
      element.style.minHeight = "";
    };
  }, [key]);
  return ref;
}
