// The rows of a log under one filter: a bounded cache of blocks, and the number of rows, which the
// server may need a second to count.

import { signal } from "@preact/signals";
import { getJson, isAbort, Latest, ofTrace, type Params } from "../../api/client";
import type { LogCount, LogPlace, LogRow, LogRows } from "../../api/log";

const BLOCK = 100;
const BLOCKS_MAX = 60;

interface Ask {
  readonly first: number;
  readonly n: number;
}

function failure(reason: unknown): Error {
  return reason instanceof Error ? reason : new Error(String(reason));
}

export class LogRowsCache {
  /** Counts up when rows have come. */
  readonly version = signal(0);
  readonly count = signal<LogCount | null>(null);
  readonly error = signal<Error | null>(null);
  /** The selected op is not among the rows. */
  readonly leftOut = signal(false);
  private readonly blocks = new Map<number, (LogRow | undefined)[]>();
  /** Blocks of the trace before it grew: shown until they have come again. */
  private readonly stale = new Set<number>();
  private counted = false;
  private readonly abort = new AbortController();
  private wanted: Ask = { first: 0, n: BLOCK };
  private readonly latest: Latest<Ask, LogRows>;

  constructor(
    private readonly trace: number,
    private readonly params: Params,
    /** The same rows of the same trace before it grew. */
    before: LogRowsCache | null = null,
    /** Not more rows than these. */
    private readonly most = Infinity,
  ) {
    if (before) {
      this.count.value = before.count.peek();
      this.wanted = before.wanted;
      for (const [at, block] of before.blocks) {
        this.blocks.set(at, block);
        this.stale.add(at);
      }
    }
    this.latest = new Latest<Ask, LogRows>(
      (ask) => this.load<LogRows>("log/rows", { first: ask.first, n: ask.n }),
      (rows) => this.keep(rows),
      (reason) => this.fail(reason),
    );
    this.latest.ask({ first: 0, n: BLOCK });
  }

  /** Rows of a table: as many as are known to be, or probably are. */
  get length(): number {
    const c = this.count.value;
    return Math.min(this.most, !c ? 0 : c.done ? c.rows : Math.max(c.rows, c.rows_estimate));
  }

  row(i: number): LogRow | null {
    return this.blocks.get(Math.floor(i / BLOCK))?.[i % BLOCK] ?? null;
  }

  /** Requests missing blocks of the visible rows, and some around them. */
  want(first: number, n: number): void {
    this.wanted = { first, n };
    this.askForWanted();
  }

  /** Row of an op or a time; retried until it is known. Null: superseded. */
  async locate(what: { run: number; node: number } | { time_ns: number }): Promise<LogPlace | null> {
    for (;;) {
      try {
        const place = await this.load<LogPlace>("log/locate", what);
        if (this.abort.signal.aborted) return null;
        if (place.found || place.done) return place;
      } catch (reason) {
        this.fail(reason);
        return null;
      }
    }
  }

  /** The first row that also matches `more`; null: none, or superseded. */
  async first(more: Params): Promise<LogPlace | null> {
    try {
      for (;;) {
        const found = await this.load<LogRows>("log/rows", { ...more, first: 0, n: 1 });
        const [op] = found.ops;
        const [run] = found.run;
        if (op && run !== undefined) return await this.locate({ run, node: op.node });
        if (found.done) return null;
      }
    } catch {
      // Its failure does not fail the rows: there is only nothing to scroll to.
      return null;
    }
  }

  /** All loaded rows (for completions of names). */
  *loaded(): Iterable<LogRow> {
    for (const block of this.blocks.values()) for (const row of block) if (row) yield row;
  }

  retry(): void {
    this.error.value = null;
    this.askForWanted();
    if (!this.count.peek()) this.latest.ask({ first: 0, n: BLOCK });
  }

  dispose(): void {
    this.abort.abort();
  }

  private load<T>(name: string, more: Params): Promise<T> {
    return getJson<T>(ofTrace(this.trace, name), { ...this.params, ...more }, this.abort.signal);
  }

  private fail(reason: unknown): void {
    if (!isAbort(reason) && !this.abort.signal.aborted) this.error.value = failure(reason);
  }

  private askForWanted(): void {
    const { first, n } = this.wanted;
    const from = Math.floor(first / BLOCK);
    const to = Math.floor(Math.max(first, first + n - 1) / BLOCK);
    const count = this.count.peek();
    for (let b = from; b <= to; b++) {
      if (this.isWhole(b)) continue;
      // Rows that are not counted yet are requested once they are.
      if (count && b * BLOCK >= count.rows) continue;
      this.latest.ask({ first: b * BLOCK, n: Math.min(to - b + 1, 10) * BLOCK });
      return;
    }
  }

  private isWhole(b: number): boolean {
    const block = this.blocks.get(b);
    const count = this.count.peek();
    if (!block || !count || this.stale.has(b)) return false;
    const end = count.done ? Math.min(BLOCK, count.rows - b * BLOCK) : BLOCK;
    return block.length >= end;
  }

  private keep(rows: LogRows): void {
    if (this.abort.signal.aborted) return;
    for (let i = 0; i < rows.ops.length; i += BLOCK) {
      const block = rows.ops.slice(i, i + BLOCK).map((op, k) => ({ ...op, run: rows.run[i + k]! }));
      const at = (rows.first + i) / BLOCK;
      this.blocks.delete(at);
      this.blocks.set(at, block);
      this.stale.delete(at);
    }
    for (const oldest of this.blocks.keys()) {
      if (this.blocks.size <= BLOCKS_MAX) break;
      this.blocks.delete(oldest);
    }
    const firstTime = !this.counted;
    this.setCount(rows);
    this.version.value++;
    if (firstTime && !rows.done) void this.countOn();
    this.askForWanted();
  }

  private setCount(c: LogCount): void {
    if (this.counted && this.count.peek()?.done) return;
    this.counted = true;
    this.count.value = {
      rows: c.rows,
      done: c.done,
      runs_done: c.runs_done,
      runs: c.runs,
      rows_estimate: c.rows_estimate,
      ended_by: c.ended_by,
      ...(c.all_rows === undefined ? {} : { all_rows: c.all_rows }),
    };
  }

  private async countOn(): Promise<void> {
    try {
      while (!this.count.peek()?.done) {
        this.setCount(await this.load<LogCount>("log/count", {}));
        if (this.abort.signal.aborted) return;
        this.askForWanted();
      }
    } catch (reason) {
      this.fail(reason);
    }
  }
}
