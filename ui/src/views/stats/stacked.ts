// Bands on top of each other over tokens, with uPlot.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { css, themeColour, type Rgb } from "../../draw/colour";
import { inPictures } from "../../draw/canvas";

export interface Band {
  readonly label: string;
  readonly colour: Rgb;
  /** null: not observed. */
  readonly values: readonly (number | null)[];
}

export interface Stacked {
  /** Ascending. */
  readonly x: readonly number[];
  /** Where the last step ends. */
  readonly end: number;
  /** The lowest first. */
  readonly bands: readonly Band[];
  readonly axis: (value: number) => string;
  /** Maximum of the axis; null: that of the data. */
  readonly most: number | null;
}

function sums(bands: readonly Band[], n: number): (number | null)[][] {
  const before: number[] = new Array<number>(n).fill(0);
  return bands.map((band) =>
    band.values.map((v, i) => {
      if (v === null) return null;
      before[i]! += v;
      return before[i]!;
    }),
  );
}

export interface PlotHooks {
  /** Position in x under the cursor, or null. */
  onCursor: (at: number | null) => void;
  onClick: (at: number) => void;
  /** The x that is marked, or null. */
  marked: () => number | null;
  /** The highlighted band, or null. */
  chosen: () => string | null;
}

function drawMark(u: uPlot, x: number | null): void {
  if (x === null) return;
  const at = Math.round(u.valToPos(x, "x", true));
  if (at < u.bbox.left || at > u.bbox.left + u.bbox.width) return;
  const { ctx } = u;
  ctx.save();
  ctx.strokeStyle = themeColour("--ink");
  ctx.lineWidth = 2 * devicePixelRatio;
  ctx.setLineDash([5 * devicePixelRatio, 3 * devicePixelRatio]);
  ctx.beginPath();
  ctx.moveTo(at, u.bbox.top);
  ctx.lineTo(at, u.bbox.top + u.bbox.height);
  ctx.stroke();
  ctx.restore();
}

/** The step under the cursor: uPlot returns the nearest start of one. */
function stepAt(u: uPlot, data: Stacked): number | null {
  const left = u.cursor.left ?? -1;
  if (left < 0) return null;
  const x = u.posToVal(left, "x");
  const at = data.x.findLastIndex((begin) => begin <= x);
  return at < 0 ? null : at;
}

function axisStyle() {
  return { stroke: themeColour("--ink-2"), grid: { stroke: themeColour("--ground-3"), width: 1 }, ticks: { stroke: themeColour("--line"), width: 1 } };
}

function fillOf(band: Band, chosen: string | null): string {
  return css(band.colour, chosen === null || chosen === band.label ? 0.8 : 0.25);
}

/** Makes the plot in `host`; the caller destroys it. */
export function plotStacked(host: HTMLElement, size: { width: number; height: number }, data: Stacked, hooks: PlotHooks): uPlot {
  const chosen = hooks.chosen();
  const stepped = uPlot.paths.stepped!({ align: 1, alignGaps: 1 });
  const u = new uPlot(
    {
      plugins: [inPictures],
      ...size,
      legend: { show: false },
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: { x: { time: false }, y: { range: (_u, _least, most) => [0, data.most ?? (most || 1)] } },
      axes: [
        { ...axisStyle(), label: "token", labelSize: 18, size: 34, values: (_u, splits) => splits.map((v) => (Number.isInteger(v) ? String(v) : "")) },
        { ...axisStyle(), size: 64, space: 36, values: (_u, splits) => splits.map(data.axis) },
      ],
      series: [
        {},
        ...data.bands.map((band, i) => ({
          label: band.label,
          stroke: css(band.colour),
          width: chosen === band.label ? 2.5 : 1,
          paths: stepped,
          points: { show: false },
          ...(i === 0 ? { fill: fillOf(band, chosen) } : {}),
        })),
      ],
      bands: data.bands.slice(1).map((band, i) => ({ series: [i + 2, i + 1] as [number, number], fill: fillOf(band, chosen) })),
      hooks: {
        setCursor: [(at) => hooks.onCursor(stepAt(at, data))],
        draw: [(at) => drawMark(at, hooks.marked())],
      },
    },
    [[...data.x, data.end], ...sums(data.bands, data.x.length).map((s) => [...s, s.at(-1) ?? null])] as uPlot.AlignedData,
    host,
  );
  u.over.addEventListener("click", () => {
    const at = stepAt(u, data);
    if (at !== null) hooks.onClick(at);
  });
  return u;
}
