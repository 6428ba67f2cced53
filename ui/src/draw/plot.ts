// Plots by uPlot in pictures: it draws once more, and what it tells its canvas goes to another context, too.

import type uPlot from "uplot";
import { drawingOf, plotOf, type Drawn } from "./canvas";

const STYLES = ["fillStyle", "strokeStyle", "lineWidth", "lineCap", "lineJoin", "font", "textAlign", "textBaseline", "globalAlpha"] as const;
const CALLS = ["save", "restore", "beginPath", "closePath", "moveTo", "lineTo", "rect", "arc", "clip", "fill", "stroke", "fillRect", "strokeRect", "fillText", "setLineDash", "translate", "rotate"] as const;
const STEPS = ["moveTo", "lineTo", "rect", "arc", "bezierCurveTo", "quadraticCurveTo", "closePath"] as const;

type Step = readonly [string, readonly unknown[]];
type Called = Record<string, (...args: unknown[]) => unknown>;

const stepsOf = new WeakMap<object, Step[]>();

/** A path that can be read back. */
function recordingPath(Real: typeof Path2D): typeof Path2D {
  class Recorded extends Real {
    constructor(from?: Path2D | string) {
      super(from);
      stepsOf.set(this, typeof from === "object" ? [...(stepsOf.get(from) ?? [])] : []);
    }
  }
  for (const name of STEPS) {
    const draw = (Real.prototype as unknown as Called)[name]!;
    (Recorded.prototype as unknown as Called)[name] = function (this: object, ...args: unknown[]) {
      stepsOf.get(this)?.push([name, args]);
      return draw.apply(this, args);
    };
  }
  return Recorded;
}

function tell(c: CanvasRenderingContext2D, name: string, args: unknown[]): void {
  const to = c as unknown as Called;
  const steps = typeof args[0] === "object" && args[0] !== null ? stepsOf.get(args[0]) : undefined;
  if (steps) {
    c.beginPath();
    for (const [step, its] of steps) to[step]!(...its);
    to[name]!();
  } else to[name]!(...args);
}

/** Draws the plot on `c`, and on its own canvas again. */
function drawPlot(u: uPlot, c: CanvasRenderingContext2D): void {
  const own = u.ctx;
  const ratio = own.canvas.width / u.width;
  c.save();
  c.scale(1 / ratio, 1 / ratio);
  // uPlot does not set again what it has set.
  for (const name of STYLES) Object.assign(c, { [name]: own[name] });
  const proto = CanvasRenderingContext2D.prototype;
  for (const name of CALLS) {
    const draw = (proto as unknown as Called)[name]!;
    Object.defineProperty(own, name, {
      configurable: true,
      value: (...args: unknown[]) => {
        tell(c, name, args);
        return draw.apply(own, args);
      },
    });
  }
  for (const name of STYLES) {
    const { get, set } = Object.getOwnPropertyDescriptor(proto, name)!;
    Object.defineProperty(own, name, {
      configurable: true,
      get: () => get!.call(own) as unknown,
      set: (value: never) => {
        c[name] = value;
        set!.call(own, value);
      },
    });
  }
  const Real = globalThis.Path2D;
  globalThis.Path2D = recordingPath(Real);
  try {
    u.batch(() => u.redraw(true));
  } finally {
    globalThis.Path2D = Real;
    for (const name of [...CALLS, ...STYLES]) delete (own as unknown as Record<string, unknown>)[name];
    c.restore();
  }
}

/** What draws the canvas of a plot or of the pages' own; null: neither is known. */
export function drawnOf(canvas: HTMLCanvasElement): Drawn | null {
  const u = plotOf(canvas);
  return u ? { width: u.width, height: u.height, draw: (c) => drawPlot(u, c) } : drawingOf(canvas);
}
