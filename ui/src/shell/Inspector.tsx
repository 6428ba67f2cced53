// Details of the selection.

import { useRef } from "preact/hooks";
import { useSignalEffect } from "@preact/signals";
import { announceCommon } from "../parts/announce";
import { playing } from "../state/playback";
import { urlParam } from "../state/url";
import { clearSelection, hasSelection, selection } from "../state/selection";
import { selectionWords } from "../state/words";
import { LayerPart, RegionPart, TimePart, TokenPart } from "./inspector/parts";
import { OpPart } from "./inspector/OpPart";
import { RunPart } from "./inspector/RunPart";
import { TensorPart } from "./inspector/TensorPart";
import "./inspector/inspector.css";

const shown = urlParam("inspector", "1");

/** Screen readers announce the selection wherever it was made. */
function useSpoken(): void {
  const had = useRef(false);
  useSignalEffect(() => {
    const words = selectionWords(selection.value);
    if ((hasSelection.value || had.current) && !playing.value) announceCommon(words);
    had.current = hasSelection.value;
  });
}

/** Beside the view. */
export function Inspector() {
  useSpoken();
  const s = selection.value;
  if (shown.value === "0")
    return (
      <aside class="inspector folded" aria-label="Inspector">
        <button type="button" aria-label="Show the inspector" title="Show the inspector" aria-expanded="false" onClick={() => (shown.value = "1")}>
          ‹
        </button>
      </aside>
    );
  return (
    <aside class="inspector" aria-label="Inspector">
      <div class="inspector-head">
        <h2>{hasSelection.value ? "Selected" : "The run"}</h2>
        {hasSelection.value && (
          <button type="button" title="Clear the selection (Esc)" onClick={clearSelection}>
            Clear
          </button>
        )}
        <button type="button" aria-label="Hide the inspector" title="Hide the inspector" aria-expanded="true" onClick={() => (shown.value = "0")}>
          ›
        </button>
      </div>
      <div class="inspector-body" tabIndex={0} role="group" aria-label="Details">
        {s.op && <OpPart op={s.op} />}
        {s.tensor !== null && <TensorPart name={s.tensor} />}
        {s.region && <RegionPart region={s.region} />}
        {s.layer !== null && <LayerPart layer={s.layer} />}
        {s.token !== null && <TokenPart token={s.token} />}
        {s.time && <TimePart time={s.time} />}
        {!hasSelection.value && <RunPart />}
      </div>
    </aside>
  );
}
