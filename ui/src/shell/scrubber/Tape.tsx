// The text of the tokens around the selected one, to read along. Only those in view are there,
// however long the text is.

import { useLayoutEffect, useMemo, useRef } from "preact/hooks";
import type { Batches } from "../../api/types";
import { visible } from "../../draw/format";
import { goToIndex } from "../../state/playback";
import { compareWith, otherToken } from "../../state/selection";

/** Tokens before and after, at least; more than fit on any screen. As long as these do, the same elements stay:
 * a film has no time to make them anew for each token. */
const AROUND = 70;
/** Of a prompt that is one batch. */
const LONGEST = 60;

function shortened(text: string): string {
  const shown = visible(text);
  return shown.length > LONGEST ? `${shown.slice(0, LONGEST / 2)} … ${shown.slice(-LONGEST / 2)}` : shown;
}

export function Tape(props: { batches: Batches; selected: number }) {
  const { batches, selected } = props;
  const window_ = useRef<HTMLDivElement>(null);
  const n = batches.batch_id.length;
  const from = Math.max(0, Math.floor(Math.max(0, selected) / AROUND) * AROUND - AROUND);
  const to = Math.min(n, from + 3 * AROUND);
  const other = otherToken.value;
  const tokens = useMemo(() => {
    const made = [];
    for (let i = from; i < to; i++) {
      const text = batches.text[i] ?? null;
      made.push(
        <span
          key={batches.batch_id[i]}
          class={`tape-token ${batches.phase[i]}`}
          data-index={i}
          data-other={batches.batch_id[i] === other ? "" : undefined}
          title={`token ${batches.batch_id[i]}`}
        >
          {text === null ? "?" : shortened(text) || "∅"}
        </span>,
      );
    }
    return made;
  }, [batches, from, to, other]);
  useLayoutEffect(() => {
    const box = window_.current;
    if (!box) return;
    const current = box.querySelector<HTMLElement>(`[data-index="${selected}"]`);
    box.querySelector("[data-current]")?.removeAttribute("data-current");
    current?.setAttribute("data-current", "");
    box.scrollLeft = current ? current.offsetLeft + current.offsetWidth / 2 - box.clientWidth / 2 : 0;
  });
  return (
    // The slider below has the same for screen readers.
    <div
      class="tape mono"
      aria-hidden="true"
      ref={window_}
      onClick={(event) => {
        const at = (event.target as Element).closest<HTMLElement>("[data-index]");
        if (!at) return;
        const i = Number(at.dataset.index);
        if (event.shiftKey) compareWith(batches.batch_id[i]!);
        else goToIndex(i);
      }}
    >
      {from > 0 && <span class="tape-more">…</span>}
      {tokens}
      {to < n && <span class="tape-more">…</span>}
    </div>
  );
}
