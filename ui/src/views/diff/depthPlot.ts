// Error over depth with uPlot: each pair of tokens a thin line, the selected one a thick one.

import uPlot from "uplot";
import { css, seriesColour, themeColour } from "../../draw/colour";
import { inPictures } from "../../draw/canvas";
import type { DepthChart } from "./valuesAnswer";

/** If there are more lines, only their maximum is drawn. */
const LINES_MAX = 48;

export interface DepthPlotOptions {
  readonly width: number;
  readonly height: number;
  /** Index in chart.lines; -1: none. */
  readonly selected: number;
  onCursor(at: number | null): void;
  choose(at: number): void;
}

/** Of all lines at each stage. */
export function largest(chart: DepthChart): (number | null)[] {
  return chart.names.map((_, at) =>
    chart.lines.reduce<number | null>((most, line) => {
      const v = line.rel_l2[at] ?? null;
      return v === null ? most : Math.max(most ?? 0, v);
    }, null),
  );
}

/** The smallest non-zero error, for the floor where equal values are drawn. */
function floorOf(chart: DepthChart): number {
  let least = Infinity;
  for (const line of chart.lines) for (const v of line.rel_l2) if (v !== null && v > 0 && v < least) least = v;
  return Number.isFinite(least) ? 10 ** (Math.floor(Math.log10(least)) - 1) : 1e-9;
}

/** Where a value is NaN or of another shape: no error is known there, and that is worse than any. */
function marks(chart: DepthChart): uPlot.Plugin {
  return {
    hooks: {
      draw: (u) => {
        const px = uPlot.pxRatio;
        const { ctx, bbox } = u;
        ctx.save();
        ctx.fillStyle = themeColour("--bad");
        ctx.font = `bold ${10 * px}px system-ui, sans-serif`;
        ctx.textAlign = "center";
        chart.names.forEach((_, at) => {
          const has = (what: "nan" | "shape") => chart.lines.some((line) => (line.at[at]?.counts[what] ?? 0) > 0);
          const word = has("nan") ? "NaN" : has("shape") ? "shape" : "";
          if (word) ctx.fillText(word, u.valToPos(at, "x", true), bbox.top + 10 * px);
        });
        ctx.restore();
      },
    },
  };
}

export function plotDepth(host: HTMLElement, chart: DepthChart, o: DepthPlotOptions): uPlot {
  const floor = floorOf(chart);
  const shown = (values: readonly (number | null)[]) => values.map((v) => (v === null ? null : Math.max(v, floor)));
  const thin = chart.lines.length <= LINES_MAX ? chart.lines : [];
  const selected = chart.lines[o.selected];
  const common = { stroke: themeColour("--ink-2"), grid: { stroke: themeColour("--ground-3"), width: 1 }, ticks: { show: false }, font: "11px system-ui, sans-serif" };
  const names = chart.names;
  const most = Math.max(floor * 10, ...largest(chart).map((v) => v ?? 0));
  return new uPlot(
    {
      width: o.width,
      height: o.height,
      legend: { show: false },
      padding: [8, 14, 0, 0],
      cursor: { y: false, drag: { x: false, y: false }, points: { show: false } },
      scales: { x: { time: false, range: () => [-0.5, names.length - 0.5] }, y: { distr: 3, range: () => [floor, most * 1.5] } },
      axes: [
        { ...common, size: 34, label: "layer", labelSize: 14, labelFont: "11px system-ui, sans-serif", incrs: [1, 2, 5, 10, 20, 50], values: (_u, splits) => splits.map((v) => (Number.isInteger(v) ? (names[v] ?? "") : "")) },
        { ...common, size: 66, values: (_u, splits) => splits.map((v) => (v === null ? "" : v <= floor * 1.01 ? "equal" : v.toExponential(0))) },
      ],
      series: [
        {},
        { stroke: themeColour("--ink-2"), width: 1.5, dash: [5, 3], points: { show: names.length <= 120, size: 4 } },
        ...thin.map(() => ({ stroke: css(seriesColour(0), 0.35), width: 1, points: { show: false } })),
        ...(selected ? [{ stroke: themeColour("--mark"), width: 2.5, points: { show: true, size: 6, fill: themeColour("--mark") } }] : []),
      ],
      plugins: [
        marks(chart),
        inPictures,
        {
          hooks: {
            setCursor: (u) => o.onCursor((u.cursor.left ?? -1) >= 0 ? (u.cursor.idx ?? null) : null),
            ready: (u) =>
              u.over.addEventListener("click", () => {
                if (typeof u.cursor.idx === "number") o.choose(u.cursor.idx);
              }),
          },
        },
      ],
    },
    [names.map((_, i) => i), shown(largest(chart)), ...thin.map((l) => shown(l.rel_l2)), ...(selected ? [shown(selected.rel_l2)] : [])],
    host,
  );
}
