// Layout of the rows: batches, layers, lanes, reads of `boost` and its pool, counters. Pinned rows
// stay at the top.

import { computed, signal } from "@preact/signals";
import { summary } from "../../state/trace";
import { urlParam } from "../../state/url";
import { overview } from "../../state/timelineOverview";
import { constants, counters } from "./counters";
import { other } from "./other";

/** "other...": of the second token. */
export type RowKind = "tokens" | "layers" | "lane" | "otherToken" | "otherLayers" | "otherLane" | "reads" | "pool" | "counter" | "constant";

export interface Row {
  /** "lane0", "major_faults_per_s": in the address. */
  readonly id: string;
  readonly kind: RowKind;
  readonly title: string;
  /** Of a lane: its track. */
  readonly track: number;
  /** Of layers: the row of computations. */
  readonly of: number;
  /** Added to the times of what it shows, they are those of the axis. */
  readonly shift_ns: number;
  readonly pinned: boolean;
  readonly folded: boolean;
  /** CSS pixels; of a row that scrolls, in front of scrolling. */
  readonly top: number;
  readonly height: number;
}

export interface Layout {
  readonly rows: readonly Row[];
  /** Top of the scrolled rows. */
  readonly fixed: number;
  /** Of all. */
  readonly height: number;
  readonly byTrack: ReadonlyMap<number, Row>;
  /** The second token's layers and lanes, as if they were the only ones; null: there is none. */
  readonly other: Layout | null;
}

export const AXIS_HEIGHT = 22;
const HEIGHTS: Record<RowKind, number> = { tokens: 24, layers: 18, lane: 34, otherToken: 24, otherLayers: 18, otherLane: 34, reads: 58, pool: 44, counter: 44, constant: 18 };
/** Rows that use the height that is left, up to this; what is left then goes to lanes, and to the
 * others up to twice as much. */
const GROWN: Partial<Record<RowKind, number>> = { lane: 96, otherLane: 96, reads: 96, pool: 80, counter: 80 };
/** Of the canvas, CSS pixels. */
export const viewHeight = signal(0);
const FOLDED_HEIGHT = 12;
const GAP = 3;

/** The row of counters that do not change, which it stands for; unfolded it shows each. */
export const CONSTANT = "constant";
const pins = urlParam("pins", "");
const folds = urlParam("folds", "");

function listed(text: string): Set<string> {
  return new Set(text ? text.split(",") : []);
}

function toggle(param: { value: string }, id: string): boolean {
  const list = listed(param.value);
  const added = !list.delete(id);
  if (added) list.add(id);
  param.value = [...list].join(",");
  return added;
}

export function togglePin(id: string): boolean {
  return toggle(pins, id);
}

export function toggleFold(id: string): boolean {
  return toggle(folds, id);
}

const COUNTER_TITLES: Record<string, string> = {
  allocated_bytes: "buffers",
  file_bytes: "mapped files",
  resident_bytes: "in RAM",
  tokens_per_s: "tokens/s",
  cpu_threads: "CPU threads",
  minor_faults_per_s: "minor faults/s",
  major_faults_per_s: "major faults/s",
  read_bytes_per_s: "read from disk",
};

export function counterTitle(name: string): string {
  return COUNTER_TITLES[name] ?? name;
}

type Bare = Pick<Row, "id" | "kind" | "title" | "track" | "of">;

// Separate signals: an equal reply changes nothing.
const lanes = computed(() => overview.value?.lanes ?? 1);
const computations = computed(() => overview.value?.rows ?? 1);
const hasPool = computed(() => summary.value?.pool_recorded ?? false);
const counterNames = computed(() => Object.keys(counters.value?.counters ?? {}).join());

/** Below the first token's, with its number in front. */
function otherRows(token: number): Bare[] {
  const rows: Bare[] = [{ id: "other", kind: "otherToken", title: `token ${token}`, track: -1, of: 0 }];
  for (let r = 0; r < computations.value; r++) {
    const nth = computations.value > 1 ? ` (${r + 1})` : "";
    rows.push({ id: `otherlayers${r || ""}`, kind: "otherLayers", title: `${token}: layers${nth}`, track: -1, of: r });
    for (let lane = 0; lane < lanes.value; lane++) {
      const track = r * lanes.value + lane;
      rows.push({ id: `otherlane${track}`, kind: "otherLane", title: `${token}: thread ${lane}${nth}`, track, of: r });
    }
  }
  return rows;
}

function bareRows(): Bare[] {
  const rows: Bare[] = [{ id: "tokens", kind: "tokens", title: "tokens", track: -1, of: 0 }];
  for (let r = 0; r < computations.value; r++) {
    const nth = computations.value > 1 ? ` (${r + 1})` : "";
    rows.push({ id: `layers${r || ""}`, kind: "layers", title: `layers${nth}`, track: -1, of: r });
    for (let lane = 0; lane < lanes.value; lane++) {
      const track = r * lanes.value + lane;
      rows.push({ id: `lane${track}`, kind: "lane", title: `thread ${lane}${nth}`, track, of: r });
    }
  }
  if (other.value) rows.push(...otherRows(other.value.token));
  if (hasPool.value)
    for (const kind of ["reads", "pool"] as const) rows.push({ id: kind, kind, title: `boost ${kind}`, track: -1, of: 0 });
  const flat = constants.value;
  const pinned = listed(pins.value);
  const open = listed(folds.value).has(CONSTANT);
  for (const name of listed(counterNames.value))
    if (open || pinned.has(name) || !flat.has(name)) rows.push({ id: name, kind: "counter", title: counterTitle(name), track: -1, of: 0 });
  if ([...flat.keys()].some((name) => !pinned.has(name))) rows.push({ id: CONSTANT, kind: "constant", title: "constant", track: -1, of: 0 });
  return rows;
}

const LANES: ReadonlySet<RowKind> = new Set(["lane", "otherLane"]);

/** What is left of the canvas's height goes to the rows that can use it: the lowest first, then all alike. */
function grow(heights: number[], kinds: readonly RowKind[], room: number): void {
  const able = heights.map((_, i) => i).filter((i) => heights[i] === HEIGHTS[kinds[i]!] && GROWN[kinds[i]!]);
  raise(heights, able, room, (i) => GROWN[kinds[i]!]!);
  raise(heights, able, room, (i) => (LANES.has(kinds[i]!) ? Infinity : 2 * GROWN[kinds[i]!]!));
  heights.forEach((h, i) => (heights[i] = Math.floor(h)));
}

function raise(heights: number[], able: readonly number[], room: number, most: (i: number) => number): void {
  let left = room - heights.reduce((sum, h) => sum + h + GAP, AXIS_HEIGHT);
  for (;;) {
    const rising = able.filter((i) => heights[i]! < most(i));
    if (left < 1 || rising.length === 0) return;
    const lowest = Math.min(...rising.map((i) => heights[i]!));
    const last = rising.filter((i) => heights[i] === lowest);
    // To where the next is that low or one of them may not grow on.
    const next = Math.min(...rising.map((i) => (heights[i] === lowest ? most(i) : heights[i]!)), lowest + left / last.length);
    for (const i of last) heights[i] = next;
    left -= (next - lowest) * last.length;
  }
}

export const layout = computed<Layout>(() => {
  const pinned = listed(pins.value);
  const folded = listed(folds.value);
  const rows: Row[] = [];
  const byTrack = new Map<number, Row>();
  let at = AXIS_HEIGHT;
  let fixed = at;
  const bare = bareRows();
  const isPinned = (b: Bare) => b.kind === "tokens" || pinned.has(b.id);
  const isFolded = (b: Bare) => folded.has(b.id) !== (b.kind === "constant");
  const heights = bare.map((b) => (isFolded(b) && b.kind !== "constant" ? FOLDED_HEIGHT : HEIGHTS[b.kind]));
  grow(heights, bare.map((b) => b.kind), viewHeight.value);
  for (const part of [true, false]) {
    for (const [i, b] of bare.entries()) {
      if (isPinned(b) !== part) continue;
      const shift_ns = b.kind.startsWith("other") ? (other.value?.shift_ns ?? 0) : 0;
      const row = { ...b, shift_ns, pinned: part, folded: isFolded(b), top: at, height: heights[i]! };
      rows.push(row);
      if (b.kind === "lane") byTrack.set(b.track, row);
      at += row.height + GAP;
    }
    if (part) fixed = at;
  }
  return { rows, fixed, height: at, byTrack, other: other.value && otherLayout(rows, fixed, at) };
});

function otherLayout(all: readonly Row[], fixed: number, height: number): Layout {
  const kinds: Partial<Record<RowKind, RowKind>> = { otherLayers: "layers", otherLane: "lane" };
  const rows = all.filter((row) => kinds[row.kind]).map((row) => ({ ...row, kind: kinds[row.kind]! }));
  const byTrack = new Map(rows.filter((row) => row.kind === "lane").map((row) => [row.track, row]));
  return { rows, fixed, height, byTrack, other: null };
}

/** The row at that height of the canvas. */
export function rowAt(l: Layout, y: number, scroll: number): Row | null {
  const place = y < l.fixed ? y : y + scroll;
  return l.rows.find((r) => r.pinned === y < l.fixed && place >= r.top && place < r.top + r.height + GAP) ?? null;
}

/** Where the row is on the canvas. */
export function topOf(row: Row, scroll: number): number {
  return row.pinned ? row.top : row.top - scroll;
}
