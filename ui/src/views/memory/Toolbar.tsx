// How the map is shown: colours, widths, part of the run; and saving it.

import type { Binding } from "../../input/keys";
import { announce } from "../../parts/announce";
import { selection } from "../../state/selection";
import { pagedOf } from "./pages";
import { missingWords } from "./pageWords";
import { atlas, cumulative, logScale, metric, setCumulative, showMetric, widths } from "./data";
import { METRIC_ABOUT, METRIC_TITLES, METRICS, type Metric } from "./heat";

interface Param {
  value: string;
}

/** Why a metric cannot be shown; null: it can. */
function missing(m: Metric): string | null {
  const observed = atlas.value?.observed;
  if (m === "residency" && !observed?.residency) return "not observed; record with --residency";
  if (m === "faults" && !observed?.faults) return "not observed; record with --faults";
  return null;
}

/** The page shows what is missing when one of these is chosen. */
function aboutPages(m: Metric): string | null {
  const paged = pagedOf(m);
  return paged && atlas.value ? missingWords(atlas.value, paged) : null;
}

function cycle(by: 1 | -1): void {
  const shown = METRICS.filter((m) => m === metric.peek() || (missing(m) ?? aboutPages(m)) === null);
  const next = shown[(shown.indexOf(metric.peek()) + by + shown.length) % shown.length]!;
  showMetric(next);
  announce(`Colour by ${METRIC_TITLES[next]}: ${METRIC_ABOUT[next]}`);
}

function flip(param: Param, a: string, b: string, words: Record<string, string>): void {
  param.value = param.value === a ? b : a;
  announce(words[param.value]!);
}

const flipLog = () => flip(logScale, "log", "linear", { log: "Logarithmic colours", linear: "Linear colours" });
const flipWidths = () => flip(widths, "bytes", "rank", { bytes: "Widths by bytes", rank: "Equal widths, in file order" });

export function toolbarKeys(fit: Param): Binding[] {
  const scope = "Memory";
  return [
    { id: "memory.colour", keys: ["KeyC"], title: "Next colour measure: accesses, bytes, time, last use, RAM, faults, pages, loading", scope, run: () => cycle(1) },
    { id: "memory.colour-back", keys: ["Shift+KeyC"], title: "Previous colour measure", scope, run: () => cycle(-1) },
    { id: "memory.log", keys: ["KeyL"], title: "Logarithmic or linear colours", scope, run: flipLog },
    { id: "memory.widths", keys: ["KeyR"], title: "Widths by bytes, or equal (rank)", scope, run: flipWidths },
    { id: "memory.fit", keys: ["KeyX"], title: "Stretch each row to the full width, or use a common scale", scope, run: () => flip(fit, "row", "same", { row: "Rows stretched", same: "Common scale" }) },
    { id: "memory.cumulative", keys: ["KeyU"], title: "Colours of this token, or of all tokens up to it", scope, run: () => setCumulative(!cumulative.peek()) },
  ];
}

function Choice(props: { label: string; value: string; options: readonly (readonly [string, string])[]; set: (v: string) => void; title?: string }) {
  return (
    <span class="choice" role="group" aria-label={props.label} title={props.title}>
      {props.options.map(([id, text]) => (
        <button type="button" key={id} aria-pressed={props.value === id} onClick={() => props.set(id)}>
          {text}
        </button>
      ))}
    </span>
  );
}

export function Toolbar(props: { fit: Param }) {
  const { token, time } = selection.value;
  return (
    <div class="memory-tools" role="toolbar" aria-label="Display options of the map">
      <span class="choice" role="group" aria-label="Colour by">
        {METRICS.map((m) => (
          <button type="button" key={m} aria-pressed={metric.value === m} disabled={missing(m) !== null} title={missing(m) ?? aboutPages(m) ?? METRIC_ABOUT[m]} onClick={() => showMetric(m)}>
            {METRIC_TITLES[m]}
          </button>
        ))}
      </span>
      {!pagedOf(metric.value) && <Choice label="Colours" value={logScale.value} options={[["log", "Log"], ["linear", "Linear"]]} set={(v) => (logScale.value = v)} />}
      <Choice label="Widths" value={widths.value} options={[["bytes", "Bytes"], ["rank", "Rank"]]} set={(v) => (widths.value = v)} title="Widths by size, or equal in file order" />
      <Choice label="Rows" value={props.fit.value} options={[["row", "Stretch rows"], ["same", "Common scale"]]} set={(v) => (props.fit.value = v)} title="Stretch each row to the full width, or use a common scale" />
      {token !== null && !time && (
        <Choice label="Part of the run" value={cumulative.value ? "until" : "token"} options={[["token", "This token"], ["until", "Up to it"]]} set={(v) => setCumulative(v === "until")} />
      )}
    </div>
  );
}
