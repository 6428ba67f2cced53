// Keys of the map; the search box and the help list them.

import { useEffect } from "preact/hooks";
import type { Axis } from "../../draw/axis";
import { bind, type Binding } from "../../input/keys";
import type { MapControls } from "./MapCanvas";

/** Keys that work while the map has the focus. */
export function useMapKeys(controls: { current: MapControls | null }, scope: string): void {
  useEffect(() => {
    const id = scope.toLowerCase().replace(/ /g, "-");
    const at = (name: string, keys: string[], title: string, run: (c: MapControls) => void): Binding => ({
      id: `${id}.${name}`,
      keys,
      title,
      scope,
      run: () => controls.current && run(controls.current),
      when: () => controls.current?.focused.value ?? false,
    });
    return bind(
      at("right", ["ArrowRight"], "Next tensor of the row", (c) => c.along(1)),
      at("left", ["ArrowLeft"], "Previous tensor of the row", (c) => c.along(-1)),
      at("down", ["ArrowDown"], "Row below", (c) => c.across(1)),
      at("up", ["ArrowUp"], "Row above", (c) => c.across(-1)),
      at("expert-next", ["Shift+ArrowRight"], "Next expert of the tensor", (c) => c.expert(1)),
      at("expert-before", ["Shift+ArrowLeft"], "Previous expert", (c) => c.expert(-1)),
      at("choose", ["Enter", "Space"], "Select the tensor", (c) => c.choose()),
      // Opened by the canvas itself; here so that it is listed.
      { id: `${id}.menu`, keys: ["Shift+F10", "ContextMenu"], title: "Menu of the tensor: filter the log, show in another view, copy the name", scope, when: () => false },
    );
  }, []);
}

/** Zoom for a second of holding the key. */
const ZOOM_A_SECOND = 12;
const PAN_A_SECOND = 1.2;

/** Keys that work wherever the focus is, while the view is shown. */
export function useViewKeys(controls: { current: MapControls | null }, axis: Axis, more: readonly Binding[]): void {
  useEffect(() => {
    const scope = "Memory";
    const zoom = (sign: 1 | -1) => (seconds: number) => controls.current?.zoom(ZOOM_A_SECOND ** (sign * seconds));
    const pan = (sign: 1 | -1) => (seconds: number) => axis.pan(sign * PAN_A_SECOND * seconds);
    // With the focus on the map, arrows go from tensor to tensor instead.
    const arrows = (id: string, key: string, title: string, held: (seconds: number) => void): Binding => ({
      id: `memory.${id}`,
      keys: [key],
      title: `${title} (when the map has no focus)`,
      scope,
      held,
      when: () => !controls.current?.focused.value && !document.activeElement?.closest(".memory-log"),
    });
    return bind(
      arrows("arrow-in", "ArrowUp", "Zoom in", zoom(-1)),
      arrows("arrow-out", "ArrowDown", "Zoom out", zoom(1)),
      arrows("arrow-left", "ArrowLeft", "Pan to lower offsets", pan(-1)),
      arrows("arrow-right", "ArrowRight", "Pan to higher offsets", pan(1)),
      { id: "memory.in", keys: ["KeyW", "Equal", "NumpadAdd", "key:+"], title: "Zoom in, at the pointer", scope, held: zoom(-1) },
      { id: "memory.out", keys: ["KeyS", "Minus", "NumpadSubtract"], title: "Zoom out", scope, held: zoom(1) },
      { id: "memory.pan-left", keys: ["KeyA"], title: "Pan to lower offsets", scope, held: pan(-1) },
      { id: "memory.pan-right", keys: ["KeyD"], title: "Pan to higher offsets", scope, held: pan(1) },
      { id: "memory.all", keys: ["Shift+Digit0"], title: "Show all", scope, run: () => axis.all() },
      { id: "memory.fit", keys: ["KeyF"], title: "Fit the selected tensor", scope, run: () => controls.current?.fit() },
      { id: "memory.next", keys: ["Period"], title: "Next tensor of the row", scope, run: () => controls.current?.along(1) },
      { id: "memory.before", keys: ["Comma"], title: "Previous tensor of the row", scope, run: () => controls.current?.along(-1) },
      { id: "memory.open", keys: ["KeyO"], title: "Open or close the buffer's row by layers", scope, run: () => controls.current?.toggle() },
      ...more,
    );
  }, []);
}
