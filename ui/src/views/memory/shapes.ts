// A picture as a list of shapes, so that the screen, PNG and SVG show the same.

export type Pattern = "never" | "unknown" | "gap";

export type Shape =
  | { readonly t: "rect"; x: number; y: number; w: number; h: number; fill: string; pattern?: Pattern; ink?: string }
  | { readonly t: "frame"; x: number; y: number; w: number; h: number; ink: string; width: number }
  | { readonly t: "line"; x1: number; y1: number; x2: number; y2: number; ink: string; width: number }
  | { readonly t: "triangle"; points: readonly [number, number, number, number, number, number]; fill: string }
  | {
      readonly t: "text";
      x: number;
      /** Of the middle of the line. */
      y: number;
      text: string;
      ink: string;
      size: number;
      align: "left" | "right" | "center";
      bold?: boolean;
    };

const FONT = "system-ui, sans-serif";

/** Tiles of the patterns, by ink: filling with one costs the same as a plain rectangle. */
const tiles = new Map<string, HTMLCanvasElement>();
const TILE_PX = 8;

/** Slanted lines: "never"; dots: "not observed". */
function tileOf(pattern: "never" | "unknown", ink: string, ratio: number): HTMLCanvasElement {
  const key = `${pattern} ${ink} ${ratio}`;
  const known = tiles.get(key);
  if (known) return known;
  const tile = document.createElement("canvas");
  tile.width = tile.height = Math.round(TILE_PX * ratio);
  const c = tile.getContext("2d");
  if (c) {
    c.scale(tile.width / TILE_PX, tile.width / TILE_PX);
    c.strokeStyle = c.fillStyle = ink;
    if (pattern === "unknown") c.fillRect(3, 3, 1.5, 1.5);
    else {
      c.beginPath();
      // Three of them, so that the corners of adjacent tiles are complete.
      for (const x of [-TILE_PX, 0, TILE_PX]) {
        c.moveTo(x, TILE_PX);
        c.lineTo(x + TILE_PX, 0);
      }
      c.stroke();
    }
  }
  tiles.set(key, tile);
  return tile;
}

/** Text cut to a width in pixels, by the usual width of letters; "" if nothing fits. */
export function fitted(text: string, pixels: number, size: number): string {
  const n = Math.floor(pixels / (size * 0.56));
  if (text.length <= n) return text;
  return n < 3 ? "" : text.slice(0, n - 1) + "…";
}

/** A context's patterns by their tiles: a film needs the same ones in each frame. */
const patterns = new WeakMap<CanvasRenderingContext2D, Map<HTMLCanvasElement, CanvasPattern>>();

function patternOf(c: CanvasRenderingContext2D, tile: HTMLCanvasElement, ratio: number): CanvasPattern | null {
  const made = patterns.get(c) ?? new Map<HTMLCanvasElement, CanvasPattern>();
  patterns.set(c, made);
  const known = made.get(tile);
  if (known) return known;
  const pattern = c.createPattern(tile, "repeat");
  if (!pattern) return null;
  pattern.setTransform(new DOMMatrix([1 / ratio, 0, 0, 1 / ratio, 0, 0]));
  made.set(tile, pattern);
  return pattern;
}

function hatch(c: CanvasRenderingContext2D, s: Extract<Shape, { t: "rect" }>, ratio: number): void {
  if (!s.pattern || s.pattern === "gap" || s.w < 2) return;
  const pattern = patternOf(c, tileOf(s.pattern, s.ink ?? "#888", ratio), ratio);
  if (!pattern) return;
  c.fillStyle = pattern;
  c.fillRect(s.x, s.y, s.w, s.h);
}

export function paint(c: CanvasRenderingContext2D, shapes: readonly Shape[]): void {
  c.textBaseline = "middle";
  const ratio = c.getTransform().a || 1;
  for (const s of shapes) {
    if (s.t === "rect") {
      c.fillStyle = s.fill;
      c.fillRect(s.x, s.y, s.w, s.h);
      hatch(c, s, ratio);
    } else if (s.t === "frame") {
      c.strokeStyle = s.ink;
      c.lineWidth = s.width;
      c.strokeRect(s.x, s.y, s.w, s.h);
    } else if (s.t === "line") {
      c.strokeStyle = s.ink;
      c.lineWidth = s.width;
      c.beginPath();
      c.moveTo(s.x1, s.y1);
      c.lineTo(s.x2, s.y2);
      c.stroke();
    } else if (s.t === "triangle") {
      const [ax, ay, bx, by, cx, cy] = s.points;
      c.fillStyle = s.fill;
      c.beginPath();
      c.moveTo(ax, ay);
      c.lineTo(bx, by);
      c.lineTo(cx, cy);
      c.fill();
    } else {
      c.fillStyle = s.ink;
      c.font = `${s.bold ? "600 " : ""}${s.size}px ${FONT}`;
      c.textAlign = s.align;
      c.fillText(s.text, s.x, s.y);
    }
  }
}
