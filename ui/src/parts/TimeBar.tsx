// Where time went: a bar of its parts, and the same as a table of numbers.

import { duration, percent } from "../draw/format";
import "./timeBar.css";

export interface TimePart {
  /** "work", "off_cpu", ... (docs/api-http.md, overview) */
  readonly part: string;
  readonly title: string;
  readonly time_ns: number;
  /** Of the usual one; null: not known, absent: not compared. */
  readonly usual_ns?: number | null;
}

const PARTS = [
  "work", "kernel", "wait", "processor", "throttled", "stopped", "off_cpu", "disk", "between_ops", "unrecorded", "between_batches", "idle",
];
/** A part of the bar so wide has room for its share. */
const LABELLED_FROM = 0.06;

/** The style sheet has a colour and a pattern for each. */
export function partClass(part: string): string {
  return PARTS.includes(part) ? `part-${part}` : "part-other";
}

/** of_ns: the length of the whole bar, which may be longer than its parts. */
export function TimeBar(props: { parts: readonly { part: string; title: string; ns: number }[]; of_ns: number; labelled?: boolean }) {
  const { of_ns } = props;
  return (
    <div class="time-bar" aria-hidden="true">
      {props.parts.map(({ part, title, ns }) => {
        const share = of_ns > 0 ? ns / of_ns : 0;
        if (share <= 0) return null;
        return (
          <span key={part} class={partClass(part)} style={{ width: `${100 * share}%` }} title={`${title}: ${duration(ns)}, ${percent(share)}`}>
            {props.labelled && share >= LABELLED_FROM && <b>{Math.round(100 * share)} %</b>}
          </span>
        );
      })}
    </div>
  );
}

/** The sign of a part in a legend. */
export function PartSign(props: { part: string }) {
  return <span class={`part-sign ${partClass(props.part)}`} aria-hidden="true" />;
}
