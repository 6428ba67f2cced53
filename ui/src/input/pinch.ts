// Two fingers on a canvas zoom it as Ctrl and the wheel do: every canvas that knows the wheel knows them.

/** The timeline follows both fingers itself. */
const CANVAS = ".canvas-proxy:not(.timeline *)";
/** What the canvases make of a wheel: exp(0.002 x delta). */
const DELTA = 500;

interface Finger {
  x: number;
  y: number;
}

const fingers = new Map<number, Finger>();
let canvas: Element | null = null;
let spread = 0;

function distance(): number {
  const [a, b] = [...fingers.values()];
  return a && b ? Math.max(20, Math.hypot(a.x - b.x, a.y - b.y)) : 0;
}

function down(event: PointerEvent): void {
  if (event.pointerType !== "touch") return;
  const at = (event.target as Element | null)?.closest?.(CANVAS) ?? null;
  if (fingers.size === 0) canvas = at;
  if (!at || at !== canvas) return;
  fingers.set(event.pointerId, { x: event.clientX, y: event.clientY });
  if (fingers.size !== 2) return;
  spread = distance();
  // The first finger drags no more.
  const [first] = fingers.keys();
  canvas.dispatchEvent(new PointerEvent("pointercancel", { pointerId: first!, pointerType: "touch", bubbles: true }));
  event.stopPropagation();
}

function move(event: PointerEvent): void {
  const finger = fingers.get(event.pointerId);
  if (!finger) return;
  finger.x = event.clientX;
  finger.y = event.clientY;
  if (fingers.size < 2 || !canvas) return;
  event.stopPropagation();
  const now = distance();
  const [a, b] = [...fingers.values()];
  const deltaY = -Math.log(now / spread) * DELTA;
  spread = now;
  canvas.dispatchEvent(
    new WheelEvent("wheel", {
      deltaY,
      ctrlKey: true,
      clientX: (a!.x + b!.x) / 2,
      clientY: (a!.y + b!.y) / 2,
      bubbles: true,
      cancelable: true,
    }),
  );
}

function up(event: PointerEvent): void {
  if (!event.isTrusted) return;
  const pinched = fingers.size >= 2;
  if (!fingers.delete(event.pointerId)) return;
  // The lifted finger of two is no click; nor is the other, which had been cancelled.
  if (pinched && event.type === "pointerup") event.stopPropagation();
  if (fingers.size === 0) canvas = null;
}

/** Listens before the canvases do; called once. */
export function startPinch(): void {
  addEventListener("pointerdown", down, { capture: true });
  addEventListener("pointermove", move, { capture: true });
  addEventListener("pointerup", up, { capture: true });
  addEventListener("pointercancel", up, { capture: true });
}
