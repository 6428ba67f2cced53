// The two plots of a comparison, by uPlot: A and B above, B - A below, one axis of tokens.

import uPlot from "uplot";
import { css, isDark, seriesColour, themeColour, type Rgb } from "../../draw/colour";
import { inPictures } from "../../draw/canvas";
import { duration } from "../../draw/format";
import type { Range } from "../../draw/axis";
import type { Samples } from "./samples";

/** Of A's and B's lines; they also differ in their dashes. */
export function sideColour(side: "a" | "b"): Rgb {
  return side === "b" ? seriesColour(4) : seriesColour(isDark.value ? 5 : 0);
}

export interface PlotOptions {
  readonly width: number;
  readonly height: number;
  readonly log: boolean;
  /** The sample that is selected, or -1. */
  selected(): number;
  /** A range was selected by dragging. */
  zoom(range: Range): void;
  /** A sample was clicked. */
  choose(i: number): void;
}

const AXIS_WIDTH = 66;

function axes(samples: Samples, titles: boolean): uPlot.Axis[] {
  const common = {
    stroke: themeColour("--ink-2"),
    grid: { stroke: themeColour("--ground-3"), width: 1 },
    ticks: { show: false },
    font: "11px system-ui, sans-serif",
  };
  return [
    {
      ...common,
      size: titles ? 20 : 4,
      show: titles,
      ...(titles ? { label: "token of A", labelSize: 14, labelFont: "11px system-ui, sans-serif" } : {}),
      incrs: [1, 2, 5, 10, 20, 50, 100, 200, 500],
      values: (_u, splits) => splits.map((i) => (Number.isInteger(i) ? String(samples.tokenA[i] ?? "") : "")),
    },
    { ...common, size: AXIS_WIDTH, values: (_u, splits) => splits.map((v) => (v === null ? "" : duration(v))) },
  ];
}

/** Boundaries of phases, and the selected sample. */
function marks(samples: Samples, options: PlotOptions): uPlot.Plugin {
  return {
    hooks: {
      draw: (u) => {
        const { ctx, bbox } = u;
        ctx.save();
        ctx.beginPath();
        ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
        ctx.clip();
        ctx.strokeStyle = themeColour("--ink-2");
        ctx.lineWidth = 1;
        ctx.setLineDash([2, 3]);
        for (let i = 1; i < samples.n; i++) {
          if (samples.phase[i] === samples.phase[i - 1]) continue;
          const x = Math.round(u.valToPos(i - 0.5, "x", true));
          ctx.strokeRect(x, bbox.top - 2, 0, bbox.height + 4);
          ctx.fillStyle = themeColour("--ink-2");
          ctx.font = `${11 * uPlot.pxRatio}px system-ui, sans-serif`;
          ctx.fillText(samples.phase[i]!, x + 4 * uPlot.pxRatio, bbox.top + 12 * uPlot.pxRatio);
        }
        ctx.setLineDash([]);
        const at = options.selected();
        if (at >= 0) {
          ctx.strokeStyle = themeColour("--accent");
          ctx.lineWidth = 2 * uPlot.pxRatio;
          ctx.strokeRect(u.valToPos(at, "x", true), bbox.top - 4, 0, bbox.height + 8);
        }
        ctx.restore();
      },
    },
  };
}

/** Clicks choose; drags and double clicks zoom. */
function pointer(samples: Samples, options: PlotOptions): uPlot.Plugin {
  return {
    hooks: {
      ready: (u) => {
        let from = 0;
        u.over.addEventListener("mousedown", (event) => (from = event.clientX));
        u.over.addEventListener("click", (event) => {
          const at = u.cursor.idx;
          if (Math.abs(event.clientX - from) < 4 && at !== null && at !== undefined) options.choose(at);
        });
        u.over.addEventListener("dblclick", () => options.zoom({ from: -0.5, to: samples.n - 0.5 }));
      },
      setSelect: (u) => {
        if (u.select.width < 4) return;
        options.zoom({ from: u.posToVal(u.select.left, "x"), to: u.posToVal(u.select.left + u.select.width, "x") });
        u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
      },
    },
  };
}

function base(samples: Samples, options: PlotOptions, titles: boolean): Omit<uPlot.Options, "series"> {
  return {
    width: options.width,
    height: options.height,
    legend: { show: false },
    padding: [8, 12, titles ? 0 : 8, 0],
    cursor: {
      sync: { key: "diff" },
      drag: { x: true, y: false, setScale: false },
      points: { size: 7 },
    },
    axes: axes(samples, titles),
    plugins: [marks(samples, options), pointer(samples, options), inPictures],
  };
}

function line(side: "a" | "b", few: boolean): uPlot.Series {
  const stroke = css(sideColour(side));
  return {
    stroke,
    width: 1.6,
    points: { show: few, size: side === "a" ? 6 : 5, fill: side === "a" ? stroke : themeColour("--ground") },
    ...(side === "b" ? { dash: [6, 3] } : {}),
  };
}

const hidden: uPlot.Series = { points: { show: false }, width: 0, stroke: "transparent" };

/** A's and B's times. */
export function plotTimes(samples: Samples, options: PlotOptions, into: HTMLElement): uPlot {
  const few = samples.n <= 120;
  const x = samples.a.map((_, i) => i);
  const spans = samples.spans;
  const data = [x, samples.a, samples.b, ...(spans ? [spans.aMost, spans.aLeast, spans.bMost, spans.bLeast] : [])];
  return new uPlot(
    {
      ...base(samples, options, false),
      scales: { x: { time: false, auto: false }, y: { distr: options.log ? 3 : 1, ...(options.log ? {} : { range: fromZero }) } },
      series: [{}, line("a", few), line("b", few), ...(spans ? [hidden, hidden, hidden, hidden] : [])],
      bands: spans
        ? [
            { series: [3, 4], fill: css(sideColour("a"), 0.25) },
            { series: [5, 6], fill: css(sideColour("b"), 0.25) },
          ]
        : [],
    },
    data as uPlot.AlignedData,
    into,
  );
}

function fromZero(_u: uPlot, _least: number, most: number): uPlot.Range.MinMax {
  return [0, (most || 1) * 1.06];
}

function aroundZero(_u: uPlot, least: number | null, most: number | null): uPlot.Range.MinMax {
  const [low, high] = [Math.min(0, least ?? 0), Math.max(0, most ?? 0)];
  // Less than a microsecond is no difference to look at.
  const margin = Math.max((high - low) * 0.12, 500);
  return [low - margin, high + margin];
}

/** B - A. */
export function plotDelta(samples: Samples, options: PlotOptions, into: HTMLElement): uPlot {
  const ink = themeColour("--ink-2");
  return new uPlot(
    {
      ...base(samples, options, true),
      scales: {
        x: { time: false, auto: false },
        y: { range: aroundZero },
      },
      series: [{}, { stroke: ink, fill: css(sideColour("b"), 0.18), fillTo: 0, width: 1.4, points: { show: samples.n <= 120, size: 4 } }],
    },
    [samples.a.map((_, i) => i), samples.delta] as uPlot.AlignedData,
    into,
  );
}
