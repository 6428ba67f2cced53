// Mouse, touchpad, pen and fingers on the timeline.

import { known } from "../../api/tile";
import { duration } from "../../draw/format";
import { announce } from "../../parts/announce";
import { compareWith, select } from "../../state/selection";
import { summary, tokenStretch } from "../../state/trace";
import { selectLanes } from "../../state/timelineLanes";
import { timeAxis } from "../../state/timeWindow";
import { selectSlice } from "./actions";
import { hitAt, type Hit } from "./hit";
import { selectRead } from "./pool";
import { layout } from "./rows";
import type { Scene } from "./scene";
import { levelOf } from "./tiles";
import { batchAt } from "./tokens";

/** Pixels that a pointer moves before it drags. */
const DRAG_FROM = 4;
/** A wheel that turns in notches sends more than this at once; a touchpad sends less. */
const NOTCH = 50;

export function hit(scene: Scene, x: number, y: number): Hit | null {
  const range = timeAxis.range.peek();
  const perPixel = scene.nsPerPixel(range);
  const at = range.from + x * perPixel;
  return hitAt(scene.tiles, layout.peek(), levelOf(perPixel), at, y, scene.scroll.peek(), perPixel * 2);
}

/** Rows of a drag from y to y: of lanes only, unless there is none among them. */
function rowsBetween(scene: Scene, a: number, b: number): [number, number] {
  const l = layout.peek();
  const find = (y: number) => {
    const place = y < l.fixed ? y : y + scene.scroll.peek();
    const at = l.rows.findIndex((r) => r.pinned === y < l.fixed && place < r.top + r.height + 3);
    return at < 0 ? l.rows.length - 1 : at;
  };
  return [find(Math.min(a, b)), find(Math.max(a, b))];
}

/** False: no token was computed then. */
function fitToken(at_ns: number): boolean {
  const b = summary.peek()?.batches;
  const range = b ? tokenStretch(b.batch_id[batchAt(b, at_ns)] ?? null) : null;
  if (range) timeAxis.fit(range[0], range[1]);
  return range !== null;
}

type Mode = "none" | "press" | "select" | "move" | "pinch";

export class PointerInput {
  private mode: Mode = "none";
  private begin = { x: 0, y: 0, ns: 0, scroll: 0 };
  private readonly touches = new Map<number, { x: number; y: number }>();
  /** Since the first finger came there were two: the last that is lifted is no click. */
  private pinched = false;
  private spread = 0;

  constructor(
    private readonly scene: Scene,
    private readonly element: HTMLElement,
  ) {}

  private place(event: PointerEvent | MouseEvent): { x: number; y: number } {
    const box = this.element.getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  private ns(x: number): number {
    const { from, to } = timeAxis.range.peek();
    return from + ((to - from) * x) / Math.max(1, this.scene.size.peek().width);
  }

  down(event: PointerEvent): void {
    const at = this.place(event);
    this.element.setPointerCapture(event.pointerId);
    this.begin = { ...at, ns: this.ns(at.x), scroll: this.scene.scroll.peek() };
    if (event.pointerType === "touch") {
      this.touches.set(event.pointerId, at);
      this.pinched = this.touches.size > 1;
      this.mode = this.pinched ? "pinch" : "move";
      this.spread = this.fingers();
      return;
    }
    if (event.button === 1) event.preventDefault();
    this.mode = event.button === 1 || event.shiftKey ? "move" : event.button === 0 ? "press" : "none";
  }

  /** Distance of two fingers. */
  private fingers(): number {
    const [a, b] = [...this.touches.values()];
    return a && b ? Math.max(10, Math.abs(a.x - b.x)) : 0;
  }

  move(event: PointerEvent): void {
    const at = this.place(event);
    this.scene.pointer.value = at;
    if (this.touches.has(event.pointerId)) this.touches.set(event.pointerId, at);
    if (this.mode === "press" && Math.hypot(at.x - this.begin.x, at.y - this.begin.y) >= DRAG_FROM) this.mode = "select";
    if (this.mode === "select") this.dragTo(at);
    if (this.mode === "move") this.moveTo(at);
    if (this.mode === "pinch") this.pinch();
  }

  private dragTo(at: { x: number; y: number }): void {
    const [first, last] = rowsBetween(this.scene, this.begin.y, at.y);
    const there = this.ns(at.x);
    this.scene.drag.value = {
      from_ns: Math.min(this.begin.ns, there),
      to_ns: Math.max(this.begin.ns, there),
      first,
      last,
    };
  }

  /** The grabbed point stays under the pointer. */
  private moveTo(at: { x: number; y: number }): void {
    const by = this.begin.ns - this.ns(at.x);
    const { from, to } = timeAxis.target;
    timeAxis.go({ from: from + by, to: to + by }, true);
    this.scene.scrollTo(this.begin.scroll + this.begin.y - at.y);
  }

  private pinch(): void {
    const spread = this.fingers();
    const [a, b] = [...this.touches.values()];
    if (!spread || !a || !b) return;
    timeAxis.zoom(this.spread / spread, this.ns((a.x + b.x) / 2), true);
    this.spread = spread;
  }

  up(event: PointerEvent): void {
    const at = this.place(event);
    const { mode } = this;
    this.touches.delete(event.pointerId);
    this.mode = this.touches.size ? "move" : "none";
    if (this.touches.size) this.begin = { ...[...this.touches.values()][0]!, ns: this.ns([...this.touches.values()][0]!.x), scroll: this.scene.scroll.peek() };
    const still = Math.hypot(at.x - this.begin.x, at.y - this.begin.y) < DRAG_FROM;
    if (mode === "press" || (mode === "move" && event.pointerType === "touch" && still && !this.pinched)) this.click(at);
    if (mode === "move" && event.shiftKey && still) this.compare(at);
    if (mode === "select") this.endDrag();
  }

  cancel(): void {
    this.mode = "none";
    this.touches.clear();
    this.scene.drag.value = null;
  }

  leave(): void {
    if (this.mode === "none") this.scene.pointer.value = null;
  }

  private endDrag(): void {
    const drag = this.scene.drag.peek();
    this.scene.drag.value = null;
    if (!drag || drag.from_ns >= drag.to_ns) return;
    const lanes = layout
      .peek()
      .rows.slice(drag.first, drag.last + 1)
      .filter((r) => r.kind === "lane")
      .map((r) => r.id);
    selectLanes(lanes.length ? lanes : null);
    select({ time: [drag.from_ns, drag.to_ns] });
    announce(`Selected ${duration(drag.to_ns - drag.from_ns)}${lanes.length ? ` of ${lanes.length} lanes` : ""}`);
  }

  /** Shift+click on a token: the selected one is compared with it. */
  private compare(at: { x: number; y: number }): void {
    const found = hit(this.scene, at.x, at.y);
    const b = summary.peek()?.batches;
    const token = found?.kind === "row" && found.row.kind === "tokens" ? b?.batch_id[batchAt(b, found.at_ns)] : undefined;
    if (token !== undefined) compareWith(token);
  }

  private click(at: { x: number; y: number }): void {
    const found = hit(this.scene, at.x, at.y);
    if (!found) return;
    this.scene.current.value = found.row.id;
    if (found.kind === "slice") selectSlice(found.tile, found.i);
    if (found.kind === "read") selectRead(found.reads, found.i);
    if (found.kind === "merged") announce(`${found.tile.merged.count[found.i]} merged ops: zoom in to see each`);
    if (found.kind === "layer" && found.tile.layers.count[found.i] === 1)
      select({ layer: found.tile.layers.first[found.i]! });
    if (found.kind === "row" && found.row.kind === "tokens") {
      const b = summary.peek()?.batches;
      const token = b?.batch_id[batchAt(b, found.at_ns)];
      if (token !== undefined) select({ token });
    }
  }

  /** Fits a single item, or a token; zooms in on a merged one. */
  double(event: MouseEvent): void {
    const at = this.place(event);
    const found = hit(this.scene, at.x, at.y);
    const s = found?.kind === "slice" ? found.tile.slices : null;
    if (s && found?.kind === "slice") {
      const begin = s.start_ns[found.i]! + found.row.shift_ns;
      timeAxis.fit(begin, begin + s.busy_ns[found.i]! + known(s.wait_ns[found.i]!));
    } else if (found?.kind === "read") {
      const begin = found.reads.begin_ns[found.i]!;
      timeAxis.fit(begin, begin + found.reads.duration_ns[found.i]!);
    } else if (found?.kind === "row" && found.row.kind === "tokens" && fitToken(found.at_ns)) {
      return;
    } else {
      timeAxis.zoom(0.25, this.ns(at.x));
    }
  }

  /** The wheel scrolls the tracks, with Ctrl (and two fingers apart) it zooms, with Shift it moves
   * through time, as does a touchpad sideways. */
  wheel(event: WheelEvent): void {
    event.preventDefault();
    const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? 24 : event.deltaMode === WheelEvent.DOM_DELTA_PAGE ? 400 : 1;
    const dx = event.deltaX * unit;
    const dy = event.deltaY * unit;
    const width = Math.max(1, this.scene.size.peek().width);
    if (event.ctrlKey || event.metaKey) {
      const notch = Math.abs(dy) >= NOTCH;
      // A pinch on a touchpad sends small steps, to be followed at once.
      timeAxis.zoom(Math.exp((notch ? dy * 0.004 : dy * 0.01)), this.ns(this.place(event).x), !notch);
    } else if (event.shiftKey) {
      const by = dx || dy;
      timeAxis.pan(by / width, Math.abs(by) < NOTCH);
    } else {
      if (dx) timeAxis.pan(dx / width, true);
      if (dy) this.scene.scrollTo(this.scene.scroll.peek() + dy);
    }
  }
}
