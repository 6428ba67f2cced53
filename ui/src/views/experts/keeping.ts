// The experts of all layers in the order in which they are kept, and what keeping so many costs.

import type { Layer } from "../../api/experts";
import { bytes, count, counted, percent } from "../../draw/format";

/** One size of the cache (docs/api-http.md: whatif). Of generated tokens after the first. */
export interface Kept {
  readonly ram_bytes: number;
  readonly steady_per_token_bytes: number | null;
  readonly steady_miss_ratio: number | null;
}

/** GET whatif */
export interface WhatIf {
  readonly at_most: boolean;
  readonly weights_size_bytes: number;
  readonly touched_bytes: number;
  readonly results: readonly Kept[];
}

export interface Ranked {
  readonly l: Layer;
  readonly e: number;
  /** 1: kept first. */
  readonly rank: number;
}

/** Those read most often first, or with lru those read last. */
export function allExperts(layers: readonly Layer[], policy: string): Ranked[] {
  const list = layers.flatMap((l) => l.count.map((_, e) => ({ l, e })));
  const worth = ({ l, e }: { l: Layer; e: number }) => (policy === "lru" ? (l.last_batch_id[e] ?? -1) : (l.batches[e] ?? 0));
  list.sort((a, b) => worth(b) - worth(a) || (a.l.layer_id ?? 0) - (b.l.layer_id ?? 0) || a.e - b.e);
  return list.map((each, i) => ({ ...each, rank: i + 1 }));
}

function usedBytes(layers: readonly Layer[]): number {
  return layers.reduce((sum, l) => sum + (l.n_experts - l.unused_experts) * (l.expert_bytes ?? 0), 0);
}

/** Those that fit beside the weights that every token reads. */
export function keptOf(ranked: readonly Ranked[], whole: WhatIf, ram_bytes: number): Set<Ranked> {
  const layers = [...new Set(ranked.map((r) => r.l))];
  let room = ram_bytes - Math.max(0, whole.touched_bytes - usedBytes(layers));
  const kept = new Set<Ranked>();
  for (const r of ranked) {
    const size = r.l.expert_bytes ?? 0;
    if ((r.l.count[r.e] ?? 0) === 0 || size > room) continue;
    room -= size;
    kept.add(r);
  }
  return kept;
}

/** "Keeping 14.0 MiB of 27.3 MiB saves 13.3 MiB and costs ..." */
export function keepWords(whole: WhatIf, k: Kept, layers: readonly Layer[]): string {
  const saved = whole.touched_bytes - k.ram_bytes;
  const head = `Keeping ${bytes(k.ram_bytes)} saves ${bytes(saved)} of ${bytes(whole.touched_bytes)} that the run reads`;
  const again = k.steady_per_token_bytes;
  if (again === null || k.steady_miss_ratio === null) return `${head}; what it costs is not known, as no token was generated.`;
  if (again === 0) return `${head} and costs nothing: no generated token reads anything again.`;
  const of = layers.filter((l) => l.expert_bytes);
  const mean = of.reduce((sum, l) => sum + l.expert_bytes!, 0) / Math.max(1, of.length);
  const reloads = mean > 0 ? `, as much as ${(again / mean).toFixed(1)} experts` : "";
  return `${head} and costs ${whole.at_most ? "at most " : ""}${bytes(again)} read again a generated token${reloads}: ${percent(k.steady_miss_ratio)} of what it needs.`;
}

/** Experts that no token chose. */
export function neverWords(layers: readonly Layer[]): string {
  const n = layers.reduce((sum, l) => sum + l.unused_experts, 0);
  const all = layers.reduce((sum, l) => sum + l.n_experts, 0);
  const size = layers.reduce((sum, l) => sum + l.unused_experts * (l.expert_bytes ?? 0), 0);
  if (n === 0) return `Each of the ${counted(all, "expert")} was chosen at least once.`;
  return `${counted(n, "expert")} of ${count(all)} ${n === 1 ? "was" : "were"} never chosen: without ${n === 1 ? "it" : "them"} the model is ${bytes(size)} smaller, and this run the same.`;
}
