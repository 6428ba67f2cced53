// A profile's two plots, with uPlot: RMS and the largest magnitude in factors, and below them the
// range and the mean.

import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { css, themeColour } from "../../draw/colour";
import { inPictures } from "../../draw/canvas";
import { rangeColour, rmsColour } from "./colours";
import { number } from "./measures";
import type { Profile } from "./profile";

export interface PlotHooks {
  /** The point that is selected, or -1. */
  selected(): number;
  onCursor(i: number | null): void;
  choose(i: number): void;
}

function axes(profile: Profile): uPlot.Axis[] {
  const common = {
    stroke: themeColour("--ink-2"),
    grid: { stroke: themeColour("--ground-3"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  return [
    {
      ...common,
      size: 20,
      incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000],
      values: (_u, splits) => splits.map((v) => (v < 0 ? "none" : Number.isInteger(v) && profile.x.includes(v) ? String(v) : "")),
    },
    { ...common, size: 62, space: 24, values: (_u, splits) => splits.map((v) => (v === null ? "" : number(v))) },
  ];
}

/** Marks of non-finite values, and the selection. */
function marks(profile: Profile, hooks: PlotHooks): uPlot.Plugin {
  return {
    hooks: {
      draw: (u) => {
        const { ctx, bbox } = u;
        const px = uPlot.pxRatio;
        ctx.save();
        ctx.font = `bold ${10 * px}px system-ui, sans-serif`;
        ctx.textAlign = "center";
        ctx.fillStyle = ctx.strokeStyle = themeColour("--bad");
        ctx.lineWidth = px;
        ctx.setLineDash([2 * px, 2 * px]);
        let named = -Infinity;
        profile.bad.forEach((what, i) => {
          if (!what) return;
          const x = Math.round(u.valToPos(profile.x[i]!, "x", true));
          ctx.beginPath();
          ctx.moveTo(x, bbox.top + 12 * px);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
          if (x - named < 26 * px) return;
          ctx.fillText(what, x, bbox.top + 9 * px);
          named = x;
        });
        const at = hooks.selected();
        if (at >= 0) {
          ctx.setLineDash([]);
          ctx.strokeStyle = themeColour("--accent");
          ctx.lineWidth = 2 * px;
          ctx.strokeRect(u.valToPos(profile.x[at]!, "x", true), bbox.top, 0, bbox.height);
        }
        ctx.restore();
      },
    },
  };
}

function pointer(hooks: PlotHooks): uPlot.Plugin {
  return {
    hooks: {
      setCursor: (u) => hooks.onCursor((u.cursor.left ?? -1) >= 0 ? (u.cursor.idx ?? null) : null),
      ready: (u) =>
        u.over.addEventListener("click", () => {
          const at = u.cursor.idx;
          if (at !== null && at !== undefined) hooks.choose(at);
        }),
    },
  };
}

function base(profile: Profile, size: { width: number; height: number }, hooks: PlotHooks): Omit<uPlot.Options, "series"> {
  const n = profile.x.length;
  return {
    ...size,
    legend: { show: false },
    padding: [8, 12, 0, 0],
    cursor: { y: false, drag: { x: false, y: false }, points: { size: 6 } },
    // A single point has a position, too.
    scales: { x: { time: false, range: () => [profile.x[0]! - 0.5, profile.x[n - 1]! + 0.5] } },
    axes: axes(profile),
    plugins: [marks(profile, hooks), pointer(hooks), inPictures],
  };
}

function positive(values: readonly (number | null)[]): (number | null)[] {
  return values.map((v) => (v !== null && v > 0 ? v : null));
}

export function plotRms(host: HTMLElement, size: { width: number; height: number }, profile: Profile, hooks: PlotHooks): uPlot {
  const options = base(profile, size, hooks);
  const few = profile.x.length <= 120;
  const rms = positive(profile.rms);
  const most = positive(profile.maxAbs);
  const any = rms.some((v) => v !== null);
  return new uPlot(
    {
      ...options,
      // Without data there are no factors.
      scales: { ...options.scales, y: any ? { distr: 3, range: (_u, least, most) => [least / 1.3, most * 1.3] } : { range: () => [0, 1] } },
      series: [
        {},
        { stroke: css(rmsColour()), width: 2, points: { show: few, size: 5, fill: css(rmsColour()) } },
        { stroke: css(rangeColour()), width: 1.4, dash: [6, 3], points: { show: false } },
      ],
    },
    [[...profile.x], rms, most],
    host,
  );
}

export function plotRange(host: HTMLElement, size: { width: number; height: number }, profile: Profile, hooks: PlotHooks): uPlot {
  const edge = { stroke: css(rangeColour()), width: 1.2, points: { show: false } };
  return new uPlot(
    {
      ...base(profile, size, hooks),
      series: [{}, edge, edge, { stroke: themeColour("--ink"), width: 1.4, dash: [2, 3], points: { show: false } }],
      bands: [{ series: [1, 2], fill: css(rangeColour(), 0.22) }],
    },
    [[...profile.x], [...profile.max], [...profile.min], [...profile.mean]],
    host,
  );
}
