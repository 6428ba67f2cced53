// The timeline as SVG: the content of the canvases as text.

import { HATCHED_FROM, PATTERN, type RectItem } from "../../draw/rects";
import type { Range } from "../../draw/axis";
import type { Ink } from "./pen";

function escape(text: string): string {
  return text
    // Characters that XML 1.0 does not allow.
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;")
    .replace(/"/g, "&quot;");
}

function n(value: number): string {
  return Number(value.toFixed(2)).toString();
}

/** As the renderers do. */
const GAP = 0.7;

/** Lines by PATTERN, six pixels square. */
const LINES = [
  "",
  "M-1 1L1 -1M0 6L6 0M5 7L7 5",
  "M-1 5L1 7M0 0L6 6M5 -1L7 1",
  "M0 3H6",
  "M3 0V6",
  "M2 3h2",
  "M-1 5L1 7M0 0L6 6M5 -1L7 1",
];

export function hatchFill(pattern: number): string {
  return `url(#hatch${pattern})`;
}

/** Thin dark lines; for the sparse pattern, wide lines that show what is below. */
function hatchings(ground: string): string {
  const one = (d: string, pattern: number) => {
    const ink = pattern === PATTERN.sparse ? `${escape(ground)}" stroke-width="2` : `#000" stroke-opacity="0.28`;
    return `<pattern id="hatch${pattern}" width="6" height="6" patternUnits="userSpaceOnUse"><path d="${d}" fill="none" stroke="${ink}"/></pattern>`;
  };
  return `<defs>${LINES.map((d, i) => (d ? one(d, i) : "")).join("")}</defs>`;
}

type Paint = CanvasRenderingContext2D["fillStyle"];

/** Takes the calls of the overlay and writes them down. */
export class SvgInk implements Ink {
  fillStyle: Paint = "#000";
  strokeStyle: Paint = "#000";
  lineWidth = 1;
  globalAlpha = 1;
  private readonly out: string[] = [];
  private path = "";
  private clips = 0;
  private readonly open: number[] = [];

  private put(element: string): void {
    this.out.push(element);
  }

  private alpha(of: string): string {
    return this.globalAlpha === 1 ? "" : ` ${of}-opacity="${n(this.globalAlpha)}"`;
  }

  save(): void {
    this.open.push(0);
  }

  restore(): void {
    const groups = this.open.pop() ?? 0;
    this.put("</g>".repeat(groups));
  }

  beginPath(): void {
    this.path = "";
  }

  rect(x: number, y: number, w: number, h: number): void {
    this.path += `M${n(x)} ${n(y)}h${n(w)}v${n(h)}h${n(-w)}z`;
  }

  clip(): void {
    const id = `clip${this.clips++}`;
    this.put(`<clipPath id="${id}"><path d="${this.path}"/></clipPath><g clip-path="url(#${id})">`);
    const at = this.open.length - 1;
    if (at >= 0) this.open[at] = (this.open[at] ?? 0) + 1;
  }

  moveTo(x: number, y: number): void {
    this.path += `M${n(x)} ${n(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.path += `L${n(x)} ${n(y)}`;
  }

  stroke(): void {
    this.put(
      `<path d="${this.path}" fill="none" stroke="${escape(String(this.strokeStyle))}" stroke-width="${this.lineWidth}"${this.alpha("stroke")}/>`,
    );
  }

  fill(): void {
    if (this.path) this.put(`<path d="${this.path}" fill="${escape(String(this.fillStyle))}"${this.alpha("fill")}/>`);
  }

  fillRect(x: number, y: number, w: number, h: number): void {
    this.put(
      `<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="${escape(String(this.fillStyle))}"${this.alpha("fill")}/>`,
    );
  }

  strokeRect(x: number, y: number, w: number, h: number): void {
    this.put(
      `<rect x="${n(x)}" y="${n(y)}" width="${n(w)}" height="${n(h)}" fill="none" stroke="${escape(String(this.strokeStyle))}" stroke-width="${this.lineWidth}"${this.alpha("stroke")}/>`,
    );
  }

  fillText(text: string, x: number, y: number): void {
    this.put(`<text x="${n(x)}" y="${n(y)}" fill="${escape(String(this.fillStyle))}">${escape(text)}</text>`);
  }

  /** The rectangles of the items, as the renderers place them. */
  items(items: readonly RectItem[], range: Range, size: { width: number; height: number }): void {
    const perUnit = size.width / (range.to - range.from);
    for (const item of items) {
      const left = Math.max(0, ((item.from ?? range.from) - range.from) * perUnit);
      const right = Math.min(size.width, ((item.to ?? range.to) - range.from) * perUnit);
      const top = item.top ?? 0;
      if (right <= left) continue;
      this.save();
      this.beginPath();
      this.rect(left, top, right - left, (item.bottom ?? size.height) - top);
      this.clip();
      const { batch } = item;
      const shift = (batch.origin - range.from) * perUnit;
      for (let i = 0; i < batch.n; i++) {
        const [x, w, y, h] = batch.place.subarray(i * 4, i * 4 + 4) as unknown as [number, number, number, number];
        const at = x * perUnit + shift;
        if (at > right || at + Math.max(1, w * perUnit) < left) continue;
        const [r, g, b, a] = batch.colour.subarray(i * 4, i * 4 + 4) as unknown as [number, number, number, number];
        this.fillStyle = `rgb(${r},${g},${b})`;
        this.globalAlpha = a / 255;
        const from = Math.max(at, left - 1);
        const to = Math.min(right + 1, at + Math.max(1, w * perUnit));
        const width = to - from - (to - from > 4 ? GAP : 0);
        this.fillRect(from, y + (item.scrollY ?? 0), width, h);
        const pattern = width < HATCHED_FROM ? 0 : (batch.pattern?.[i] ?? 0);
        if (!pattern) continue;
        this.fillStyle = hatchFill(pattern);
        this.fillRect(from, y + (item.scrollY ?? 0), width, h);
      }
      this.globalAlpha = 1;
      this.restore();
    }
  }

  /** size: of all. This is moved to the right by `left` pixels; `frame` is not. */
  document(size: { width: number; height: number }, left: number, frame: SvgInk, ground: string, title: string): string {
    const { width, height } = size;
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}"`,
      ` font-family="system-ui, sans-serif" font-size="11" dominant-baseline="middle">`,
      `<title>${escape(title)}</title><rect width="${width}" height="${height}" fill="${escape(ground)}"/>`,
      hatchings(ground),
      `<g transform="translate(${left} 0)">`,
      ...this.out,
      "</g>",
      ...frame.out,
      "</svg>\n",
    ].join("");
  }
}
