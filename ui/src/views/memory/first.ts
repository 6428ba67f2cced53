// The measure that the map starts with: one that differs between weights.

import { count } from "../../draw/format";
import { hasData, sideOf, type Heat, type Metric } from "./heat";
import type { Atlas } from "./map";

export interface First {
  readonly metric: Metric;
  /** A sentence, if it is not the usual one. */
  readonly reason: string | null;
}

/** Units of weights: tensors, and their experts where these are separate. */
function* unitsOf(map: Atlas, heat: Heat): Generator<number> {
  const { kind, n_slices, first_slice } = map.regions;
  for (let r = 0; r < kind.length; r++) {
    if (!hasData(map, r) || sideOf(map, r) !== "model") continue;
    yield r;
    if (map.observed.experts && !heat.atMost[r]) for (let e = 0; e < n_slices[r]!; e++) yield first_slice[r]! + e;
  }
}

/** Of so many units the value is the same where a picture of it says nothing. */
const ALIKE_SHARE = 0.9;

/** The value that nearly all units have, and whether it is all of them; null: they differ. */
function alike(map: Atlas, heat: Heat, values: Float64Array): { value: number; all: boolean } | null {
  const tally = new Map<number, number>();
  let n = 0;
  for (const unit of unitsOf(map, heat)) {
    tally.set(values[unit]!, (tally.get(values[unit]!) ?? 0) + 1);
    n++;
  }
  for (const [value, times] of tally) if (times >= n * ALIKE_SHARE) return { value, all: times === n };
  return null;
}

/** In a dense model each weight is read once a token: a map of one colour says nothing. */
export function firstMetric(map: Atlas, heat: Heat): First {
  const usual: First = { metric: "accesses", reason: null };
  const same = alike(map, heat, heat.accesses);
  if (!same || same.value === 0) return usual;
  const why = `${same.all ? "Each" : "Nearly every"} weight was read ${same.value === 1 ? "once" : `${count(same.value)} times`}`;
  if (!alike(map, heat, heat.timeNs)) return { metric: "time", reason: `${why}; coloured by time instead.` };
  if (map.observed.residency) return { metric: "residency", reason: `${why}; coloured by what is in RAM instead.` };
  if (map.observed.faults) return { metric: "faults", reason: `${why}; coloured by page faults instead.` };
  return usual;
}
