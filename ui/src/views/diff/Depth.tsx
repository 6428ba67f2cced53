// Error over depth, and the strip of tokens below it.

import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useMemo, useRef } from "preact/hooks";
import "uplot/dist/uPlot.min.css";
import { css, isDark, sequence, themeColour } from "../../draw/colour";
import { drawOn } from "../../draw/canvas";
import { announce } from "../../parts/announce";
import { CanvasView } from "../../parts/CanvasView";
import { useSize } from "../../parts/useSize";
import { plotDepth } from "./depthPlot";
import { depthChart, depthWords, errorText, VERDICTS, type DepthChart, type ValueDiff, type ValueStep, type Verdict } from "./valuesAnswer";

const STRIP_HEIGHT = 26;
const PAIRINGS: Record<ValueStep["pairing"], string> = {
  both: "",
  only_a: "only in A",
  only_b: "only in B",
  batches: "in other batches: not compared",
  tokens: "other tokens: not comparable",
};

function worst(counts: ValueStep["counts"]): Verdict {
  return (["nan", "shape", "differs", "other_bits", "close", "equal"] as const).find((v) => counts[v] > 0) ?? "unmeasured";
}

function stepName(s: ValueStep): string {
  if (s.batch_id_a === null) return s.batch_id_b === null ? "a step" : `B's token ${s.batch_id_b}`;
  return s.batch_id_b === null || s.batch_id_b === s.batch_id_a ? `token ${s.batch_id_a}` : `token ${s.batch_id_a} (B's ${s.batch_id_b})`;
}

function stepWords(s: ValueStep): string {
  const name = stepName(s);
  if (s.pairing !== "both") return `${name}: ${PAIRINGS[s.pairing]}`;
  const error = s.rel_l2 === null ? "" : `, largest error ${errorText(s.rel_l2)}`;
  return `${name}: ${VERDICTS[worst(s.counts)]}${error}`;
}

function placeWords(chart: DepthChart, line: number, at: number): string {
  const d = chart.lines[line]?.at[at];
  const where = depthWords(chart.names[at]!);
  if (!d) return `${where}: not measured`;
  return `${where}: ${VERDICTS[worst(d.counts)]}, largest error ${errorText(d.rel_l2)}${d.stage && d.rel_l2 ? ` (${d.stage})` : ""}`;
}

/** Colour of a cell: more contrast for larger errors. */
function paintStep(c: CanvasRenderingContext2D, s: ValueStep, x: number, w: number, least: number, most: number, dark: boolean): void {
  const verdict = s.pairing === "both" ? worst(s.counts) : "unmeasured";
  if (verdict === "unmeasured") {
    // One line: unknown. Two: not comparable.
    c.fillStyle = themeColour("--ink-2");
    c.fillRect(x, STRIP_HEIGHT / 2, w, 1);
    if (s.pairing === "tokens") c.fillRect(x, STRIP_HEIGHT / 2 - 5, w, 1);
    return;
  }
  if (verdict === "other_bits") {
    // Two marks with a gap: it differs, and the height between is not known.
    c.fillStyle = themeColour("--mark");
    c.fillRect(x, 0, w, 3);
    c.fillRect(x, STRIP_HEIGHT - 4, w, 3);
    return;
  }
  if (verdict === "nan" || verdict === "shape") {
    c.fillStyle = themeColour("--bad");
    c.fillRect(x, 1, w, STRIP_HEIGHT - 2);
    return;
  }
  const error = s.rel_l2 ?? 0;
  const share = error <= 0 ? 0 : most > least ? 0.15 + (0.85 * Math.log(error / least)) / Math.log(most / least) : 1;
  c.fillStyle = css(sequence(share, dark));
  // Height encodes the same: equal is flat.
  const high = Math.max(3, share * (STRIP_HEIGHT - 2));
  c.fillRect(x, STRIP_HEIGHT - 1 - high, w, high);
  if (verdict === "differs") {
    c.fillStyle = themeColour("--mark");
    c.fillRect(x, 0, w, 3);
  }
}

function paintSteps(c: CanvasRenderingContext2D, steps: readonly ValueStep[], selected: number, each: number, dark: boolean): void {
  let [least, most] = [Infinity, 0];
  for (const { rel_l2 } of steps) {
    if (rel_l2 === null || rel_l2 <= 0) continue;
    least = Math.min(least, rel_l2);
    most = Math.max(most, rel_l2);
  }
  steps.forEach((s, i) => paintStep(c, s, i * each, Math.max(1, each - (each > 4 ? 1 : 0)), least, most, dark));
  if (selected < 0) return;
  c.strokeStyle = themeColour("--accent");
  c.lineWidth = 2;
  c.strokeRect(selected * each + 1, 1, Math.max(3, each - 2), STRIP_HEIGHT - 2);
}

function Strip(props: { steps: readonly ValueStep[]; selected: number; choose: (step: number) => void }) {
  const { steps, selected } = props;
  const { ref, size } = useSize<HTMLDivElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const { width } = size.value;
  const dark = isDark.value;
  const each = width / Math.max(1, steps.length);
  useLayoutEffect(() => {
    if (!canvas.current || width === 0) return;
    drawOn(canvas.current, width, STRIP_HEIGHT, (c) => paintSteps(c, steps, selected, each, dark));
  }, [steps, selected, width, dark]);
  const onKeyDown = (event: KeyboardEvent) => {
    const n = steps.length;
    const to = { ArrowRight: Math.min(n - 1, selected + 1), ArrowLeft: Math.max(0, selected - 1), Home: 0, End: n - 1 }[event.key];
    if (to === undefined || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    props.choose(to);
    setTimeout(() => announce(stepWords(steps[to]!)), 60);
  };
  return (
    <CanvasView
      label={`Tokens, by the largest error of their values`}
      keys="Left and Right go from token to token, Home and End to the first and last."
      value={selected >= 0 && steps[selected] ? stepWords(steps[selected]) : ""}
      on={{
        onKeyDown,
        onPointerUp: (event) => {
          const box = canvas.current?.getBoundingClientRect();
          const at = box ? Math.floor((event.clientX - box.left) / each) : -1;
          if (at >= 0 && at < steps.length) props.choose(at);
        },
      }}
      table={
        <table>
          <thead>
            <tr>
              <th scope="col">Token</th>
              <th scope="col" class="number">
                Largest error
              </th>
              {(Object.keys(VERDICTS) as Verdict[]).map((v) => (
                <th scope="col" class="number" key={v}>
                  {VERDICTS[v]}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {steps.map((s, i) => (
              <tr key={i} aria-selected={i === selected}>
                <th scope="row">{stepWords(s)}</th>
                <td class="number">{errorText(s.rel_l2)}</td>
                {(Object.keys(VERDICTS) as Verdict[]).map((v) => (
                  <td class="number" key={v}>
                    {s.counts[v]}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
        </table>
      }
    >
      <div class="diff-value-strip" ref={ref}>
        <canvas ref={canvas} style={{ width: `${width}px`, height: `${STRIP_HEIGHT}px` }} />
      </div>
    </CanvasView>
  );
}

export interface DepthProps {
  diff: ValueDiff;
  /** Index of the selected pair of steps in diff.steps; -1: none. */
  selected: number;
  chooseStep: (step: number) => void;
  /** A point of the chart: a pair and a layer. */
  choosePlace: (step: number, layer: number | null) => void;
}

function Chart(props: DepthProps & { chart: DepthChart }) {
  const { chart, diff } = props;
  const { ref, size } = useSize<HTMLDivElement>();
  const host = useRef<HTMLDivElement>(null);
  const hovered = useSignal<number | null>(null);
  const { width } = size.value;
  const dark = isDark.value;
  const selected = chart.lineOf.get(props.selected) ?? -1;
  const shownLine = selected >= 0 ? selected : 0;
  const latest = useRef(props);
  latest.current = props;
  useEffect(() => {
    if (!host.current || width < 80) return undefined;
    const plot = plotDepth(host.current, chart, {
      width,
      height: 210,
      selected,
      onCursor: (at) => (hovered.value = at),
      choose: (at) => latest.current.choosePlace(chart.lines[shownLine]!.pair, diff.layers[at]?.layer ?? null),
    });
    return () => plot.destroy();
  }, [chart, selected, width, dark]);
  const at = hovered.value;
  const step = diff.steps[chart.lines[shownLine]?.pair ?? 0];
  const text = at === null ? "point at the plot" : placeWords(chart, shownLine, at);
  return (
    <>
      <p class="diff-text">
        {step && stepName(step)}: {text}
      </p>
      <CanvasView
        label={`Error over depth, ${chart.names.length} stages, ${chart.lines.length} tokens`}
        keys="The table below has the same data."
        value={step ? stepWords(step) : ""}
        table={
          <table>
            <thead>
              <tr>
                <th scope="col">Layer</th>
                <th scope="col">Of the token</th>
                <th scope="col" class="number">
                  Largest of all
                </th>
              </tr>
            </thead>
            <tbody>
              {chart.names.map((name, i) => (
                <tr key={i}>
                  <th scope="row">{name}</th>
                  <td>{placeWords(chart, shownLine, i)}</td>
                  <td class="number">{errorText(diff.layers[i]?.rel_l2)}</td>
                </tr>
              ))}
            </tbody>
          </table>
        }
      >
        <div class="diff-depth" ref={ref}>
          <div ref={host} />
        </div>
      </CanvasView>
    </>
  );
}

export function DepthPlot(props: DepthProps) {
  const chart = useMemo(() => depthChart(props.diff), [props.diff]);
  return (
    <div class="diff-depths">
      <h3>Error over depth: relative L2, the largest of each layer</h3>
      <p class="diff-hint" aria-hidden="true">
        <span class="diff-line-most" /> all tokens <span class="diff-line-selected" /> the selected token
      </p>
      {chart.lines.length > 0 && <Chart {...props} chart={chart} />}
      <h3>Tokens</h3>
      <Strip steps={props.diff.steps} selected={props.selected} choose={props.chooseStep} />
    </div>
  );
}
