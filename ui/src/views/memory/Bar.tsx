// The memory map as a bar above the other views, if it is wanted there.

import { useComputed } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { Axis } from "../../draw/axis";
import { showView } from "../../state/view";
import { atlas, followMap, known, logScale, metric, nowNs, partWords } from "./data";
import { METRIC_TITLES } from "./heat";
import { linesOf, type Fit } from "./geometry";
import { barRows } from "./map";
import { MapCanvas, type MapControls } from "./MapCanvas";
import { scalesOver } from "./scaling";
import { showStrip } from "./strip";
import { useMapKeys } from "./keys";
import "./memory.css";

/** Shows and changes the same selection as the view. */
export function Bar() {
  useEffect(followMap, []);
  const axis = useMemo(() => new Axis(1), []);
  const controls = useRef<MapControls | null>(null);
  const lines = useComputed(() => (atlas.value ? linesOf(atlas.value, barRows(atlas.value), false) : []));
  const scales = useComputed(() => scalesOver(known.value, metric.value, logScale.value === "log", nowNs.value));
  const fit = useComputed<Fit>(() => "row");
  useMapKeys(controls, "Strip of the memory");
  if (lines.value.length === 0) return null;
  return (
    <section class={`memory-bar tracks-${lines.value.length}`} aria-label="Memory, minimised">
      <MapCanvas label="Memory of the model and of the run" lines={lines} scales={scales} axis={axis} fit={fit} compact controls={controls} />
      <p>
        {METRIC_TITLES[metric.value]}, {partWords.value}
        <button type="button" onClick={() => showView("memory")}>
          Full map
        </button>
        <button type="button" aria-label="Hide the memory strip" title="Hide the memory strip (in the map's menu View it is shown again)" onClick={() => showStrip(false)}>
          ×
        </button>
      </p>
    </section>
  );
}
