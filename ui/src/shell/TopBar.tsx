// The trace's name, the views as tabs, and the search box.

import { useEffect } from "preact/hooks";
import { selectedTrace, select } from "../state/selection";
import { index, summary } from "../state/trace";
import { currentView, panes, showBeside, showView } from "../state/view";
import { plainName } from "../draw/format";
import { badOutputs } from "../state/bad";
import { VIEWS } from "../views/all";
import { Search } from "./search/Search";
import { Tools } from "./Tools";

function moveTab(event: KeyboardEvent, at: number): void {
  const step = { ArrowRight: 1, ArrowLeft: -1 }[event.code];
  const next = event.code === "Home" ? 0 : event.code === "End" ? VIEWS.length - 1 : step ? at + step : -1;
  const view = VIEWS[(next + VIEWS.length) % VIEWS.length];
  if (next < 0 && step === undefined) return;
  event.preventDefault();
  if (!view) return;
  showView(view.id);
  document.getElementById(`tab-${view.id}`)?.focus();
}

function TraceChoice() {
  const traces = index.value?.traces ?? [];
  const name = summary.value?.name ?? traces[selectedTrace.value]?.name ?? "";
  if (traces.length < 2) return <span class="trace-name">{plainName(name)}</span>;
  return (
    <label class="trace-name">
      <span class="sr-only">Trace</span>
      <select
        value={selectedTrace.value}
        onChange={(event) => select({ trace: Number(event.currentTarget.value) })}
      >
        {traces.map((t) => (
          <option value={t.id} key={t.id}>
            {plainName(t.name)}
          </option>
        ))}
      </select>
    </label>
  );
}

/** Where the tabs are a line that scrolls, the selected one stays in view. */
function useTabInSight(): void {
  const shown = currentView();
  useEffect(() => {
    document.getElementById(`tab-${shown}`)?.scrollIntoView({ block: "nearest", inline: "nearest" });
  }, [shown]);
}

export function TopBar() {
  useTabInSight();
  return (
    <header class="top">
      <h1>tensortrace</h1>
      <TraceChoice />
      <div class="tabs" role="tablist" aria-label="Views">
        {VIEWS.map((view, i) => {
          const shown = view.id === currentView();
          const beside = !shown && panes.value.includes(view);
          return (
            <button
              type="button"
              role="tab"
              id={`tab-${view.id}`}
              key={view.id}
              aria-selected={shown}
              aria-controls={beside ? `pane-${view.id}` : "main"}
              class={beside ? "beside" : undefined}
              tabIndex={shown ? 0 : -1}
              title={`${view.about} (${i}; Ctrl+click: beside the others)`}
              onClick={(event) => (event.ctrlKey || event.metaKey ? showBeside(view.id) : showView(view.id))}
              onKeyDown={(event) => moveTab(event, i)}
            >
              <kbd aria-hidden="true">{i}</kbd> {view.title}
              {view.id === "values" && badOutputs.value && <span class="tab-dot" role="img" aria-label="NaN or Inf" />}
            </button>
          );
        })}
      </div>
      <Search />
      <Tools />
    </header>
  );
}
