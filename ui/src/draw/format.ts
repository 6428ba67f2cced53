// Numbers for people; always with a unit.

const TIMES: [number, string][] = [
  [1e9, "s"],
  [1e6, "ms"],
  [1e3, "us"],
  [1, "ns"],
];

/** Thousands are parted everywhere. */
const grouped = new Intl.NumberFormat("en");

function short(value: number): string {
  const digits = Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2;
  return Math.abs(value) >= 999.5 ? grouped.format(Math.round(value)) : value.toFixed(digits);
}

/** "1.25 ms"; null: "not observed". */
export function duration(ns: number | null | undefined): string {
  if (ns === null || ns === undefined || Number.isNaN(ns)) return "not observed";
  const size = Math.abs(ns);
  for (const [unit, name] of TIMES) if (size >= unit) return `${short(ns / unit)} ${name}`;
  return ns === 0 ? "0 ns" : `${short(ns)} ns`;
}

/** When something happened, in a sentence: "at 3.2 ms", "1.60 ms before the first token". */
export function when(ns: number | null | undefined): string {
  return ns != null && ns < 0 ? `${duration(-ns)} before the first token` : `at ${duration(ns)}`;
}

/** A time since the trace's origin, with enough digits to resolve one `step_ns`. */
export function moment(ns: number, step_ns: number): string {
  const [unit, name] = TIMES.find(([u]) => Math.max(Math.abs(ns), step_ns) >= u) ?? [1, "ns"];
  const digits = Math.max(0, Math.min(9, Math.ceil(-Math.log10(step_ns / unit))));
  return `${(ns / unit).toFixed(digits)} ${name}`;
}

/** Begin and end of a range, with the digits in which they differ: "1.66673 s", "1.66699 s". */
export function ends(range: readonly [number, number]): [string, string] {
  const step_ns = Math.max(1, (range[1] - range[0]) / 10);
  return [moment(range[0], step_ns), moment(range[1], step_ns)];
}

const SIZES = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];

/** Of an axis from 0 to that many bytes: the unit of its labels, and its name. */
export function byteUnit(most: number, step: number): { unit: number; name: string } {
  let i = Math.min(SIZES.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, most)) / 10)));
  // No more than three digits behind the point.
  while (i > 0 && step < 1024 ** i * 0.001) i--;
  return { unit: 1024 ** i, name: SIZES[i]! };
}

/** "12.5 MiB"; null: "not observed". */
export function bytes(n: number | null | undefined): string {
  if (n === null || n === undefined) return "not observed";
  let i = 0;
  while (Math.abs(n) >= 1024 && i < SIZES.length - 1) {
    n /= 1024;
    i++;
  }
  return i ? `${short(n)} ${SIZES[i]}` : `${grouped.format(n)} B`;
}

/** "12.4 GB/s" (10^9), as `tensortrace stats` has it; null: "not observed". */
export function rate(bytes_per_s: number | null | undefined): string {
  if (bytes_per_s === null || bytes_per_s === undefined) return "not observed";
  const units = ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"];
  let i = 0;
  while (bytes_per_s >= 999.5 && i < units.length - 1) {
    bytes_per_s /= 1000;
    i++;
  }
  return `${i ? short(bytes_per_s) : bytes_per_s.toFixed(0)} ${units[i]}`;
}

/** "45.5 tokens/s", "1,142 tokens/s". */
export function perSecond(n: number, what: string): string {
  return `${short(n)} ${what}/s`;
}

/** "1,234,567"; null: "not observed". */
export function count(n: number | null | undefined): string {
  return n === null || n === undefined ? "not observed" : grouped.format(n);
}

/** "1 op", "2,000 ops". */
export function counted(n: number, one: string, many = one + "s"): string {
  return `${grouped.format(n)} ${n === 1 ? one : many}`;
}

/** A share as per cent: "12.5 %". */
export function percent(share: number | null | undefined): string {
  if (share === null || share === undefined || Number.isNaN(share)) return "not observed";
  const value = share * 100;
  return `${value !== 0 && Math.abs(value) < 0.1 ? value.toPrecision(1) : value.toFixed(1)} %`;
}

/** "4096 x 32000", without trailing ones. */
export function shape(ne: readonly number[]): string {
  let n = ne.length;
  while (n > 1 && ne[n - 1] === 1) n--;
  return ne.slice(0, n).join(" x ");
}

/** A token's text with line ends, blanks and unprintable characters made visible. */
export function visible(text: string): string {
  return text
    .replace(/\n/g, "↵")
    .replace(/\t/g, "⇥")
    .replace(/ /g, "·")
    // Controls and marks that turn the direction of the text around them.
    .replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, "�");
}

/** A name on one line, without control characters. */
export function plainName(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, "�");
}
