// Drawing the strip of tokens: a bar a token, as high as the token took long. Where several share a
// pixel the longest one is drawn, so that no slow token hides.

import { pencil } from "../../draw/canvas";
import { css, themeColour, type Rgb } from "../../draw/colour";
import { drawFlags } from "../../draw/flags";
import { duration } from "../../draw/format";
import type { Batches } from "../../api/types";

/** A few tokens do not fill the window. */
const BAR_WIDTH_MAX = 110;

export interface Strip {
  readonly batches: Batches;
  /** CSS pixels. */
  readonly width: number;
  readonly height: number;
}

/** By phase, also for the legend. */
export const PHASE_COLOURS: Record<string, Rgb> = {
  prompt: [204, 121, 167],
  generate: [0, 114, 178],
  unknown: [128, 134, 142],
};

/** Pixels per token; less than 1 if there are more tokens than pixels. */
export function pitch(strip: Strip): number {
  return Math.min(BAR_WIDTH_MAX, strip.width / Math.max(1, strip.batches.batch_id.length));
}

/** The batch at that x, kept within the trace. */
export function indexAt(strip: Strip, x: number): number {
  const n = strip.batches.batch_id.length;
  return Math.min(n - 1, Math.max(0, Math.floor(x / pitch(strip))));
}

export function duration_ns(batches: Batches, i: number): number | null {
  const begin = batches.start_relative_ns[i] ?? null;
  const end = batches.end_relative_ns[i] ?? null;
  return begin === null || end === null ? null : end - begin;
}

const scales = new WeakMap<Batches, number>();

/** The time at full height: slightly above the 95th percentile of generated tokens, since the
 * prompt, or one token that waited for the disk, would flatten all others. Longer ones are clipped
 * and marked. */
export function fullScale_ns(batches: Batches): number {
  const known = scales.get(batches);
  if (known !== undefined) return known;
  const all: number[] = [];
  const generated: number[] = [];
  for (let i = 0; i < batches.batch_id.length; i++) {
    const d = duration_ns(batches, i);
    if (d === null) continue;
    all.push(d);
    if (batches.phase[i] === "generate") generated.push(d);
  }
  const sorted = (generated.length > 0 ? generated : all).sort((a, b) => a - b);
  const usual = sorted[Math.floor((sorted.length - 1) * 0.95)] ?? 0;
  const scale = Math.min(usual * 1.25, sorted.at(-1) ?? 0) || 1;
  scales.set(batches, scale);
  return scale;
}

/** Whether its bar ends at the top, with the mark of those that do. */
export function isCutOff(batches: Batches, i: number): boolean {
  return (duration_ns(batches, i) ?? 0) > fullScale_ns(batches);
}

/** What that mark says; null: it has none. */
export function cutOffWords(batches: Batches, i: number): string | null {
  if (!isCutOff(batches, i)) return null;
  return `marked above its bar: longer than ${duration(fullScale_ns(batches))}, the height of the bars, so it is cut off`;
}

function bar(context: CanvasRenderingContext2D, strip: Strip, i: number, x: number, width: number, full: number): void {
  const d = duration_ns(strip.batches, i);
  const phase = strip.batches.phase[i]!;
  context.fillStyle = css(PHASE_COLOURS[phase] ?? PHASE_COLOURS.unknown!);
  if (d === null) {
    // Not observed: a foot, not a bar of no height.
    context.globalAlpha = 0.5;
    context.fillRect(x, strip.height - 2, width, 2);
    context.globalAlpha = 1;
    return;
  }
  const room = strip.height - 6;
  const height = Math.max(2, Math.min(1, d / full) * room);
  context.fillRect(x, strip.height - height, width, height);
  // The prompt has a pattern, too.
  if (phase === "prompt" && width >= 4) {
    context.fillStyle = css([0, 0, 0], 0.3);
    for (let y = strip.height - height; y < strip.height; y += 4) context.fillRect(x, y, width, 1);
  }
  if (isCutOff(strip.batches, i)) {
    context.fillStyle = themeColour("--mark");
    context.fillRect(x, strip.height - room - 5, width, 3);
  }
}

/** Indices; -1: none. */
export interface Chosen {
  readonly at: number;
  /** It is compared with that one. */
  readonly other: number;
  /** CSS pixels: where notes are. */
  readonly flags: readonly number[];
}

/** Draws all of it; `ratio`: device pixels per CSS pixel. */
export function drawStrip(canvas: HTMLCanvasElement, strip: Strip, chosen: Chosen, ratio: number): void {
  const context = pencil(canvas);
  if (!context) return;
  canvas.width = Math.max(1, Math.round(strip.width * ratio));
  canvas.height = Math.max(1, Math.round(strip.height * ratio));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  const n = strip.batches.batch_id.length;
  const full = fullScale_ns(strip.batches);
  const step = pitch(strip);
  if (step >= 2) {
    for (let i = 0; i < n; i++) bar(context, strip, i, i * step, Math.max(1, step - 1), full);
  } else {
    for (let x = 0; x < strip.width; x++) {
      const from = Math.floor(x / step);
      const to = Math.min(n, Math.max(from + 1, Math.floor((x + 1) / step)));
      let longest = from;
      for (let i = from; i < to; i++)
        if ((duration_ns(strip.batches, i) ?? -1) > (duration_ns(strip.batches, longest) ?? -1)) longest = i;
      if (longest < n) bar(context, strip, longest, x, 1, full);
    }
  }
  if (chosen.other >= 0) marker(context, strip, chosen.other, step, true);
  if (chosen.at >= 0) marker(context, strip, chosen.at, step, false);
  drawFlags(context, chosen.flags, strip.width, strip.height);
}

function marker(context: CanvasRenderingContext2D, strip: Strip, selected: number, step: number, isOther: boolean): void {
  const width = Math.max(3, step);
  const x = Math.min(strip.width - width, selected * step - (width - step) / 2);
  context.strokeStyle = themeColour("--ink");
  context.lineWidth = 2;
  context.setLineDash(isOther ? [4, 3] : []);
  context.strokeRect(x + 0.5, 1, width - 1, strip.height - 2);
  context.setLineDash([]);
  if (isOther) return;
  // A triangle, for where the frame is too narrow to see.
  context.fillStyle = themeColour("--ink");
  context.beginPath();
  context.moveTo(x + width / 2 - 5, 0);
  context.lineTo(x + width / 2 + 5, 0);
  context.lineTo(x + width / 2, 6);
  context.fill();
}
