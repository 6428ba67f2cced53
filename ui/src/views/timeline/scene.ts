// Draws the timeline: rectangles on one canvas, everything with letters on another above it. A
// frame is drawn when something that is shown has changed, and only then.

import { batch, effect, signal, untracked } from "@preact/signals";
import { isDark, themeColour, type Rgb } from "../../draw/colour";
import { drawOn } from "../../draw/canvas";
import { createRects, type RectItem, type RectRenderer } from "../../draw/rects";
import type { Range } from "../../draw/axis";
import { badOutputs } from "../../state/bad";
import { notesInTime } from "../../state/notes";
import { playhead_ns } from "../../state/playback";
import { generation, summary, tokenStretch } from "../../state/trace";
import { selectedSlice, selection } from "../../state/selection";
import { urlParam } from "../../state/url";
import { overview } from "../../state/timelineOverview";
import { selectedLanes } from "../../state/timelineLanes";
import { timeAxis } from "../../state/timeWindow";
import { constants, counters } from "./counters";
import { drawOverlay } from "./overlay";
import { offCpu, offCpuBelow, offCpuShapes } from "./offCpu";
import { chosenOp } from "./op";
import { other, otherPart } from "./other";
import { FONT, penOf, type Pen } from "./pen";
import { pool } from "./pool";
import { poolShapes } from "./poolShapes";
import { AXIS_HEIGHT, layout, type Layout } from "./rows";
import { shapesOf, type Marks, type Shapes } from "./shapes";
import { update } from "./settled";
import type { Shown } from "./shown";
import { arrived, CHUNK, levelOf, placesOf, rangeOf, Tiles, type Kept, type Place } from "./tiles";

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** The range being dragged. */
export interface Drag {
  readonly from_ns: number;
  readonly to_ns: number;
  readonly first: number;
  readonly last: number;
}

/** Levels up and down from the shown one in which a substitute is searched. */
const STAND_INS = [1, 2, 3, 4, 5, 6, 8, 10, -1, -2];

/** "measure=1" in the address: each frame is a measure among the browser's performance entries, and
 * the first one that shows all of the window a mark (bench/viewer). */
const measuring = urlParam("measure", "0");

/** "#rrggbb" of the style sheet. */
function groundColour(): Rgb {
  const n = parseInt(themeColour("--ground").slice(1), 16);
  return [n >> 16, (n >> 8) & 255, n & 255];
}

/** Shapes that stay until what they are made from changes. */
class Made {
  private from: readonly unknown[] = [];
  private shapes: Shapes | null = null;

  get(from: readonly unknown[], make: () => Shapes | null, drop: (old: Shapes) => void): Shapes | null {
    if (from.length === this.from.length && from.every((each, i) => each === this.from[i])) return this.shapes;
    if (this.shapes) drop(this.shapes);
    this.from = from;
    this.shapes = make();
    return this.shapes;
  }
}

export class Scene {
  readonly size = signal<Size>({ width: 0, height: 0 });
  readonly scroll = signal(0);
  /** Where the pointer is, CSS pixels; null: elsewhere. */
  readonly pointer = signal<{ x: number; y: number } | null>(null);
  readonly drag = signal<Drag | null>(null);
  /** The row that keys work on. */
  readonly current = signal("lane0");
  readonly failed = signal(false);

  readonly tiles = new Tiles((kept) => this.forget(kept));
  private readonly shapes = new Map<Kept, Shapes>();
  /** The same tiles, of the rows of the second token. */
  private readonly shapesBelow = new Map<Kept, Shapes>();
  /** Of the last frame. */
  shown: Shown[] = [];
  shownBelow: Shown[] = [];
  private shapesFrom: readonly unknown[] = [];
  private readonly ofPool = new Made();
  private readonly ofOffCpu = new Made();
  private readonly ofOffCpuBelow = new Made();
  private rects: RectRenderer | null = null;
  private frame = 0;
  private marked = false;
  private readonly stop: () => void;

  constructor(
    below: HTMLCanvasElement,
    private readonly above: HTMLCanvasElement,
    lost: () => void,
  ) {
    this.rects = createRects(below, lost);
    this.failed.value = !this.rects;
    const stops = [
      effect(() => {
        this.watch();
        this.request();
      }),
      effect(() => this.ask()),
    ];
    this.stop = () => stops.forEach((each) => each());
  }

  get kind(): string {
    return this.rects?.kind ?? "none";
  }

  dispose(): void {
    this.stop();
    cancelAnimationFrame(this.frame);
    this.tiles.clear();
    this.rects?.dispose();
  }

  /** Reads all signals that a frame shows. */
  private watch(): void {
    for (const each of [timeAxis.range, this.size, this.scroll, this.pointer, this.drag, this.current, layout])
      each.value;
    for (const each of [arrived, selection, chosenOp, selectedLanes, isDark, counters, constants, pool, offCpu, offCpuBelow, overview, summary, badOutputs, playhead_ns, notesInTime]) each.value;
  }

  private request(): void {
    this.frame ||= requestAnimationFrame(() => {
      this.frame = 0;
      this.draw();
    });
  }

  // --- requests ---

  private ask(): void {
    const o = overview.value;
    const s = selection.value;
    this.tiles.ask({
      trace: s.trace,
      generation: generation.value,
      n_tracks: o ? o.lanes * o.rows : 1,
      layer: s.layer,
      tensor: selectedSlice.value ?? s.tensor,
    });
    timeAxis.range.value;
    this.size.value;
    this.scroll.value;
    o?.runs_done;
    // Set in here, and not to be woken by.
    untracked(() => batch(() => this.tiles.want(this.wanted())));
  }

  /** Limited to the run. */
  scrollTo(y: number): void {
    const most = Math.max(0, layout.peek().height - this.size.peek().height);
    this.scroll.value = Math.min(most, Math.max(0, y));
  }

  nsPerPixel(range: Range = timeAxis.range.peek()): number {
    return (range.to - range.from) / Math.max(1, this.size.peek().width);
  }

  /** Chunks of tracks with a row in view. */
  private chunks(l: Layout): number[] {
    const bottom = this.scroll.peek() + this.size.peek().height;
    const seen = new Set<number>([0]);
    for (const row of l.rows)
      if ((row.kind === "lane" || row.kind === "otherLane") && (row.pinned || (row.top < bottom && row.top + row.height > this.scroll.peek())))
        seen.add(Math.floor(row.track / CHUNK));
    return [...seen];
  }

  /** First the target range of the axis, then all of the run, then what zooming and panning lead
   * to. */
  private wanted(): Place[] {
    if (!this.size.peek().width || !overview.peek()) return [];
    const { from, to } = timeAxis.target;
    const level = levelOf(this.nsPerPixel(timeAxis.target));
    const whole = timeAxis.extent;
    const places: Place[] = [];
    const size = to - from;
    const bounded = (r: Range) => ({ from: Math.max(whole.from, r.from), to: Math.min(whole.to, r.to) });
    const add = (r: Range, at: number) => {
      const inside = bounded(r);
      if (inside.from >= inside.to) return;
      for (const chunk of this.chunks(layout.peek())) places.push(...placesOf(inside, at, chunk));
    };
    add({ from, to }, level);
    const below = other.peek() && otherPart(other.peek()!, { from, to });
    if (below) add(below, level);
    add(whole, levelOf(this.nsPerPixel(whole)));
    add({ from: from - size / 2, to: from }, level);
    add({ from: to, to: to + size / 2 }, level);
    const middle = { from: from + size / 4, to: to - size / 4 };
    add({ from: from - size / 2, to: to + size / 2 }, level + 1);
    add(middle, level - 1);
    return places;
  }

  // --- drawing ---

  private forget(kept: Kept): void {
    for (const of of [this.shapes, this.shapesBelow]) {
      const shapes = of.get(kept);
      if (shapes) this.drop(shapes);
      of.delete(kept);
    }
  }

  private drop(shapes: Shapes): void {
    for (const each of [shapes.fixed, shapes.scrolling]) this.rects?.drop(each);
  }

  private marks(): Marks {
    const s = selection.peek();
    return {
      token: s.token,
      token_ns: tokenStretch(s.token),
      marked: s.layer !== null || s.tensor !== null,
    };
  }

  /** As of `marks`, with the second token in place of the selected one. */
  private marksBelow(): Marks {
    const token = other.peek()?.token ?? null;
    return { ...this.marks(), token, token_ns: tokenStretch(token) };
  }

  private shapesFor(kept: Kept, l: Layout, marks: Marks, of: Map<Kept, Shapes>): Shapes {
    let shapes = of.get(kept);
    if (!shapes) {
      shapes = shapesOf(kept.tile, l, marks, selection.peek().layer);
      of.set(kept, shapes);
    }
    return shapes;
  }

  /** Shapes over those of the tiles; null: the trace has none, or they have not come yet. */
  private shapesOver(l: Layout): (Shapes | null)[] {
    const s = selection.peek();
    const [p, o, dark] = [pool.peek(), offCpu.peek(), isDark.peek()];
    const drop = (old: Shapes) => this.drop(old);
    return [
      this.ofOffCpu.get([o, l, dark], () => o && offCpuShapes(o, l, groundColour()), drop),
      this.ofPool.get([p, l, s.token, s.tensor, s.slice, dark], () => p && poolShapes(p, l, groundColour()), drop),
    ];
  }

  /** Tiles for that range: the exact ones, or substitutes. */
  private standIns(place: Place): { kept: Kept; range: Range }[] {
    const range = rangeOf(place);
    const own = this.tiles.get(place);
    if (own) return [{ kept: own, range }];
    for (const off of STAND_INS) {
      const found = placesOf({ from: range.from, to: range.to }, place.level + off, place.chunk)
        .map((each) => this.tiles.get(each))
        .filter((each) => each !== null);
      if (found.length === 0 || (off < 0 && found.length < 2 ** -off)) continue;
      return found.map((kept) => ({
        kept,
        range: { from: Math.max(range.from, kept.range.from), to: Math.min(range.to, kept.range.to) },
      }));
    }
    return [];
  }

  /** Collects what is drawn in that range. */
  items(range: Range, l: Layout): RectItem[] {
    const items: RectItem[] = [];
    this.shown = [];
    this.shownBelow = [];
    const level = levelOf(this.nsPerPixel(range));
    const { height } = this.size.peek();
    const put = (shapes: Shapes, how: Partial<RectItem>) => {
      items.push({ batch: shapes.scrolling, ...how, top: l.fixed, bottom: height, scrollY: -this.scroll.peek() });
      items.push({ batch: shapes.fixed, ...how, top: AXIS_HEIGHT, bottom: l.fixed, scrollY: 0 });
    };
    const marks = this.marks();
    this.eachTile(range, level, l, (kept, part) => {
      this.shown.push({ tile: kept.tile, range: part });
      put(this.shapesFor(kept, l, marks, this.shapes), { from: part.from, to: part.to });
    });
    for (const shapes of this.shapesOver(l)) if (shapes) put(shapes, {});
    this.putBelow(range, level, l, put);
    return items;
  }

  private eachTile(range: Range, level: number, l: Layout, visit: (kept: Kept, part: Range) => void): void {
    for (const chunk of this.chunks(l))
      for (const place of placesOf(range, level, chunk))
        for (const { kept, range: part } of this.standIns(place)) visit(kept, part);
  }

  /** The second token, moved to where the selected one begins. */
  private putBelow(range: Range, level: number, l: Layout, put: (shapes: Shapes, how: Partial<RectItem>) => void): void {
    const o = other.peek();
    const seen = o && otherPart(o, range);
    const below = l.other;
    if (!o || !seen || !below) return;
    const marks = this.marksBelow();
    const shift = o.shift_ns;
    this.eachTile(seen, level, l, (kept, part) => {
      const [from, to] = [Math.max(part.from, seen.from), Math.min(part.to, seen.to)];
      if (from >= to) return;
      this.shownBelow.push({ tile: kept.tile, range: { from, to } });
      put(this.shapesFor(kept, below, marks, this.shapesBelow), { from: from + shift, to: to + shift, shift });
    });
    const off = offCpuBelow.peek();
    const shapes = this.ofOffCpuBelow.get([off, l, isDark.peek()], () => off && offCpuShapes(off, below, groundColour()), (old) => this.drop(old));
    if (shapes) put(shapes, { from: o.from + shift, to: o.to + shift, shift });
  }

  private draw(): void {
    const began = performance.now();
    const { width, height } = this.size.peek();
    if (!width || !height) return;
    const range = timeAxis.range.peek();
    const l = layout.peek();
    const s = selection.peek();
    const from = [l, s.token, s.token2, s.layer, s.tensor, s.slice];
    if (from.some((each, i) => each !== this.shapesFrom[i])) {
      for (const kept of [...this.shapes.keys(), ...this.shapesBelow.keys()]) this.forget(kept);
      this.shapesFrom = from;
    }
    this.rects?.draw(this.items(range, l), { ...range, width, height, scrollY: 0, minWidth: 1, gap: 0.7 });
    this.drawAbove(range, l);
    const o = other.peek();
    update(this.shown, range, this.nsPerPixel(range), this.shownBelow, o && otherPart(o, range));
    if (measuring.value === "1") this.measure(began);
  }

  private measure(began: number): void {
    performance.measure("timeline frame", { start: began });
    const whole = this.shown.length > 0 && this.shown.every(({ tile, range }) => tile.until_ns >= range.to);
    if (whole && !this.marked) performance.mark("timeline whole");
    this.marked ||= whole;
  }

  private drawAbove(range: Range, l: Layout): void {
    const size = this.size.peek();
    drawOn(this.above, size.width, size.height, (c) => {
      c.font = FONT;
      c.textBaseline = "middle";
      this.annotate(c, range, l, this.pointer.peek()?.x ?? null);
    });
  }

  pen(c: CanvasRenderingContext2D, range: Range, pointer_x: number | null): Pen {
    return penOf(c, range, this.size.peek(), this.scroll.peek(), pointer_x);
  }

  /** All but the rectangles. */
  annotate(c: CanvasRenderingContext2D, range: Range, l: Layout, pointer_x: number | null): void {
    drawOverlay(this.pen(c, range, pointer_x), l, this.shown, {
      drag: this.drag.peek(),
      marks: this.marks(),
      lanes: selectedLanes.peek(),
    }, { shown: this.shownBelow, marks: this.marksBelow() });
  }
}
