// Saves the visible timeline as PNG or SVG.

import { themeColour } from "../../draw/colour";
import { hatching, PATTERN } from "../../draw/rects";
import { announce } from "../../parts/announce";
import { summary } from "../../state/trace";
import { windowInWords } from "./actions";
import { drawFrame, FRAME_BOTTOM, FRAME_LEFT } from "./frame";
import { FONT } from "./pen";
import { layout } from "./rows";
import type { Scene } from "./scene";
import { hatchFill, SvgInk } from "./svg";
import { timeAxis } from "./window";

function save(blob: Blob, name: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(blob);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

function fileName(extension: string): string {
  const name = (summary.peek()?.name ?? "trace").replace(/[^A-Za-z0-9._-]+/g, "-").slice(0, 80);
  return `${name}-timeline.${extension}`;
}

function title(): string {
  return `${summary.peek()?.name ?? "trace"}: the timeline ${windowInWords()}`;
}

function drawing(scene: Scene): Blob {
  const ink = new SvgInk();
  const frame = new SvgInk();
  const range = timeAxis.range.peek();
  const size = scene.size.peek();
  const l = layout.peek();
  ink.items(scene.items(range, l), range, size);
  scene.annotate(ink, range, l, null);
  drawFrame(frame, scene.pen(frame, range, null), l, title(), hatchFill);
  const all = { width: size.width + FRAME_LEFT, height: size.height + FRAME_BOTTOM };
  const text = ink.document(all, FRAME_LEFT, frame, themeColour("--ground"), title());
  return new Blob([text], { type: "image/svg+xml" });
}

/** null: it is too large for the browser. */
async function picture(scene: Scene): Promise<Blob | null> {
  const canvases = scene.canvases();
  const size = scene.size.peek();
  const ratio = canvases[0]!.width / size.width;
  const canvas = document.createElement("canvas");
  canvas.width = Math.round((size.width + FRAME_LEFT) * ratio);
  canvas.height = Math.round((size.height + FRAME_BOTTOM) * ratio);
  const c = canvas.getContext("2d");
  if (!c) return null;
  c.fillStyle = themeColour("--ground");
  c.fillRect(0, 0, canvas.width, canvas.height);
  for (const each of canvases) c.drawImage(each, Math.round(FRAME_LEFT * ratio), 0);
  c.setTransform(ratio, 0, 0, ratio, 0, 0);
  c.font = FONT;
  c.textBaseline = "middle";
  const ground = themeColour("--ground");
  const hatch = (pattern: number) => hatching(pattern, pattern === PATTERN.sparse ? ground : "rgb(0 0 0 / 0.28)");
  drawFrame(c, scene.pen(c, timeAxis.range.peek(), null), layout.peek(), title(), hatch);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}

export async function exportPicture(scene: Scene, form: "png" | "svg"): Promise<void> {
  const blob = form === "svg" ? drawing(scene) : await picture(scene);
  if (!blob) {
    announce("The image is too large for the browser");
    return;
  }
  save(blob, fileName(form));
  announce(`Saved ${fileName(form)}`);
}
