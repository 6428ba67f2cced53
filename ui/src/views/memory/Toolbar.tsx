// How the map is shown: colours, widths, part of the run; and saving it.

import type { ComponentChildren } from "preact";
import type { Binding } from "../../input/keys";
import { announce } from "../../parts/announce";
import { Menu } from "../../parts/Menu";
import { selection } from "../../state/selection";
import { pagedOf } from "./pages";
import { missingWords } from "./pageWords";
import { atlas, glow, GLOWS, logScale, metric, partOfRun, setGlow, setPartOfRun, showMetric, widths, type PartOfRun } from "./data";
import { isStripShown, showStrip } from "./strip";
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

const PARTS: readonly (readonly [PartOfRun, string, string])[] = [
  ["token", "This token", "What this token used"],
  ["until", "Up to it", "What all tokens up to this one used"],
  ["glow", "Afterglow", "What the last few tokens used: the longer ago, the paler"],
];

function nextPart(): void {
  const i = PARTS.findIndex(([id]) => id === partOfRun.peek());
  const [id, , about] = PARTS[(i + 1) % PARTS.length]!;
  setPartOfRun(id);
  announce(about);
}

export function toolbarKeys(fit: Param): Binding[] {
  const scope = "Memory";
  return [
    { id: "memory.colour", keys: ["KeyC"], title: "Next colour measure: accesses, bytes, time, last use, RAM, faults, pages, loading", scope, run: () => cycle(1) },
    { id: "memory.colour-back", keys: ["Shift+KeyC"], title: "Previous colour measure", scope, run: () => cycle(-1) },
    { id: "memory.log", keys: ["KeyL"], title: "Logarithmic or linear colours", scope, run: flipLog },
    { id: "memory.widths", keys: ["KeyR"], title: "Widths by bytes, or equal (rank)", scope, run: flipWidths },
    { id: "memory.fit", keys: ["KeyX"], title: "Stretch each row to the full width, or use a common scale", scope, run: () => flip(fit, "row", "same", { row: "Rows stretched", same: "Common scale" }) },
    { id: "memory.cumulative", keys: ["KeyU"], title: "Colours of this token, of all up to it, or of the last few (afterglow)", scope, run: nextPart },
  ];
}

function Choice<V extends string>(props: { label: string; value: V; options: readonly (readonly [V, string, string?])[]; set: (v: V) => void }) {
  return (
    <span class="choice" role="group" aria-label={props.label}>
      {props.options.map(([id, text, about]) => (
        <button type="button" key={id} aria-pressed={props.value === id} title={about} onClick={() => props.set(id)}>
          {text}
        </button>
      ))}
    </span>
  );
}

function Check(props: { text: string; about: string; on: boolean; set: (on: boolean) => void }) {
  return (
    <label title={props.about}>
      <input type="checkbox" checked={props.on} onChange={(e) => props.set(e.currentTarget.checked)} /> {props.text}
    </label>
  );
}

/** What is changed seldom. */
function ViewMenu(props: { fit: Param }) {
  return (
    <Menu title="View" class="memory-menu">
      <fieldset>
        <legend class="sr-only">How the map is drawn</legend>
        {!pagedOf(metric.value) && metric.value !== "residency" && (
          <Check text="Logarithmic colours" about="Each step of the colours is a factor, not a difference" on={logScale.value === "log"} set={(on) => (logScale.value = on ? "log" : "linear")} />
        )}
        <Check text="Equal widths" about="Every tensor as wide as the others, in file order, instead of by its bytes" on={widths.value === "rank"} set={(on) => (widths.value = on ? "rank" : "bytes")} />
        <Check text="Common scale" about="A byte is as wide in every row, instead of each row stretched to the full width" on={props.fit.value === "same"} set={(on) => (props.fit.value = on ? "same" : "row")} />
        <Check text="Memory strip above the other views" about="The file and the buffers in two lines, above the timeline, the graph and the others" on={isStripShown()} set={showStrip} />
        <label>
          Afterglow of{" "}
          <select value={String(glow.value)} onChange={(e) => setGlow(Number(e.currentTarget.value))}>
            {GLOWS.map((n) => (
              <option key={n} value={String(n)}>
                {n} tokens
              </option>
            ))}
          </select>
        </label>
      </fieldset>
    </Menu>
  );
}

/** Of a measure: why it cannot be chosen, or what it is. */
const aboutOf = (m: Metric) => missing(m) ?? aboutPages(m) ?? METRIC_ABOUT[m];

/** As buttons, or where there is no room for them in a list. */
function Measures() {
  return (
    <>
      <span class="choice measures-wide" role="group" aria-label="Colour by">
        {METRICS.map((m) => (
          <button type="button" key={m} aria-pressed={metric.value === m} disabled={missing(m) !== null} title={aboutOf(m)} onClick={() => showMetric(m)}>
            {METRIC_TITLES[m]}
          </button>
        ))}
      </span>
      <label class="measures-narrow">
        Colour by{" "}
        <select value={metric.value} onChange={(e) => showMetric(e.currentTarget.value as Metric)}>
          {METRICS.map((m) => (
            <option key={m} value={m} disabled={missing(m) !== null} title={aboutOf(m)}>
              {METRIC_TITLES[m]}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

export function Toolbar(props: { fit: Param; children?: ComponentChildren }) {
  const { token, time } = selection.value;
  return (
    <div class="memory-tools" role="toolbar" aria-label="Display options of the map">
      {props.children}
      <Measures />
      {token !== null && !time && <Choice label="Part of the run" value={partOfRun.value} options={PARTS} set={setPartOfRun} />}
      <ViewMenu fit={props.fit} />
    </div>
  );
}
