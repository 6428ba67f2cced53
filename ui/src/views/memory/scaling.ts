// The colours' scale over the regions that are shown.

import { slicesShown } from "./scene";
import { hasData, scaleOf, sideOf, valueOf, type Known, type Metric, type Scales, type Shown, type Side } from "./heat";

function* valuesOf(k: Known, side: Side, metric: Metric, now_ns: number): Generator<Shown> {
  for (let r = 0; r < k.map.regions.kind.length; r++) {
    if (!hasData(k.map, r) || sideOf(k.map, r) !== side) continue;
    yield valueOf(k, metric, r, r, now_ns);
    const first = k.map.regions.first_slice[r]!;
    for (let e = 0; e < slicesShown(k, r); e++) yield valueOf(k, metric, first + e, r, now_ns);
  }
}

export function scalesOver(k: Known | null, metric: Metric, log: boolean, now_ns: number): Scales {
  const of = (side: Side) => scaleOf(metric, log, k ? valuesOf(k, side, metric, now_ns) : []);
  return { metric, model: of("model"), work: of("work") };
}
