// Magnifies small items beside the row, with an arrow to their position.

import { MAGNIFY_PX, type Geometry } from "./geometry";
import { hasData } from "./heat";
import { regionFill, shortName, type Picture } from "./scene";
import { fitted, type Shape } from "./shapes";

/** The line and the item (of its row) that is pointed at or has the keyboard's focus. */
export interface Spot {
  readonly line: number;
  readonly item: number;
}

/** Tensors shown at once. */
const CELLS = 9;
const CELL_WIDTH = 74;
const CELL_HEIGHT = 30;
const GAP = 14;

/** Pixels that the magnifier takes below its row. */
export const MAGNIFIER_HEIGHT = GAP + CELL_HEIGHT + 8;

/** Whether the mark that shows the spot needs magnifying. */
export function isSmall(geometry: Geometry, spot: Spot, range: Picture["range"], markIndex: number): boolean {
  const mark = geometry.layout(spot.line, range).marks[markIndex];
  return mark !== undefined && (mark.first !== mark.last || mark.width < MAGNIFY_PX);
}

/** The item and its neighbours in the row that have data. */
function neighbours(p: Picture, spot: Spot): number[] {
  const row = p.geometry.input.lines[spot.line]!.row!;
  const known = (i: number) => row.regions[i] !== undefined && hasData(p.known.map, row.regions[i]!);
  const list = [spot.item];
  for (let step = 1; list.length < CELLS && step <= row.regions.length; step++) {
    if (known(spot.item - step)) list.unshift(spot.item - step);
    if (list.length < CELLS && known(spot.item + step)) list.push(spot.item + step);
  }
  return list;
}

/** x: where to put its middle. */
export function magnifierShapes(p: Picture, spot: Spot, x: number): Shape[] {
  const { geometry, palette, known } = p;
  const row = geometry.input.lines[spot.line]!.row!;
  const { lineHeight, width, top } = geometry.input;
  const items = neighbours(p, spot);
  const boxWidth = items.length * CELL_WIDTH + 8;
  const boxHeight = CELL_HEIGHT + 8;
  const lineTop = geometry.lineTop(spot.line, p.scrollY);
  const below = lineTop + lineHeight + GAP + boxHeight < p.height || lineTop - GAP - boxHeight < top;
  const left = Math.max(4, Math.min(x - boxWidth / 2, width - boxWidth - 4));
  const y = below ? lineTop + lineHeight + GAP : lineTop - GAP - boxHeight;
  const out: Shape[] = [
    { t: "rect", x: left, y, w: boxWidth, h: boxHeight, fill: palette.ground },
    { t: "frame", x: left, y, w: boxWidth, h: boxHeight, ink: palette.ink2, width: 1 },
  ];
  items.forEach((item, i) => {
    const region = row.regions[item]!;
    const fill = regionFill(p, region);
    const cell = left + 4 + i * CELL_WIDTH;
    out.push({ t: "rect", x: cell, y: y + 4, w: CELL_WIDTH - 2, h: CELL_HEIGHT, fill: fill.colour, pattern: fill.pattern, ink: palette.ink2 });
    const text = fitted(shortName(known, region), CELL_WIDTH - 8, 11);
    if (fill.pattern) out.push({ t: "rect", x: cell + 3, y: y + 11, w: Math.min(CELL_WIDTH - 8, text.length * 6.4 + 4), h: 16, fill: fill.colour });
    out.push({ t: "text", x: cell + 5, y: y + 19, text, ink: fill.ink, size: 11, align: "left" });
    if (item !== spot.item) return;
    out.push({ t: "frame", x: cell, y: y + 4, w: CELL_WIDTH - 2, h: CELL_HEIGHT, ink: palette.ink, width: 2 });
    out.push(...arrow(p, spot, cell + CELL_WIDTH / 2, below ? y : y + boxHeight, below));
  });
  return out;
}

/** From the magnified cell to the item's bytes on the row, to scale. */
function arrow(p: Picture, spot: Spot, fromX: number, fromY: number, below: boolean): Shape[] {
  const { geometry, palette } = p;
  const start = geometry.start(spot.line, spot.item);
  const end = geometry.start(spot.line, spot.item + 1);
  const scale = geometry.rowWidth(spot.line, p.range) / Math.max(1, geometry.length(spot.line));
  const x = geometry.toX(((start + end) / 2) * scale, p.range);
  const top = geometry.lineTop(spot.line, p.scrollY);
  const tip = below ? top + geometry.input.lineHeight - 1 : top + 1;
  const back = below ? tip + 8 : tip - 8;
  return [
    { t: "line", x1: fromX, y1: fromY, x2: x, y2: back, ink: palette.ink, width: 1.5 },
    { t: "triangle", points: [x - 4.5, back, x + 4.5, back, x, tip], fill: palette.ink },
  ];
}
