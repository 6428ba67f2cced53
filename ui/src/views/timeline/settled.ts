// The visible content once nothing has moved for a moment: for text, tables and the names of
// tracks, which need not be updated every frame.

import { signal } from "@preact/signals";
import type { Shown } from "./shown";
import { known } from "../../api/tile";
import type { Range } from "../../draw/axis";

export interface SightedOp {
  readonly shown: Shown;
  readonly i: number;
}

/** What is seen of the second token. */
export type SettledBelow = Pick<Settled, "ops" | "n_ops" | "n_merged" | "range">;

export interface Settled {
  /** By track: ops per pixel, where they are merged. */
  readonly mergedPerPixel: ReadonlyMap<number, number>;
  /** Single visible ops, the first of them. */
  readonly ops: readonly SightedOp[];
  readonly n_ops: number;
  readonly n_merged: number;
  readonly range: Range;
  /** null: there is none, or it is out of sight. */
  readonly below: SettledBelow | null;
}

const LISTED = 100;
const STILL_MS = 250;

export const settled = signal<Settled>({
  mergedPerPixel: new Map(),
  ops: [],
  n_ops: 0,
  n_merged: 0,
  range: { from: 0, to: 1 },
  below: null,
});

function sum(shown: readonly Shown[], range: Range, ns_per_pixel: number): Settled {
  const merged = new Map<number, { ops: number; pixels: number }>();
  const ops: SightedOp[] = [];
  let n_ops = 0;
  let n_merged = 0;
  for (const each of shown) {
    const { tile } = each;
    const from = Math.max(range.from, each.range.from);
    const to = Math.min(range.to, each.range.to);
    for (let i = 0; i < tile.slices.n; i++) {
      const begin = tile.slices.start_ns[i]!;
      // Each op once, in the tile in which it begins; also those that began before the window.
      if (begin >= to || begin + tile.slices.busy_ns[i]! + known(tile.slices.wait_ns[i]!) < from) continue;
      if (begin < each.range.from && each.range.from > range.from) continue;
      n_ops++;
      if (ops.length < LISTED) ops.push({ shown: each, i });
    }
    for (let i = 0; i < tile.merged.n; i++) {
      const begin = tile.from_ns + tile.merged.bucket[i]! * tile.bucket_ns;
      if (begin + tile.bucket_ns <= from || begin >= to) continue;
      const track = tile.merged.track[i]!;
      const at = merged.get(track) ?? { ops: 0, pixels: 0 };
      at.ops += tile.merged.count[i]!;
      at.pixels += tile.bucket_ns / ns_per_pixel;
      merged.set(track, at);
      n_merged += tile.merged.count[i]!;
    }
  }
  const mergedPerPixel = new Map<number, number>();
  for (const [track, { ops: n, pixels }] of merged) if (n > pixels) mergedPerPixel.set(track, n / pixels);
  ops.sort((a, b) => a.shown.tile.slices.start_ns[a.i]! - b.shown.tile.slices.start_ns[b.i]!);
  return { mergedPerPixel, ops, n_ops, n_merged, range, below: null };
}

let timer: ReturnType<typeof setTimeout> | undefined;

/** Called after each frame; part: of the second token, in its own times. */
export function update(shown: readonly Shown[], range: Range, ns_per_pixel: number, shownBelow: readonly Shown[], part: Range | null): void {
  clearTimeout(timer);
  timer = setTimeout(() => {
    settled.value = { ...sum(shown, range, ns_per_pixel), below: part && sum(shownBelow, part, ns_per_pixel) };
  }, STILL_MS);
}
