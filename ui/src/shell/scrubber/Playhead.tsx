// Where the film stands inside the selected token.

import { duration, plainName } from "../../draw/format";
import { momentWeight } from "../../state/moment";
import { playhead_ns, playheadRange, setPlayhead } from "../../state/playback";
import { tensors } from "../../state/trace";

export function Playhead() {
  const range = playheadRange.value;
  if (!range) return null;
  const [from, to] = range;
  const at = playhead_ns.value;
  const weight = momentWeight.value;
  const name = weight === null ? null : tensors.value?.name[weight];
  const words = at === null ? "the whole token" : `${duration(at - from)} of ${duration(to - from)}`;
  return (
    <label class="playhead" title="The moment inside the token (J and K: 0.01 ms, with Shift: an op)">
      <input
        type="range"
        aria-label="Moment inside the token"
        aria-valuetext={words}
        min={0}
        max={1000}
        step="any"
        value={at === null ? 0 : (1000 * (at - from)) / (to - from)}
        onInput={(event) => setPlayhead(from + ((to - from) * Number(event.currentTarget.value)) / 1000)}
      />
      <span class={name && at !== null ? "mono" : ""}>{at !== null && name ? plainName(name) : words}</span>
    </label>
  );
}
