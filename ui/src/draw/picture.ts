// A picture of an element of the page: its boxes, texts, plots and canvases, drawn once more on a 2D context,
// which may be larger than the screen's (PNG) or write SVG. Canvases are drawn by what drew them (canvas.ts).

import { drawingOf, type Drawn } from "./canvas";
import { drawGradient } from "./gradient";
import { drawnOf } from "./plot";
import { SvgContext } from "./svg";

/** Controls and what only pointers or screen readers need; of these, what is marked is drawn all the same. */
const LEFT_OUT =
  "[role=toolbar], [role=separator], input, textarea, dialog, script, " +
  ".equivalent, .sr-only, .tooltip, .no-picture";
const IN_PICTURE = ".in-picture";

/** What is of another size in the picture than on the screen. */
interface Growth {
  /** Drawn as a whole; null: something left out. */
  readonly canvas: HTMLCanvasElement | null;
  readonly drawn: Drawn | null;
  /** Of the page, where it ends, and how much further in the picture. */
  readonly right: number;
  readonly bottom: number;
  readonly wider: number;
  readonly higher: number;
}

interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

/** A transparent colour draws nothing. */
function isClear(colour: string): boolean {
  return colour === "transparent" || /^rgba\(.*,\s*0\)$|\/\s*0\)$/.test(colour);
}

function fontOf(style: CSSStyleDeclaration, scale = 1): string {
  const slant = style.fontStyle === "normal" ? "" : `${style.fontStyle} `;
  return `${slant}${style.fontWeight} ${parseFloat(style.fontSize) * scale}px ${style.fontFamily}`;
}

function isLeftOut(element: Element): boolean {
  if (element.matches(LEFT_OUT)) return true;
  // Of buttons, those that name something: a row, a column, what is chosen.
  if (element.matches("button:not([aria-pressed=true])")) return element.closest("th, li, [role=columnheader], [role=row], .in-picture") === null;
  // What an unticked box would do is of no interest.
  return element.matches("label") && element.querySelector("input[type=checkbox]:not(:checked)") !== null;
}

function shownText(text: string, style: CSSStyleDeclaration): string {
  const collapsed = style.whiteSpace.startsWith("pre") ? text.replace(/[\n\t]/g, " ") : text.replace(/\s+/g, " ");
  return style.textTransform === "uppercase" ? collapsed.toUpperCase() : collapsed;
}

/** Cut as the browser cuts it where the element is too narrow. */
function fitted(c: CanvasRenderingContext2D, text: string, pixels: number): string {
  if (c.measureText(text).width <= pixels + 1) return text;
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (c.measureText(`${text.slice(0, middle)}…`).width <= pixels) low = middle;
    else high = middle - 1;
  }
  return `${text.slice(0, low)}…`;
}

class Painter {
  constructor(
    private readonly c: CanvasRenderingContext2D,
    private readonly left: number,
    private readonly top: number,
    private readonly growths: readonly Growth[],
  ) {}

  private x(page: number): number {
    return this.growths.reduce((at, g) => at + (page >= g.right - 0.5 ? g.wider : 0), page - this.left);
  }

  private y(page: number): number {
    return this.growths.reduce((at, g) => at + (page >= g.bottom - 0.5 ? g.higher : 0), page - this.top);
  }

  private boxOf(r: Box): Box {
    return { left: this.x(r.left), top: this.y(r.top), right: this.x(r.right), bottom: this.y(r.bottom) };
  }

  private frame(style: CSSStyleDeclaration, b: Box): void {
    const { c } = this;
    if (!isClear(style.backgroundColor)) {
      c.fillStyle = style.backgroundColor;
      const radius = parseFloat(style.borderTopLeftRadius) || 0;
      if (radius) {
        c.beginPath();
        c.roundRect(b.left, b.top, b.right - b.left, b.bottom - b.top, radius);
        c.fill();
      } else c.fillRect(b.left, b.top, b.right - b.left, b.bottom - b.top);
    }
    if (style.backgroundImage !== "none")
      drawGradient(c, style.backgroundImage, style.backgroundSize, b.left, b.top, b.right - b.left, b.bottom - b.top);
    const [top, right, bottom, left] = [style.borderTopWidth, style.borderRightWidth, style.borderBottomWidth, style.borderLeftWidth].map(parseFloat) as [number, number, number, number];
    const side = (colour: string, line: string, x: number, y: number, w: number, h: number) => {
      if (w <= 0 || h <= 0 || line === "none" || isClear(colour)) return;
      c.fillStyle = colour;
      c.fillRect(x, y, w, h);
    };
    side(style.borderTopColor, style.borderTopStyle, b.left, b.top, b.right - b.left, top);
    side(style.borderBottomColor, style.borderBottomStyle, b.left, b.bottom - bottom, b.right - b.left, bottom);
    side(style.borderLeftColor, style.borderLeftStyle, b.left, b.top, left, b.bottom - b.top);
    side(style.borderRightColor, style.borderRightStyle, b.right - right, b.top, right, b.bottom - b.top);
  }

  private line(text: string, r: Box, element: Element, style: CSSStyleDeclaration): void {
    const { c } = this;
    c.textAlign = "left";
    c.textBaseline = "alphabetic";
    const m = c.measureText(text);
    const above = m.fontBoundingBoxAscent;
    const room = r.bottom - r.top - above - m.fontBoundingBoxDescent;
    const cutAt = style.textOverflow === "ellipsis" && element.scrollWidth > element.clientWidth ? element.getBoundingClientRect().right - parseFloat(style.paddingRight) : Infinity;
    c.fillText(cutAt < Infinity ? fitted(c, text, cutAt - r.left) : text, this.x(r.left), this.y(r.top) + above + room / 2);
  }

  private text(node: Text, element: Element, style: CSSStyleDeclaration): void {
    const words = node.data;
    if (!words.trim()) return;
    const { c } = this;
    const range = document.createRange();
    const rectsOf = (from: number, to: number): DOMRect[] => {
      range.setStart(node, from);
      range.setEnd(node, to);
      return [...range.getClientRects()];
    };
    const rects = rectsOf(words.search(/\S/), words.trimEnd().length);
    if (rects.length === 0) return;
    c.font = fontOf(style);
    c.fillStyle = style.color;
    if (rects.length === 1) {
      this.line(shownText(words, style).trim(), rects[0]!, element, style);
      return;
    }
    // Broken into lines: words, or where one is broken its letters, by where they are.
    let now: { text: string; rect: DOMRect } | null = null;
    const end = () => now && this.line(shownText(now.text, style).trimEnd(), now.rect, element, style);
    const add = (text: string, rect: DOMRect | undefined) => {
      if (!rect) return;
      if (now && Math.abs(rect.top - now.rect.top) < 2) now = { text: now.text + text, rect: now.rect };
      else {
        end();
        now = { text, rect };
      }
    };
    for (const found of words.matchAll(/\S+\s*/g)) {
      const last = found.index + found[0].trimEnd().length;
      const places = rectsOf(found.index, last);
      if (places.length === 1) add(found[0], places[0]);
      else {
        for (let i = found.index; i < last; i++) add(words[i]!, rectsOf(i, i + 1)[0]);
        add(found[0].slice(last - found.index), places.at(-1));
      }
    }
    end();
  }

  /** A name cut in the middle (parts/CutMiddle.tsx): its element, of letters without a size, is where the line is. */
  private cutName(element: HTMLElement, shown: string): void {
    const { c } = this;
    const style = getComputedStyle(element, "::before");
    const r = element.getBoundingClientRect();
    c.font = fontOf(style);
    c.fillStyle = style.color;
    c.textAlign = "left";
    c.textBaseline = "alphabetic";
    c.fillText(shown, this.x(r.left), this.y(r.bottom));
  }

  /** What a menu of choices shows while it is closed. */
  private choice(element: HTMLSelectElement, r: Box, style: CSSStyleDeclaration): void {
    const { c } = this;
    c.font = fontOf(style);
    c.fillStyle = style.color;
    c.textAlign = "left";
    c.textBaseline = "middle";
    const text = shownText(element.selectedOptions[0]?.text ?? "", style).trim();
    c.fillText(fitted(c, text, r.right - r.left - 24), this.x(r.left) + 8, this.y((r.top + r.bottom) / 2));
  }

  private canvas(element: HTMLCanvasElement, r: Box): void {
    const { c } = this;
    const growth = this.growths.find((g) => g.canvas === element);
    const around = this.growths.find((g) => g.canvas?.parentElement === element.parentElement);
    // What is above a canvas that is drawn as a whole belongs to the part that the screen shows.
    if (around && !growth) return;
    const drawn = growth?.drawn ?? drawnOf(element);
    const b = this.boxOf(r);
    if (b.right <= b.left || b.bottom <= b.top || element.width === 0) return;
    c.save();
    c.beginPath();
    c.rect(b.left, b.top, b.right - b.left, b.bottom - b.top);
    c.clip();
    if (drawn) {
      c.translate(b.left, b.top);
      c.scale((b.right - b.left) / drawn.width, (b.bottom - b.top) / drawn.height);
      reset(c);
      drawn.draw(c);
    } else c.drawImage(element, b.left, b.top, b.right - b.left, b.bottom - b.top);
    c.restore();
  }

  private plotItem(element: SVGGraphicsElement): void {
    const { c } = this;
    const style = getComputedStyle(element);
    if (style.display === "none" || style.visibility !== "visible") return;
    const m = element.getScreenCTM();
    if (!m) return;
    c.save();
    c.translate(this.x(m.e), this.y(m.f));
    c.scale(m.a, m.d);
    c.globalAlpha *= Number(style.opacity) || 0;
    const fills = style.fill !== "none" && !style.fill.startsWith("url");
    const strokes = style.stroke !== "none" && parseFloat(style.strokeWidth) > 0;
    if (fills) c.fillStyle = style.fill;
    if (strokes) {
      c.strokeStyle = style.stroke;
      c.lineWidth = parseFloat(style.strokeWidth);
      c.setLineDash(style.strokeDasharray === "none" ? [] : style.strokeDasharray.split(/[\s,]+/).map(parseFloat));
    }
    if (element instanceof SVGTextElement) {
      c.font = fontOf(style);
      c.textAlign = ({ middle: "center", end: "right" } as const)[style.textAnchor as "middle"] ?? "left";
      c.textBaseline = style.dominantBaseline === "auto" ? "alphabetic" : "middle";
      const { x, y } = element;
      if (fills) c.fillText(element.textContent ?? "", x.baseVal[0]?.value ?? 0, y.baseVal[0]?.value ?? 0);
    } else if (element instanceof SVGGeometryElement) {
      const d = pathOf(element);
      if (c instanceof SvgContext) c.drawPath(d, strokes, fills);
      else {
        const path = new Path2D(d);
        if (fills) c.fill(path);
        if (strokes) c.stroke(path);
      }
    }
    c.restore();
  }

  private plot(element: Element): void {
    for (const child of element.children) {
      if (child instanceof SVGGElement || child instanceof SVGAElement) this.plot(child);
      else if (child instanceof SVGGraphicsElement) this.plotItem(child);
    }
  }

  element(element: Element, isRoot = false): void {
    if (!isRoot && !element.checkVisibility()) return;
    if (!isRoot && isLeftOut(element)) {
      for (const each of element.querySelectorAll(IN_PICTURE)) this.element(each);
      return;
    }
    const { c } = this;
    const style = getComputedStyle(element);
    const r = element.getBoundingClientRect();
    c.save();
    c.globalAlpha *= Number(style.opacity);
    if (style.visibility === "visible" && !isRoot) this.frame(style, this.boxOf(r));
    if (element instanceof HTMLCanvasElement) this.canvas(element, r);
    else if (element instanceof HTMLImageElement) c.drawImage(element, this.x(r.left), this.y(r.top), r.width, r.height);
    else if (element instanceof SVGSVGElement) this.plot(element);
    else if (element instanceof HTMLSelectElement) this.choice(element, r, style);
    else if (element instanceof HTMLElement && element.dataset.shown) this.cutName(element, element.dataset.shown);
    else {
      const clips = !isRoot && style.overflow !== "visible" && (element.scrollWidth > element.clientWidth + 1 || element.scrollHeight > element.clientHeight + 1);
      if (clips) {
        const b = this.boxOf({ left: r.left + element.clientLeft, top: r.top + element.clientTop, right: r.left + element.clientLeft + element.clientWidth, bottom: r.top + element.clientTop + element.clientHeight });
        c.beginPath();
        c.rect(b.left, b.top, b.right - b.left, b.bottom - b.top);
        c.clip();
      }
      for (const child of element.childNodes) {
        if (child instanceof Text && style.visibility === "visible") this.text(child, element, style);
        else if (child instanceof Element) this.element(child);
      }
    }
    c.restore();
  }
}

/** As a context is before anything was drawn with it. */
function reset(c: CanvasRenderingContext2D): void {
  c.globalAlpha = 1;
  c.lineWidth = 1;
  c.fillStyle = c.strokeStyle = "#000";
  c.font = "10px sans-serif";
  c.textAlign = "start";
  c.textBaseline = "alphabetic";
  c.setLineDash([]);
}

/** The outline of a simple shape, in SVG's words. */
function pathOf(e: SVGGeometryElement): string {
  const of = (name: string) => Number.parseFloat(e.getAttribute(name) ?? "0") || 0;
  if (e instanceof SVGLineElement) return `M${of("x1")} ${of("y1")}L${of("x2")} ${of("y2")}`;
  if (e instanceof SVGRectElement) return `M${of("x")} ${of("y")}h${of("width")}v${of("height")}h${-of("width")}z`;
  if (e instanceof SVGCircleElement) {
    const [x, y, r] = [of("cx"), of("cy"), of("r")];
    return `M${x - r} ${y}a${r} ${r} 0 1 0 ${2 * r} 0a${r} ${r} 0 1 0 ${-2 * r} 0z`;
  }
  if (e instanceof SVGPolygonElement || e instanceof SVGPolylineElement) {
    const points = [...e.points].map(({ x, y }) => `${x} ${y}`).join("L");
    return points ? `M${points}${e instanceof SVGPolygonElement ? "z" : ""}` : "";
  }
  return e.getAttribute("d") ?? "";
}

function growthsOf(root: Element): Growth[] {
  const found: Growth[] = [];
  for (const canvas of root.querySelectorAll("canvas")) {
    const drawn = drawingOf(canvas)?.whole?.() ?? null;
    if (!drawn || !canvas.checkVisibility()) continue;
    const r = canvas.getBoundingClientRect();
    found.push({ canvas, drawn, right: r.right, bottom: r.bottom, wider: drawn.width - r.width, higher: drawn.height - r.height });
  }
  for (const bar of root.querySelectorAll(LEFT_OUT)) {
    const r = bar.getBoundingClientRect();
    if (r.width < root.clientWidth * WIDE || r.height === 0 || !bar.checkVisibility() || bar.querySelector(IN_PICTURE)) continue;
    found.push({ canvas: null, drawn: null, right: Infinity, bottom: r.bottom, wider: 0, higher: -r.height });
  }
  return found;
}

/** Of the element's width: what is left out and wider leaves no gap. */
const WIDE = 0.9;

/** How large the picture of that element is, and what draws it. Of an element that scrolls, all of it. */
export function pictureOf(root: HTMLElement): Drawn {
  const r = root.getBoundingClientRect();
  const growths = growthsOf(root);
  const sum = (of: "wider" | "higher") => growths.reduce((total, g) => total + g[of], 0);
  return {
    width: Math.ceil(Math.max(root.scrollWidth, root.clientWidth) + sum("wider")),
    height: Math.ceil(contentHeight(root) + sum("higher")),
    draw: (c) => new Painter(c, r.left + root.clientLeft - root.scrollLeft, r.top + root.clientTop - root.scrollTop, growths).element(root, true),
  };
}

/** Without what is empty below the last thing that is shown. */
function contentHeight(root: HTMLElement): number {
  const top = root.getBoundingClientRect().top - root.scrollTop;
  let most = 0;
  for (const child of root.children)
    if (!child.matches(LEFT_OUT) && child.checkVisibility()) most = Math.max(most, child.getBoundingClientRect().bottom - top);
  return most || root.clientHeight;
}
