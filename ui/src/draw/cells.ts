// A grid of many cells, drawn at once: a hundred thousand rectangles take longer than a frame.

import { pencil } from "./canvas";
import { sequence, type Rgb } from "./colour";

const SHADES = 256;
const shades = new Map<boolean, readonly Rgb[]>();

/** sequence() in steps that the eye does not tell apart. */
export function shade(share: number, dark: boolean): Rgb {
  let list = shades.get(dark);
  if (!list) shades.set(dark, (list = Array.from({ length: SHADES }, (_, i) => sequence(i / (SHADES - 1), dark))));
  return list[Math.round(Math.min(1, Math.max(0, share)) * (SHADES - 1))]!;
}

/** A canvas with a pixel for each cell, transparent at first. */
export class Cells {
  readonly canvas = document.createElement("canvas");
  private readonly image: ImageData;

  constructor(
    readonly columns: number,
    readonly rows: number,
  ) {
    this.canvas.width = columns;
    this.canvas.height = rows;
    this.image = new ImageData(columns, rows);
  }

  set(column: number, row: number, [r, g, b]: Rgb): void {
    const at = (row * this.columns + column) * 4;
    const { data } = this.image;
    data[at] = r;
    data[at + 1] = g;
    data[at + 2] = b;
    data[at + 3] = 255;
  }

  /** When all are set. */
  end(): this {
    pencil(this.canvas)?.putImageData(this.image, 0, 0);
    return this;
  }

  /** With sharp edges. */
  draw(c: CanvasRenderingContext2D, x: number, y: number, width: number, height: number): void {
    c.imageSmoothingEnabled = false;
    c.drawImage(this.canvas, x, y, width, height);
  }
}
