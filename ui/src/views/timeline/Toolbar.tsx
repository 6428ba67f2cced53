// Buttons, the visible range as text, and the legend.

import { CATEGORIES, css } from "../../draw/colour";
import { duration, ends } from "../../draw/format";
import { badOutputs } from "../../state/bad";
import { hasSelection } from "../../state/selection";
import { overview } from "../../state/timelineOverview";
import { fitSelection, selectShown, showAll } from "./actions";
import { isFlameShown, toggleFlame } from "./FlamePanel";
import { zoom } from "./keys";
import { categoryColour } from "./look";
import { OFF_CPU_INK, offCpuLack } from "./offCpu";
import { CAUSE_WORDS, pool } from "./pool";
import { CAUSE_SIGNS } from "./poolShapes";
import type { Scene } from "./scene";
import { settled } from "./settled";
import { waitingFor } from "./tiles";

function OffCpuSign() {
  const lack = offCpuLack();
  if (lack)
    return (
      <li class="tl-lack" title={`How long threads were off CPU was ${lack}`}>
        off CPU: not recorded
      </li>
    );
  return (
    <li title="At the bottom of an op, as high as its thread's share of the op off CPU is large: others had the processor, or it was asleep. When exactly is not recorded.">
      <span class="tl-swatch tl-off_cpu" style={{ backgroundColor: css(OFF_CPU_INK) }} /> off CPU
    </li>
  );
}

function Legend() {
  return (
    <ul class="tl-legend in-picture" aria-label="Legend">
      {CATEGORIES.map((category) => (
        <li key={category}>
          <span class={`tl-swatch tl-${category}`} style={{ backgroundColor: css(categoryColour(category)) }} /> {category}
        </li>
      ))}
      <li>
        <span class="tl-swatch tl-waits" /> waits
      </li>
      <OffCpuSign />
      {pool.value &&
        CAUSE_SIGNS.map(([cause, ink], i) => (
          <li key={cause} title={CAUSE_WORDS[cause]} class={i === 0 ? "tl-reads" : undefined}>
            {i === 0 && "reads: "}
            <span class={`tl-swatch tl-cause${i}`} style={{ backgroundColor: css(ink) }} /> {cause}
          </li>
        ))}
      {badOutputs.value && (
        <li>
          <span class="tl-swatch tl-bad" /> NaN or Inf in outputs
        </li>
      )}
    </ul>
  );
}

export function Toolbar(props: { scene: Scene | null }) {
  const { scene } = props;
  const { range } = settled.value;
  const left_out = overview.value?.left_out ?? 0;
  return (
    <div class="tl-toolbar" role="toolbar" aria-label="Timeline">
      <button type="button" title="Zoom in (W)" aria-label="Zoom in" onClick={() => scene && zoom(scene, 0.5, false)}>
        +
      </button>
      <button type="button" title="Zoom out (S)" aria-label="Zoom out" onClick={() => scene && zoom(scene, 2, false)}>
        −
      </button>
      <button type="button" title="Show all of the run (Shift+0)" onClick={showAll}>
        All
      </button>
      <button type="button" title="Fit the selection (F)" disabled={!hasSelection.value} onClick={() => void fitSelection()}>
        Fit
      </button>
      <button type="button" title="Select the time in view and sum its ops (M)" onClick={selectShown}>
        Sum
      </button>
      <button type="button" aria-pressed={isFlameShown()} title="A flame chart of the ops in view, under the lanes (Shift+F)" onClick={toggleFlame}>
        Flame
      </button>
      <span class="tl-window">
        {duration(range.to - range.from)} from {ends([range.from, range.to])[0]}
        {waitingFor.value > 0 && <span class="tl-waiting"> …</span>}
      </span>
      {left_out > 0 && (
        <span class="tl-left-out" title="They refer to threads or nodes that the trace does not describe: it is damaged">
          {left_out} records left out
        </span>
      )}
      <Legend />
    </div>
  );
}
