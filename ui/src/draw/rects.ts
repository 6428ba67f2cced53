// Very many rectangles on a canvas: with WebGL2, or a 2D canvas where it is unavailable.
//
// Horizontal positions are in units of the data relative to the origin of their batch (float32 is
// not enough for nanoseconds since the start of a run); the shader converts them to pixels, so that
// panning and zooming move no data.

import { urlParam } from "../state/url";
import { pencil, remember, sizeCanvas } from "./canvas";

export interface RectBatch {
  /** Origin of x, in units of the data. */
  readonly origin: number;
  readonly n: number;
  /** Four a rectangle: x, width (units of the data), y, height (CSS pixels). */
  readonly place: Float32Array;
  /** Four bytes a rectangle: red, green, blue, alpha (not premultiplied). */
  readonly colour: Uint8Array;
  /** One a rectangle: how it is hatched where it is wide enough to show it; absent: plain. */
  readonly pattern?: Uint8Array;
}

/** Hatchings, so that nothing is encoded by colour alone. */
export const PATTERN = { plain: 0, rising: 1, falling: 2, level: 3, upright: 4, dots: 5, sparse: 6 } as const;

/** A batch, and where it may be seen. */
export interface RectItem {
  readonly batch: RectBatch;
  /** Units of the data: clips drawing. */
  readonly from?: number;
  readonly to?: number;
  /** CSS pixels from the canvas's upper edge, likewise. */
  readonly top?: number;
  readonly bottom?: number;
  /** Instead of the view's. */
  readonly scrollY?: number;
  /** Units of the data: added to each x, not to `from` and `to`. */
  readonly shift?: number;
}

export interface RectView {
  readonly from: number;
  readonly to: number;
  /** CSS pixels. */
  readonly width: number;
  readonly height: number;
  /** Added to each y. */
  readonly scrollY: number;
  /** No rectangle is drawn narrower than this. */
  readonly minWidth: number;
  /** CSS pixels left free at the right of those that are wide, so that neighbours of one colour
   * are two; the default: 0. */
  readonly gap?: number;
}

export interface RectRenderer {
  readonly kind: "webgl2" | "canvas";
  draw(batches: readonly (RectBatch | RectItem)[], view: RectView): void;
  /** Frees the buffers of a batch. */
  drop(batch: RectBatch): void;
  dispose(): void;
}

/** Rectangles narrower than this (CSS pixels) are not hatched. */
export const HATCHED_FROM = 5;

function itemOf(of: RectBatch | RectItem): RectItem {
  return "batch" in of ? of : { batch: of };
}

/** Visible part of the item, in CSS pixels: left, top, right, bottom; null: none. */
function seen(item: RectItem, view: RectView): [number, number, number, number] | null {
  const perUnit = view.width / (view.to - view.from);
  const left = item.from === undefined ? 0 : Math.max(0, (item.from - view.from) * perUnit);
  const right = item.to === undefined ? view.width : Math.min(view.width, (item.to - view.from) * perUnit);
  const top = Math.max(0, item.top ?? 0);
  const bottom = Math.min(view.height, item.bottom ?? view.height);
  return left < right && top < bottom ? [left, top, right, bottom] : null;
}

/* Rectangles are texels that six vertices each fetch. Instances would do the same, but without a
 * GPU each instance costs as much as a draw call. */
const TEXELS = 1024;

const VERTEX = `#version 300 es
precision highp float;
precision highp usampler2D;
uniform sampler2D places;  /* x, width, y, height */
uniform usampler2D looks;  /* colour (red lowest), pattern */
uniform vec2 scale;   /* CSS pixels per unit, CSS pixel of the origin */
uniform vec3 screen;  /* width, height, scroll */
uniform vec3 least;   /* width; from which width on it is hatched; gap */
out vec4 ink;
flat out int hatch;
void main() {
  int nth = gl_VertexID / 6;
  int vertex = gl_VertexID % 6;
  vertex = vertex < 3 ? vertex : 6 - vertex;
  vec2 corner = vec2(vertex & 1, vertex >> 1);
  ivec2 texel = ivec2(nth % ${TEXELS}, nth / ${TEXELS});
  vec4 place = texelFetch(places, texel, 0);
  uvec2 look = texelFetch(looks, texel, 0).xy;
  vec4 colour = vec4((uvec4(look.x) >> uvec4(0, 8, 16, 24)) & 255u) / 255.0;
  float left = place.x * scale.x + scale.y;
  float right = left + place.y * scale.x;
  /* Far outside, float32 pixels would be coarse. */
  left = clamp(left, -4096.0, screen.x + 4096.0);
  right = clamp(right, -4096.0, screen.x + 4096.0);
  float width = max(right - left, least.x);
  width -= width > 4.0 ? least.z : 0.0;
  float x = left + corner.x * width;
  float y = place.z + screen.z + corner.y * place.w;
  gl_Position = vec4(x / screen.x * 2.0 - 1.0, 1.0 - y / screen.y * 2.0, 0.0, 1.0);
  ink = vec4(colour.rgb * colour.a, colour.a);
  hatch = width < least.y ? 0 : int(look.y);
}`;

const FRAGMENT = `#version 300 es
precision highp float;
in vec4 ink;
flat in int hatch;
uniform float ratio; /* device pixels per CSS pixel */
out vec4 pixel;
void main() {
  pixel = ink;
  if (hatch == 0) return;
  vec2 p = floor(gl_FragCoord.xy / ratio);
  bool line = hatch == 1 ? mod(p.x - p.y, 6.0) < 1.0
    : hatch == 2 ? mod(p.x + p.y, 6.0) < 1.0
    : hatch == 3 ? mod(p.y, 5.0) < 1.0
    : hatch == 4 ? mod(p.x, 5.0) < 1.0
    : hatch == 5 ? mod(p.x, 5.0) < 1.5 && mod(p.y, 5.0) < 1.5
    : mod(p.x + p.y, 6.0) < 3.0;
  if (hatch == 6) pixel = line ? ink : vec4(0.0);
  else if (line) pixel = vec4(ink.rgb * 0.72, ink.a);
}`;

function shader(gl: WebGL2RenderingContext, type: number, source: string): WebGLShader | null {
  const made = gl.createShader(type);
  if (!made) return null;
  gl.shaderSource(made, source);
  gl.compileShader(made);
  return gl.getShaderParameter(made, gl.COMPILE_STATUS) ? made : null;
}

function program(gl: WebGL2RenderingContext): WebGLProgram | null {
  const vertex = shader(gl, gl.VERTEX_SHADER, VERTEX);
  const fragment = shader(gl, gl.FRAGMENT_SHADER, FRAGMENT);
  const made = gl.createProgram();
  if (!vertex || !fragment || !made) return null;
  gl.attachShader(made, vertex);
  gl.attachShader(made, fragment);
  gl.linkProgram(made);
  return gl.getProgramParameter(made, gl.LINK_STATUS) ? made : null;
}

interface Uploaded {
  readonly places: WebGLTexture;
  readonly looks: WebGLTexture;
}

/** Colour and pattern of each, as the shader takes them. */
function looksOf(batch: RectBatch, texels: number): Uint32Array {
  const looks = new Uint32Array(texels * 2);
  for (let i = 0; i < batch.n; i++) {
    const [r, g, b, a] = [0, 1, 2, 3].map((k) => batch.colour[i * 4 + k]!) as [number, number, number, number];
    looks[i * 2] = r | (g << 8) | (b << 16) | (a << 24);
    looks[i * 2 + 1] = batch.pattern?.[i] ?? 0;
  }
  return looks;
}

class GlRects implements RectRenderer {
  readonly kind = "webgl2";
  private readonly uploaded = new Map<RectBatch, Uploaded>();
  private readonly scale: WebGLUniformLocation | null;
  private readonly screen: WebGLUniformLocation | null;
  private readonly least: WebGLUniformLocation | null;
  private readonly ratio: WebGLUniformLocation | null;
  private readonly looks: WebGLUniformLocation | null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly gl: WebGL2RenderingContext,
    private readonly made: WebGLProgram,
  ) {
    this.scale = gl.getUniformLocation(made, "scale");
    this.screen = gl.getUniformLocation(made, "screen");
    this.least = gl.getUniformLocation(made, "least");
    this.ratio = gl.getUniformLocation(made, "ratio");
    this.looks = gl.getUniformLocation(made, "looks");
  }

  private upload(batch: RectBatch): Uploaded | null {
    const known = this.uploaded.get(batch);
    if (known) return known;
    const { gl } = this;
    const rows = Math.ceil(batch.n / TEXELS);
    const place = new Float32Array(rows * TEXELS * 4);
    place.set(batch.place.subarray(0, batch.n * 4));
    const places = this.texture();
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RGBA32F, TEXELS, rows, 0, gl.RGBA, gl.FLOAT, place);
    const looks = this.texture();
    const look = looksOf(batch, rows * TEXELS);
    gl.texImage2D(gl.TEXTURE_2D, 0, gl.RG32UI, TEXELS, rows, 0, gl.RG_INTEGER, gl.UNSIGNED_INT, look);
    if (!places || !looks) return null;
    const made = { places, looks };
    this.uploaded.set(batch, made);
    return made;
  }

  /** A texture of numbers, bound. */
  private texture(): WebGLTexture | null {
    const { gl } = this;
    const made = gl.createTexture();
    gl.bindTexture(gl.TEXTURE_2D, made);
    for (const filter of [gl.TEXTURE_MIN_FILTER, gl.TEXTURE_MAG_FILTER])
      gl.texParameteri(gl.TEXTURE_2D, filter, gl.NEAREST);
    return made;
  }

  draw(batches: readonly (RectBatch | RectItem)[], view: RectView): void {
    const { gl } = this;
    sizeCanvas(this.canvas, view.width, view.height);
    const ratio = this.canvas.width / view.width;
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.disable(gl.SCISSOR_TEST);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.enable(gl.SCISSOR_TEST);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.useProgram(this.made);
    gl.uniform3f(this.least, view.minWidth, HATCHED_FROM, view.gap ?? 0);
    gl.uniform1f(this.ratio, ratio);
    gl.uniform1i(this.looks, 1);
    const perUnit = view.width / (view.to - view.from);
    const items = batches.map(itemOf);
    rememberRects(this.canvas, items, view);
    for (const item of items) {
      const box = seen(item, view);
      const up = box && item.batch.n ? this.upload(item.batch) : null;
      if (!up || !box) continue;
      const [left, top, right, bottom] = box.map((v) => Math.round(v * ratio)) as typeof box;
      gl.scissor(left, this.canvas.height - bottom, right - left, bottom - top);
      gl.uniform3f(this.screen, view.width, view.height, item.scrollY ?? view.scrollY);
      gl.uniform2f(this.scale, perUnit, (item.batch.origin + (item.shift ?? 0) - view.from) * perUnit);
      gl.activeTexture(gl.TEXTURE1);
      gl.bindTexture(gl.TEXTURE_2D, up.looks);
      gl.activeTexture(gl.TEXTURE0);
      gl.bindTexture(gl.TEXTURE_2D, up.places);
      gl.drawArrays(gl.TRIANGLES, 0, 6 * item.batch.n);
    }
  }

  drop(batch: RectBatch): void {
    const up = this.uploaded.get(batch);
    if (!up) return;
    this.gl.deleteTexture(up.places);
    this.gl.deleteTexture(up.looks);
    this.uploaded.delete(batch);
  }

  dispose(): void {
    for (const batch of [...this.uploaded.keys()]) this.drop(batch);
    this.gl.deleteProgram(this.made);
  }
}

/** The lines of a pattern on a transparent ground, 30 pixels square: all periods divide it. */
function hatching(c: CanvasRenderingContext2D, pattern: number, ink: string): CanvasPattern | null {
  const tile = document.createElement("canvas");
  tile.width = tile.height = 30;
  const t = tile.getContext("2d");
  if (!t) return null;
  t.fillStyle = ink;
  for (let y = 0; y < 30; y++)
    for (let x = 0; x < 30; x++) {
      const sum = (x + y) % 6;
      const line = [false, (x - y + 30) % 6 < 1, sum < 1, y % 5 < 1, x % 5 < 1, x % 5 < 2 && y % 5 < 2, sum < 3];
      if (line[pattern]) t.fillRect(x, y, 1, 1);
    }
  return c.createPattern(tile, "repeat");
}

/** Red to alpha in one number, red the highest byte. */
function inkAt(colour: Uint8Array, p: number): number {
  return ((colour[p]! << 24) | (colour[p + 1]! << 16) | (colour[p + 2]! << 8) | colour[p + 3]!) >>> 0;
}

/** Styles by what they are made from: of few, each is made once. */
class Styles {
  private readonly hatched = new Map<string, CanvasPattern | null>();
  private readonly colours = new Map<number, string>();

  /** As a canvas takes it. */
  colour(ink: number): string {
    let made = this.colours.get(ink);
    if (made === undefined) {
      if (this.colours.size > 5000) this.colours.clear();
      made = `#${ink.toString(16).padStart(8, "0")}`;
      this.colours.set(ink, made);
    }
    return made;
  }

  hatch(c: CanvasRenderingContext2D, pattern: number, ink: string): CanvasPattern | null {
    const key = `${pattern} ${ink}`;
    let made = this.hatched.get(key);
    if (made === undefined) {
      if (this.hatched.size > 200) this.hatched.clear();
      made = hatching(c, pattern, ink);
      this.hatched.set(key, made);
    }
    return made;
  }
}

/** Draws one item, clipped to `box`, on a 2D context. */
function fillItem(c: CanvasRenderingContext2D, item: RectItem, view: RectView, box: readonly number[], styles: Styles): void {
  const { batch } = item;
  const perUnit = view.width / (view.to - view.from);
  const shift = (batch.origin + (item.shift ?? 0) - view.from) * perUnit;
  const scroll = item.scrollY ?? view.scrollY;
  const [left, top, right, bottom] = box as [number, number, number, number];
  let last = -1;
  for (let i = 0; i < batch.n; i++) {
    const p = i * 4;
    // Clipped: filling far outside the canvas is slow.
    const x0 = batch.place[p]! * perUnit + shift;
    const x = Math.max(x0, left - 8);
    const wide = Math.max(batch.place[p + 1]! * perUnit, view.minWidth);
    const w = Math.min(x0 + wide - (wide > 4 ? (view.gap ?? 0) : 0), right + 8) - x;
    const y = batch.place[p + 2]! + scroll;
    const h = batch.place[p + 3]!;
    if (w <= 0 || x > right || y + h < top || y > bottom) continue;
    const pattern = w < HATCHED_FROM ? 0 : (batch.pattern?.[i] ?? 0);
    const ink = inkAt(batch.colour, p);
    if (pattern !== PATTERN.sparse) {
      if (ink !== last) c.fillStyle = styles.colour(ink);
      last = ink;
      c.fillRect(x, y, w, h);
      if (!pattern) continue;
    }
    const lines = pattern === PATTERN.sparse ? styles.colour(ink) : `rgb(0 0 0 / ${(0.28 * (ink & 255)) / 255})`;
    const hatch = styles.hatch(c, pattern, lines);
    if (!hatch) continue;
    c.fillStyle = hatch;
    c.fillRect(x, y, w, h);
    last = -1;
  }
}

function fillItems(c: CanvasRenderingContext2D, items: readonly RectItem[], view: RectView, styles: Styles): void {
  for (const item of items) {
    const box = seen(item, view);
    if (!box) continue;
    c.save();
    c.beginPath();
    c.rect(box[0], box[1], box[2] - box[0], box[3] - box[1]);
    c.clip();
    fillItem(c, item, view, box, styles);
    c.restore();
  }
}

/** The same can be drawn on any context. */
function rememberRects(canvas: HTMLCanvasElement, items: readonly RectItem[], view: RectView): void {
  remember(canvas, view.width, view.height, (c) => fillItems(c, items, view, new Styles()));
}

class CanvasRects implements RectRenderer {
  readonly kind = "canvas";
  private readonly styles = new Styles();

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly context: CanvasRenderingContext2D,
  ) {}

  draw(batches: readonly (RectBatch | RectItem)[], view: RectView): void {
    sizeCanvas(this.canvas, view.width, view.height);
    const c = this.context;
    const ratio = this.canvas.width / view.width;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, view.width, view.height);
    const items = batches.map(itemOf);
    fillItems(c, items, view, this.styles);
    rememberRects(this.canvas, items, view);
  }

  drop(): void {}
  dispose(): void {}
}

/** "canvas" in the address: no WebGL. */
const rendererChoice = urlParam("renderer", "auto");

/** A renderer for that canvas; null when the browser offers neither. `lost` is called when the GPU
 * took its context away: make the canvas and the renderer anew. */
export function createRects(canvas: HTMLCanvasElement, lost: () => void): RectRenderer | null {
  if (rendererChoice.value !== "canvas") {
    const gl = canvas.getContext("webgl2", { antialias: false, premultipliedAlpha: true, preserveDrawingBuffer: true });
    const made = gl && program(gl);
    if (gl && made) {
      canvas.addEventListener("webglcontextlost", (event) => {
        event.preventDefault();
        lost();
      });
      return new GlRects(canvas, gl, made);
    }
    if (gl) return null;
  }
  const context = pencil(canvas);
  return context && new CanvasRects(canvas, context);
}
