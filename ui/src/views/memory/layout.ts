// Layout of a row's regions: in order, without overlaps, none too narrow to be found. Small ones
// get the minimum width at their neighbours' cost; if there is no room for that, neighbours share a
// mark with their count. Depends on the zoom only, so that panning moves everything together.

export interface Mark {
  /** Items first ... last of the row; more than one: merged. */
  readonly first: number;
  readonly last: number;
  /** Pixels from the row's start. */
  readonly x: number;
  readonly width: number;
  /** Where it would be to scale. */
  readonly trueX: number;
  readonly trueWidth: number;
}

export interface Layout {
  readonly marks: readonly Mark[];
  /** Some mark is more than a pixel off, or wider or narrower than to scale. */
  readonly toScale: boolean;
}

/** Items of a row: starts in any unit, followed by the row's length; which may vanish (gaps). */
export interface Items {
  readonly starts: Float64Array;
  readonly vanishes: (i: number) => boolean;
}

interface Group {
  first: number;
  last: number;
  from: number;
  to: number;
  width: number;
  fixed: boolean;
}

/** Maximum share of the row's width for items that would be narrower to scale. */
const SHARE_FOR_TINY = 0.5;

function ends(items: Items, i: number): number {
  return items.starts[i + 1]!;
}

/** Items to be drawn, each a group of its own. */
function single(items: Items, n: number, scale: number, least: number): Group[] {
  const groups: Group[] = [];
  for (let i = 0; i < n; i++) {
    const from = items.starts[i]! * scale;
    const to = ends(items, i) * scale;
    if (items.vanishes(i) && to - from < least) continue;
    groups.push({ first: i, last: i, from, to, width: to - from, fixed: false });
  }
  return groups;
}

function join(list: Group[]): Group {
  const first = list[0]!;
  const last = list[list.length - 1]!;
  return { first: first.first, last: last.last, from: first.from, to: last.to, width: last.to - first.from, fixed: false };
}

/** Merges within runs of tiny groups until at most about `most` are left. */
function mergeRuns(groups: Group[], least: number, most: number): Group[] {
  const tiny = groups.reduce((n, g) => n + (g.width < least ? 1 : 0), 0);
  const out: Group[] = [];
  let run: Group[] = [];
  const flush = () => {
    const parts = Math.max(1, Math.floor((run.length * most) / tiny));
    for (let p = 0; run.length && p < parts; p++) {
      const part = run.slice(Math.floor((p * run.length) / parts), Math.floor(((p + 1) * run.length) / parts));
      if (part.length) out.push(join(part));
    }
    run = [];
  };
  for (const g of groups) {
    if (g.width < least) {
      run.push(g);
      continue;
    }
    flush();
    out.push(g);
  }
  flush();
  return out;
}

/** Merges all that begin in the same `least` pixels. */
function mergeByPlace(groups: Group[], least: number): Group[] {
  const out: Group[] = [];
  let bucket: Group[] = [];
  let at = -1;
  for (const g of groups) {
    const place = Math.floor(g.from / least);
    if (place !== at && bucket.length) {
      out.push(join(bucket));
      bucket = [];
    }
    at = place;
    bucket.push(g);
  }
  if (bucket.length) out.push(join(bucket));
  return out;
}

/** Gives each group at least `least`; the others share the rest by size. */
function widen(groups: Group[], least: number): void {
  let left = groups.reduce((sum, g) => sum + g.width, 0);
  let free = left;
  for (let again = true; again; ) {
    again = false;
    const factor = free > 0 ? left / free : 0;
    for (const g of groups) {
      if (g.fixed || g.width * factor >= least) continue;
      g.fixed = true;
      left -= least;
      free -= g.width;
      again = true;
    }
  }
  const factor = free > 0 ? Math.max(0, left) / free : 0;
  for (const g of groups) g.width = g.fixed ? least : g.width * factor;
}

/** width: of the whole row at this zoom, pixels; least: of a mark. */
export function layoutRow(items: Items, width: number, least: number): Layout {
  const n = items.starts.length - 1;
  const length = items.starts[n] ?? 0;
  if (n <= 0 || !(length > 0) || !(width > 0)) return { marks: [], toScale: true };
  const scale = width / length;
  let groups = single(items, n, scale, least);
  const tiny = groups.reduce((count, g) => count + (g.width < least ? 1 : 0), 0);
  const most = Math.max(1, Math.floor((width * SHARE_FOR_TINY) / least));
  if (tiny > most) groups = mergeRuns(groups, least, most);
  if (groups.length * least > width) groups = mergeByPlace(groups, least);
  const vanished = width - groups.reduce((sum, g) => sum + g.width, 0);
  widen(groups, Math.min(least, width / Math.max(1, groups.length)));
  return place(groups, width, vanished);
}

/** In order; a vanished gap keeps its pixels while there is room. */
function place(groups: readonly Group[], width: number, vanished: number): Layout {
  const used = groups.reduce((sum, g) => sum + g.width, 0);
  const room = Math.max(0, width - used);
  const marks: Mark[] = [];
  let at = 0;
  let to = 0;
  let toScale = true;
  for (const g of groups) {
    const gap = Math.max(0, g.from - to);
    at += vanished > 0 ? Math.min(gap, (gap * room) / vanished) : 0;
    const trueWidth = g.to - g.from;
    marks.push({ first: g.first, last: g.last, x: at, width: g.width, trueX: g.from, trueWidth });
    if (Math.abs(at - g.from) > 1 || Math.abs(g.width - trueWidth) > 1) toScale = false;
    at += g.width;
    to = g.to;
  }
  return { marks, toScale };
}

/** The mark at that pixel of the row; -1: none. */
export function markAt(layout: Layout, x: number): number {
  let low = 0;
  let high = layout.marks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const m = layout.marks[middle]!;
    if (m.x + m.width <= x) low = middle + 1;
    else high = middle;
  }
  const found = layout.marks[low];
  return found && found.x <= x ? low : -1;
}

/** The mark that shows the item, or -1. */
export function markOf(layout: Layout, item: number): number {
  let low = 0;
  let high = layout.marks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (layout.marks[middle]!.last < item) low = middle + 1;
    else high = middle;
  }
  const found = layout.marks[low];
  return found && found.first <= item ? low : -1;
}
