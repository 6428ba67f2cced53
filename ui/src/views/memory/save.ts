// Saves the map: all rows of the visible range, with the legend.

import { plainName } from "../../draw/format";
import { scaleWords, valueWords } from "./describe";
import { Geometry } from "./geometry";
import type { Scale } from "./heat";
import { css } from "../../draw/colour";
import { LANES } from "./pageScene";
import { cellsOf, pagedOf, type Paged } from "./pages";
import { fillOf, mapShapes, type Picture } from "./scene";
import { paint, svgDocument, type Shape } from "./shapes";

const LEGEND_HEIGHT = 46;
const STEPS = 20;
const STEP = 7;
/** Browsers refuse larger canvases. */
const PIXELS_MAX = 16000;

/** The colours of one scale with its ends in figures. */
function rampShapes(p: Picture, name: string, scale: Scale, x: number, y: number): Shape[] {
  const { palette } = p;
  const words = (text: string, left: number): Shape => ({ t: "text", x: left, y, text, ink: palette.ink2, size: 10, align: "left" });
  if (scale.most === 0 && scale.metric !== "residency") return [words(`${name}: nothing in this part`, x)];
  const at = (f: number) => (scale.log ? scale.least * (scale.most / scale.least) ** f : scale.least + (scale.most - scale.least) * f);
  const one = scale.least === scale.most;
  const least = `${name} ${one ? "" : valueWords(scale.metric, at(0))}`;
  const left = x + least.length * 6 + 6;
  const steps = one ? 3 : STEPS;
  const out = [words(least, x)];
  for (let i = 0; i < steps; i++)
    out.push({ t: "rect", x: left + i * STEP, y: y - 6, w: STEP, h: 12, fill: fillOf(at((i + 0.5) / steps), palette, scale).colour });
  out.push(words(valueWords(scale.metric, at(1)) + (one ? " (all equal)" : ""), left + steps * STEP + 6));
  return out;
}

/** A row of colours and words. */
function pageLegendShapes(p: Picture, paged: Paged, title: string, y: number): Shape[] {
  const out: Shape[] = [{ t: "text", x: 8, y: y + 12, text: title, ink: p.palette.ink, size: 12, align: "left", bold: true }];
  let x = 8;
  for (const { kinds } of LANES[paged])
    for (const { words, colour } of kinds) {
      out.push({ t: "rect", x, y: y + 26, w: 14, h: 12, fill: css(colour) });
      out.push({ t: "text", x: x + 19, y: y + 32, text: words, ink: p.palette.ink2, size: 10, align: "left" });
      x += 34 + words.length * 5.4;
    }
  return out;
}

function legendShapes(p: Picture, title: string, y: number): Shape[] {
  const { palette } = p;
  const paged = pagedOf(p.scales.metric);
  if (paged) return pageLegendShapes(p, paged, title, y);
  const { metric, model, work } = p.scales;
  const hasHeat = metric !== "residency" && metric !== "faults";
  const heading = `${title} (${scaleWords(model)})`;
  const out: Shape[] = [
    { t: "text", x: 8, y: y + 12, text: heading, ink: palette.ink, size: 12, align: "left", bold: true },
    ...rampShapes(p, "weights", model, 8, y + 32),
    ...(hasHeat ? rampShapes(p, "KV, compute", work, 330, y + 32) : []),
  ];
  for (const [x, value, text] of [[680, "never", "never touched"], [800, "unknown", "not observed"]] as const) {
    const { colour, pattern } = fillOf(value, palette, model);
    out.push({ t: "rect", x, y: y + 26, w: 22, h: 12, fill: colour, pattern, ink: palette.ink2 });
    out.push({ t: "text", x: x + 28, y: y + 32, text, ink: palette.ink2, size: 10, align: "left" });
  }
  return out;
}

function download(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function shapesOf(p: Picture, title: string): { shapes: Shape[]; width: number; height: number } {
  const height = p.geometry.input.top + p.geometry.height;
  const geometry = new Geometry({ ...p.geometry.input, height });
  const all = { ...p, geometry, scrollY: 0, height };
  const shapes = mapShapes(p.bins ? { ...all, cells: cellsOf({ map: p.known.map, geometry, range: p.range, scrollY: 0 }, p.bins) } : all);
  return {
    shapes: [...shapes, ...legendShapes(p, title, height)],
    width: p.geometry.input.width,
    height: height + LEGEND_HEIGHT,
  };
}

/** name: without its ending. */
export function saveSvg(p: Picture, title: string, name: string): void {
  const { shapes, width, height } = shapesOf(p, plainName(title));
  const text = svgDocument(shapes, width, height, p.palette.ground, p.palette.ink2);
  download(new Blob([text], { type: "image/svg+xml" }), `${name}.svg`);
}

export function savePng(p: Picture, title: string, name: string): void {
  const { shapes, width, height } = shapesOf(p, plainName(title));
  const ratio = Math.min(2, PIXELS_MAX / height, PIXELS_MAX / width);
  const canvas = document.createElement("canvas");
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const c = canvas.getContext("2d");
  if (!c) return;
  c.scale(ratio, ratio);
  c.fillStyle = p.palette.ground;
  c.fillRect(0, 0, width, height);
  paint(c, shapes);
  canvas.toBlob((blob) => blob && download(blob, `${name}.png`), "image/png");
}
