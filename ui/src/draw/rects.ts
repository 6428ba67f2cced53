// Very many rectangles on a canvas: WebGL2 instances, or a 2D canvas where that is not to be had.
//
// Horizontal places are in units of the data relative to the origin of their batch (float32 is not
// enough for nanoseconds since the begin of a run); the shader turns them into pixels, so that
// panning and zooming move no data.

import { urlParam } from "../state/url";

export interface RectBatch {
  /** What x is relative to, in units of the data. */
  readonly origin: number;
  readonly n: number;
  /** Four a rectangle: x, width (units of the data), y, height (CSS pixels). */
  readonly place: Float32Array;
  /** Four bytes a rectangle: red, green, blue, alpha (not premultiplied). */
  readonly colour: Uint8Array;
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
}

export interface RectRenderer {
  readonly kind: "webgl2" | "canvas";
  draw(batches: readonly RectBatch[], view: RectView): void;
  /** Forgets what was kept for a batch. */
  drop(batch: RectBatch): void;
  dispose(): void;
}

/** At most 2: more costs fourfold and nobody sees it. */
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

const VERTEX = `#version 300 es
layout(location = 0) in vec4 place;
layout(location = 1) in vec4 colour;
uniform vec2 scale;   /* pixels per unit, pixel of the origin */
uniform vec3 screen;  /* width, height, scroll */
uniform float least;
out vec4 ink;
void main() {
  vec2 corner = vec2(gl_VertexID & 1, gl_VertexID >> 1);
  float left = place.x * scale.x + scale.y;
  float width = max(place.y * scale.x, least);
  float x = left + corner.x * width;
  float y = place.z + screen.z + corner.y * place.w;
  gl_Position = vec4(x / screen.x * 2.0 - 1.0, 1.0 - y / screen.y * 2.0, 0.0, 1.0);
  ink = vec4(colour.rgb * colour.a, colour.a);
}`;

const FRAGMENT = `#version 300 es
precision mediump float;
in vec4 ink;
out vec4 pixel;
void main() { pixel = ink; }`;

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
  array: WebGLVertexArrayObject;
  buffers: WebGLBuffer[];
}

class GlRects implements RectRenderer {
  readonly kind = "webgl2";
  private readonly uploaded = new Map<RectBatch, Uploaded>();
  private readonly scale: WebGLUniformLocation | null;
  private readonly screen: WebGLUniformLocation | null;
  private readonly least: WebGLUniformLocation | null;

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly gl: WebGL2RenderingContext,
    private readonly made: WebGLProgram,
  ) {
    this.scale = gl.getUniformLocation(made, "scale");
    this.screen = gl.getUniformLocation(made, "screen");
    this.least = gl.getUniformLocation(made, "least");
  }

  private upload(batch: RectBatch): Uploaded | null {
    const known = this.uploaded.get(batch);
    if (known) return known;
    const { gl } = this;
    const array = gl.createVertexArray();
    const place = gl.createBuffer();
    const colour = gl.createBuffer();
    if (!array || !place || !colour) return null;
    gl.bindVertexArray(array);
    gl.bindBuffer(gl.ARRAY_BUFFER, place);
    gl.bufferData(gl.ARRAY_BUFFER, batch.place.subarray(0, batch.n * 4), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(0);
    gl.vertexAttribPointer(0, 4, gl.FLOAT, false, 0, 0);
    gl.vertexAttribDivisor(0, 1);
    gl.bindBuffer(gl.ARRAY_BUFFER, colour);
    gl.bufferData(gl.ARRAY_BUFFER, batch.colour.subarray(0, batch.n * 4), gl.STATIC_DRAW);
    gl.enableVertexAttribArray(1);
    gl.vertexAttribPointer(1, 4, gl.UNSIGNED_BYTE, true, 0, 0);
    gl.vertexAttribDivisor(1, 1);
    const made = { array, buffers: [place, colour] };
    this.uploaded.set(batch, made);
    return made;
  }

  draw(batches: readonly RectBatch[], view: RectView): void {
    const { gl } = this;
    sizeCanvas(this.canvas, view.width, view.height);
    gl.viewport(0, 0, this.canvas.width, this.canvas.height);
    gl.clearColor(0, 0, 0, 0);
    gl.clear(gl.COLOR_BUFFER_BIT);
    gl.enable(gl.BLEND);
    gl.blendFunc(gl.ONE, gl.ONE_MINUS_SRC_ALPHA);
    gl.useProgram(this.made);
    gl.uniform3f(this.screen, view.width, view.height, view.scrollY);
    gl.uniform1f(this.least, view.minWidth);
    const perUnit = view.width / (view.to - view.from);
    for (const batch of batches) {
      const up = batch.n ? this.upload(batch) : null;
      if (!up) continue;
      gl.uniform2f(this.scale, perUnit, (batch.origin - view.from) * perUnit);
      gl.bindVertexArray(up.array);
      gl.drawArraysInstanced(gl.TRIANGLE_STRIP, 0, 4, batch.n);
    }
    gl.bindVertexArray(null);
  }

  drop(batch: RectBatch): void {
    const up = this.uploaded.get(batch);
    if (!up) return;
    this.gl.deleteVertexArray(up.array);
    for (const buffer of up.buffers) this.gl.deleteBuffer(buffer);
    this.uploaded.delete(batch);
  }

  dispose(): void {
    for (const batch of [...this.uploaded.keys()]) this.drop(batch);
    this.gl.deleteProgram(this.made);
  }
}

class CanvasRects implements RectRenderer {
  readonly kind = "canvas";

  constructor(
    private readonly canvas: HTMLCanvasElement,
    private readonly context: CanvasRenderingContext2D,
  ) {}

  draw(batches: readonly RectBatch[], view: RectView): void {
    sizeCanvas(this.canvas, view.width, view.height);
    const c = this.context;
    const ratio = this.canvas.width / view.width;
    c.setTransform(ratio, 0, 0, ratio, 0, 0);
    c.clearRect(0, 0, view.width, view.height);
    const perUnit = view.width / (view.to - view.from);
    for (const batch of batches) {
      const shift = (batch.origin - view.from) * perUnit;
      let last = -1;
      for (let i = 0; i < batch.n; i++) {
        const p = i * 4;
        const x = batch.place[p]! * perUnit + shift;
        const w = Math.max(batch.place[p + 1]! * perUnit, view.minWidth);
        const y = batch.place[p + 2]! + view.scrollY;
        const h = batch.place[p + 3]!;
        if (x + w < 0 || x > view.width || y + h < 0 || y > view.height) continue;
        const [r, g, b, a] = [batch.colour[p]!, batch.colour[p + 1]!, batch.colour[p + 2]!, batch.colour[p + 3]!];
        const ink = ((r * 256 + g) * 256 + b) * 256 + a;
        if (ink !== last) {
          c.fillStyle = `rgb(${r} ${g} ${b} / ${a / 255})`;
          last = ink;
        }
        c.fillRect(x, y, w, h);
      }
    }
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
  const context = canvas.getContext("2d");
  return context && new CanvasRects(canvas, context);
}
