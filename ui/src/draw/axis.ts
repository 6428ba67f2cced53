// A range of an axis (time, bytes) that is zoomed and panned, smoothly unless motion is reduced.

import { signal, type ReadonlySignal } from "@preact/signals";
import { reducedMotion } from "./colour";
import { byteUnit } from "./format";

export interface Range {
  readonly from: number;
  readonly to: number;
}

const MOVE_SECONDS = 0.18;

export class Axis {
  private readonly current = signal<Range>({ from: 0, to: 1 });
  private goal: Range = { from: 0, to: 1 };
  private start: Range = { from: 0, to: 1 };
  private started = 0;
  private frame = 0;
  /** The full extent. */
  private whole: Range = { from: 0, to: 1 };

  /** least: the smallest range that can be zoomed to. */
  constructor(private readonly least: number) {}

  /** The visible range. */
  get range(): ReadonlySignal<Range> {
    return this.current;
  }

  /** Where it moves to. */
  get target(): Range {
    return this.goal;
  }

  get extent(): Range {
    return this.whole;
  }

  /** Sets the extent; the visible range is kept where possible. */
  setExtent(from: number, to: number, show = false): void {
    const before = this.whole;
    const wasAll = this.goal.from <= before.from && this.goal.to >= before.to;
    this.whole = { from, to: Math.max(to, from + this.least) };
    this.go(show || wasAll ? this.whole : this.goal, true);
  }

  private bounded(r: Range): Range {
    const size = Math.min(Math.max(r.to - r.from, this.least), this.whole.to - this.whole.from);
    const middle = (r.from + r.to) / 2;
    let from = middle - size / 2;
    from = Math.max(this.whole.from, Math.min(from, this.whole.to - size));
    return { from, to: from + size };
  }

  /** Moves there; with `atOnce` (or reduced motion) in no time. */
  go(r: Range, atOnce = false): void {
    this.goal = this.bounded(r);
    if (atOnce || reducedMotion()) {
      cancelAnimationFrame(this.frame);
      this.frame = 0;
      this.current.value = this.goal;
      return;
    }
    this.start = this.current.peek();
    this.started = performance.now();
    if (!this.frame) this.frame = requestAnimationFrame((now) => this.step(now));
  }

  /** Zooms exponentially in time around a fixed position, so that going from a whole run to one op
   * has an even speed. */
  private step(now: number): void {
    const t = Math.min(1, Math.max(0, (now - this.started) / 1000 / MOVE_SECONDS));
    if (t === 1) {
      this.frame = 0;
      this.current.value = this.goal;
      return;
    }
    const p = 1 - (1 - t) ** 3;
    const { from, to } = this.start;
    const before = to - from;
    const after = this.goal.to - this.goal.from;
    const size = before * (after / before) ** p;
    const share = Math.abs(after - before) < before * 1e-9 ? p : (size - before) / (after - before);
    const at = from + (this.goal.from - from) * share;
    this.current.value = { from: at, to: at + size };
    this.frame = requestAnimationFrame((next) => this.step(next));
  }

  /** factor < 1 shows less; `at` stays where it is. */
  zoom(factor: number, at: number, atOnce = false): void {
    const { from, to } = this.goal;
    const size = Math.min(Math.max((to - from) * factor, this.least), this.whole.to - this.whole.from);
    const share = (at - from) / (to - from);
    this.go({ from: at - size * share, to: at + size * (1 - share) }, atOnce);
  }

  /** By a share of the visible range; > 0: to later times. */
  pan(share: number, atOnce = false): void {
    const by = (this.goal.to - this.goal.from) * share;
    this.go({ from: this.goal.from + by, to: this.goal.to + by }, atOnce);
  }

  /** Everything. */
  all(): void {
    this.go(this.whole);
  }

  /** Shows a range with a margin. */
  fit(from: number, to: number): void {
    const margin = Math.max((to - from) * 0.1, this.least / 2);
    this.go({ from: from - margin, to: to + margin });
  }

  /** Centres a range at the current scale; fits a longer one. */
  centre(from: number, to: number): void {
    const size = this.goal.to - this.goal.from;
    if (to - from > size) return this.fit(from, to);
    const middle = (from + to) / 2;
    return this.go({ from: middle - size / 2, to: middle + size / 2 });
  }
}

/** Round values of an axis, about one every `pixels_each`. */
export function ticks(range: Range, pixels: number, pixels_each = 110): { values: number[]; step: number } {
  const size = range.to - range.from;
  const rough = size / Math.max(1, pixels / pixels_each);
  const power = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? 10 * power;
  const values: number[] = [];
  for (let v = Math.ceil(range.from / step) * step; v <= range.to && values.length < 1000; v += step) values.push(v);
  return { values, step };
}

/** The same of bytes, with the digits in which neighbours differ: "4.002 GiB". */
export function byteTicks(range: Range, pixels: number, pixels_each = 110): { at: number; text: string }[] {
  const { unit, name } = byteUnit(range.to, ((range.to - range.from) / Math.max(1, pixels)) * pixels_each);
  const { values, step } = ticks({ from: range.from / unit, to: range.to / unit }, pixels, pixels_each);
  const digits = unit === 1 ? 0 : Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
  return values.map((v) => ({ at: v * unit, text: v === 0 ? "0" : `${v.toFixed(digits)} ${name}` }));
}
