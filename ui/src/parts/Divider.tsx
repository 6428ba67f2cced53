// The line between an upper and a lower part, moved with the pointer or the arrow keys.

import type { MutableRef } from "preact/hooks";

const STEP = 0.05;
const LEAST = 0.15;

export interface DividerProps {
  label: string;
  /** The upper part's share, 0 to 1. */
  share: number;
  onShare: (share: number) => void;
  /** Around both parts. */
  within: MutableRef<HTMLElement | null>;
}

function bounded(share: number): number {
  return Math.min(1 - LEAST, Math.max(LEAST, share));
}

export function Divider(props: DividerProps) {
  const onKeyDown = (event: KeyboardEvent) => {
    const to: Record<string, number> = {
      ArrowUp: props.share - STEP,
      ArrowDown: props.share + STEP,
      Home: LEAST,
      End: 1 - LEAST,
    };
    const share = to[event.code];
    if (share === undefined) return;
    event.preventDefault();
    props.onShare(bounded(share));
  };
  const onPointerDown = (event: PointerEvent) => {
    const line = event.currentTarget as HTMLElement;
    line.setPointerCapture(event.pointerId);
    event.preventDefault();
    line.focus();
  };
  const onPointerMove = (event: PointerEvent) => {
    const box = props.within.current?.getBoundingClientRect();
    if (!box || !(event.currentTarget as HTMLElement).hasPointerCapture(event.pointerId)) return;
    props.onShare(bounded((event.clientY - box.top) / box.height));
  };
  return (
    <div
      class="divider"
      role="separator"
      aria-orientation="horizontal"
      aria-label={props.label}
      aria-valuemin={LEAST * 100}
      aria-valuemax={(1 - LEAST) * 100}
      aria-valuenow={Math.round(props.share * 100)}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
    />
  );
}
