// The views as small pictures: a click opens one.

import { signal, useSignalEffect } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { drawOn } from "../../draw/canvas";
import { isDark } from "../../draw/colour";
import { useSize } from "../../parts/useSize";
import { selectedTrace } from "../../state/selection";
import { generation, summary, tensors } from "../../state/trace";
import { showView } from "../../state/view";
import { VIEWS } from "../all";
import type { ViewEntry } from "../module";
import { THUMBS, type Draw } from "./thumbs";

const pictures = signal<ReadonlyMap<string, Draw | null>>(new Map());
let of = "";

/** One after the other: the server has only so many workers, and the overview itself comes first. */
async function load(trace: number, abort: AbortSignal): Promise<void> {
  for (const [view, get] of Object.entries(THUMBS)) {
    let draw: Draw | null = null;
    try {
      draw = await get(trace, abort);
    } catch {
      // A view that cannot be drawn here says why itself.
    }
    if (abort.aborted) return;
    pictures.value = new Map(pictures.peek()).set(view, draw);
  }
}

/** A growing trace's pictures are those of when it was opened: the views themselves are newer. */
function usePictures(ready: boolean): void {
  const key = summary.value?.growing ? `${selectedTrace.value}` : `${selectedTrace.value} ${generation.value}`;
  useEffect(() => {
    if (!ready || of === key) return undefined;
    if (of.split(" ")[0] !== key.split(" ")[0]) pictures.value = new Map();
    const abort = new AbortController();
    void load(selectedTrace.peek(), abort.signal).then(() => {
      if (!abort.signal.aborted) of = key;
    });
    return () => abort.abort();
  }, [ready, key, tensors.value === null]);
}

function Picture(props: { draw: Draw | null }) {
  const { ref, size } = useSize<HTMLSpanElement>();
  const canvas = useRef<HTMLCanvasElement>(null);
  const paint = (width: number, height: number, dark: boolean) => {
    if (!canvas.current || width === 0 || height === 0) return;
    drawOn(canvas.current, width, height, (c) => props.draw?.({ c, width, height, dark }));
  };
  useSignalEffect(() => paint(size.value.width, size.value.height, isDark.value));
  // The effect above runs when a signal changes; a new picture is not a signal, nor is the style sheet's theme.
  useEffect(() => paint(size.peek().width, size.peek().height, isDark.peek()), [props.draw, isDark.value]);
  return (
    <span class="thumb-picture" ref={ref} aria-hidden="true">
      <canvas ref={canvas} />
    </span>
  );
}

function Thumb(props: { view: ViewEntry; draw: Draw | null }) {
  const { view } = props;
  return (
    <li>
      <button type="button" class="thumb" title={view.about} aria-label={`${view.title}: ${view.about}`} onClick={() => showView(view.id)}>
        <Picture draw={props.draw} />
        <span>{view.title}</span>
      </button>
    </li>
  );
}

/** ready: the overview has been answered. */
export function Views(props: { ready: boolean }) {
  usePictures(props.ready);
  const known = pictures.value;
  // A view that has nothing to show has no picture either; until that is known it has an empty one.
  const shown = VIEWS.filter((v) => v.id in THUMBS && known.get(v.id) !== null);
  return (
    <nav class="thumbs" aria-label="Views as pictures">
      <ul>
        {shown.map((view) => (
          <Thumb key={view.id} view={view} draw={known.get(view.id) ?? null} />
        ))}
      </ul>
    </nav>
  );
}
