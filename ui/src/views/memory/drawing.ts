// Redraws the map when its data change.

import { effect } from "@preact/signals";
import { pencil, sizeCanvas } from "../../draw/rects";
import { markOf } from "./layout";
import { isSmall, magnifierShapes } from "./magnifier";
import type { Pointed } from "./pointer";
import type { Picture } from "./scene";
import { paint, type Shape } from "./shapes";

/** Schedules a redraw for the next frame whenever the data change. */
export function drawing(canvas: { current: HTMLCanvasElement | null }, pictureOf: () => Picture | null, shapesOf: (p: Picture) => Shape[]): () => void {
  let frame = 0;
  const stop = effect(() => {
    const p = pictureOf();
    const shapes = p ? shapesOf(p) : [];
    cancelAnimationFrame(frame);
    frame = requestAnimationFrame(() => {
      const element = canvas.current;
      const c = element && pencil(element);
      if (!element || !c || !p) return;
      const { width } = p.geometry.input;
      sizeCanvas(element, width, p.height);
      c.setTransform(element.width / width, 0, 0, element.width / width, 0, 0);
      c.clearRect(0, 0, width, p.height);
      paint(c, shapes);
    });
  });
  return () => {
    stop();
    cancelAnimationFrame(frame);
  };
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
