// The page: the top bar; the views, with the inspector beside them; the tokens below.

import { signal } from "@preact/signals";
import type { ComponentType } from "preact";
import { useEffect } from "preact/hooks";
import { bind } from "../input/keys";
import { announcement } from "../parts/announce";
import { clearSelection } from "../state/selection";
import { summary } from "../state/trace";
import { urlParam } from "../state/url";
import { panes, showView } from "../state/view";
import { VIEWS } from "../views/all";
import { Banner } from "./Banner";
import { Help } from "./Help";
import { Inspector } from "./Inspector";
import { Panes } from "./Panes";
import { Scrubber } from "./Scrubber";
import { NotesDialog } from "./Notes";
import { ShareDialog } from "./Share";
import { TopBar } from "./TopBar";

/** The map in two lines above the other views. Its code is large, and loaded when it is shown. */
const strip = urlParam("strip", "0");
const StripOfMemory = signal<ComponentType | null>(null);

function Strip() {
  useEffect(() => {
    // Without it, the view Memory says why the server does not answer.
    import("../views/memory/Bar").then((module) => (StripOfMemory.value = module.Bar)).catch(() => undefined);
  }, []);
  return StripOfMemory.value && <StripOfMemory.value />;
}

export function App() {
  useEffect(
    () =>
      bind(
        { id: "select.clear", keys: ["Escape"], title: "Clear the selection", scope: "Everywhere", run: clearSelection },
        {
          id: "memory.strip",
          keys: [],
          title: "Show or hide the strip of the memory above the other views",
          scope: "Everywhere",
          run: () => (strip.value = strip.value === "1" ? "0" : "1"),
        },
        ...VIEWS.map((view, i) => ({
          id: `view.${view.id}`,
          keys: [`Digit${i}`, `Numpad${i}`, ...(i === 0 ? ["Backquote"] : [])],
          title: `Show ${view.title}: ${view.about.toLowerCase()}`,
          scope: "Everywhere",
          run: () => showView(view.id),
        })),
      ),
    [],
  );
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
      {strip.value === "1" && summary.value && !panes.value.some((v) => v.id === "memory") && <Strip />}
      <div class="middle">
        <main>
          <Panes />
        </main>
        {summary.value && <Inspector />}
      </div>
      {summary.value && <Scrubber />}
      <Help />
      <ShareDialog />
      <NotesDialog />
      <div class="sr-only" aria-live="polite" role="status">
        {announcement.value}
      </div>
    </>
  );
}
