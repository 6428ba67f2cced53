// The map as a table: the same regions, the same numbers.

import { useComputed, useSignal } from "@preact/signals";
import { VirtualTable, type Column, type Sorting } from "../../parts/VirtualTable";
import { bytes, count, plainName } from "../../draw/format";
import { selection } from "../../state/selection";
import { known, metric, nowNs } from "./data";
import { regionTitle, valueWords } from "./describe";
import { hasData, METRICS, METRIC_TITLES, valueOf, type Known, type Metric } from "./heat";
import { segmentTitle } from "./map";
import { selectRegion } from "./choose";
import { pagedOf } from "./pages";
import { layerName } from "../../state/layers";

/** A region, or one of its experts. */
interface Line {
  readonly region: number;
  readonly expert: number | null;
}

function unitOf(k: Known, l: Line): number {
  return l.expert === null ? l.region : k.map.regions.first_slice[l.region]! + l.expert;
}

function columnsOf(k: Known, now: number): (Column<Line> & { order: (l: Line) => number | string })[] {
  const { regions } = k.map;
  const metrics = METRICS.filter((m) => !pagedOf(m)).filter((m) => m !== "residency" || k.map.observed.residency).filter((m) => m !== "faults" || k.map.observed.faults);
  const number = (m: Metric, l: Line) => {
    const v = valueOf(k, m, unitOf(k, l), l.region, now);
    return typeof v === "number" ? v : -1;
  };
  return [
    { id: "in", title: "In", width: 200, cell: (l) => segmentTitle(k.map, k.map.segmentOf[l.region]!), order: (l) => k.map.segmentOf[l.region]! },
    {
      id: "tensor",
      title: "Tensor",
      width: 260,
      cell: (l) => plainName(regionTitle(k.map, l.region)) + (l.expert === null ? "" : ` [${l.expert}]`),
      order: (l) => regions.tensor[l.region] ?? "",
    },
    { id: "layer", title: "Layer", width: 60, number: true, cell: (l) => (regions.layer_id[l.region] === null ? "" : layerName(regions.layer_id[l.region]!)), order: (l) => regions.layer_id[l.region] ?? -1 },
    { id: "type", title: "Type", width: 60, cell: (l) => regions.type[l.region] ?? "", order: (l) => regions.type[l.region] ?? "" },
    { id: "offset", title: "Offset", width: 130, number: true, cell: (l) => count(regions.offset_bytes[l.region]), order: (l) => regions.offset_bytes[l.region]! },
    { id: "size", title: "Size", width: 90, number: true, cell: (l) => bytes(regions.size_bytes[l.region]), order: (l) => regions.size_bytes[l.region]! },
    ...metrics.map((m) => ({
      id: m,
      title: METRIC_TITLES[m],
      width: 110,
      number: true,
      cell: (l: Line) => valueWords(m, valueOf(k, m, unitOf(k, l), l.region, now)),
      order: (l: Line) => number(m, l),
    })),
  ];
}

export function TensorTable() {
  const sorting = useSignal<Sorting | null>(null);
  const columns = useComputed(() => (known.value ? columnsOf(known.value, nowNs.value) : []));
  const rows = useComputed<Line[]>(() => {
    const k = known.value;
    if (!k) return [];
    const list: Line[] = [];
    k.map.regions.kind.forEach((_, region) => {
      if (!hasData(k.map, region)) return;
      list.push({ region, expert: null });
      // Experts of the tensor that is selected: those of all would be too many to read.
      if (k.map.regions.tensor[region] === selection.value.tensor)
        for (let e = 0; e < k.map.regions.n_slices[region]!; e++) list.push({ region, expert: e });
    });
    const by = columns.value.find((c) => c.id === sorting.value?.id);
    const sign = sorting.value?.descending ? -1 : 1;
    if (by)
      list.sort((a, b) => {
        const [x, y] = [by.order(a), by.order(b)];
        return x < y ? -sign : x > y ? sign : a.region - b.region;
      });
    return list;
  });
  const chosen = rows.value.findIndex((l) => l.expert === null && known.value?.map.regions.tensor[l.region] === selection.value.tensor);
  return (
    <div class="map-table">
      <VirtualTable
        label={`Memory by region, with ${METRIC_TITLES[metric.value].toLowerCase()} and more`}
        columns={columns.value}
        count={rows.value.length}
        row={(i) => rows.value[i] ?? null}
        selected={chosen >= 0 ? chosen : null}
        onSelect={(_, l) => known.value && selectRegion(known.value, l.region, l.expert)}
        sorting={sorting.value}
        onSort={(id) => (sorting.value = { id, descending: sorting.value?.id === id ? !sorting.value.descending : true })}
      />
    </div>
  );
}
