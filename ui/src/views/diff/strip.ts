// One token of one trace as a strip of rectangles, and hit testing.

import { categoryColour, inkOn, type Rgb } from "../../draw/colour";
import type { RectBatch } from "../../draw/rects";
import { known, MARKED, OPEN, type Tile } from "../../api/tile";

/** Height of a lane and of the line of words above a strip, in CSS pixels. */
export const HEAD = 18;

export interface StripPlace {
  /** Of the first lane's top. */
  readonly top: number;
  readonly lane: number;
  readonly tracks: number;
}

export interface Strip {
  readonly tile: Tile;
  /** Its number. */
  readonly token: number;
  /** When the token began, on the clock of its trace. */
  readonly begin_ns: number;
  readonly place: StripPlace;
  readonly rects: RectBatch;
}

/** The height of a lane, so that both strips are to be seen whole. */
export function laneHeight(tracks: number): number {
  return Math.max(3, Math.min(26, Math.floor(150 / Math.max(1, tracks))));
}

export function tracksOf(tile: Tile): number {
  let most = 0;
  for (const track of tile.slices.track) most = Math.max(most, track);
  for (const track of tile.merged.track) most = Math.max(most, track);
  return most + 1;
}

class Rects {
  n = 0;
  readonly place: Float32Array;
  readonly colour: Uint8Array;

  constructor(room: number) {
    this.place = new Float32Array(room * 4);
    this.colour = new Uint8Array(room * 4);
  }

  add(x: number, width: number, y: number, height: number, ink: Rgb, alpha: number): void {
    this.place.set([x, width, y, height], this.n * 4);
    this.colour.set([ink[0], ink[1], ink[2], Math.round(alpha * 255)], this.n * 4);
    this.n++;
  }
}

/** Belongs to other tokens. */
const PALE = 0.28;

/** Work is a full rectangle, waiting a low, pale one behind it; the opacity of merged ops is their
 * share of the bucket. */
export function stripOf(tile: Tile, token: number, begin_ns: number, end_ns: number, place: StripPlace): Strip {
  const { slices, merged, kinds } = tile;
  const rects = new Rects(slices.n * 2 + merged.n);
  const y = (track: number) => place.top + track * place.lane;
  const h = Math.max(2, place.lane - 1);
  const bucket = tile.bucket_ns;
  for (let i = 0; i < merged.n; i++) {
    const colour = categoryColour(kinds[merged.kind[i]!]?.category ?? "other");
    const share = Math.min(1, (merged.busy_ns[i]! + known(merged.wait_ns[i]!)) / bucket);
    const x = tile.from_ns - begin_ns + merged.bucket[i]! * bucket;
    const own = x + bucket > 0 && x + begin_ns < end_ns;
    rects.add(x, bucket, y(merged.track[i]!), h, colour, (own ? 1 : PALE) * (0.35 + 0.65 * share));
  }
  for (let i = 0; i < slices.n; i++) {
    const colour = categoryColour(kinds[slices.kind[i]!]?.category ?? "other");
    const x = slices.start_ns[i]! - begin_ns;
    const top = y(slices.track[i]!);
    const strength = slices.batch[i] === token ? 1 : PALE;
    const busy = slices.flags[i]! & OPEN ? bucket : slices.busy_ns[i]!;
    rects.add(x, busy, top, h, colour, strength);
    if (slices.wait_ns[i]! > 0) rects.add(x + busy, slices.wait_ns[i]!, top + h * 0.6, h * 0.4, colour, 0.4 * strength);
  }
  return { tile, token, begin_ns, place, rects: { origin: 0, n: rects.n, place: rects.place, colour: rects.colour } };
}

/** Whether the server marked it: it is of the layer or tensor that is selected. */
export function isMarked(tile: Tile, i: number): boolean {
  return (tile.slices.flags[i]! & MARKED) !== 0;
}

/** The slice at a time since the token's start and a height; -1: none. A narrow one is found within
 * `slack_ns`. */
export function sliceAt(strip: Strip, at_ns: number, y: number, slack_ns: number): number {
  const { slices } = strip.tile;
  const track = Math.floor((y - strip.place.top) / strip.place.lane);
  const t = at_ns + strip.begin_ns;
  let best = -1;
  let distance = slack_ns;
  for (let i = 0; i < slices.n; i++) {
    if (slices.track[i] !== track) continue;
    const from = slices.start_ns[i]!;
    const to = from + slices.busy_ns[i]! + known(slices.wait_ns[i]!);
    const away = t < from ? from - t : t > to ? t - to : 0;
    if (away < distance || (away === 0 && best < 0)) {
      best = i;
      distance = away;
    }
    if (away === 0) break;
  }
  return best;
}

/** The next slice on the same track; without a slice the first one of the track. */
export function stepSlice(strip: Strip, from: number, by: 1 | -1): number {
  const { slices } = strip.tile;
  const track = from < 0 ? 0 : slices.track[from]!;
  const order = [];
  for (let i = 0; i < slices.n; i++) if (slices.track[i] === track) order.push(i);
  order.sort((p, q) => slices.start_ns[p]! - slices.start_ns[q]!);
  const at = order.indexOf(from);
  return (at < 0 ? order[0] : order[at + by]) ?? from;
}

/** Text in slices that are wide enough, frames around selected ones, and a line under related
 * ones. */
export function drawWords(
  c: CanvasRenderingContext2D,
  strip: Strip,
  toX: (ns: number) => number,
  width: number,
  meaning: (i: number) => "chosen" | "related" | null,
  ink: string,
): void {
  const { slices, kinds, names } = strip.tile;
  c.font = "11px system-ui, sans-serif";
  c.textBaseline = "middle";
  for (let i = 0; i < slices.n; i++) {
    const x = toX(slices.start_ns[i]! - strip.begin_ns);
    const w = Math.max(1, toX(slices.start_ns[i]! - strip.begin_ns + slices.busy_ns[i]!) - x);
    if (x > width || x + w < 0) continue;
    const y = strip.place.top + slices.track[i]! * strip.place.lane;
    const kind = kinds[slices.kind[i]!];
    if (slices.batch[i] !== strip.token) continue;
    if (w > 46 && strip.place.lane >= 12 && kind) {
      const left = Math.max(x, 0);
      c.save();
      c.beginPath();
      c.rect(left, y, x + w - left - 2, strip.place.lane);
      c.clip();
      c.fillStyle = inkOn(categoryColour(kind.category));
      c.fillText(`${kind.op} ${names[slices.name[i]!] ?? ""}`, left + 3, y + strip.place.lane / 2);
      c.restore();
    }
    const meant = meaning(i);
    if (meant === "chosen") {
      c.strokeStyle = ink;
      c.lineWidth = 2;
      c.strokeRect(x - 1, y, w + 2, strip.place.lane - 1);
    } else if (meant === "related") {
      c.fillStyle = ink;
      c.fillRect(x, y + strip.place.lane - 4, w, 3);
    }
  }
}
