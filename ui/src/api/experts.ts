// Reply about routers and their experts (docs/api-http.md: experts).

import { layerWords } from "../state/layers";

export interface Slice {
  readonly tensor: string;
  readonly model_file_id: number;
  /** Expert i begins at this + i * expert_bytes. */
  readonly file_offset_bytes: number;
  readonly expert_bytes: number;
}

export interface Layer {
  readonly layer_id: number | null;
  readonly n_experts: number;
  readonly n_picked: number;
  readonly n_tokens: number;
  readonly choices: number;
  readonly unused_experts: number;
  readonly entropy_bits: number | null;
  readonly evenness: number | null;
  readonly stickiness: number | null;
  readonly chance: number | null;
  readonly tokens_without_row: number;
  readonly expert_bytes: number | null;
  readonly mean_experts_per_batch: number | null;
  readonly slices: readonly Slice[];
  /** By expert: tokens that chose it; batches in which any did. */
  readonly count: readonly number[];
  readonly batches: readonly number[];
  /** null: never chosen, or weights were not observed. */
  readonly mean_weight: readonly (number | null)[];
  readonly last_batch_id: readonly (number | null)[];
  /** An estimate; null: not observed. */
  readonly disk_read_bytes: readonly number[] | null;
}

export interface Experts {
  /** Expert matmuls that the graphs have; 0: the model has no experts. */
  readonly expert_matmuls: number;
  /** Why the choices are not known, as reported by the recorder. */
  readonly not_observed: string | null;
  readonly sequences_observed: boolean;
  readonly layers: readonly Layer[];
}

export function layerText(layer: Layer): string {
  return layer.layer_id === null ? "unknown layer" : layerWords(layer.layer_id);
}
