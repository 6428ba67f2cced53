// The layers, and the experts of the selected one, as tables: the same content as the matrix.

import { useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { layerText, type Layer } from "../../api/experts";
import { bytes, count, percent } from "../../draw/format";
import { VirtualTable, type Column, type Sorting } from "../../parts/VirtualTable";
import { select, selectedLayer } from "../../state/selection";
import { expert, setExpert, type Measure } from "./state";
import { chooseCell, expertsFor } from "./words";

const LAYER_COLUMNS: readonly Column<Layer>[] = [
  { id: "layer", title: "Layer", width: 80, cell: layerText },
  { id: "used", title: "Chosen", width: 84, number: true, hint: "Experts chosen by any token", cell: (l) => `${l.n_experts - l.unused_experts} of ${l.n_experts}` },
  { id: "tokens", title: "Tokens", width: 74, number: true, hint: "For which its router chose, those of the prompt too", cell: (l) => count(l.n_tokens) },
  { id: "half", title: "Experts for half", width: 120, number: true, hint: "Number of experts, the most chosen first, that got half of the choices", cell: (l) => count(expertsFor(l, 0.5)) },
  { id: "most", title: "Experts for 90 %", width: 124, number: true, hint: "Likewise for 9 of 10 choices", cell: (l) => count(expertsFor(l, 0.9)) },
  { id: "evenness", title: "Evenness", width: 90, number: true, hint: "Entropy of the shares, relative to equal use of all experts", cell: (l) => percent(l.evenness) },
  { id: "stickiness", title: "Repeats", width: 78, number: true, hint: "Experts that the previous token had chosen, too", cell: (l) => (l.stickiness === null ? "no pair" : percent(l.stickiness)) },
  { id: "chance", title: "Expected by chance", width: 140, number: true, hint: "Repeats that independent and uniform choices would give", cell: (l) => percent(l.chance) },
  { id: "size", title: "Size each", width: 84, number: true, cell: (l) => bytes(l.expert_bytes) },
];

interface ExpertRow {
  readonly e: number;
  readonly l: Layer;
}

const EXPERT_COLUMNS: readonly Column<ExpertRow>[] = [
  { id: "e", title: "Expert", width: 70, number: true, cell: (r) => r.e },
  { id: "count", title: "Chosen", width: 80, number: true, cell: (r) => count(r.l.count[r.e]) },
  { id: "share", title: "Share", width: 74, number: true, cell: (r) => percent(r.l.choices ? (r.l.count[r.e] ?? 0) / r.l.choices : null) },
  { id: "batches", title: "Batches", width: 74, number: true, cell: (r) => count(r.l.batches[r.e]) },
  { id: "weight", title: "Weight", width: 90, number: true, cell: (r) => (r.l.count[r.e] ? percent(r.l.mean_weight[r.e]) : "") },
  { id: "last", title: "Last token", width: 96, number: true, cell: (r) => r.l.last_batch_id[r.e] ?? "never" },
  { id: "disk", title: "From disk", width: 100, number: true, cell: (r) => bytes(r.l.disk_read_bytes?.[r.e]) },
];

function sortValue(r: ExpertRow, id: string): number {
  const of: Record<string, number | null | undefined> = {
    e: r.e,
    count: r.l.count[r.e],
    share: r.l.count[r.e],
    batches: r.l.batches[r.e],
    weight: r.l.mean_weight[r.e],
    last: r.l.last_batch_id[r.e],
    disk: r.l.disk_read_bytes?.[r.e],
  };
  return of[id] ?? -1;
}

export function ExpertTable(props: { layer: Layer; measure: Measure }) {
  const { layer } = props;
  const order = useSignal<Sorting>({ id: "e", descending: false });
  const { id, descending } = order.value;
  const rows = useMemo(() => {
    const list = layer.count.map((_, e): ExpertRow => ({ e, l: layer }));
    const sign = descending ? -1 : 1;
    return list.sort((a, b) => sign * (sortValue(a, id) - sortValue(b, id)) || a.e - b.e);
  }, [layer, id, descending]);
  const at = rows.findIndex((r) => r.e === expert());
  return (
    <VirtualTable
      label={`Experts of ${layerText(layer)}`}
      columns={EXPERT_COLUMNS}
      count={rows.length}
      row={(i) => rows[i] ?? null}
      selected={at >= 0 ? at : null}
      onSelect={(_, r) => chooseCell(r.l, r.e, props.measure)}
      sorting={order.value}
      onSort={(column) => (order.value = { id: column, descending: column === id ? !descending : column !== "e" })}
    />
  );
}

export function LayerTable(props: { layers: readonly Layer[] }) {
  const { layers } = props;
  const at = layers.findIndex((l) => selectedLayer.value !== null && l.layer_id === selectedLayer.value);
  return (
    <VirtualTable
      label="Layers with experts"
      columns={LAYER_COLUMNS}
      count={layers.length}
      row={(i) => layers[i] ?? null}
      selected={at >= 0 ? at : null}
      onSelect={(_, l) => {
        setExpert(null, null);
        select({ layer: l.layer_id });
      }}
    />
  );
}
