// Layout and drawing of both strips.

import { ticks, type Range } from "../../draw/axis";
import { themeColour } from "../../draw/colour";
import { duration, moment, plainName } from "../../draw/format";
import { drawOn } from "../../draw/canvas";
import type { RectRenderer } from "../../draw/rects";
import { layerWords } from "../../state/layers";
import { selection } from "../../state/selection";
import type { Tile } from "../../api/tile";
import type { Pair, PairSide } from "./answer";
import { chosenRow, shownSide } from "./pair";
import { drawWords, HEAD, isMarked, laneHeight, stripOf, tracksOf, type Strip } from "./strip";
import { signedDuration } from "./words";

export type SideName = "a" | "b";
export const SIDES: readonly SideName[] = ["a", "b"];
const FOOT = 20;

/** The keyboard's slice; -1: none yet. */
export interface Cursor {
  readonly side: SideName;
  readonly slice: number;
}

/** Both strips; null: no data (yet). */
export interface BothStrips {
  readonly a: Strip | null;
  readonly b: Strip | null;
  readonly topB: number;
  readonly height: number;
}

/** A above B, lanes of one height. */
export function layOut(pair: Pair, tileA: Tile | null, tileB: Tile | null): BothStrips {
  const tracks = { a: tileA ? tracksOf(tileA) : 1, b: tileB ? tracksOf(tileB) : 1 };
  const lane = laneHeight(Math.max(tracks.a, tracks.b));
  const topB = HEAD + tracks.a * lane + 6 + HEAD;
  const made = (side: SideName, tile: Tile | null, top: number): Strip | null => {
    const token = pair[side];
    if (!tile || !token || token.start_relative_ns === null) return null;
    const end_ns = token.start_relative_ns + (token.time_ns ?? 0);
    return stripOf(tile, token.batch_id, token.start_relative_ns, end_ns, { top, lane, tracks: tracks[side] });
  };
  return { a: made("a", tileA, HEAD), b: made("b", tileB, topB), topB, height: topB + tracks.b * lane + FOOT };
}

/** An op in words. */
export function sliceText(strip: Strip, i: number): string {
  const { slices, kinds, names } = strip.tile;
  const layer = slices.layer_id[i]!;
  return (
    `${kinds[slices.kind[i]!]?.op ?? "op"} ${plainName(names[slices.name[i]!] ?? "")}, ` +
    `${layerWords(layer)}, begins at ${duration(slices.start_ns[i]! - strip.begin_ns)}, ` +
    `takes ${duration(slices.busy_ns[i])}, then waits ${duration(slices.wait_ns[i])}`
  );
}

export function headText(side: SideName, token: PairSide | null, other: PairSide | null): string {
  const title = side.toUpperCase();
  if (!token) return `${title}: no token of this run was compared with it`;
  const delta =
    side === "b" && token.time_ns !== null && other?.time_ns != null
      ? ` (${signedDuration(token.time_ns - other.time_ns)} relative to A)`
      : "";
  return `${title}: token ${token.batch_id}, ${duration(token.time_ns)}${delta}`;
}

function axisLine(c: CanvasRenderingContext2D, range: Range, width: number, y: number): void {
  const { values, step } = ticks(range, width);
  c.fillStyle = themeColour("--ink-2");
  c.strokeStyle = themeColour("--line");
  c.lineWidth = 1;
  c.font = "11px system-ui, sans-serif";
  c.textBaseline = "top";
  for (const v of values) {
    const x = ((v - range.from) / (range.to - range.from)) * width;
    c.strokeRect(x, HEAD, 0, y - HEAD);
    c.fillText(moment(v, step), x + 3, y + 4);
  }
}

/** Where a side's token ends. */
function endLine(c: CanvasRenderingContext2D, x: number, top: number, bottom: number): void {
  c.save();
  c.strokeStyle = themeColour("--ink");
  c.setLineDash([4, 3]);
  c.strokeRect(x, top - 2, 0, bottom - top + 2);
  c.restore();
}

/** Relation of a slice to the selection. Reads signals. */
function meaning(side: SideName, strip: Strip, i: number, cursor: Cursor | null): "chosen" | "related" | null {
  const { slices, names } = strip.tile;
  if (cursor?.side === side && cursor.slice === i) return "chosen";
  const { op, layer, tensor } = selection.value;
  if (op && shownSide.value === side && slices.run[i] === op.run && slices.node[i] === op.node) return "chosen";
  const row = chosenRow.value;
  if (row && names[slices.name[i]!] === (side === "a" ? row.name : row.name_b)) return "chosen";
  return (layer !== null || tensor !== null) && isMarked(strip.tile, i) ? "related" : null;
}

const UNDERLINE = 3;

/** Underlines the selection where it is too short to be visible. Reads signals. */
function underlineMerged(c: CanvasRenderingContext2D, strip: Strip, toX: (ns: number) => number): void {
  const { layer, tensor } = selection.value;
  const { merged, bucket_ns, from_ns } = strip.tile;
  if (layer === null && tensor === null) return;
  for (let i = 0; i < merged.n; i++) {
    if (!merged.marked[i]) continue;
    const begin = from_ns - strip.begin_ns + merged.bucket[i]! * bucket_ns;
    const x = toX(begin);
    const y = strip.place.top + (merged.track[i]! + 1) * strip.place.lane - UNDERLINE - 1;
    c.fillRect(x, y, Math.max(UNDERLINE, toX(begin + bucket_ns) - x), UNDERLINE);
  }
}

/** Draws all of it at that width. */
export function paint(
  rects: RectRenderer | null,
  words: HTMLCanvasElement,
  pair: Pair,
  strips: BothStrips,
  range: Range,
  width: number,
  cursor: Cursor | null,
): void {
  const { height } = strips;
  const batches = SIDES.flatMap((side) => (strips[side] ? [strips[side]!.rects] : []));
  rects?.draw(batches, { from: range.from, to: range.to, width, height, scrollY: 0, minWidth: 1 });
  const marks = (side: SideName, strip: Strip) => (i: number) => meaning(side, strip, i, cursor);
  drawOn(words, width, height, (c) => paintWords(c, pair, strips, range, width, marks));
}

type Marks = (side: SideName, strip: Strip) => (i: number) => "chosen" | "related" | null;

function paintWords(words: CanvasRenderingContext2D, pair: Pair, strips: BothStrips, range: Range, width: number, marks: Marks): void {
  const { height } = strips;
  const toX = (ns: number) => ((ns - range.from) / (range.to - range.from)) * width;
  axisLine(words, range, width, height - FOOT);
  const ink = themeColour("--ink");
  for (const side of SIDES) {
    const top = side === "a" ? HEAD : strips.topB;
    words.fillStyle = ink;
    words.font = "600 12px system-ui, sans-serif";
    words.textBaseline = "middle";
    words.fillText(headText(side, pair[side], pair.a), 4, top - HEAD / 2);
    const strip = strips[side];
    if (!strip) continue;
    if (pair[side]?.time_ns != null)
      endLine(words, toX(pair[side]!.time_ns!), top, top + strip.place.tracks * strip.place.lane);
    drawWords(words, strip, toX, width, marks(side, strip), ink);
    words.fillStyle = ink;
    underlineMerged(words, strip, toX);
  }
}
