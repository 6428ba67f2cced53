// Details of the selection.

import { useEffect, useRef } from "preact/hooks";
import { bind } from "../input/keys";
import { computed, signal, useSignalEffect } from "@preact/signals";
import { announceCommon } from "../parts/announce";
import { Divider } from "../parts/Divider";
import { playing } from "../state/playback";
import { isNarrow } from "../state/screen";
import { rawParam } from "../state/url";
import { clearSelection, hasSelection, selection } from "../state/selection";
import { selectionWords } from "../state/words";
import { LayerPart, RegionPart, TimePart, TokenPart } from "./inspector/parts";
import { OpPart } from "./inspector/OpPart";
import { NotesPart } from "./Notes";
import { RunPart } from "./inspector/RunPart";
import { TokensPart } from "./inspector/TokensPart";
import { TensorPart } from "./inspector/TensorPart";
import "./inspector/inspector.css";

const WIDTH = 300;
const WIDTH_LEAST = 180;
const KEPT = "tensortrace.inspector";
/** "0": shut; else its width in pixels. The address comes before what this browser remembers. */
const inAddress = rawParam("inspector");

function remembered(): string | null {
  try {
    return localStorage.getItem(KEPT);
  } catch {
    return null;
  }
}

const kept = signal(remembered());

function setShown(value: string): void {
  inAddress.value = value;
  kept.value = value;
  try {
    localStorage.setItem(KEPT, value);
  } catch {
    // A browser that keeps nothing for pages: the address does.
  }
}

/** Its width; 0: it is shut. Below the view it is shut at first: there is little room. */
const width = computed(() => {
  const said = inAddress.value ?? (isNarrow.value ? "0" : kept.value);
  const pixels = said === null || said === "1" ? WIDTH : Number(said);
  return Number.isFinite(pixels) ? (pixels <= 0 ? 0 : Math.max(WIDTH_LEAST, Math.round(pixels))) : WIDTH;
});

/** Of before it was shut. */
let wide = WIDTH;

function toggle(): void {
  if (width.peek() > 0) {
    wide = width.peek();
    setShown("0");
  } else setShown(String(wide));
}

/** Screen readers announce the selection wherever it was made. */
function useSpoken(): void {
  const had = useRef(false);
  useSignalEffect(() => {
    const words = selectionWords(selection.value);
    if ((hasSelection.value || had.current) && !playing.value) announceCommon(words);
    had.current = hasSelection.value;
  });
}

function Folded() {
  const words = hasSelection.value ? selectionWords(selection.value) : "The run";
  const name = isNarrow.value ? `${words}: show the inspector` : "Show the inspector";
  return (
    <aside class="inspector folded" aria-label="Inspector">
      <button type="button" aria-label={name} title="Show the inspector (I)" aria-expanded="false" onClick={toggle}>
        {isNarrow.value ? <><span aria-hidden="true">▴ </span>{words}</> : "‹"}
      </button>
    </aside>
  );
}

/** Its left edge; the divider speaks of shares of what it divides. */
function Edge() {
  const within = { current: document.querySelector<HTMLElement>(".middle") };
  const room = within.current?.clientWidth ?? innerWidth;
  return (
    <Divider
      upright
      label="View and inspector"
      share={1 - width.value / room}
      least={0.3}
      most={1 - WIDTH_LEAST / room}
      onShare={(share) => setShown(String(Math.round((1 - share) * room)))}
      within={within}
    />
  );
}

/** Beside the view; in a narrow window below it. */
export function Inspector() {
  useSpoken();
  useEffect(() => bind({ id: "inspector.toggle", keys: ["KeyI"], title: "Show or hide the inspector", scope: "Everywhere", run: toggle }), []);
  const s = selection.value;
  if (width.value === 0) return <Folded />;
  return (
    <aside class="inspector" aria-label="Inspector" style={{ flexBasis: isNarrow.value ? "" : `${width.value}px` }}>
      {!isNarrow.value && <Edge />}
      <div class="inspector-head">
        <h2>{hasSelection.value ? "Selected" : "The run"}</h2>
        {hasSelection.value && (
          <button type="button" title="Clear the selection (Esc)" onClick={clearSelection}>
            Clear
          </button>
        )}
        <button type="button" aria-label="Hide the inspector" title="Hide the inspector (I)" aria-expanded="true" onClick={toggle}>
          {isNarrow.value ? "▾" : "›"}
        </button>
      </div>
      <div class="inspector-body" tabIndex={0} role="group" aria-label="Details">
        {s.token !== null && s.token2 !== null && <TokensPart token={s.token} other={s.token2} />}
        {s.op && <OpPart op={s.op} />}
        {s.tensor !== null && <TensorPart name={s.tensor} />}
        {s.region && <RegionPart region={s.region} />}
        {s.layer !== null && <LayerPart layer={s.layer} />}
        {s.token !== null && <TokenPart token={s.token} />}
        {s.time && <TimePart time={s.time} />}
        {!hasSelection.value && <RunPart />}
        <NotesPart />
      </div>
    </aside>
  );
}
