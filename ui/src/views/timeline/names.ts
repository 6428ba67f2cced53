// Names on items that are wide enough: ops and layers.

import { inkOn } from "../../draw/colour";
import { duration, plainName } from "../../draw/format";
import { categoryColour } from "./look";
import { cut, inRow, LETTER, type Pen } from "./pen";
import type { Layout } from "./rows";
import { DIM, sliceAlpha, sliceName, type Marks } from "./shapes";
import type { Tile } from "../../api/tile";
import { layerNumber, layerThatFits } from "../../state/layers";

/** Pixels from which on an op has its name on it. */
const NAMED_FROM = 30;

/** `from`, `to`: the part of the tile that is shown. */
export function drawSliceNames(pen: Pen, l: Layout, tile: Tile, from: number, to: number, marks: Marks): void {
  const { c } = pen;
  const s = tile.slices;
  const least = (NAMED_FROM / pen.width) * (pen.range.to - pen.range.from);
  for (let i = 0; i < s.n; i++) {
    const busy = s.busy_ns[i]!;
    const begin = s.start_ns[i]!;
    // If several tiles have an op, the one in which it begins draws its name, or the first visible
    // one.
    if (busy < least || begin >= to || begin + busy < from || (begin < from && from > pen.range.from)) continue;
    const row = l.byTrack.get(s.track[i]!);
    if (!row || row.folded || begin > pen.range.to || begin + busy < pen.range.from) continue;
    const left = Math.max(0, pen.x(begin));
    const room = Math.min(pen.width, pen.x(begin + busy)) - left - 6;
    const kind = tile.kinds[s.kind[i]!]!;
    const name = cut(plainName(sliceName(tile, i)), room);
    if (!name) continue;
    inRow(pen, l, row, (top) => {
      c.fillStyle = sliceAlpha(tile, i, marks) === DIM ? pen.ink2 : inkOn(categoryColour(kind.category));
      c.fillText(name, left + 3, top + 10);
      const whole = `${kind.op} ${duration(busy)}`;
      c.fillText(whole.length * LETTER <= room ? whole : cut(kind.op, room), left + 3, top + 24);
    });
  }
}

/** The selected layer; null: none. */
export function drawLayerNames(pen: Pen, l: Layout, tile: Tile, layer: number | null): void {
  const { c } = pen;
  const t = tile.layers;
  for (let i = 0; i < t.n; i++) {
    const left = Math.max(0, pen.x(t.start_ns[i]!));
    const room = Math.min(pen.width, pen.x(t.end_ns[i]!)) - left - 4;
    if (room < LETTER || (t.first[i] === -1 && t.last[i] === -1)) continue;
    const row = l.rows.find((r) => r.kind === "layers" && r.of === t.row[i]);
    if (!row || row.folded) continue;
    const one = t.count[i] === 1;
    const fits = (text: string) => text.length * LETTER <= room;
    const ends = [t.first[i]!, t.last[i]!].map((at) => (at === -1 ? "none" : layerNumber(at)));
    const all = `layers ${ends.join("–")}`;
    const shown = one ? layerThatFits(t.first[i] === -1 ? null : t.first[i]!, fits) : fits(all) && all;
    if (!shown) continue;
    inRow(pen, l, row, (top) => {
      if (!one) {
        c.fillStyle = pen.ground;
        c.fillRect(left + 1, top + 2, shown.length * LETTER + 4, row.height - 4);
      }
      c.fillStyle = !one || (layer !== null && layer !== t.first[i]) ? pen.ink : "#fff";
      c.fillText(shown, left + 3, top + row.height / 2);
    });
  }
}
