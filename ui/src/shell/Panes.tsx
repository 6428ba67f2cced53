// The views that are shown: one, or several beside each other.

import { useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { bind, setScopes } from "../input/keys";
import { announce } from "../parts/announce";
import { Divider } from "../parts/Divider";
import { Empty, Failure, Loading } from "../parts/messages";
import { NoOps } from "../parts/NoOps";
import { useSize } from "../parts/useSize";
import { notYet, traceState } from "../state/live";
import { selectedTrace } from "../state/selection";
import { index, loadIndex, loadTrace, summary, traceError } from "../state/trace";
import {
  changePane,
  closePane,
  currentView,
  focusPane,
  movePane,
  nextPane,
  PANE_LEAST,
  paneEnds,
  panes,
  resizePane,
  setPaneCount,
  showBeside,
  showPanes,
  shownView,
} from "../state/view";
import { VIEWS } from "../views/all";
import { fetchOthersWhenIdle, fetchView, loadedView } from "../views/loading";
import type { ViewEntry } from "../views/module";
import "./panes.css";

function Loaded(props: { view: ViewEntry }) {
  const { view } = props;
  const { Component, error } = loadedView(view);
  useEffect(() => {
    void fetchView(view).then(fetchOthersWhenIdle);
  }, [view]);
  if (Component) return <Component />;
  if (error) return <Failure error={error} retry={() => void fetchView(view)} />;
  return <Loading what={`the view ${view.title}`} />;
}

function View(props: { view: ViewEntry }) {
  const { view } = props;
  const retry = () => {
    void loadIndex();
    void loadTrace(selectedTrace.value);
  };
  if (notYet.value)
    return (
      <Empty title={traceState.value?.state === "waiting" ? "Waiting for the trace" : "The trace is being read"}>
        <p>{traceState.value?.error ?? "It will appear here automatically."}</p>
      </Empty>
    );
  if (traceError.value && !summary.value) return <Failure error={traceError.value} retry={retry} />;
  if (view.ofSeveralTraces && index.value) return <Loaded key={view.id} view={view} />;
  if (!summary.value) return <Loading what="the trace" />;
  if (summary.value.batches.batch_id.length === 0 && summary.value.n_ops === 0) return <NoOps />;
  return <Loaded key={view.id} view={view} />;
}

/** Which view it is, and what can be done with its pane. */
function Head(props: { view: ViewEntry; at: number; n: number }) {
  const { view, at, n } = props;
  return (
    <div class="pane-head" role="group" aria-label={`Pane of ${view.title}`}>
      <select aria-label="View of this pane" value={view.id} onChange={(event) => changePane(view.id, event.currentTarget.value)}>
        {VIEWS.map((v) => (
          <option key={v.id} value={v.id}>
            {v.title}
          </option>
        ))}
      </select>
      {at > 0 && (
        <button type="button" class="sign" title="Move to the left" aria-label={`Move ${view.title} to the left`} onClick={() => movePane(view.id, -1)}>
          ←
        </button>
      )}
      {at < n - 1 && (
        <button type="button" class="sign" title="Move to the right" aria-label={`Move ${view.title} to the right`} onClick={() => movePane(view.id, 1)}>
          →
        </button>
      )}
      <button type="button" class="sign" title="Close this pane" aria-label={`Close ${view.title}`} onClick={() => closePane(view.id)}>
        ×
      </button>
    </div>
  );
}

/** Pixels below which a view has to do with less beside its picture: its sheet asks for `.narrow`. */
const NARROW = 640;

function Pane(props: { view: ViewEntry; at: number; n: number; share: number }) {
  const { view, at, n } = props;
  const { ref, size } = useSize<HTMLElement>();
  const narrow = useComputed(() => size.value.width > 0 && size.value.width < NARROW);
  const focused = shownView.value === view;
  return (
    <section
      class={`pane${narrow.value ? " narrow" : ""}${n > 1 && focused ? " focused" : ""}`}
      ref={ref}
      style={{ flexGrow: props.share }}
      onFocusIn={() => focusPane(view.id)}
      onPointerDown={() => focusPane(view.id)}
    >
      {n > 1 && <Head view={view} at={at} n={n} />}
      <div
        id={focused ? "main" : `pane-${view.id}`}
        class="view"
        tabIndex={-1}
        role="tabpanel"
        aria-labelledby={`tab-${view.id}`}
      >
        <View view={view} />
      </div>
    </section>
  );
}

/** Removing a view loses the focus: it then moves to the start of the new view, not of the page. */
function useKeptFocus(box: { current: HTMLElement | null }): void {
  const wasInside = useRef(false);
  useEffect(() => {
    const onFocus = (event: FocusEvent) => {
      wasInside.current = box.current?.contains(event.target as Node) ?? false;
    };
    document.addEventListener("focusin", onFocus);
    return () => document.removeEventListener("focusin", onFocus);
  }, []);
  const shown = panes.value;
  useEffect(() => {
    if (wasInside.current && document.activeElement === document.body)
      document.getElementById("main")?.focus({ preventScroll: true });
  }, [shown]);
}

/** The focus of the page follows the pane that was gone to by a key. */
function goToPane(by: 1 | -1): void {
  if (panes.peek().length < 2) return announce("There is one view; Ctrl+\\ shows another beside it");
  nextPane(by);
  announce(shownView.peek().title);
  return void requestAnimationFrame(() => document.getElementById("main")?.focus({ preventScroll: true }));
}

function usePaneKeys(): void {
  const scope = "Everywhere";
  useEffect(
    () =>
      bind(
        { id: "pane.beside", keys: ["Ctrl+Backslash"], title: "Show another view beside this one", scope, run: () => setPaneCount(panes.peek().length + 1) },
        { id: "pane.close", keys: ["Ctrl+Shift+Backslash"], title: "Close this pane", scope, run: () => closePane(currentView()) },
        { id: "pane.next", keys: ["F6"], title: "Go to the next pane", scope, run: () => goToPane(1) },
        { id: "pane.previous", keys: ["Shift+F6"], title: "Go to the pane before", scope, run: () => goToPane(-1) },
        {
          id: "pane.three",
          keys: [],
          title: "Show map, graph and log side by side",
          scope,
          run: () => showPanes(["memory", "graph", "log"]),
        },
        ...VIEWS.map((view) => ({
          id: `pane.beside.${view.id}`,
          keys: [],
          title: `Show ${view.title} beside this view`,
          scope,
          run: () => showBeside(view.id),
        })),
      ),
    [],
  );
}

/** "Memory" and "Memory map" are scopes of the view Memory. */
function hasKeys(scope: string): boolean {
  const owner = VIEWS.find((v) => scope === v.title || scope.startsWith(`${v.title} `));
  return !owner || owner === shownView.peek();
}

export function Panes() {
  useEffect(() => setScopes(hasKeys), []);
  const box = useRef<HTMLDivElement>(null);
  useKeptFocus(box);
  usePaneKeys();
  const shown = panes.value;
  const ends = paneEnds.value;
  return (
    <div class="panes" ref={box}>
      {shown.flatMap((view, i) => [
        i > 0 && (
          <Divider
            key={`${i} edge`}
            upright
            label={`Between ${shown[i - 1]!.title} and ${view.title}`}
            share={ends[i - 1]!}
            least={(ends[i - 2] ?? 0) + PANE_LEAST}
            most={ends[i]! - PANE_LEAST}
            onShare={(share) => resizePane(i - 1, share)}
            within={box}
          />
        ),
        <Pane key={view.id} view={view} at={i} n={shown.length} share={ends[i]! - (ends[i - 1] ?? 0)} />,
      ])}
    </div>
  );
}
