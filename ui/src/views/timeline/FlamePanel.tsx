// The ops of the visible time as a flame chart, under the lanes.

import { Flame, FlameChoice, isOfSelection } from "../../parts/flame/Flame";
import { selection, selectedTrace } from "../../state/selection";
import { urlParam } from "../../state/url";
import { literal } from "../../state/logTerms";
import { settled } from "./settled";

const shown = urlParam("tl_flame", "0");

export function isFlameShown(): boolean {
  return shown.value === "1";
}

export function toggleFlame(): void {
  shown.value = isFlameShown() ? "0" : "1";
}

export function FlamePanel() {
  const { from, to } = settled.value.range;
  const { token, layer, tensor } = selection.value;
  const of = isOfSelection() ? { batch: token, batch_to: token, layer, tensor: tensor === null ? null : literal(tensor) } : {};
  return (
    <section class="tl-flame" aria-label="Flame chart of the time in view">
      <header>
        <strong>Time in view</strong> <FlameChoice />
      </header>
      <Flame trace={selectedTrace.value} params={{ ...of, from_ns: Math.round(from), to_ns: Math.round(to) }} />
    </section>
  );
}
