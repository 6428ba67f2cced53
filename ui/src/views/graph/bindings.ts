// The keys of the graph.

import type { MutableRef } from "preact/hooks";
import type { Binding } from "../../input/keys";
import { announce } from "../../parts/announce";
import { selection } from "../../state/selection";
import type { GraphStore } from "./store";
import { selectedTensorOf, selectItem, selectTensor } from "./select";
import { pathShown, showPath, showWeights, weightsShown } from "./state";
import { walk, type Direction } from "./walk";

/** A second at these speeds: the whole width, and the scale times e. */
const PAN_PER_SECOND = 900;
const ZOOM_PER_SECOND = 2.2;
const SCOPE = "Graph";

export interface Pointer {
  x: number;
  y: number;
  inside: boolean;
}

function walkTo(store: GraphStore, direction: Direction): void {
  const scene = store.scene.peek();
  if (!scene) return;
  const next = walk(scene, store.itemIndex(store.cursor.peek()), direction);
  const item = next === null ? undefined : scene.items[next];
  if (item) store.setCursor(item);
  else announce(`Nothing ${{ up: "above", down: "below", left: "to the left", right: "to the right" }[direction]}`);
}

function enter(store: GraphStore): void {
  const g = store.graph.peek();
  const scene = store.scene.peek();
  const index = store.itemIndex(store.cursor.peek());
  const item = index === null ? undefined : scene?.items[index];
  if (!g || !item) return;
  if (item.kind === "part") store.toggle(item.part);
  else {
    selectItem(g, item);
    announce(`Selected: ${g.sentence(item.tensor)}`);
  }
}

/** The next op in the order of execution, selected. */
function stepOp(store: GraphStore, by: 1 | -1): void {
  const g = store.graph.peek();
  if (!g) return;
  const at = selectedTensorOf(g, selection.peek(), (run) => store.isAlike(run)) ?? store.cursor.peek()?.tensor ?? -1;
  let next = at >= 0 && at < g.nNodes ? at + by : by === 1 ? 0 : g.nNodes - 1;
  while (next >= 0 && next < g.nNodes && !(g.executes(next) && g.opOf(next) === next)) next += by;
  if (next < 0 || next >= g.nNodes) return announce(by === 1 ? "This is the last op" : "This is the first op");
  selectTensor(g, next);
  const place = store.placeOf(next);
  const index = store.itemIndex(place);
  const item = index === null ? undefined : store.scene.peek()?.items[index];
  if (place && item) {
    store.cursor.value = place;
    store.camera.reveal(item);
  }
  return announce(g.sentence(next));
}

/** F: fits the selection. */
function focus(store: GraphStore): void {
  const g = store.graph.peek();
  if (!g) return;
  const s = selection.peek();
  const tensor = selectedTensorOf(g, s, (run) => store.isAlike(run));
  if (tensor !== null) return void store.goTo(tensor, (place) => store.fit(place));
  const place = (s.layer === null ? null : { part: g.partOfLayer(s.layer), tensor: -1 }) ?? store.cursor.peek();
  if (!place || place.part < 0) return store.camera.all();
  store.cursor.value = place;
  return store.fit(place);
}

function moving(store: GraphStore, pointer: MutableRef<Pointer>): Binding[] {
  const zoom = (sign: number) => (seconds: number) => {
    const { x, y, inside } = pointer.current;
    const factor = Math.exp(sign * ZOOM_PER_SECOND * seconds);
    if (inside) store.camera.zoom(factor, x, y, true);
    else store.camera.zoom(factor, undefined, undefined, true);
  };
  const pan = (x: number, y: number) => (seconds: number) =>
    store.camera.pan(x * PAN_PER_SECOND * seconds, y * PAN_PER_SECOND * seconds, true);
  const held = (id: string, keys: string[], title: string, run: (seconds: number) => void): Binding => ({
    id: `graph.${id}`,
    keys,
    title,
    scope: SCOPE,
    held: run,
  });
  return [
    held("zoomIn", ["KeyW", "Equal", "Shift+Equal", "NumpadAdd"], "Zoom in at the pointer", zoom(1)),
    held("zoomOut", ["KeyS", "Minus", "NumpadSubtract"], "Zoom out", zoom(-1)),
    held("left", ["KeyA", "Shift+ArrowLeft"], "Move left", pan(-1, 0)),
    held("right", ["KeyD", "Shift+ArrowRight"], "Move right", pan(1, 0)),
    held("up", ["PageUp", "Shift+ArrowUp"], "Move up", pan(0, -1)),
    held("down", ["PageDown", "Shift+ArrowDown"], "Move down", pan(0, 1)),
  ];
}

export function graphBindings(store: GraphStore, pointer: MutableRef<Pointer>, findBox: MutableRef<HTMLInputElement | null>): Binding[] {
  const press = (id: string, keys: string[], title: string, run: () => void): Binding => ({
    id: `graph.${id}`,
    keys,
    title,
    scope: SCOPE,
    run,
  });
  return [
    ...moving(store, pointer),
    press("inputs", ["ArrowUp"], "Go to its inputs", () => walkTo(store, "up")),
    press("consumers", ["ArrowDown"], "Go to its uses", () => walkTo(store, "down")),
    press("before", ["ArrowLeft"], "Go to the left neighbour", () => walkTo(store, "left")),
    press("behind", ["ArrowRight"], "Go to the right neighbour", () => walkTo(store, "right")),
    press("enter", ["Enter", "NumpadEnter"], "Open or close a layer, select a node", () => enter(store)),
    press("nextOp", ["Period"], "Next op in execution order", () => stepOp(store, 1)),
    press("previousOp", ["Comma"], "Previous op in execution order", () => stepOp(store, -1)),
    press("focus", ["KeyF"], "Fit the selection", () => focus(store)),
    press("all", ["Shift+Digit0"], "Show the whole graph", () => store.camera.all()),
    press("openAll", ["KeyE"], "Open all layers", () => store.toggleAll(true)),
    press("closeAll", ["Shift+KeyE"], "Close all layers", () => store.toggleAll(false)),
    press("path", ["KeyC"], "Show or hide the critical path", () => showPath(!pathShown())),
    press("weights", ["KeyL"], "Show or hide weights", () => showWeights(!weightsShown())),
    // Opened by the canvas itself; here so that it is listed.
    { id: "graph.menu", keys: ["Shift+F10", "ContextMenu"], title: "Menu of the node: filter the log, show in another view, copy the name", scope: SCOPE, when: () => false },
    press("find", ["Slash", "key:/"], "Search in the graph", () => findBox.current?.focus()),
  ];
}
