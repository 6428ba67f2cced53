// Loaded and pending tiles: a fixed number of buckets, a power of two ns each, so that they can be
// reused.

import { signal } from "@preact/signals";
import { getBinary, isAbort, ofTrace } from "../../api/client";
import type { Range } from "../../draw/axis";
import { readTile, type Tile } from "../../api/tile";

const TILE_BUCKETS = 2048;
/** Tracks of one tile. */
export const CHUNK = 32;
const KEPT = 160;
const REQUESTS = 4;
const LEVEL_MIN = -6;

/** Key of the tiles: another trace or other marks need new ones. */
export interface Question {
  readonly trace: number;
  readonly generation: number;
  readonly n_tracks: number;
  readonly layer: number | null;
  readonly tensor: string | null;
}

export interface Place {
  readonly level: number;
  readonly index: number;
  readonly chunk: number;
}

export interface Kept {
  readonly place: Place;
  readonly range: Range;
  readonly tile: Tile;
  /** The request as text: others may substitute for a while. */
  readonly of: string;
  used: number;
}

/** Counts up when a tile has come. */
export const arrived = signal(0);
export const tileError = signal<Error | null>(null);
export const waitingFor = signal(0);

/** The level at which a bucket is as wide as a pixel or a little less. */
export function levelOf(ns_per_pixel: number): number {
  return Math.max(LEVEL_MIN, Math.floor(Math.log2(ns_per_pixel)));
}

export function rangeOf(place: Place): Range {
  const size = TILE_BUCKETS * 2 ** place.level;
  return { from: place.index * size, to: (place.index + 1) * size };
}

/** The tiles of one level and chunk that a range touches, at most 64. */
export function placesOf(range: Range, level: number, chunk: number): Place[] {
  const size = TILE_BUCKETS * 2 ** level;
  const places: Place[] = [];
  const first = Math.floor(range.from / size);
  for (let index = first; index * size < range.to && index < first + 64; index++) places.push({ level, index, chunk });
  return places;
}

function keyOf(place: Place): string {
  return `${place.level} ${place.index} ${place.chunk}`;
}

export class Tiles {
  private question: Question | null = null;
  private of = "";
  private readonly kept = new Map<string, Kept>();
  private readonly underWay = new Map<string, AbortController>();
  private wanted: Place[] = [];
  private clock = 0;

  constructor(private readonly dropped: (kept: Kept) => void) {}

  /** Another key: tiles of the same trace stay until the new ones arrive. */
  ask(question: Question): void {
    const of = JSON.stringify(question);
    if (of === this.of) return;
    if (this.question?.trace !== question.trace || this.question.n_tracks !== question.n_tracks) this.clear();
    for (const abort of this.underWay.values()) abort.abort();
    this.question = question;
    this.of = of;
  }

  clear(): void {
    for (const abort of this.underWay.values()) abort.abort();
    for (const kept of this.kept.values()) this.dropped(kept);
    this.kept.clear();
    this.wanted = [];
  }

  all(): IterableIterator<Kept> {
    return this.kept.values();
  }

  get(place: Place): Kept | null {
    const kept = this.kept.get(keyOf(place));
    if (!kept) return null;
    kept.used = ++this.clock;
    return kept;
  }

  /** Replaces the pending requests; the first ones are sent first. */
  want(places: Place[]): void {
    this.wanted = places.filter((place) => !this.isGood(place));
    waitingFor.value = this.wanted.length;
    this.next();
  }

  private isGood(place: Place): boolean {
    const kept = this.kept.get(keyOf(place));
    return kept !== undefined && kept.of === this.of && kept.tile.until_ns >= kept.range.to;
  }

  private next(): void {
    for (const place of this.wanted) {
      if (this.underWay.size >= REQUESTS) return;
      if (!this.underWay.has(keyOf(place))) void this.load(place);
    }
  }

  private async load(place: Place): Promise<void> {
    const { question: q, of } = this;
    if (!q) return;
    const key = keyOf(place);
    const abort = new AbortController();
    this.underWay.set(key, abort);
    const range = rangeOf(place);
    const last = Math.min(q.n_tracks, (place.chunk + 1) * CHUNK) - 1;
    let again = 0;
    try {
      const data = await getBinary(
        ofTrace(q.trace, "timeline"),
        {
          from_ns: range.from,
          to_ns: range.to,
          buckets: TILE_BUCKETS,
          tracks: `${place.chunk * CHUNK}..${last}`,
          layers: place.chunk === 0 ? 1 : null,
          layer: q.tensor === null ? q.layer : null,
          tensor: q.tensor,
        },
        abort.signal,
      );
      if (of === this.of) this.keep(place, range, readTile(data));
      tileError.value = null;
    } catch (reason) {
      if (!isAbort(reason)) {
        tileError.value = reason instanceof Error ? reason : new Error(String(reason));
        again = 1000;
      }
    }
    this.underWay.delete(key);
    this.wanted = this.wanted.filter((each) => !this.isGood(each));
    waitingFor.value = this.wanted.length;
    if (again) setTimeout(() => this.next(), again);
    else this.next();
  }

  private keep(place: Place, range: Range, tile: Tile): void {
    const key = keyOf(place);
    const before = this.kept.get(key);
    if (before) this.dropped(before);
    this.kept.set(key, { place, range, tile, of: this.of, used: ++this.clock });
    if (this.kept.size > KEPT) {
      const oldest = [...this.kept].reduce((a, b) => (b[1].used < a[1].used ? b : a));
      this.kept.delete(oldest[0]);
      this.dropped(oldest[1]);
    }
    arrived.value++;
  }
}
