// The pages of the picture as a table: the same bins, the same numbers.

import { VirtualTable, type Column } from "../../parts/VirtualTable";
import { bytes, count, plainName } from "../../draw/format";
import { selectCell } from "./choose";
import { known } from "./data";
import { regionTitle } from "./describe";
import { LANES } from "./pageScene";
import { KINDS, shownBins, type Bins, type Cell, type Paged, type Span } from "./pages";

interface Line {
  readonly span: Span;
  readonly bin: number;
}

function lineOf(bins: Bins, starts: Uint32Array, i: number): Line | null {
  let low = 0;
  let high = bins.spans.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (starts[middle + 1]! <= i) low = middle + 1;
    else high = middle;
  }
  const span = bins.spans[low];
  return span ? { span, bin: i - starts[low]! } : null;
}

function bytesOf({ span, bin }: Line): { from: number; to: number } {
  const from = span.offset[bin]!;
  return { from: Math.max(span.from, from), to: Math.min(span.to, from + span.binBytes) };
}

/** The region in which the bytes begin. */
function regionOf(l: Line): number {
  const map = known.value!.map;
  const s = map.segments.segment.indexOf(l.span.segment);
  let low = map.segments.first_region[s]!;
  let high = low + map.segments.n_regions[s]!;
  const { from } = bytesOf(l);
  while (low + 1 < high) {
    const middle = (low + high) >> 1;
    if (map.regions.offset_bytes[middle]! <= from) low = middle;
    else high = middle;
  }
  return low;
}

const TITLES: Record<Paged, readonly string[]> = {
  pages: ["Major", "Minor", "Pages"],
  loading: LANES.loading.flatMap((lane) => lane.kinds.map((k) => k.words[0]!.toUpperCase() + k.words.slice(1))),
};

function columnsOf(paged: Paged): Column<Line>[] {
  return [
    { id: "in", title: "In", width: 110, cell: (l) => l.span.segment },
    { id: "offset", title: "Offset", width: 130, number: true, cell: (l) => count(bytesOf(l).from) },
    { id: "size", title: "Size", width: 80, number: true, cell: (l) => bytes(bytesOf(l).to - bytesOf(l).from) },
    { id: "tensor", title: "Tensor", width: 240, cell: (l) => plainName(regionTitle(known.value!.map, regionOf(l))) },
    ...KINDS[paged].map((kind, k) => ({
      id: kind,
      title: TITLES[paged][k]!,
      width: paged === "pages" ? 80 : 130,
      number: true,
      cell: (l: Line) => (paged === "pages" ? count : bytes)(l.span.values[k]![l.bin]!),
    })),
  ];
}

/** Of all rows, at this zoom. */
export function PagesTable(props: { paged: Paged }) {
  const bins = shownBins.value?.paged === props.paged && shownBins.value.map === known.value?.map ? shownBins.value : null;
  const starts = new Uint32Array((bins?.spans.length ?? 0) + 1);
  bins?.spans.forEach((s, i) => (starts[i + 1] = starts[i]! + s.offset.length));
  const choose = (l: Line) => {
    const { from, to } = bytesOf(l);
    const cell: Cell = { x: 0, width: 0, segment: l.span.segment, from, to, bytes: to - from, binBytes: l.span.binBytes, values: [] };
    if (known.value) selectCell(known.value, regionOf(l), cell);
  };
  return (
    <div class="map-table">
      <VirtualTable
        label={props.paged === "pages" ? "Pages that faulted, at this zoom" : "Pages that were loaded, at this zoom"}
        columns={columnsOf(props.paged)}
        count={starts[starts.length - 1]!}
        row={(i) => (bins ? lineOf(bins, starts, i) : null)}
        onSelect={(_, l) => choose(l)}
      />
    </div>
  );
}
