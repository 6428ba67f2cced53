// The map as a file: what the screen shows, all rows of it, with the legend's words.

import { plainName } from "../../draw/format";
import { scaleWords, valueWords } from "./describe";
import { Geometry } from "./geometry";
import { METRIC_TITLES } from "./heat";
import { fillOf, mapShapes, type Picture } from "./scene";
import { paint, svgDocument, type Shape } from "./shapes";

const LEGEND_HEIGHT = 46;
const STEPS = 24;
/** Browsers refuse larger canvases. */
const PIXELS_MAX = 16000;

function legendShapes(p: Picture, title: string, y: number): Shape[] {
  const { palette } = p;
  const scale = p.scales.model;
  const out: Shape[] = [
    { t: "text", x: 8, y: y + 12, text: title, ink: palette.ink, size: 12, align: "left", bold: true },
    { t: "text", x: 8, y: y + 32, text: `${METRIC_TITLES[scale.metric]} (${scaleWords(scale)})`, ink: palette.ink, size: 11, align: "left" },
  ];
  const left = 210;
  const at = (f: number) => (scale.log ? scale.least * (scale.most / scale.least) ** f : scale.least + (scale.most - scale.least) * f);
  for (let i = 0; i < STEPS; i++)
    out.push({ t: "rect", x: left + i * 8, y: y + 26, w: 8, h: 12, fill: fillOf(at((i + 0.5) / STEPS), palette, scale).colour });
  out.push({ t: "text", x: left - 6, y: y + 32, text: valueWords(scale.metric, at(0)), ink: palette.ink2, size: 10, align: "right" });
  out.push({ t: "text", x: left + STEPS * 8 + 6, y: y + 32, text: valueWords(scale.metric, at(1)), ink: palette.ink2, size: 10, align: "left" });
  const never = fillOf("never", palette, scale);
  out.push({ t: "rect", x: left + 300, y: y + 26, w: 22, h: 12, fill: never.colour, pattern: never.pattern, ink: palette.ink2 });
  out.push({ t: "text", x: left + 328, y: y + 32, text: "never touched", ink: palette.ink2, size: 10, align: "left" });
  const unknown = fillOf("unknown", palette, scale);
  out.push({ t: "rect", x: left + 420, y: y + 26, w: 22, h: 12, fill: unknown.colour, pattern: unknown.pattern, ink: palette.ink2 });
  out.push({ t: "text", x: left + 448, y: y + 32, text: "not observed", ink: palette.ink2, size: 10, align: "left" });
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
  const shapes = mapShapes({ ...p, geometry, scrollY: 0, height });
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
