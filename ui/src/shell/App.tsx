// The page: tabs at the top; memory bar, minimap and scrubber around one view; the inspector beside
// it.

import { useComputed } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { bind } from "../input/keys";
import { announcement } from "../parts/announce";
import { Empty, Failure, Loading } from "../parts/messages";
import { clearSelection } from "../state/selection";
import { notYet, traceState } from "../state/live";
import { index, loadIndex, loadTrace, summary, traceError } from "../state/trace";
import { selectedTrace } from "../state/selection";
import { currentView, shownView, showView } from "../state/view";
import { VIEWS } from "../views/all";
import { fetchOthersWhenIdle, fetchView, loadedView } from "../views/loading";
import type { ViewEntry } from "../views/module";
import { Bar as MemoryBar } from "../views/memory/Bar";
import { Banner } from "./Banner";
import { Help } from "./Help";
import { Inspector } from "./Inspector";
import { Minimap } from "./Minimap";
import { Scrubber } from "./Scrubber";
import { ShareDialog } from "./Share";
import { TopBar } from "./TopBar";

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

function View() {
  const view = shownView.value;
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
  if (summary.value.batches.batch_id.length === 0 && summary.value.n_ops === 0)
    return (
      <Empty title="Nothing was recorded">
        <p>The trace has no batches and no ops. `tensortrace info` shows what it contains.</p>
      </Empty>
    );
  return <Loaded key={view.id} view={view} />;
}

/** Removing a view loses the focus: it then moves to the start of the new view, not of the page. */
function useKeptFocus(): void {
  const wasInside = useRef(false);
  useEffect(() => {
    const onFocus = (event: FocusEvent) => {
      wasInside.current = document.getElementById("main")!.contains(event.target as Node);
    };
    document.addEventListener("focusin", onFocus);
    return () => document.removeEventListener("focusin", onFocus);
  }, []);
  const view = currentView();
  useEffect(() => {
    if (wasInside.current && document.activeElement === document.body)
      document.getElementById("main")!.focus({ preventScroll: true });
  }, [view]);
}

export function App() {
  useEffect(
    () =>
      bind(
        { id: "select.clear", keys: ["Escape"], title: "Clear the selection", scope: "Everywhere", run: clearSelection },
        ...VIEWS.map((view, i) => ({
          id: `view.${view.id}`,
          keys: [`Digit${i + 1}`, `Numpad${i + 1}`],
          title: `Show ${view.title}: ${view.about.toLowerCase()}`,
          scope: "Everywhere",
          run: () => showView(view.id),
        })),
      ),
    [],
  );
  useKeptFocus();
  const inMemory = useComputed(() => currentView() === "memory");
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => {
        event.preventDefault();
        document.getElementById("main")?.focus();
      }}>
        Skip to the view
      </a>
      <TopBar />
      <Banner />
      {!inMemory.value && summary.value && <MemoryBar />}
      <div class="middle">
        <main>
          <div id="main" class="view" tabIndex={-1} role="tabpanel" aria-labelledby={`tab-${currentView()}`}>
            <View />
          </div>
        </main>
        {summary.value && <Inspector />}
      </div>
      {summary.value && <Minimap />}
      {summary.value && <Scrubber />}
      <Help />
      <ShareDialog />
      <div class="sr-only" aria-live="polite" role="status">
        {announcement.value}
      </div>
    </>
  );
}
