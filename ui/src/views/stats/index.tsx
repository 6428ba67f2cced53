// Sums of time and bytes: as a table, by token, and as a roofline.

import { useEffect } from "preact/hooks";
import { DIMENSIONS, type By } from "../../api/stats";
import { bind } from "../../input/keys";
import { Empty } from "../../parts/messages";
import { Flame, FlameChoice, isOfSelection } from "../../parts/flame/Flame";
import { selectedTrace } from "../../state/selection";
import { summary } from "../../state/trace";
import { Roofline } from "./Roofline";
import { OneOp } from "./OneOp";
import { OverTokens } from "./OverTokens";
import { Table } from "./Table";
import { dimension, filterParams, filters, setDimension, setShown, shown, SHOWS, type Filter } from "./state";
import "./command";
import "./stats.css";

function Chips(props: { filters: readonly Filter[] }) {
  if (props.filters.length === 0) return <span class="stats-all">All ops of the run</span>;
  return (
    <ul class="stats-chips" aria-label="Only ops of">
      {props.filters.map((f) => (
        <li key={f.id}>
          <button type="button" onClick={f.remove} title="Remove this filter" aria-label={`Remove the filter: ${f.words}`}>
            {f.words} <span aria-hidden="true">×</span>
          </button>
        </li>
      ))}
    </ul>
  );
}

function Head(props: { by: By; filters: readonly Filter[] }) {
  return (
    <div class="stats-head">
      <div class="stats-group" role="group" aria-label="Show">
        {SHOWS.map((s) => (
          <button type="button" key={s.id} aria-pressed={shown() === s.id} title={s.about} onClick={() => setShown(s.id)}>
            {s.title}
          </button>
        ))}
      </div>
      {shown() === "flame" && (
        <>
          <FlameChoice />
          {props.filters.length > 0 && <Chips filters={props.filters} />}
        </>
      )}
      {(shown() === "table" || shown() === "tokens") && (
        <>
          <label>
            By{" "}
            <select aria-label="Sum up by" value={props.by} onChange={(event) => setDimension(event.currentTarget.value as By)}>
              {DIMENSIONS.filter((d) => shown() === "table" || d.id !== "batch").map((d) => (
                <option value={d.id} key={d.id}>
                  {d.title.toLowerCase()}
                </option>
              ))}
            </select>
          </label>
          <Chips filters={props.filters} />
        </>
      )}
    </div>
  );
}

/** The next dimension, for the keyboard. */
function step(by: number): void {
  const at = DIMENSIONS.findIndex((d) => d.id === dimension().id);
  setDimension(DIMENSIONS[(at + by + DIMENSIONS.length) % DIMENSIONS.length]!.id);
}

export function Component() {
  useEffect(
    () =>
      bind(
        { id: "stats.next", keys: ["BracketRight"], title: "Next dimension", scope: "Stats", run: () => step(1) },
        { id: "stats.previous", keys: ["BracketLeft"], title: "Previous dimension", scope: "Stats", run: () => step(-1) },
        ...SHOWS.map((s, i) => ({
          id: `stats.${s.id}`,
          keys: [`Shift+Digit${i + 1}`],
          title: `Statistics: ${s.title.toLowerCase()}`,
          scope: "Stats",
          run: () => setShown(s.id),
        })),
      ),
    [],
  );
  if (!summary.value?.clock)
    return (
      <Empty title="No times were recorded">
        <p>The trace has no clock: it was cut off before the recorder could write one. If it has graphs, the log and the graph show what ran.</p>
      </Empty>
    );
  const trace = selectedTrace.value;
  const by = shown() === "tokens" && dimension().id === "batch" ? DIMENSIONS[3]! : dimension();
  // Over the tokens, the selected one is a mark.
  const list = shown() === "flame" ? filters(null).filter((f) => isOfSelection() || f.id === "op" || f.id === "phase") : filters(by.id).filter((f) => shown() === "table" || f.id !== "batch");
  return (
    <div class="stats">
      <Head by={by.id} filters={list} />
      {shown() === "table" && <Table trace={trace} dimension={by} filters={list} />}
      {shown() === "tokens" && <OverTokens trace={trace} dimension={by} filters={list} />}
      {shown() === "flame" && <Flame trace={trace} params={filterParams(list)} />}
      {shown() === "op" && <OneOp trace={trace} />}
      {shown() === "roofline" && <Roofline trace={trace} />}
    </div>
  );
}
