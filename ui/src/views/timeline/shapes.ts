// Rectangles of a tile: ops, waits, merged ops, layers.

import { CATEGORIES } from "../../draw/colour";
import { PATTERN, type RectBatch } from "../../draw/rects";
import { categoryColour, PATTERN_OF, type Rgb } from "./look";
import type { Layout, Row } from "./rows";
import { known, MARKED, NONE, type Tile } from "../../api/tile";

/** What the tile highlights; all null: nothing. */
export interface Marks {
  readonly token: number | null;
  readonly token_ns: readonly [number, number] | null;
  /** Layer or tensor: the server marked what matches. */
  readonly marked: boolean;
}

export interface Shapes {
  /** Of rows that stay at the top, and of those that scroll. */
  readonly fixed: RectBatch;
  readonly scrolling: RectBatch;
}

/** Alpha of what does not match the selection, of 255. */
export const DIM = 80;
const WAIT: Rgb = [128, 134, 142];
/** A wait's share of the row's height: its shape differs from work, too. */
const WAIT_SHARE = 0.45;

/** Collects rectangles. */
export class Builder {
  n = 0;
  private place: Float32Array;
  private colour: Uint8Array;
  private pattern: Uint8Array;

  constructor(
    private readonly origin: number,
    room: number,
  ) {
    this.place = new Float32Array(room * 4);
    this.colour = new Uint8Array(room * 4);
    this.pattern = new Uint8Array(room);
  }

  add(start: number, length: number, y: number, height: number, ink: Rgb, alpha: number, pattern: number): void {
    const at = this.n * 4;
    if (at >= this.place.length) return;
    this.place[at] = start - this.origin;
    this.place[at + 1] = length;
    this.place[at + 2] = y;
    this.place[at + 3] = height;
    this.colour[at] = ink[0];
    this.colour[at + 1] = ink[1];
    this.colour[at + 2] = ink[2];
    this.colour[at + 3] = alpha;
    this.pattern[this.n++] = pattern;
  }

  done(): RectBatch {
    return {
      origin: this.origin,
      n: this.n,
      place: this.place.subarray(0, this.n * 4),
      colour: this.colour.subarray(0, this.n * 4),
      pattern: this.pattern.subarray(0, this.n),
    };
  }
}

export function sliceAlpha(tile: Tile, i: number, marks: Marks): number {
  const s = tile.slices;
  if (marks.marked && tile.marks_known) return s.flags[i]! & MARKED ? 255 : DIM;
  if (marks.token !== null) return s.batch[i] === marks.token ? 255 : DIM;
  return 255;
}

function mergedAlpha(tile: Tile, i: number, marks: Marks): number {
  const m = tile.merged;
  if (marks.marked && tile.marks_known) return m.marked[i] ? 255 : DIM;
  if (marks.token_ns) {
    const begin = tile.from_ns + m.bucket[i]! * tile.bucket_ns;
    return begin + tile.bucket_ns > marks.token_ns[0] && begin < marks.token_ns[1] ? 255 : DIM;
  }
  return 255;
}

type Pick = (row: Row) => Builder;

function addSlices(tile: Tile, layout: Layout, marks: Marks, pick: Pick): void {
  const s = tile.slices;
  for (let i = 0; i < s.n; i++) {
    const row = layout.byTrack.get(s.track[i]!);
    if (!row) continue;
    const to = pick(row);
    const alpha = sliceAlpha(tile, i, marks);
    const { category } = tile.kinds[s.kind[i]!]!;
    const busy = s.busy_ns[i]!;
    const wait = s.wait_ns[i]!;
    if (wait > 0) {
      const height = Math.round(row.height * WAIT_SHARE);
      to.add(s.start_ns[i]! + busy, wait, row.top + row.height - height, height, WAIT, alpha, PATTERN.sparse);
    }
    to.add(s.start_ns[i]!, busy, row.top, row.height, categoryColour(category), alpha, PATTERN_OF[category] ?? 0);
  }
}

const INKS = CATEGORIES.map((category) => [categoryColour(category), PATTERN_OF[category] ?? 0] as const);

/** Of more merged buckets only the one with most work is drawn: parts of a pixel on many lanes. */
const PARTED_MAX = 40_000;

/** A column per bucket: work by category from below, waits above it, and a line at the top that
 * marks several ops. */
function addMerged(tile: Tile, layout: Layout, marks: Marks, pick: Pick): void {
  const m = tile.merged;
  const width = tile.bucket_ns;
  for (let i = 0; i < m.n; i++) {
    const row = layout.byTrack.get(m.track[i]!);
    if (!row) continue;
    const to = pick(row);
    const alpha = mergedAlpha(tile, i, marks);
    const begin = tile.from_ns + m.bucket[i]! * width;
    const room = row.height - 3;
    const bottom = row.top + row.height;
    const busy = Math.max(1, Math.min(1, m.busy_ns[i]! / width) * room);
    const wait = Math.min(1, known(m.wait_ns[i]!) / width) * room;
    if (m.n > PARTED_MAX || m.busy_ns[i] === 0) {
      const { category } = tile.kinds[m.kind[i]!] ?? { category: "other" };
      to.add(begin, width, bottom - busy, busy, categoryColour(category), alpha, PATTERN_OF[category] ?? 0);
    } else {
      let at = bottom;
      for (let k = 0; k < INKS.length; k++) {
        const part = (m.shares[i * INKS.length + k]! / 255) * room;
        if (part === 0) continue;
        const [ink, pattern] = INKS[k]!;
        at -= part;
        to.add(begin, width, at, part, ink, alpha, pattern);
      }
    }
    if (wait > 0.25) to.add(begin, width, bottom - busy - wait, wait, WAIT, alpha * 0.6, PATTERN.plain);
    if (m.count[i]! > 1) to.add(begin, width, row.top, 1.5, WAIT, alpha, PATTERN.plain);
  }
}

const LAYER_INKS: readonly [Rgb, Rgb] = [
  [72, 120, 150],
  [110, 150, 175],
];

function addLayers(tile: Tile, layout: Layout, layer: number | null, pick: Pick): void {
  const l = tile.layers;
  const rows = layout.rows.filter((row) => row.kind === "layers");
  for (let i = 0; i < l.n; i++) {
    const row = rows.find((each) => each.of === l.row[i]);
    if (!row || (l.first[i] === -1 && l.last[i] === -1)) continue;
    const several = l.count[i]! > 1;
    const has = layer === null || (l.first[i]! <= layer && layer <= l.last[i]!);
    const ink = LAYER_INKS[(l.first[i]! + 2) % 2]!;
    const pattern = several ? PATTERN.sparse : PATTERN.plain;
    pick(row).add(l.start_ns[i]!, l.end_ns[i]! - l.start_ns[i]!, row.top, row.height, ink, has ? 255 : DIM, pattern);
  }
}

export function shapesOf(tile: Tile, layout: Layout, marks: Marks, layer: number | null): Shapes {
  const parts = tile.merged.n > PARTED_MAX ? 1 : INKS.length;
  const room = tile.slices.n * 2 + tile.merged.n * (parts + 2) + tile.layers.n;
  const fixed = new Builder(tile.from_ns, [...layout.byTrack.values()].some((r) => r.pinned) ? room : tile.layers.n);
  const scrolling = new Builder(tile.from_ns, room);
  const pick = (row: Row) => (row.pinned ? fixed : scrolling);
  addMerged(tile, layout, marks, pick);
  addSlices(tile, layout, marks, pick);
  addLayers(tile, layout, layer, pick);
  return { fixed: fixed.done(), scrolling: scrolling.done() };
}

/** The displayed name of a slice's op: what it computes. */
export function sliceName(tile: Tile, i: number): string {
  return tile.names[tile.slices.name[i]!] ?? "";
}

/** The token of a slice, or null. */
export function sliceToken(tile: Tile, i: number): number | null {
  const token = tile.slices.batch[i]!;
  return token === NONE ? null : token;
}
