// The line between two parts, one above the other or (upright) side by side, moved with the pointer or
// the arrow keys.

import type { MutableRef } from "preact/hooks";

const STEP = 0.05;
const LEAST = 0.15;

export interface DividerProps {
  label: string;
  /** Side by side. */
  upright?: boolean;
  /** The first part's share, 0 to 1. */
  share: number;
  /** Its limits; the default: 0.15 to 0.85. */
  least?: number;
  most?: number;
  onShare: (share: number) => void;
  /** Around both parts. */
  within: MutableRef<HTMLElement | null>;
}

export function Divider(props: DividerProps) {
  const { upright = false, least = LEAST, most = 1 - LEAST } = props;
  const give = (share: number) => props.onShare(Math.min(most, Math.max(least, share)));
  const onKeyDown = (event: KeyboardEvent) => {
    const to: Record<string, number> = {
      [upright ? "ArrowLeft" : "ArrowUp"]: props.share - STEP,
      [upright ? "ArrowRight" : "ArrowDown"]: props.share + STEP,
      Home: least,
      End: most,
    };
    const share = to[event.code];
    if (share === undefined) return;
    event.preventDefault();
    give(share);
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
    give(upright ? (event.clientX - box.left) / box.width : (event.clientY - box.top) / box.height);
  };
  return (
    <div
      class={upright ? "divider upright" : "divider"}
      role="separator"
      aria-orientation={upright ? "vertical" : "horizontal"}
      aria-label={props.label}
      aria-valuemin={Math.round(least * 100)}
      aria-valuemax={Math.round(most * 100)}
      aria-valuenow={Math.round(props.share * 100)}
      tabIndex={0}
      onKeyDown={onKeyDown}
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
    />
  );
}
