// The canvas of the graph: drawing it, and the pointer on it.

import { effect, useComputed, useSignal, type ReadonlySignal, type Signal } from "@preact/signals";
import { useEffect, useRef, type MutableRef } from "preact/hooks";
import { drawOn, type Drawn } from "../../draw/canvas";
import { isDark } from "../../draw/colour";
import { counted } from "../../draw/format";
import { CanvasView, type CanvasMenu } from "../../parts/CanvasView";
import { useSize } from "../../parts/useSize";
import { announce } from "../../parts/announce";
import { badItems } from "./bad";
import type { Pointer } from "./bindings";
import { onScreen, readTheme, type Look } from "./brush";
import type { Colouring } from "./colours";
import { itemAt, lineAt } from "./hit";
import { NodeTable } from "./NodeTable";
import { LINES_MAX, paint } from "./paint";
import type { PathInScene } from "./path";
import { menuOfItem, selectItem, type Marks } from "./select";
import { HEADER } from "./scene";
import { keepEye, keptEye } from "./state";
import type { GraphStore } from "./store";
import { ItemTip, LineTip } from "./Tip";

/** CSS pixels that a pointer may move in a click. */
const CLICK = 4;
/** Width of the sign at the left of a part that opens it, in the picture. */
const SIGN = 28;

export interface GraphCanvasProps {
  store: GraphStore;
  colouring: ReadonlySignal<Colouring | null>;
  path: ReadonlySignal<PathInScene | null>;
  marks: ReadonlySignal<Marks | null>;
  pointer: MutableRef<Pointer>;
}

interface Hover {
  readonly item: number | null;
  readonly line: number | null;
  /** In the window. */
  readonly x: number;
  readonly y: number;
}

const KEYS =
  "Arrow keys follow the edges: up to inputs, down to uses, left and right to neighbours. " +
  "Enter opens or closes a layer and selects a node. W and S zoom, A and D move left and right, Page Up and Page Down up and down, " +
  "F fits the selection, Shift+0 shows all, C shows the critical path, E opens all layers, Shift with F10 opens a menu. A table of all nodes follows.";

function useLook(props: GraphCanvasProps, hover: ReadonlySignal<Hover | null>): ReadonlySignal<Look | null> {
  const { store, colouring, path, marks } = props;
  const bad = useComputed(() => (store.graph.value && store.scene.value ? badItems(store.graph.value, store.scene.value) : new Map()));
  return useComputed<Look | null>(() => {
    const g = store.graph.value;
    const scene = store.scene.value;
    const dark = isDark.value;
    if (!g || !scene || !colouring.value || dark === undefined) return null;
    const place = store.hit.value === null ? null : store.placeOf(store.hits.value[store.hit.value] ?? -1);
    const hits = new Set<number>();
    for (const tensor of store.hits.value) {
      const index = store.itemIndex(store.placeOf(tensor));
      if (index !== null) hits.add(index);
    }
    return {
      g,
      scene,
      theme: readTheme(),
      colouring: colouring.value,
      path: path.value,
      bad: bad.value,
      selected: marks.value?.selected ?? new Set(),
      related: marks.value?.related ?? new Set(),
      now: marks.value?.now ?? null,
      hits,
      hit: store.itemIndex(place),
      cursor: store.itemIndex(store.cursor.value),
      hoverItem: hover.value?.item ?? null,
      hoverLine: hover.value?.line ?? null,
    };
  });
}

const MARGIN = 20;

/** All of the graph, at the size at which its texts are read, without what the pointer does. */
function wholeGraph(look: Look): Drawn {
  const width = look.scene.width + 2 * MARGIN;
  const height = look.scene.height + 2 * MARGIN;
  const still: Look = { ...look, hits: new Set(), hit: null, cursor: null, hoverItem: null, hoverLine: null };
  return { width, height, draw: (c) => void paint(c, still, { x: -MARGIN, y: -MARGIN, scale: 1 }, width, height, Infinity) };
}

/** Paints at most once a frame, whatever changed in between. */
function usePainting(leftOut: Signal<number>, store: GraphStore, canvas: MutableRef<HTMLCanvasElement | null>, look: ReadonlySignal<Look | null>, size: ReadonlySignal<{ width: number; height: number }>): void {
  useEffect(() => {
    let frame = 0;
    const draw = () => {
      frame = 0;
      const now = look.peek();
      const { width, height } = size.peek();
      if (!canvas.current || !now || !width) return;
      const eye = store.camera.eye.peek();
      const put = (c: CanvasRenderingContext2D) => paint(c, now, eye, width, height, LINES_MAX);
      drawOn(canvas.current, width, height, (c) => (leftOut.value = put(c)), () => wholeGraph(now));
    };
    const stop = effect(() => {
      look.value;
      size.value;
      store.camera.eye.value;
      if (!frame) frame = requestAnimationFrame(draw);
    });
    return () => {
      stop();
      cancelAnimationFrame(frame);
    };
  }, []);
}

export function GraphCanvas(props: GraphCanvasProps) {
  const { store, pointer, marks } = props;
  const { ref, size } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const hover = useSignal<Hover | null>(null);
  const look = useLook(props, hover);
  const drag = useRef<{ x: number; y: number; moved: boolean } | null>(null);
  const leftOut = useSignal(0);
  usePainting(leftOut, store, canvas, look, size);

  useEffect(() => {
    let begun: unknown = null;
    return effect(() => {
      const scene = store.scene.value;
      if (size.value.width === 0) return;
      store.camera.setSize(size.value);
      // Anew when the page took room away before anybody moved.
      if (!scene || (begun && begun !== store.camera.target)) return;
      const kept = keptEye() !== null;
      store.begin(scene, !begun);
      begun = kept ? {} : store.camera.target;
    });
  }, []);
  useEffect(() => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    let first = true;
    const stop = effect(() => {
      const eye = store.camera.eye.value;
      clearTimeout(timer);
      if (!first && store.scene.peek()) timer = setTimeout(() => keepEye(eye), 400);
      first = false;
    });
    return () => {
      stop();
      clearTimeout(timer);
    };
  }, []);
  useEffect(() => {
    const element = ref.current;
    if (!element) return undefined;
    const onWheel = (event: WheelEvent) => {
      event.preventDefault();
      const unit = event.deltaMode === 1 ? 24 : event.deltaMode === 2 ? size.peek().height : 1;
      const box = element.getBoundingClientRect();
      if (event.ctrlKey || event.metaKey)
        store.camera.zoom(Math.exp(-event.deltaY * unit * 0.002), event.clientX - box.left, event.clientY - box.top);
      else if (event.shiftKey) store.camera.pan((event.deltaY + event.deltaX) * unit, 0);
      else store.camera.pan(event.deltaX * unit, event.deltaY * unit);
    };
    element.addEventListener("wheel", onWheel, { passive: false });
    return () => element.removeEventListener("wheel", onWheel);
  }, []);

  const place = (event: PointerEvent | MouseEvent) => {
    const box = ref.current!.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  };
  const under = (event: PointerEvent | MouseEvent) => {
    const scene = store.scene.peek();
    const { x, y } = place(event);
    return scene ? itemAt(scene, store.camera.eye.peek(), x, y) : null;
  };

  const onMove = (event: PointerEvent) => {
    const { x, y } = place(event);
    pointer.current = { x, y, inside: true };
    if (drag.current) {
      const [dx, dy] = [event.clientX - drag.current.x, event.clientY - drag.current.y];
      if (!drag.current.moved && Math.hypot(dx, dy) < CLICK) return;
      store.camera.pan(-dx, -dy, true);
      drag.current = { x: event.clientX, y: event.clientY, moved: true };
      hover.value = null;
      return;
    }
    const scene = store.scene.peek();
    if (!scene) return;
    const item = itemAt(scene, store.camera.eye.peek(), x, y);
    const line = item === null ? lineAt(scene, store.camera.eye.peek(), x, y) : null;
    hover.value = item === null && line === null ? null : { item, line, x: event.clientX, y: event.clientY };
  };

  const click = (event: PointerEvent) => {
    const g = store.graph.peek();
    const scene = store.scene.peek();
    const index = under(event);
    const item = index === null ? undefined : scene?.items[index];
    if (!g || !item) return;
    store.cursor.value = { part: item.part, tensor: item.tensor };
    const eye = store.camera.eye.peek();
    if (item.kind === "part" && place(event).x < (item.x + SIGN - eye.x) * eye.scale) return store.toggle(item.part);
    if (item.kind === "entry") return void store.goTo(item.tensor);
    selectItem(g, item);
    return announce(`Selected: ${item.kind === "part" ? g.partSentence(item.part) : g.sentence(item.tensor)}`);
  };

  const on = {
    onPointerDown: (event: PointerEvent) => {
      if (event.button !== 0) return;
      (event.currentTarget as HTMLElement).setPointerCapture(event.pointerId);
      drag.current = { x: event.clientX, y: event.clientY, moved: false };
    },
    onPointerMove: onMove,
    onPointerUp: (event: PointerEvent) => {
      const was = drag.current;
      drag.current = null;
      if (was && !was.moved) click(event);
    },
    onPointerCancel: () => {
      drag.current = null;
    },
    onPointerLeave: () => {
      pointer.current = { ...pointer.current, inside: false };
      hover.value = null;
    },
    onDblClick: (event: MouseEvent) => {
      const index = under(event);
      const item = index === null ? undefined : store.scene.peek()?.items[index];
      const { x, y } = place(event);
      if (item?.kind === "part") store.toggle(item.part);
      else store.camera.zoom(2, x, y);
    },
  };

  const menuOf = (index: number | null | undefined) => {
    const graph = store.graph.peek();
    const item = index === null || index === undefined ? undefined : store.scene.peek()?.items[index];
    if (!graph || !item) return null;
    hover.value = null;
    store.cursor.value = { part: item.part, tensor: item.tensor };
    const r = onScreen(item, store.camera.eye.peek());
    return { x: r.x + 8, y: r.y + (item.kind === "part" ? Math.min(r.h, HEADER) : r.h), ...menuOfItem(graph, item) };
  };
  const menu: CanvasMenu = {
    at: (x, y) => {
      const shown = store.scene.peek();
      return shown && menuOf(itemAt(shown, store.camera.eye.peek(), x, y));
    },
    ofKeys: () => menuOf(store.itemIndex(store.cursor.peek()) ?? [...(marks.peek()?.selected ?? [])][0]),
  };

  const g = store.graph.value;
  const cursor = store.cursor.value;
  const value = !g || !cursor || cursor.part >= g.nParts ? "" : cursor.tensor < 0 ? g.partSentence(cursor.part) : g.sentence(cursor.tensor);
  const scene = store.scene.value;
  const at = hover.value;
  return (
    <CanvasView label="Graph of the token" keys={KEYS} value={value} focusRef={ref} on={on} menu={menu} table={g && <NodeTable store={store} g={g} />}>
      <canvas ref={canvas} />
      {leftOut.value > 0 && (
        <p class="graph-left-out">{counted(leftOut.value, "line")} inside layers not drawn because there are too many: zoom in (W) to see them</p>
      )}
      {g && scene && at?.item !== null && at && scene.items[at.item] && <ItemTip g={g} item={scene.items[at.item]!} x={at.x} y={at.y} />}
      {g && scene && at && at.item === null && at.line !== null && scene.lines[at.line] && (
        <LineTip g={g} scene={scene} line={scene.lines[at.line]!} x={at.x} y={at.y} />
      )}
    </CanvasView>
  );
}
