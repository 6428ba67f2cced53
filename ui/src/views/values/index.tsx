// Outputs of ops: RMS, range and non-finite elements, over layers and tokens.

import { useEffect, useMemo } from "preact/hooks";
import { getBinary, getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import { gridOf, type First, type Grid, type Overview, type Place } from "../../api/values";
import { css, isDark, sequence } from "../../draw/colour";
import { count, counted, plainName } from "../../draw/format";
import { bind } from "../../input/keys";
import { Empty, Failure, Loading } from "../../parts/messages";
import { selectedLayer, selectedToken, selectedTrace } from "../../state/selection";
import { generation, summary } from "../../state/trace";
import { BadList, FirstBad } from "./Bad";
import { heightOf } from "./draw";
import { Heat } from "./Heat";
import { Lines } from "./Lines";
import { extentOf, MEASURES, number, type Measure } from "./measures";
import { overLayers, overTokens } from "./profile";
import { measure, place, setMeasure, setPlace } from "./state";
import "./command";
import "./values.css";

function None() {
  const name = summary.value?.name ?? "run.ttrace";
  return (
    <Empty title="This trace has no values">
      <p>
        This view shows the outputs of ops, layer by layer and token by token: RMS, range, and where NaN and infinities come
        from. None of that was recorded. Trace the run again with
      </p>
      <p>
        <code>tensortrace run --values=stats -o {plainName(name)} ...</code>
      </p>
      <p>
        <code>--values=hash</code> also takes digests that can be compared with other engines, <code>--values=full</code> keeps
        the data.
      </p>
    </Empty>
  );
}

/** Those of layers first: they can be followed. */
function PlaceChoice(props: { places: readonly Place[]; shown: string }) {
  const option = (p: Place) => (
    <option value={p.base_name} key={p.base_name}>
      {plainName(p.base_name) || "(no name)"}
      {p.bad > 0 ? ` (${count(p.bad)} not finite)` : ""}
    </option>
  );
  return (
    <label>
      Output{" "}
      <select aria-label="Output" value={props.shown} onChange={(event) => setPlace(event.currentTarget.value)}>
        {!props.places.some((p) => p.base_name === props.shown) && <option value={props.shown}>{props.shown || "the last one of each layer"}</option>}
        {props.places.map(option)}
      </select>
    </label>
  );
}

function Head(props: { overview: Overview; grid: Grid | null; shown: Measure }) {
  const { rows, summary: all } = props.overview.base_names;
  return (
    <div class="values-head">
      <PlaceChoice places={rows} shown={props.grid?.base_name ?? place() ?? ""} />
      <label>
        Colour{" "}
        <select aria-label="Colour" value={props.shown.id} title={props.shown.about} onChange={(event) => setMeasure(event.currentTarget.value)}>
          {MEASURES.map((m) => (
            <option value={m.id} key={m.id}>
              {m.title}
            </option>
          ))}
        </select>
      </label>
      <span class="values-facts">
        {counted(all.outputs, "output")} measured
        {all.unmeasured > 0 && `, ${count(all.unmeasured)} not measured`}
        {all.incomplete > 0 && `, ${count(all.incomplete)} incomplete`}
        {props.overview.level === "hash" ? "; with digests" : "; statistics only"}
      </span>
    </div>
  );
}

function Legend(props: { grid: Grid; shown: Measure }) {
  const x = extentOf(props.grid, props.shown);
  const dark = isDark.value;
  return (
    <div class="values-legend">
      <b>{props.shown.title}</b>
      <span>{number(x.least)}</span>
      <span class="values-ramp" aria-hidden="true">
        {[0, 1, 2, 3, 4, 5, 6, 7].map((i) => (
          <span key={i} style={{ background: css(sequence(0.08 + (0.92 * i) / 7, dark)) }} />
        ))}
      </span>
      <span>
        {number(x.most)}
        {props.shown.log ? ", logarithmic" : ""}
      </span>
      <span>
        <span class="values-nan" aria-hidden="true">
          ×
        </span>{" "}
        NaN
      </span>
      <span>
        <span class="values-nan" aria-hidden="true">
          ∕
        </span>{" "}
        Inf
      </span>
      <span>
        <span class="values-none" aria-hidden="true" /> not measured
      </span>
      {props.grid.cut && <span>not all tokens are shown</span>}
    </div>
  );
}

/** Position of the lines without a selection: the last token, the first layer. */
function chosen(list: readonly (number | null)[], wanted: number | null, otherwise: number): number {
  const at = wanted === null ? -1 : list.indexOf(wanted);
  return at >= 0 ? at : otherwise;
}

function Shown(props: { grid: Grid; shown: Measure }) {
  const { grid, shown } = props;
  const token = chosen(grid.batches, selectedToken.value, grid.batches.length - 1);
  const layer = chosen(grid.layers, selectedLayer.value, grid.layers.length - 1);
  const layers = useMemo(() => overLayers(grid, token), [grid, token]);
  const tokens = useMemo(() => overTokens(grid, layer), [grid, layer]);
  return (
    <>
      <Legend grid={grid} shown={shown} />
      <div class="values-heat" style={{ height: `${heightOf(grid)}px` }}>
        <Heat
          grid={grid}
          measure={shown}
          label={`Values of ${grid.base_name || "each layer's last output"}: ${counted(grid.layers.length, "layer")} by ${counted(grid.batches.length, "token")}; colour: ${shown.title}`}
        />
      </div>
      <div class="values-key" aria-hidden="true">
        <span class="values-line-rms" /> RMS <span class="values-line-max" /> largest magnitude, smallest and largest element <span class="values-line-mean" /> mean
      </div>
      <div class="values-columns">
        <Lines grid={grid} profile={layers} />
        <Lines grid={grid} profile={tokens} />
      </div>
    </>
  );
}

function step(list: readonly { id: string }[], now: string, by: number): string {
  return list[(list.findIndex((each) => each.id === now) + by + list.length) % list.length]!.id;
}

function useKeys(overview: Overview | null, shown: string): void {
  useEffect(() => {
    const places = overview?.base_names.rows.map((p) => ({ id: p.base_name })) ?? [];
    const other = (by: number) => places.length > 0 && setPlace(step(places, shown, by));
    return bind(
      { id: "values.colour", keys: ["KeyM"], title: "Next colour measure", scope: "Values", run: () => setMeasure(step(MEASURES, measure().id, 1)) },
      { id: "values.next", keys: ["BracketRight"], title: "The next output of a layer", scope: "Values", run: () => void other(1) },
      { id: "values.previous", keys: ["BracketLeft"], title: "The previous output of a layer", scope: "Values", run: () => void other(-1) },
      { id: "values.stream", keys: ["KeyR"], title: "The residual stream", scope: "Values", run: () => setPlace(null) },
    );
  }, [overview, shown]);
}

export function Component() {
  const trace = selectedTrace.value;
  const wanted = place();
  const key = JSON.stringify([trace, generation.value]);
  const all = useResource(key, (abort) => getJson<Overview>(ofTrace(trace, "values"), {}, abort));
  const overview = all.data.value;
  const has = overview?.level != null;
  const first = useResource(has ? key : null, (abort) => getJson<First>(ofTrace(trace, "values/first"), {}, abort));
  const grids = useResource(has ? JSON.stringify([key, wanted]) : null, async (abort) =>
    gridOf(await getBinary(ofTrace(trace, "values/grid"), { base_name: wanted }, abort)),
  );
  const grid = grids.data.value;
  useKeys(overview, grid?.base_name ?? "");
  const error = all.error.value ?? first.error.value;
  if (error) return <Failure error={error} retry={all.error.value ? all.retry : first.retry} />;
  if (!overview) return <Loading what="the values" />;
  if (!has) return <None />;
  const shown = measure();
  return (
    <div class="values">
      {first.data.value ? <FirstBad first={first.data.value} /> : <p class="values-verdict">Searching for NaN and infinity…</p>}
      <Head overview={overview} grid={grid} shown={shown} />
      {grids.error.value ? (
        <Failure error={grids.error.value} retry={grids.retry} />
      ) : !grid ? (
        <Loading what="the values" />
      ) : grid.batches.length === 0 || grid.layers.length === 0 ? (
        <Empty title="No such output was measured">
          <p>
            <button type="button" onClick={() => setPlace(null)}>
              Show the residual stream
            </button>
          </p>
        </Empty>
      ) : (
        <Shown grid={grid} shown={shown} />
      )}
      {first.data.value?.found && <BadList trace={trace} />}
    </div>
  );
}
