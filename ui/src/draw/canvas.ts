// Drawing on a canvas, so that the same can be drawn again elsewhere: larger, or as SVG (picture.ts).

import type uPlot from "uplot";

/** At most 2: more costs fourfold without a visible gain. */
export function pixelRatio(): number {
  return Math.min(2, window.devicePixelRatio || 1);
}

/** Sets the canvas's resolution for its size in CSS pixels. */
export function sizeCanvas(canvas: HTMLCanvasElement, width: number, height: number): void {
  const ratio = pixelRatio();
  const w = Math.max(1, Math.round(width * ratio));
  const h = Math.max(1, Math.round(height * ratio));
  if (canvas.width !== w) canvas.width = w;
  if (canvas.height !== h) canvas.height = h;
}

/** For letters and lines, drawn on the CPU: there are few of them, and without a GPU an emulated
 * accelerated canvas is many times slower. */
export function pencil(canvas: HTMLCanvasElement): CanvasRenderingContext2D | null {
  return canvas.getContext("2d", { willReadFrequently: true });
}

export type Draw = (c: CanvasRenderingContext2D) => void;

/** In CSS pixels. */
export interface Drawn {
  readonly width: number;
  readonly height: number;
  readonly draw: Draw;
}

export interface Drawing extends Drawn {
  /** Also what is scrolled away or outside the window; null: there is no more than is shown. */
  readonly whole: (() => Drawn | null) | null;
}

const drawings = new WeakMap<HTMLCanvasElement, Drawing>();

/** What `canvas` shows is what `draw` draws, in CSS pixels from its upper left corner. */
export function remember(canvas: HTMLCanvasElement, width: number, height: number, draw: Draw, whole: Drawing["whole"] = null): void {
  drawings.set(canvas, { width, height, draw, whole });
}

export function drawingOf(canvas: HTMLCanvasElement): Drawing | null {
  return drawings.get(canvas) ?? null;
}

/** Gives the canvas that size in CSS pixels, clears it, draws and remembers. */
export function drawOn(canvas: HTMLCanvasElement, width: number, height: number, draw: Draw, whole: Drawing["whole"] = null): void {
  sizeCanvas(canvas, width, height);
  const c = pencil(canvas);
  if (!c) return;
  c.setTransform(canvas.width / width, 0, 0, canvas.height / height, 0, 0);
  c.clearRect(0, 0, width, height);
  draw(c);
  remember(canvas, width, height, draw, whole);
}

const plots = new WeakMap<HTMLCanvasElement, uPlot>();

/** Of each plot by uPlot: it can be drawn again, too (plot.ts). */
export const inPictures: uPlot.Plugin = { hooks: { draw: (u) => void plots.set(u.ctx.canvas, u) } };

export function plotOf(canvas: HTMLCanvasElement): uPlot | null {
  return plots.get(canvas) ?? null;
}
