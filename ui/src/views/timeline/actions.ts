// Actions of the timeline's keys and buttons.

import { NONE, type Tile } from "../../api/tile";
import { duration } from "../../draw/format";
import { announce } from "../../parts/announce";
import { select, selection, type OpRef } from "../../state/selection";
import { tensors } from "../../state/trace";
import { selectLanes } from "../../state/timelineLanes";
import { timeAxis } from "../../state/timeWindow";
import { opDetails, opInWords, selectOp, type Step } from "./op";
import { onAxis } from "./other";
import { layout, toggleFold, togglePin, type Row } from "./rows";
import type { Scene } from "./scene";
import { sliceToken } from "./shapes";
import { intervalOf } from "./interval";

export function windowInWords(): string {
  const { from, to } = timeAxis.target;
  return `shows ${duration(to - from)} from ${duration(from)} on`;
}

export function selectSlice(tile: Tile, i: number): void {
  const s = tile.slices;
  const weight = s.weight[i]!;
  const layer = s.layer_id[i]!;
  const op = { run: s.run[i]!, node: s.node[i]! };
  const name = weight === NONE ? null : (tensors.peek()?.name[weight] ?? null);
  selectOp(op, sliceToken(tile, i), layer < 0 ? null : layer, name);
  void say(op);
}

async function say(op: OpRef): Promise<void> {
  const details = await opDetails(op).catch(() => null);
  if (details) announce(opInWords(details, duration));
}

/** Shows the selection as large as it fits. */
export async function fitSelection(): Promise<void> {
  const interval = await intervalOf(selection.peek());
  if (!interval) {
    announce("The selection has no time");
    return;
  }
  timeAxis.fit(interval[0], interval[1]);
  announce(`The timeline ${windowInWords()}`);
}

export function showAll(): void {
  timeAxis.all();
  announce(`The timeline ${windowInWords()}`);
}

/** Selects the visible time on all lanes. */
export function selectShown(): void {
  const { from, to } = timeAxis.target;
  selectLanes(null);
  select({ time: [from, to] });
  announce(`Selected ${duration(to - from)}, all threads`);
}

/** Scrolls it into view without changing the scale. */
function reveal(step: { start_relative_ns: number; end_relative_ns: number | null }, token: number | null): void {
  const { from, to } = timeAxis.target;
  const [begin, end] = onAxis(token, step.start_relative_ns, step.end_relative_ns ?? step.start_relative_ns);
  if (begin < from || end > to) timeAxis.centre(begin, end);
}

let stepping = false;

/** To the next op (or the one before) on the track that keys work on. */
export async function step(scene: Scene, forward: boolean): Promise<void> {
  if (stepping) return;
  stepping = true;
  try {
    const op = selection.peek().op;
    if (op) await stepFrom(scene, op, forward);
    else selectFirst(scene);
  } catch (reason) {
    announce(reason instanceof Error ? reason.message : String(reason));
  }
  stepping = false;
}

async function stepFrom(scene: Scene, op: OpRef, forward: boolean): Promise<void> {
  const row = currentRow(scene);
  const details = await opDetails(op);
  const lane = details.lanes.find((l) => l.track === row?.track) ?? details.lanes[0];
  const next: Step | null | undefined = forward ? lane?.behind : lane?.before;
  if (!next) {
    announce(forward ? "This is the last op of the thread" : "This is the first op of the thread");
    return;
  }
  const d = await opDetails(next);
  selectOp({ run: next.run, node: next.node }, d.batch_id, d.log.layer_id, d.tensor);
  reveal(next, d.batch_id);
  announce(opInWords(d, duration));
}

/** The first op in view of the track. */
function selectFirst(scene: Scene): void {
  const { from } = timeAxis.target;
  const row = currentRow(scene);
  const below = row?.kind === "otherLane";
  for (const { tile, range } of below ? scene.shownBelow : scene.shown) {
    const s = tile.slices;
    const first = Math.max(below ? range.from : 0, from - (row?.shift_ns ?? 0));
    for (let i = 0; i < s.n; i++)
      if (s.track[i] === row?.track && s.start_ns[i]! >= first) {
        selectSlice(tile, i);
        return;
      }
  }
  announce("No single ops of this thread at this zoom: zoom in");
}

export function currentRow(scene: Scene): Row | null {
  return layout.peek().rows.find((r) => r.id === scene.current.peek()) ?? null;
}

/** Moves to the row below or above. */
export function changeRow(scene: Scene, by: number): void {
  const { rows, fixed } = layout.peek();
  const at = rows.findIndex((r) => r.id === scene.current.peek());
  const row = rows[Math.min(rows.length - 1, Math.max(0, at + by))];
  if (!row) return;
  scene.current.value = row.id;
  if (!row.pinned) {
    const { height } = scene.size.peek();
    scene.scrollTo(Math.min(row.top - fixed, Math.max(scene.scroll.peek(), row.top + row.height - height + 6)));
  }
  announce(`${row.title}${row.pinned ? ", pinned" : ""}${row.folded ? ", folded" : ""}`);
}

export function pinRow(row: Row): void {
  if (row.kind === "tokens") {
    announce("The tokens always stay at the top");
    return;
  }
  announce(`${row.title} ${togglePin(row.id) ? "pinned" : "no longer pinned"}`);
}

export function foldRow(row: Row): void {
  announce(`${row.title} ${toggleFold(row.id) ? "folded" : "unfolded"}`);
}
