// A 2D context that writes SVG: what the pages draw on a canvas, as a drawing of any size.
//
// It has what the pages use of CanvasRenderingContext2D. Transforms scale and move, and coordinates are
// written as they end up; only texts are rotated.

type Paint = string | CanvasGradient | CanvasPattern;

/** For XML 1.0, which does not allow all characters. */
export function escapeXml(text: string): string {
  return text
    .replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]/g, "\ufffd")
    .replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd")
    .replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
}

function n(value: number): string {
  return Number.isFinite(value) ? String(Number(value.toFixed(2))) : "0";
}

/** A fill of tiles of a canvas. */
class Tiles {
  scale = 1;
  constructor(readonly tile: HTMLCanvasElement) {}
  setTransform(m?: DOMMatrix2DInit): void {
    this.scale = m?.a ?? 1;
  }
}

let scratch: CanvasRenderingContext2D | null = null;

/** To measure letters and to read colours. */
function real(): CanvasRenderingContext2D {
  if (!scratch) {
    const canvas = document.createElement("canvas");
    canvas.width = canvas.height = 1;
    scratch = canvas.getContext("2d", { willReadFrequently: true })!;
  }
  return scratch;
}

const colours = new Map<string, readonly [string, number]>();

/** Any colour of CSS as "#rrggbb", which every program reads, and its opacity. */
function colourOf(css: string): readonly [string, number] {
  let known = colours.get(css);
  if (!known) {
    const c = real();
    c.clearRect(0, 0, 1, 1);
    c.fillStyle = "#000";
    c.fillStyle = css;
    c.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = c.getImageData(0, 0, 1, 1).data as unknown as [number, number, number, number];
    known = [`#${[r, g, b].map((v) => v.toString(16).padStart(2, "0")).join("")}`, Math.round((a / 255) * 1000) / 1000];
    if (colours.size > 5000) colours.clear();
    colours.set(css, known);
  }
  return known;
}

const lines = new Map<string, number>();

/** How far the line of the letters is below what `baseline` names. */
function lineBelow(font: string, baseline: CanvasTextBaseline): number {
  if (baseline === "alphabetic") return 0;
  const key = `${baseline} ${font}`;
  let known = lines.get(key);
  if (known === undefined) {
    const c = real();
    c.font = font;
    c.textBaseline = baseline;
    const above = c.measureText("x").actualBoundingBoxAscent;
    c.textBaseline = "alphabetic";
    known = c.measureText("x").actualBoundingBoxAscent - above;
    lines.set(key, known);
  }
  return known;
}

interface State {
  fillStyle: Paint;
  strokeStyle: Paint;
  lineWidth: number;
  lineCap: CanvasLineCap;
  lineJoin: CanvasLineJoin;
  globalAlpha: number;
  font: string;
  textAlign: CanvasTextAlign;
  textBaseline: CanvasTextBaseline;
  dash: readonly number[];
  sx: number;
  sy: number;
  tx: number;
  ty: number;
  /** Of texts. */
  angle: number;
}

const FIRST: State = {
  fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, lineCap: "butt", lineJoin: "miter", globalAlpha: 1,
  font: "10px sans-serif", textAlign: "start", textBaseline: "alphabetic", dash: [], sx: 1, sy: 1, tx: 0, ty: 0, angle: 0,
};
const ANCHORS: Record<string, string> = { center: ' text-anchor="middle"', right: ' text-anchor="end"', end: ' text-anchor="end"' };

export class SvgContext {
  private readonly out: string[] = [];
  private readonly defs: string[] = [];
  private readonly ids = new Map<string, string>();
  private s: State = { ...FIRST };
  private readonly saved: { state: State; groups: number }[] = [];
  private groups = 0;
  private path = "";
  private at: readonly [number, number] = [0, 0];
  /** Opaque rectangles of one colour, one after the other, become one path. */
  private run: { fill: string; d: string; n: number } | null = null;

  /** As what the pages' drawing functions take. */
  get asContext(): CanvasRenderingContext2D {
    return this as unknown as CanvasRenderingContext2D;
  }

  private put(element: string): void {
    this.endRun();
    this.out.push(element);
  }

  private endRun(): void {
    if (this.run) this.out.push(`<path d="${this.run.d}" fill="${this.run.fill}"/>`);
    this.run = null;
  }

  private define(content: string, element: (id: string) => string): string {
    let id = this.ids.get(content);
    if (id === undefined) {
      id = `d${this.ids.size}`;
      this.ids.set(content, id);
      this.defs.push(element(id));
    }
    return id;
  }

  /** The attributes of a fill or a stroke. */
  private ink(kind: "fill" | "stroke", paint: Paint): string {
    if (typeof paint === "string") {
      const [colour, alpha] = colourOf(paint);
      const opacity = alpha * this.s.globalAlpha;
      return ` ${kind}="${colour}"${opacity < 1 ? ` ${kind}-opacity="${n(opacity)}"` : ""}`;
    }
    if (!((paint as unknown) instanceof Tiles)) throw new Error("a pattern of another context");
    const { tile, scale } = paint as unknown as Tiles;
    const size = `width="${tile.width}" height="${tile.height}"`;
    const image = tile.toDataURL();
    const k = scale * this.s.sx;
    const id = this.define(`${k} ${image}`, (made) =>
      `<pattern id="${made}" ${size} patternUnits="userSpaceOnUse"${k === 1 ? "" : ` patternTransform="scale(${n(k)})"`}><image ${size} href="${image}"/></pattern>`,
    );
    return ` ${kind}="url(#${id})"${this.s.globalAlpha < 1 ? ` ${kind}-opacity="${n(this.s.globalAlpha)}"` : ""}`;
  }

  private pen(): string {
    const { lineWidth, dash, lineCap, lineJoin, sx } = this.s;
    return (
      `${this.ink("stroke", this.s.strokeStyle)} stroke-width="${n(lineWidth * sx)}"` +
      (dash.length ? ` stroke-dasharray="${dash.map((d) => n(d * sx)).join(" ")}"` : "") +
      (lineCap === "butt" ? "" : ` stroke-linecap="${lineCap}"`) +
      (lineJoin === "miter" ? "" : ` stroke-linejoin="${lineJoin}"`)
    );
  }

  private x(x: number): string {
    return n(x * this.s.sx + this.s.tx);
  }

  private y(y: number): string {
    return n(y * this.s.sy + this.s.ty);
  }

  save(): void {
    this.saved.push({ state: { ...this.s }, groups: this.groups });
    this.groups = 0;
  }

  restore(): void {
    const before = this.saved.pop();
    if (!before) return;
    if (this.groups) this.put("</g>".repeat(this.groups));
    this.s = before.state;
    this.groups = before.groups;
  }

  scale(x: number, y: number): void {
    this.s.sx *= x;
    this.s.sy *= y;
  }

  translate(x: number, y: number): void {
    this.s.tx += x * this.s.sx;
    this.s.ty += y * this.s.sy;
  }

  rotate(angle: number): void {
    this.s.angle += angle;
  }

  getTransform(): { a: number; d: number; e: number; f: number } {
    return { a: this.s.sx, d: this.s.sy, e: this.s.tx, f: this.s.ty };
  }

  beginPath(): void {
    this.path = "";
  }

  closePath(): void {
    this.path += "Z";
  }

  moveTo(x: number, y: number): void {
    this.at = [x, y];
    this.path += `M${this.x(x)} ${this.y(y)}`;
  }

  lineTo(x: number, y: number): void {
    if (!this.path) return this.moveTo(x, y);
    this.at = [x, y];
    this.path += `L${this.x(x)} ${this.y(y)}`;
    return undefined;
  }

  quadraticCurveTo(ax: number, ay: number, x: number, y: number): void {
    this.at = [x, y];
    this.path += `Q${this.x(ax)} ${this.y(ay)} ${this.x(x)} ${this.y(y)}`;
  }

  bezierCurveTo(ax: number, ay: number, bx: number, by: number, x: number, y: number): void {
    this.at = [x, y];
    this.path += `C${this.x(ax)} ${this.y(ay)} ${this.x(bx)} ${this.y(by)} ${this.x(x)} ${this.y(y)}`;
  }

  private round(r: number, large: boolean, sweep: boolean, x: number, y: number): void {
    this.at = [x, y];
    this.path += `A${n(r * this.s.sx)} ${n(r * this.s.sy)} 0 ${large ? 1 : 0} ${sweep ? 1 : 0} ${this.x(x)} ${this.y(y)}`;
  }

  arc(x: number, y: number, r: number, from: number, to: number, back = false): void {
    const place = (a: number): [number, number] => [x + r * Math.cos(a), y + r * Math.sin(a)];
    const turn = back ? from - to : to - from;
    this.lineTo(...place(from));
    if (turn >= 2 * Math.PI - 1e-9) {
      this.round(r, true, !back, ...place(from + Math.PI));
      this.round(r, true, !back, ...place(from));
      return;
    }
    const positive = ((turn % (2 * Math.PI)) + 2 * Math.PI) % (2 * Math.PI);
    this.round(r, positive > Math.PI, !back, ...place(to));
  }

  arcTo(ax: number, ay: number, bx: number, by: number, r: number): void {
    const [x, y] = this.at;
    const [u, v] = [[x - ax, y - ay], [bx - ax, by - ay]].map(([dx, dy]) => {
      const length = Math.hypot(dx!, dy!) || 1;
      return [dx! / length, dy! / length];
    }) as [[number, number], [number, number]];
    const cross = u[0] * v[1] - u[1] * v[0];
    const dot = u[0] * v[0] + u[1] * v[1];
    if (Math.abs(cross) < 1e-6 || r <= 0) return this.lineTo(ax, ay);
    const away = r / Math.tan(Math.acos(Math.min(1, Math.max(-1, dot))) / 2);
    this.lineTo(ax + u[0] * away, ay + u[1] * away);
    return this.round(r, false, cross < 0, ax + v[0] * away, ay + v[1] * away);
  }

  rect(x: number, y: number, w: number, h: number): void {
    this.path += this.box(x, y, w, h);
    this.at = [x, y];
  }

  roundRect(x: number, y: number, w: number, h: number, radii: number | readonly number[] = 0): void {
    const four = typeof radii === "number" ? [radii, radii, radii, radii] : radii;
    const most = Math.min(Math.abs(w), Math.abs(h)) / 2;
    const [a, b, c, d] = [four[0], four[1] ?? four[0], four[2] ?? four[0], four[3] ?? four[1] ?? four[0]].map((r) => Math.min(r ?? 0, most)) as [number, number, number, number];
    this.moveTo(x + a, y);
    this.lineTo(x + w - b, y);
    if (b) this.round(b, false, true, x + w, y + b);
    this.lineTo(x + w, y + h - c);
    if (c) this.round(c, false, true, x + w - c, y + h);
    this.lineTo(x + d, y + h);
    if (d) this.round(d, false, true, x, y + h - d);
    this.lineTo(x, y + a);
    if (a) this.round(a, false, true, x + a, y);
    this.closePath();
  }

  private box(x: number, y: number, w: number, h: number): string {
    return `M${this.x(x)} ${this.y(y)}h${n(w * this.s.sx)}v${n(h * this.s.sy)}h${n(-w * this.s.sx)}z`;
  }

  clip(): void {
    const d = this.path;
    const id = this.define(`clip ${d}`, (made) => `<clipPath id="${made}"><path d="${d}"/></clipPath>`);
    this.put(`<g clip-path="url(#${id})">`);
    this.groups++;
  }

  fill(): void {
    if (this.path) this.put(`<path d="${this.path}"${this.ink("fill", this.s.fillStyle)}/>`);
  }

  stroke(): void {
    if (this.path) this.put(`<path d="${this.path}" fill="none"${this.pen()}/>`);
  }

  fillRect(x: number, y: number, w: number, h: number): void {
    if (!(w * h)) return;
    const paint = this.s.fillStyle;
    const plain = typeof paint === "string" && this.s.globalAlpha === 1 ? colourOf(paint) : null;
    if (plain?.[1] === 0) return;
    if (plain?.[1] !== 1) {
      this.put(`<path d="${this.box(x, y, w, h)}"${this.ink("fill", paint)}/>`);
      return;
    }
    if (this.run?.fill !== plain[0]) {
      this.endRun();
      this.run = { fill: plain[0], d: "", n: 0 };
    }
    this.run.d += this.box(x, y, w, h);
    // Programs read very long paths slowly.
    if (++this.run.n >= 1000) this.endRun();
  }

  strokeRect(x: number, y: number, w: number, h: number): void {
    this.put(`<path d="${this.box(x, y, w, h)}" fill="none"${this.pen()}/>`);
  }

  clearRect(): void {}

  setLineDash(dash: readonly number[]): void {
    this.s.dash = [...dash];
  }

  measureText(text: string): TextMetrics {
    const c = real();
    c.font = this.s.font;
    return c.measureText(text);
  }

  fillText(text: string, x: number, y: number): void {
    if (!text.trim()) return;
    const { font, textAlign, textBaseline } = this.s;
    const found = /^(?:(.*?) )?([\d.]+)px (.*)$/.exec(font);
    const style = found?.[1] ?? "";
    const size = Number(found?.[2] ?? 10);
    const weight = /\b(bold|[5-9]00)\b/.exec(style)?.[1];
    const below = y + lineBelow(font, textBaseline);
    const { angle } = this.s;
    const [px, py] = [this.x(x * Math.cos(angle) - below * Math.sin(angle)), this.y(x * Math.sin(angle) + below * Math.cos(angle))];
    this.put(
      `<text x="${px}" y="${py}"${angle ? ` transform="rotate(${n((angle * 180) / Math.PI)} ${px} ${py})"` : ""} font-size="${n(size * this.s.sx)}" font-family="${escapeXml(found?.[3] ?? "sans-serif")}"` +
        `${weight ? ` font-weight="${weight}"` : ""}${/\bitalic\b/.test(style) ? ' font-style="italic"' : ""}${ANCHORS[textAlign] ?? ""}${this.ink("fill", this.s.fillStyle)} xml:space="preserve">${escapeXml(text)}</text>`,
    );
  }

  createPattern(tile: HTMLCanvasElement): CanvasPattern {
    return new Tiles(tile) as unknown as CanvasPattern;
  }

  imageSmoothingEnabled = true;

  drawImage(image: HTMLCanvasElement, x: number, y: number, w: number, h: number): void {
    this.put(`<image x="${this.x(x)}" y="${this.y(y)}" width="${n(w * this.s.sx)}" height="${n(h * this.s.sy)}" preserveAspectRatio="none"${this.imageSmoothingEnabled ? "" : ' style="image-rendering:pixelated"'} href="${image.toDataURL()}"/>`);
  }

  /** A path in SVG's own words, in the user space of the element it is of. */
  drawPath(d: string, strokes: boolean, fills: boolean): void {
    const { sx, sy, tx, ty } = this.s;
    const paint = (fills ? this.ink("fill", this.s.fillStyle) : ' fill="none"') + (strokes ? this.pen() : "");
    this.put(`<path d="${escapeXml(d)}" transform="matrix(${n(sx)} 0 0 ${n(sy)} ${n(tx)} ${n(ty)})"${paint}/>`);
  }

  /** The whole drawing. */
  document(width: number, height: number, title: string): string {
    this.endRun();
    const size = `width="${n(width)}" height="${n(height)}" viewBox="0 0 ${n(width)} ${n(height)}"`;
    return `<svg xmlns="http://www.w3.org/2000/svg" ${size}><title>${escapeXml(title)}</title><defs>${this.defs.join("")}</defs>${this.out.join("")}</svg>\n`;
  }
}

for (const name of Object.keys(FIRST) as (keyof State)[])
  if (!["dash", "sx", "sy", "tx", "ty", "angle"].includes(name))
    Object.defineProperty(SvgContext.prototype, name, {
      get(this: { s: State }) {
        return this.s[name];
      },
      set(this: { s: State }, value: never) {
        this.s[name] = value;
      },
    });
