// The timeline's keys.

import { bind } from "../../input/keys";
import { announce } from "../../parts/announce";
import { hasSelection } from "../../state/selection";
import { changeRow, currentRow, fitSelection, foldRow, pinRow, selectShown, showAll, step, windowInWords } from "./actions";
import { toggleFlame } from "./FlamePanel";
import type { Scene } from "./scene";
import { timeAxis } from "../../state/timeWindow";

const SCOPE = "Timeline";
/** Per second of holding a key: factor of the zoom, or share of the visible range. */
const ZOOM_PER_S = 8;
const PAN_PER_S = 1.2;

/** Around the pointer, or else around the middle. */
function anchor(scene: Scene): number {
  const { from, to } = timeAxis.target;
  const pointer = scene.pointer.peek();
  return from + (to - from) * (pointer ? pointer.x / Math.max(1, scene.size.peek().width) : 0.5);
}

export function zoom(scene: Scene, factor: number, atOnce: boolean): void {
  timeAxis.zoom(factor, anchor(scene), atOnce);
  announce(`The timeline ${windowInWords()}`);
}

function pan(share: number, atOnce: boolean): void {
  timeAxis.pan(share, atOnce);
  announce(`The timeline ${windowInWords()}`);
}

export function bindKeys(scene: () => Scene | null): () => void {
  const held = (id: string, keys: string[], title: string, run: (s: Scene, seconds: number) => void) => ({
    id: `timeline.${id}`,
    keys,
    title,
    scope: SCOPE,
    held: (seconds: number) => {
      const s = scene();
      if (s) run(s, seconds);
    },
  });
  const press = (id: string, keys: string[], title: string, run: (s: Scene) => void, when?: () => boolean) => ({
    id: `timeline.${id}`,
    keys,
    title,
    scope: SCOPE,
    run: () => {
      const s = scene();
      if (s) run(s);
    },
    ...(when ? { when } : {}),
  });
  const row = (run: (row: NonNullable<ReturnType<typeof currentRow>>) => void) => (s: Scene) => {
    const at = currentRow(s);
    if (at) run(at);
  };
  return bind(
    held("in", ["KeyW", "ArrowUp", "key:+", "NumpadAdd"], "Zoom in, at the pointer", (s, t) => zoom(s, ZOOM_PER_S ** -t, true)),
    held("out", ["KeyS", "ArrowDown", "key:-", "NumpadSubtract"], "Zoom out", (s, t) => zoom(s, ZOOM_PER_S ** t, true)),
    held("earlier", ["KeyA", "ArrowLeft"], "Pan to earlier times", (_, t) => pan(-t * PAN_PER_S, true)),
    held("later", ["KeyD", "ArrowRight"], "Pan to later times", (_, t) => pan(t * PAN_PER_S, true)),
    press("centre", ["KeyF"], "Fit the selection", () => void fitSelection(), () => hasSelection.peek()),
    press("all", ["Shift+Digit0"], "Show all of the run", showAll),
    press("next", ["Period"], "Next op along the track", (s) => void step(s, true)),
    press("previous", ["Comma"], "Previous op along the track", (s) => void step(s, false)),
    press("down", ["Shift+ArrowDown", "PageDown"], "Go to the track below", (s) => changeRow(s, 1)),
    press("up", ["Shift+ArrowUp", "PageUp"], "Go to the track above", (s) => changeRow(s, -1)),
    press("pin", ["Shift+KeyP"], "Pin or unpin the track", row(pinRow)),
    press("fold", ["KeyC"], "Fold or unfold the track", row(foldRow)),
    press("flame", ["Shift+KeyF"], "Show or hide the flame chart of the time in view", toggleFlame),
    // Opened by the canvas itself; here so that it is listed.
    { id: "timeline.menu", keys: ["Shift+F10", "ContextMenu"], title: "Menu of the selected op", scope: SCOPE, when: () => false },
    press("select", ["KeyM"], "Select the time in view, and sum its ops", selectShown),
  );
}
