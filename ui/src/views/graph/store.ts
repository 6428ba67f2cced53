// State of the graph view: the graph of the selected token, its layout, and the cursor.

import { batch, signal } from "@preact/signals";
import { getJson, Latest, ofTrace } from "../../api/client";
import { announce } from "../../parts/announce";
import { Camera } from "./camera";
import { TokenGraph } from "./graph";
import { Cancelled, Layouter } from "./layouter";
import { itemOf } from "./path";
import type { GraphReply, SearchReply } from "./reply";
import { LayoutCache, SceneMaker, type Item, type Progress, type Scene } from "./scene";
import type { Selection } from "../../state/selection";
import { isUnseen, noteSeen } from "./seen";
import { selectedTensorOf, selectTensor } from "./select";
import { keptEye, openParts, setOpenParts, weightsShown } from "./state";

export interface Question {
  readonly trace: number;
  readonly token: number | null;
  readonly run: number | null;
  /** Of the trace: it may have grown. */
  readonly generation: number;
}

/** Identifies a box across layouts; tensor -1: the part. */
export interface Place {
  readonly part: number;
  readonly tensor: number;
}

/** Below this scale nothing is readable: the beginning is shown instead. */
const READABLE = 0.45;
const BEGIN_SCALE = 0.8;
/** The largest at which one box is fitted: its inputs and uses stay in view. */
const FIT_SCALE = 2.5;
const cache = new LayoutCache();

export class GraphStore {
  readonly graph = signal<TokenGraph | null>(null);
  readonly scene = signal<Scene | null>(null);
  readonly error = signal<Error | null>(null);
  readonly loading = signal(false);
  /** Of the running layout. */
  readonly progress = signal<Progress | null>(null);
  readonly cancelled = signal(false);
  readonly cursor = signal<Place | null>(null);
  readonly hits = signal<readonly number[]>([]);
  readonly hitsTotal = signal(0);
  readonly hit = signal<number | null>(null);
  /** The first view was chosen: what is selected can be brought into it. */
  readonly begun = signal(false);
  readonly camera = new Camera();
  private readonly layouter = new Layouter();
  private made = "";
  private underWay: { readonly key: string; readonly end: Promise<void> } | null = null;
  private making = 0;
  /** The text of the last search that was answered. */
  private found = "";
  /** The part that stays where it is when the picture changes. */
  private anchor: number | null = null;
  private readonly structures = new Map<number, string>();

  private readonly replies = new Latest<Question, GraphReply>(
    (q) => getJson<GraphReply>(ofTrace(q.trace, "graph"), { batch: q.run === null ? q.token : null, run: q.run }),
    (reply) => {
      batch(() => {
        this.loading.value = false;
        this.error.value = null;
        this.graph.value = new TokenGraph(reply);
      });
      if (reply.run !== null) this.structures.set(reply.run, reply.structure);
    },
    (reason) => {
      this.loading.value = false;
      this.error.value = reason instanceof Error ? reason : new Error(String(reason));
    },
  );

  private readonly searches = new Latest<{ trace: number; run: number | null; batch: number | null; q: string }, SearchReply>(
    ({ trace, ...params }) => getJson<SearchReply>(ofTrace(trace, "graph/search"), params),
    (reply, ask) => {
      const at = this.hit.peek();
      // The same text in another token's graph: who went through what was found stays where he was.
      const stays = at !== null && this.found === ask.q && reply.ids[at] === this.hits.peek()[at];
      batch(() => {
        this.hits.value = reply.ids;
        this.hitsTotal.value = reply.total;
        if (!stays) this.hit.value = null;
      });
      if (!stays) announce(`${reply.total} found`);
      this.found = ask.q;
    },
    (reason) => {
      this.error.value = reason instanceof Error ? reason : new Error(String(reason));
    },
  );

  ask(question: Question): void {
    this.loading.value = true;
    this.replies.ask(question);
  }

  search(trace: number, q: string): void {
    const g = this.graph.peek();
    if (!g || !q.trim()) {
      this.hits.value = [];
      this.hitsTotal.value = 0;
      this.hit.value = null;
      return;
    }
    this.searches.ask({ trace, q, run: g.reply.run, batch: g.reply.run === null ? g.reply.batch_id : null });
  }

  /** Whether a run computed a graph that is built as the one that is shown. */
  isAlike(run: number): boolean {
    return this.structures.get(run) === this.graph.value?.reply.structure;
  }

  /** Rebuilds the picture when the graph or the open parts change; ends when it is there. */
  async refresh(): Promise<void> {
    const g = this.graph.value;
    const wishes = { open: openParts(), weights: weightsShown() };
    if (!g) return;
    const key = [g.reply.structure, g.nTensors, wishes.weights, [...wishes.open].sort().join(".")].join(" ");
    if (key === this.made) return;
    if (key !== this.underWay?.key) this.underWay = { key, end: this.make(g, wishes, key) };
    const { end } = this.underWay;
    await end;
    if (this.underWay?.end === end) this.underWay = null;
  }

  private async make(g: TokenGraph, wishes: { open: ReadonlySet<string>; weights: boolean }, key: string): Promise<void> {
    const mine = ++this.making;
    if (this.progress.peek()) this.layouter.cancel();
    this.cancelled.value = false;
    const report = (p: Progress) => {
      if (mine === this.making) this.progress.value = p;
    };
    report({ done: 0, of: 1 });
    try {
      const scene = await new SceneMaker(g, wishes, this.layouter, cache, report).make();
      if (mine === this.making) this.show(scene, key);
    } catch (reason) {
      if (mine !== this.making) return;
      if (reason instanceof Cancelled) this.afterCancel();
      else this.error.value = reason instanceof Error ? reason : new Error(String(reason));
    } finally {
      if (mine === this.making) this.progress.value = null;
    }
  }

  private show(scene: Scene, key: string): void {
    const before = this.scene.peek();
    this.made = key;
    this.camera.setWhole(scene.width, scene.height);
    this.scene.value = scene;
    if (before) this.stay(before, scene);
  }

  /** Initial view: from the address, if it has one; else all, or the beginning if all would be
   * unreadable. Called when the picture and the canvas exist. */
  begin(scene: Scene, ask: boolean): void {
    this.begun.value = true;
    const kept = ask ? keptEye() : null;
    if (kept) {
      this.camera.go(kept, true);
      return;
    }
    this.camera.all(true);
    if (this.camera.target.scale >= READABLE) return;
    this.camera.fit({ x: 0, y: 0, w: scene.width, h: 1 }, true, BEGIN_SCALE);
    const { x, scale } = this.camera.target;
    this.camera.go({ x, y: -24 / scale, scale }, true);
  }

  /** The part that was opened, closed or looked at stays under the eye. */
  private stay(before: Scene, scene: Scene): void {
    const { x, y, scale } = this.camera.target;
    const part = this.anchor ?? this.partAt(before);
    this.anchor = null;
    const was = part === null ? undefined : before.items[before.partItem[part] ?? -1];
    const is = part === null ? undefined : scene.items[scene.partItem[part] ?? -1];
    if (!was || !is) return this.camera.go({ x, y, scale }, true);
    return this.camera.go({ x: x + is.x + is.w / 2 - was.x - was.w / 2, y: y + is.y - was.y, scale }, true);
  }

  private partAt(scene: Scene): number | null {
    const { y } = this.camera.target;
    const found = scene.partItem.findIndex((i) => (scene.items[i]?.y ?? 0) + (scene.items[i]?.h ?? 0) > y);
    return found < 0 ? null : found;
  }

  /** Cancels the running layout; the picture is kept. */
  cancel(): void {
    this.layouter.cancel();
  }

  private afterCancel(): void {
    const g = this.graph.peek();
    const scene = this.scene.peek();
    this.cancelled.value = true;
    announce("The layout was cancelled");
    if (!g || !scene) return;
    setOpenParts(scene.open.flatMap((open, part) => (open && part < g.nParts ? [g.partKey(part)] : [])));
    this.made = "";
  }

  /** Retries a cancelled layout. */
  retry(): void {
    this.made = "";
    void this.refresh();
  }

  toggle(part: number, open?: boolean): void {
    const g = this.graph.peek();
    if (!g) return;
    const keys = new Set(openParts());
    const key = g.partKey(part);
    const wanted = open ?? !keys.has(key);
    if (wanted === keys.has(key)) return;
    if (wanted) keys.add(key);
    else keys.delete(key);
    this.anchor = part;
    this.cursor.value = { part, tensor: -1 };
    setOpenParts(keys);
    announce(`${g.partSentence(part)}: ${wanted ? "opened" : "closed"}`);
  }

  toggleAll(open: boolean): void {
    const g = this.graph.peek();
    if (!g) return;
    setOpenParts(open ? Array.from({ length: g.nParts }, (_, part) => g.partKey(part)) : []);
  }

  itemIndex(place: Place | null): number | null {
    const scene = this.scene.value;
    const g = this.graph.value;
    if (!scene || !g || !place || place.part >= g.nParts) return null;
    const boxes = scene.boxesOf.get(place.tensor) ?? [];
    return boxes.find((i) => scene.items[i]!.part === place.part) ?? scene.partItem[place.part] ?? null;
  }

  /** Where a tensor is to be seen; opens its part when it is closed. */
  placeOf(tensor: number): Place | null {
    const g = this.graph.peek();
    if (!g || tensor < 0 || tensor >= g.nTensors) return null;
    if (g.isNode(tensor)) return { part: g.partOf(g.opOf(tensor)), tensor: g.opOf(tensor) };
    const user = g.consumers(tensor)[0];
    return user === undefined ? null : { part: g.partOf(user), tensor };
  }

  /** Moves to a tensor; its part is opened for that. A weight that is not drawn is where it is read. */
  async goTo(tensor: number, show = (place: Place) => this.centre(place)): Promise<void> {
    const g = this.graph.peek();
    const hidden = g && !weightsShown() && tensor >= 0 && tensor < g.nTensors && !g.isNode(tensor);
    const place = this.placeOf((hidden ? g.consumers(tensor)[0] : undefined) ?? tensor);
    if (!place) return;
    this.toggle(place.part, true);
    await this.refresh();
    this.cursor.value = place;
    show(place);
  }

  private boxOf(place: Place): Item | undefined {
    const item = this.itemIndex(place);
    return item === null ? undefined : this.scene.peek()?.items[item];
  }

  centre(place: Place): void {
    const box = this.boxOf(place);
    if (box) this.camera.centre(box, 0.8);
  }

  fit(place: Place): void {
    const box = this.boxOf(place);
    if (box) this.camera.fit(box, false, FIT_SCALE);
  }

  /** What another view selected is shown: an op or a tensor in its opened layer, or the layer. */
  bring(s: Selection): void {
    const g = this.graph.peek();
    if (!g) return;
    const unseen = isUnseen(s);
    const tensor = selectedTensorOf(g, s, (run) => this.isAlike(run));
    // Of another run: its graph is loading.
    if (unseen && tensor === null && s.op && g.reply.run !== s.op.run) return;
    noteSeen(s);
    if (!unseen) return;
    const part = s.layer === null ? -1 : g.partOfLayer(s.layer);
    if (tensor !== null) void this.goTo(tensor);
    else if (part >= 0) this.centre({ part, tensor: -1 });
  }

  /** The next (or previous) search result, selected. */
  nextHit(by: 1 | -1): void {
    const hits = this.hits.peek();
    if (!hits.length) return;
    const at = this.hit.peek();
    const next = at === null ? (by === 1 ? 0 : hits.length - 1) : (at + by + hits.length) % hits.length;
    this.hit.value = next;
    const g = this.graph.peek();
    if (g) announce(`${next + 1} of ${hits.length}: ${g.sentence(hits[next]!)}`);
    if (g) selectTensor(g, hits[next]!);
    void this.goTo(hits[next]!);
  }

  setCursor(item: Item): void {
    const g = this.graph.peek();
    this.cursor.value = { part: item.part, tensor: item.tensor };
    this.camera.reveal(item);
    if (g) announce(item.kind === "part" ? g.partSentence(item.part) : g.sentence(item.tensor));
  }

  /** The box (or closed part) of an op. */
  opItem(node: number): number | null {
    const g = this.graph.value;
    const scene = this.scene.value;
    return g && scene && node < g.nNodes ? itemOf(g, scene, g.opOf(node)) : null;
  }

  dispose(): void {
    this.layouter.cancel();
    this.camera.stop();
  }
}
