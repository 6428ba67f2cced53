// The size of an element, as a signal that follows it.

import { signal, type ReadonlySignal } from "@preact/signals";
import { useLayoutEffect, useMemo, useRef, type MutableRef } from "preact/hooks";

export interface Size {
  /** CSS pixels. */
  readonly width: number;
  readonly height: number;
}

export function useSize<E extends HTMLElement>(): { ref: MutableRef<E | null>; size: ReadonlySignal<Size> } {
  const ref = useRef<E | null>(null);
  const size = useMemo(() => signal<Size>({ width: 0, height: 0 }), []);
  useLayoutEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const measure = () => {
      const { clientWidth: width, clientHeight: height } = element;
      if (size.peek().width !== width || size.peek().height !== height) size.value = { width, height };
    };
    // Also immediately: drawing must not wait for the observer's frame.
    measure();
    const observer = new ResizeObserver(measure);
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return { ref, size };
}
