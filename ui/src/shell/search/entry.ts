// One line of the search box: what it says, and what choosing it does.

import { announce } from "../../parts/announce";
import { select, type Selection } from "../../state/selection";
import { showView } from "../../state/view";

export interface Entry {
  /** Unique in a list. */
  readonly key: string;
  readonly title: string;
  readonly about: string;
  /** Matching positions of the title. */
  readonly at?: readonly number[];
  /** The keys that do the same. */
  readonly chord?: string;
  /** Selects that. */
  readonly patch?: Partial<Selection>;
  /** What it selects is asked for first; null: there is none. */
  readonly find?: () => Promise<Partial<Selection> | null>;
  /** And shows this view. */
  readonly view?: string;
  /** A command instead. */
  readonly run?: () => void;
}

export interface EntryGroup {
  readonly title: string;
  /** In the trace; more than are listed, perhaps. */
  readonly count: number;
  readonly list: readonly Entry[];
}

function apply(patch: Partial<Selection>, view: string | undefined): void {
  if (view !== undefined) showView(view);
  select(patch);
}

/** Does it; what was selected can be chosen again later. */
export async function choose(entry: Entry): Promise<void> {
  if (entry.run) {
    entry.run();
    return remember(entry);
  }
  try {
    const patch = entry.patch ?? (await entry.find?.()) ?? null;
    if (!patch) return announce("There is none");
    apply(patch, entry.view);
    remember({ ...entry, patch });
  } catch (reason) {
    announce(reason instanceof Error ? reason.message : String(reason));
  }
}

const RECENT = "tensortrace.recent";
const RECENT_MOST = 6;
/** Of commands there is only the key. */
type Kept = Pick<Entry, "key" | "title" | "about" | "patch" | "view">;

function remember(entry: Entry): void {
  const { key, title, about, patch, view } = entry;
  const kept: Kept = { key, title, about, ...(patch ? { patch } : {}), ...(view === undefined ? {} : { view }) };
  try {
    const list = [kept, ...recent().filter((each) => each.key !== key)].slice(0, RECENT_MOST);
    sessionStorage.setItem(RECENT, JSON.stringify(list));
  } catch {
    // A browser that keeps nothing for pages: then nothing is recent.
  }
}

/** What was chosen in this tab, the newest first. */
export function recent(): Kept[] {
  try {
    const list = JSON.parse(sessionStorage.getItem(RECENT) ?? "[]") as unknown;
    return Array.isArray(list) ? (list as Kept[]) : [];
  } catch {
    return [];
  }
}
