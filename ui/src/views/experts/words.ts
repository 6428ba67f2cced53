// Experts in words: for tooltips, the details and screen readers.

import { layerText, type Layer } from "../../api/experts";
import { bytes, count, counted, percent } from "../../draw/format";
import { announce } from "../../parts/announce";
import { select } from "../../state/selection";
import { setExpert, type Measure } from "./state";

export function cellWords(l: Layer, e: number, m: Measure): string {
  const often = l.count[e] ?? 0;
  const share = l.choices ? `, ${percent(often / l.choices)} of the layer's choices` : "";
  const more = m.id === "count" ? "" : `; ${m.text(m.value(l, e))}`;
  return `${layerText(l)}, expert ${e}: ${often ? `chosen ${counted(often, "time")}${share}${more}` : "not chosen"}`;
}

/** The layer, the first tensor that the expert is a part of, and its bytes there. */
export function chooseCell(l: Layer, e: number, m: Measure): void {
  const slice = l.slices[0];
  setExpert(l.layer_id, e);
  select({
    layer: l.layer_id,
    tensor: slice?.tensor ?? null,
    region: slice
      ? {
          segment: `file${slice.model_file_id}`,
          from: slice.file_offset_bytes + e * slice.expert_bytes,
          to: slice.file_offset_bytes + (e + 1) * slice.expert_bytes,
        }
      : null,
  });
  announce(cellWords(l, e, m));
}

/** How many experts, the most chosen first, make up that share of the choices. */
export function expertsFor(l: Layer, share: number): number | null {
  if (l.choices === 0) return null;
  const counts = [...l.count].sort((a, b) => b - a);
  let sum = 0;
  for (let i = 0; i < counts.length; i++) {
    sum += counts[i]!;
    if (sum >= share * l.choices) return i + 1;
  }
  return counts.length;
}

export interface Coverage {
  readonly used: number;
  readonly all: number;
  readonly used_bytes: number | null;
  readonly all_bytes: number | null;
}

/** Over all layers. */
export function coverageOf(layers: readonly Layer[]): Coverage {
  let used = 0;
  let all = 0;
  let usedBytes: number | null = 0;
  let allBytes: number | null = 0;
  for (const l of layers) {
    const n = l.n_experts - l.unused_experts;
    used += n;
    all += l.n_experts;
    usedBytes = usedBytes === null || l.expert_bytes === null ? null : usedBytes + n * l.expert_bytes;
    allBytes = allBytes === null || l.expert_bytes === null ? null : allBytes + l.n_experts * l.expert_bytes;
  }
  return { used, all, used_bytes: usedBytes, all_bytes: allBytes };
}

export function coverageWords(layers: readonly Layer[]): string {
  const c = coverageOf(layers);
  const size = c.used_bytes === null || c.all_bytes === null ? "" : `, ${bytes(c.used_bytes)} of ${bytes(c.all_bytes)}`;
  return `${counted(c.used, "expert")} of ${count(c.all)} chosen (${percent(c.all ? c.used / c.all : null)})${size}`;
}
