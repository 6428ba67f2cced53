// The colours' scale over the regions that are shown.

import { slicesShown } from "./scene";
import { isTold, scaleOf, valueOf, type Known, type Metric, type Scale, type Shown } from "./heat";

function* valuesOf(k: Known, metric: Metric, now_ns: number): Generator<Shown> {
  for (let r = 0; r < k.map.regions.kind.length; r++) {
    if (!isTold(k.map, r)) continue;
    yield valueOf(k, metric, r, r, now_ns);
    const first = k.map.regions.first_slice[r]!;
    for (let e = 0; e < slicesShown(k, r); e++) yield valueOf(k, metric, first + e, r, now_ns);
  }
}

export function scaleOver(k: Known | null, metric: Metric, log: boolean, now_ns: number): Scale {
  return scaleOf(metric, log, k ? valuesOf(k, metric, now_ns) : []);
}
