// The columns of the table of sums.

import { rowName, type Dimension, type StatsRow, type Sums } from "../../api/stats";
import { bytes, count, duration, percent, plainName, rate } from "../../draw/format";
import type { Column } from "../../parts/VirtualTable";

/** Share of the threads' time in the ops and at their barriers. */
export function waitShare(row: StatsRow): number | null {
  if (row.busy_ns === null || row.wait_ns === null) return null;
  const all = row.busy_ns + row.wait_ns;
  return all > 0 ? row.wait_ns / all : 0;
}

function Share(props: { share: number | null; most: number }) {
  const { share, most } = props;
  return (
    <span class="stats-share">
      <span class="stats-bar" style={{ width: `${share && most ? (share / most) * 100 : 0}%` }} />
      <span class="stats-share-text">{percent(share)}</span>
    </span>
  );
}

function weights(row: StatsRow): string {
  if (!row.weight_bytes) return "none";
  return (row.weight_bytes_at_most ? "≤ " : "") + bytes(row.weight_bytes);
}

/** What is copied of a column: the figure as the server sent it. */
function plain(key: keyof Sums): Pick<Column<StatsRow>, "key" | "value"> {
  return { key, value: (r) => r[key] ?? null };
}

const NAME_WIDTH: Record<string, number> = { tensor: 250, op: 160, component: 150 };

/** most: the largest share, at full width of the bar. */
export function columnsOf(dimension: Dimension, most: number): Column<StatsRow>[] {
  const list: Column<StatsRow>[] = [
    {
      id: "key",
      title: dimension.title,
      width: NAME_WIDTH[dimension.id] ?? 110,
      middle: true,
      cell: (r) => plainName(rowName(dimension, r)),
      key: dimension.key,
      value: (r) => r[dimension.key] ?? null,
      tip: (r) => plainName(rowName(dimension, r)),
    },
    { id: "share", ...plain("share"), title: "Share", width: 116, hint: "Share of the own work of all ops in this table", cell: (r) => <Share share={r.share} most={most} /> },
    { id: "total_ns", ...plain("total_ns"), title: "Total", width: 84, number: true, hint: "From the first thread's start of an op to the end of the last thread's work, summed", cell: (r) => duration(r.total_ns) },
    { id: "count", ...plain("count"), title: "Ops", width: 70, number: true, hint: dimension.id === "thread" ? "Ops that this thread worked on" : "Executed ops, each once however many threads worked on it", cell: (r) => count(r.count) },
    { id: "mean_ns", ...plain("mean_ns"), title: "Mean", width: 78, number: true, cell: (r) => duration(r.mean_ns) },
    { id: "median_ns", ...plain("median_ns"), title: "p50", width: 78, number: true, hint: "Median of the ops' times", cell: (r) => duration(r.median_ns) },
    { id: "p95_ns", ...plain("p95_ns"), title: "p95", width: 78, number: true, hint: "95th percentile of the ops' times", cell: (r) => duration(r.p95_ns) },
    { id: "max_ns", ...plain("max_ns"), title: "Max", width: 78, number: true, cell: (r) => duration(r.max_ns) },
    { id: "wait_ns", ...plain("wait_ns"), title: "Wait", width: 78, number: true, hint: "The threads' time at the barriers after the ops, summed", cell: (r) => duration(r.wait_ns) },
    { id: "wait_share", key: "wait_share", value: waitShare, title: "Wait share", width: 84, number: true, hint: "Share of the threads' time in the ops and at their barriers", cell: (r) => percent(waitShare(r)) },
    { id: "work_ns", ...plain("work_ns"), title: "Work", width: 84, number: true, hint: "The threads' time from an op's start to its barrier, summed, without their time off CPU and their waits inside the ops", cell: (r) => duration(r.work_ns) },
    { id: "off_cpu_ns", ...plain("off_cpu_ns"), title: "Off CPU", width: 78, number: true, hint: "The threads' time off CPU while they worked on an op, summed", cell: (r) => (r.off_cpu_ns === null ? "not observed" : duration(r.off_cpu_ns)) },
    { id: "wait_inside_ns", ...plain("wait_inside_ns"), title: "Inside", width: 78, number: true, hint: "The threads' time at barriers inside the ops, summed", cell: (r) => (r.wait_inside_ns === null ? "not observed" : duration(r.wait_inside_ns)) },
  ];
  // A thread's part of an op's reads is not known.
  if (dimension.id === "thread") return list;
  return [
    ...list,
    { id: "weight_bytes", ...plain("weight_bytes"), title: "Weights", width: 94, number: true, hint: "Bytes of weights read; ≤: at most, because the selected rows or experts were not observed", cell: weights },
    { id: "bytes_per_s", ...plain("bytes_per_s"), title: "Rate", width: 84, number: true, hint: "Bytes of weights per second of the ops' time", cell: (r) => (r.weight_bytes ? rate(r.bytes_per_s) : "") },
  ];
}

/** Sort key of a column; null last, but rows without layer or token first, as in `tensortrace
 * stats`. */
export function sortValue(dimension: Dimension, row: StatsRow, id: string): string | number | null {
  if (id === "key") return row[dimension.key] ?? -1;
  if (id === "wait_share") return waitShare(row);
  if (id === "share") return row.share;
  return (row[id as "total_ns"] as number | null | undefined) ?? null;
}

/** The server's name of a column's order; columns it cannot sort by are sorted by own work. */
export function serverOrder(id: string): string {
  const names: Record<string, string> = {
    key: "key",
    count: "count",
    total_ns: "total",
    mean_ns: "mean",
    median_ns: "p50",
    p95_ns: "p95",
    max_ns: "max",
    wait_ns: "wait",
    weight_bytes: "bytes",
    bytes_per_s: "rate",
  };
  return names[id] ?? "work";
}

export function sorted(dimension: Dimension, rows: readonly StatsRow[], id: string, descending: boolean): StatsRow[] {
  const sign = descending ? -1 : 1;
  return [...rows].sort((a, b) => {
    const x = sortValue(dimension, a, id);
    const y = sortValue(dimension, b, id);
    if (x === null || y === null) return x === y ? 0 : x === null ? 1 : -1;
    if (typeof x === "number" && typeof y === "number") return sign * (x - y);
    return sign * String(x).localeCompare(String(y), "en", { numeric: true });
  });
}
