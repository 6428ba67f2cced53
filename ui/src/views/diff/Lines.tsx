// Token by token: A's and B's times on the same axes, and their difference.

import { effect, useSignal } from "@preact/signals";
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { Axis } from "../../draw/axis";
import { isDark } from "../../draw/colour";
import { counted, duration } from "../../draw/format";
import { announce } from "../../parts/announce";
import { CanvasView } from "../../parts/CanvasView";
import { useSize } from "../../parts/useSize";
import { bind } from "../../input/keys";
import { urlParam } from "../../state/url";
import type { Diff, Tokens } from "./answer";
import { plotDelta, plotTimes, type PlotOptions } from "./plot";
import { partsOf, samplesOf, WHOLE, type Samples } from "./samples";
import { change, PHASES, signedDuration } from "./words";

export const shownPhase = urlParam("diff_phase", "");
const shownPart = urlParam("diff_part", WHOLE);
const logScale = urlParam("diff_log", "");

/** The phases to be seen: one of the comparison's, or "all". */
export function phaseOf(diff: Diff): string {
  const names = diff.phases.map((p) => p.phase as string);
  if (shownPhase.value === "all" || names.includes(shownPhase.value)) return shownPhase.value;
  return diff.verdict.phase ?? names[0] ?? "generate";
}

function sentence(samples: Samples, i: number): string {
  const token = samples.tokenA[i];
  const where = token === null || token === undefined ? `computation ${i}` : `token ${token}`;
  const other = samples.tokenB[i] === token ? "" : ` (B's ${samples.tokenB[i] ?? "?"})`;
  const [a, b, delta] = [samples.a[i], samples.b[i], samples.delta[i]];
  const share = a && delta != null ? `, ${change(delta / a)}` : "";
  return `${where}${other}: A ${duration(a)}, B ${duration(b)}${delta == null ? "" : `, B - A ${signedDuration(delta)}${share}`}`;
}

function SampleTable(props: { samples: Samples; selected: number; choose: (i: number) => void }) {
  const { samples } = props;
  return (
    <table>
      <thead>
        <tr>
          <th>Phase</th>
          <th class="number">Token of A</th>
          <th class="number">Token of B</th>
          <th class="number">A</th>
          <th class="number">B</th>
          <th class="number">B - A</th>
        </tr>
      </thead>
      <tbody>
        {samples.a.map((a, i) => (
          <tr key={i} aria-selected={i === props.selected} onClick={() => props.choose(i)}>
            <td>{samples.phase[i]}</td>
            <td class="number">{samples.tokenA[i] ?? "none"}</td>
            <td class="number">{samples.tokenB[i] ?? "none"}</td>
            <td class="number">{duration(a)}</td>
            <td class="number">{duration(samples.b[i])}</td>
            <td class="number">{signedDuration(samples.delta[i])}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}

interface PlotsProps {
  samples: Samples;
  log: boolean;
  axis: Axis;
  /** Reads signals: an effect that calls it subscribes to them. */
  selected: () => number;
  hovered: { value: number };
  choose: (i: number) => void;
}

/** The canvases, recreated when their data change. */
function Plots(props: PlotsProps) {
  const { ref, size } = useSize<HTMLDivElement>();
  const upper = useRef<HTMLDivElement>(null);
  const lower = useRef<HTMLDivElement>(null);
  const { width, height } = size.value;
  /** Of the upper plot; the lower one has the rest, without what its title takes. */
  const above = Math.round((height * 190) / 324);
  const dark = isDark.value;
  useLayoutEffect(() => {
    if (!upper.current || !lower.current || width < 50 || height < 50) return undefined;
    const options = (height: number): PlotOptions => ({
      width,
      height,
      log: props.log,
      selected: props.selected,
      zoom: (range) => props.axis.go(range),
      choose: props.choose,
    });
    const plots: uPlot[] = [
      plotTimes(props.samples, options(above), upper.current),
      plotDelta(props.samples, options(height - above - 4), lower.current),
    ];
    const follow = effect(() => {
      const { from, to } = props.axis.range.value;
      for (const plot of plots) plot.setScale("x", { min: from, max: to });
    });
    const mark = effect(() => {
      props.selected();
      for (const plot of plots) plot.redraw(false, false);
    });
    const hover = () => (props.hovered.value = plots[0]!.cursor.idx ?? -1);
    ref.current?.addEventListener("mousemove", hover);
    ref.current?.addEventListener("mouseleave", hover);
    return () => {
      ref.current?.removeEventListener("mousemove", hover);
      ref.current?.removeEventListener("mouseleave", hover);
      follow();
      mark();
      for (const plot of plots) plot.destroy();
    };
  }, [props.samples, props.log, width, height, dark]);
  return (
    <div class="diff-plots" ref={ref}>
      <div ref={upper} />
      <p class="diff-plot-title" aria-hidden="true" style={{ top: `${above + 2}px` }}>
        B - A: above 0, B takes longer
      </p>
      <div ref={lower} />
    </div>
  );
}

function Choices(props: { diff: Diff; tokens: Tokens; phase: string }) {
  const names = props.diff.phases.map((p) => p.phase as string);
  const parts = partsOf(props.tokens);
  return (
    <>
      {names.length > 1 && (
        <div role="group" aria-label="Phase">
          {[...names, "all"].map((name) => (
            <button type="button" key={name} aria-pressed={props.phase === name} onClick={() => (shownPhase.value = name)}>
              {name === "all" ? "All" : PHASES[name]}
            </button>
          ))}
        </div>
      )}
      <label>
        Time of{" "}
        <select value={shownPart.value} onChange={(event) => (shownPart.value = event.currentTarget.value)}>
          <option value={WHOLE}>the whole token</option>
          {parts.map((name) => (
            <option value={name} key={name}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        <input type="checkbox" checked={logScale.value === "1"} onChange={(event) => (logScale.value = event.currentTarget.checked ? "1" : "")} />{" "}
        logarithmic
      </label>
    </>
  );
}

export interface LinesProps {
  diff: Diff;
  tokens: Tokens;
  /** Index of the selected token's sample; -1: none. */
  selected: (samples: Samples) => number;
  choose: (samples: Samples, i: number) => void;
}

export function Lines(props: LinesProps) {
  const phase = phaseOf(props.diff);
  const part = shownPart.value;
  const samples = useMemo(() => samplesOf(props.tokens, phase, part), [props.tokens, phase, part]);
  const axis = useMemo(() => new Axis(3), []);
  const hovered = useSignal(-1);
  const proxy = useRef<HTMLDivElement | null>(null);
  const latest = useRef({ props, samples });
  latest.current = { props, samples };
  const selected = useCallback(() => latest.current.props.selected(latest.current.samples), []);
  const at = props.selected(samples);
  useMemo(() => axis.setExtent(-0.5, samples.n - 0.5, true), [samples]);

  const choose = (i: number) => {
    const now = latest.current;
    if (i < 0 || i >= now.samples.n) return;
    now.props.choose(now.samples, i);
    // The inspector shows the token, too; this announcement has both times.
    setTimeout(() => announce(sentence(now.samples, i)), 60);
  };
  useEffect(() => {
    const here = () => proxy.current !== null && proxy.current.contains(document.activeElement);
    const middle = () => (selected() >= 0 ? selected() : (axis.target.from + axis.target.to) / 2);
    const scope = "Diff: the lines";
    return bind(
      { id: "diff.lines.in", keys: ["KeyW", "key:+"], title: "Zoom in", scope, when: here, held: (s) => axis.zoom(0.1 ** s, middle(), true) },
      { id: "diff.lines.out", keys: ["KeyS", "key:-"], title: "Zoom out", scope, when: here, held: (s) => axis.zoom(10 ** s, middle(), true) },
      { id: "diff.lines.left", keys: ["KeyA"], title: "Pan left", scope, when: here, held: (s) => axis.pan(-s, true) },
      { id: "diff.lines.right", keys: ["KeyD"], title: "Pan right", scope, when: here, held: (s) => axis.pan(s, true) },
      { id: "diff.lines.all", keys: ["Shift+Digit0"], title: "Show all tokens", scope, when: here, run: () => axis.all() },
      { id: "diff.lines.back", keys: ["ArrowLeft"], title: "Previous token", scope, when: here, run: () => choose(selected() < 0 ? 0 : selected() - 1) },
      { id: "diff.lines.on", keys: ["ArrowRight"], title: "Next token", scope, when: here, run: () => choose(selected() + 1) },
    );
  }, []);

  const described = hovered.value >= 0 && hovered.value < samples.n ? hovered.value : at;
  const unit = samples.every > 1 ? ` Every ${samples.every}th token is a sample; the bands show the range in between.` : "";
  return (
    <section class="diff-section diff-fills" aria-label="Time, token by token">
      <h2 class="sr-only">Time, token by token</h2>
      <div class="diff-choices">
        <Choices diff={props.diff} tokens={props.tokens} phase={phase} />
        <p class="diff-text">{described >= 0 ? sentence(samples, described) : `${counted(samples.n, "sample")}.${unit} Click one for details; drag to zoom.`}</p>
      </div>
      <div class="diff-lines">
        <CanvasView
          label={`Times of A and B over ${counted(samples.n, "token")}`}
          value={at >= 0 ? sentence(samples, at) : ""}
          keys="Left and right go from token to token, W and S zoom, A and D pan, Shift+0 shows all."
          focusRef={proxy}
          table={<SampleTable samples={samples} selected={at} choose={choose} />}
        >
          <Plots samples={samples} log={logScale.value === "1"} axis={axis} selected={selected} hovered={hovered} choose={choose} />
        </CanvasView>
      </div>
    </section>
  );
}
