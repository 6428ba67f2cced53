// The layout worker as promises; whatever it does can be cancelled.

import type { Layout, LayoutAnswer, LayoutAsk } from "./layoutTypes";

export class Cancelled extends Error {
  constructor() {
    super("the layout was cancelled");
  }
}

interface Waiting {
  readonly done: (layout: Layout) => void;
  readonly failed: (reason: Error) => void;
}

export class Layouter {
  private worker: Worker | null = null;
  private readonly waiting = new Map<number, Waiting>();
  private next = 0;

  private start(): Worker {
    if (this.worker) return this.worker;
    const worker = new Worker("/graphLayout.worker.js");
    worker.addEventListener("message", (event: MessageEvent<LayoutAnswer>) => {
      const { id, layout, error } = event.data;
      const who = this.waiting.get(id);
      this.waiting.delete(id);
      if (layout) who?.done(layout);
      else who?.failed(new Error(error));
    });
    worker.addEventListener("error", () => {
      this.end(new Error("the page's layout worker could not be loaded; reload the page"));
    });
    this.worker = worker;
    return worker;
  }

  layout(ask: Omit<LayoutAsk, "id">): Promise<Layout> {
    const id = this.next++;
    return new Promise((done, failed) => {
      this.waiting.set(id, { done, failed });
      this.start().postMessage({ ...ask, id } satisfies LayoutAsk);
    });
  }

  private end(reason: Error): void {
    this.worker?.terminate();
    this.worker = null;
    const all = [...this.waiting.values()];
    this.waiting.clear();
    for (const each of all) each.failed(reason);
  }

  /** Cancels the running layout; its promise rejects. */
  cancel(): void {
    this.end(new Cancelled());
  }
}
