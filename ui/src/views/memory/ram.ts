// How much of the model was in RAM, at the sample that is shown.

import { bytes, percent } from "../../draw/format";
import type { Known, Sample } from "./heat";

const MOMENTS: Record<string, string> = {
  batch_begin: "at the begin of",
  batch_end: "at the end of",
  recording_begin: "when recording began",
  recording_end: "when recording ended",
  map_begin: "before the file was mapped",
  map_end: "after the file was mapped",
  first_batch: "before the first batch",
};

function momentWords(samples: readonly Sample[]): string {
  const s = samples[0];
  if (!s) return "";
  const when = MOMENTS[s.moment] ?? "";
  if (s.batch_id === null) return when ? ` ${when}` : "";
  return ` ${when || "at"} token ${s.batch_id}`;
}

/** "612 of 672 MiB in RAM (91.1 %) at the end of token 7"; null: not known. Pages of the model files, whatever
 * they hold. */
export function ramWords(k: Known): string | null {
  const { residency, map } = k;
  if (!residency) return null;
  let observed = 0;
  let resident = 0;
  map.segments.kind.forEach((kind, s) => {
    if (kind !== "file") return;
    const first = map.segments.first_region[s]!;
    for (let r = first; r < first + map.segments.n_regions[s]!; r++) {
      if (!(residency.observed[r]! > 0)) continue;
      observed += residency.observed[r]!;
      resident += residency.resident[r]!;
    }
  });
  if (observed === 0) return null;
  const [all, part] = [bytes(observed), bytes(resident)];
  const unit = all.slice(all.indexOf(" "));
  const of = part.endsWith(unit) ? `${part.slice(0, -unit.length)} of ${all}` : `${part} of ${all}`;
  return `${of} in RAM (${percent(resident / observed)})${momentWords(residency.samples)}`;
}
