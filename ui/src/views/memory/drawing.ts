// Redraws the map when its data change.

import { effect } from "@preact/signals";
import { drawOn, type Drawn } from "../../draw/canvas";
import { Geometry } from "./geometry";
import { markOf } from "./layout";
import { isSmall, magnifierShapes } from "./magnifier";
import type { Pointed } from "./pointer";
import { cellsOf } from "./pages";
import { rulerShapes } from "./ruler";
import { mapShapes, type Picture } from "./scene";
import { paint, type Shape } from "./shapes";

/** Schedules a redraw for the next frame whenever the data change. */
export function drawing(
  canvas: { current: HTMLCanvasElement | null },
  pictureOf: () => Picture | null,
  shapesOf: (p: Picture) => Shape[],
  whole: ((p: Picture) => Drawn | null) | null = null,
): () => void {
  let frame = 0;
  const stop = effect(() => {
    const p = pictureOf();
    const shapes = p ? shapesOf(p) : [];
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const element = canvas.current;
      if (!element || !p) return;
      drawOn(element, p.geometry.input.width, p.height, (c) => paint(c, shapes), whole && (() => whole(p)));
    });
  });
  return () => {
    stop();
    cancelAnimationFrame(frame);
  };
}

/** Also the rows that are scrolled away. */
export function wholeMap(p: Picture): Drawn {
  const { top, width } = p.geometry.input;
  const height = top + p.geometry.height;
  const geometry = new Geometry({ ...p.geometry.input, height });
  const all = { ...p, geometry, scrollY: 0, height };
  const shapes = mapShapes(p.bins ? { ...all, cells: cellsOf({ map: p.known.map, geometry, range: p.range, scrollY: 0 }, p.bins) } : all);
  const ruler = p.compact ? [] : rulerShapes(all, null);
  return { width, height, draw: (c) => paint(c, [...shapes, ...ruler]) };
}

/** The item under the pointer, and its magnified neighbourhood. */
export function overlay(p: Picture, a: Pointed | null): Shape[] {
  if (!a || !p.geometry.input.lines[a.spot.line]?.row) return [];
  const layout = p.geometry.layout(a.spot.line, p.range);
  const at = markOf(layout, a.spot.item);
  const mark = layout.marks[at];
  if (!mark) return [];
  const x = p.geometry.toX(mark.x, p.range);
  const top = p.geometry.lineTop(a.spot.line, p.scrollY);
  const h = p.geometry.input.lineHeight;
  const left = Math.max(x - 0.5, p.geometry.input.labelWidth - 1);
  const right = Math.min(x + mark.width - 0.5, p.geometry.input.labelWidth + p.geometry.plotWidth + 1);
  const frame: Shape = { t: "frame", x: left, y: top + 0.5, w: Math.max(2, right - left), h: h - 1, ink: p.palette.accent, width: 2 };
  if (p.cells) {
    // The exact pages, if any; the tensor less prominently.
    const whole: Shape = { ...frame, ink: p.palette.ink2, width: 1 };
    return a.cell ? [whole, { ...frame, x: a.cell.x - 1.5, w: a.cell.width + 3 }] : [whole];
  }
  const small = !p.compact && isSmall(p.geometry, a.spot, p.range, at);
  return small ? [frame, ...magnifierShapes(p, a.spot, x + mark.width / 2)] : [frame];
}
