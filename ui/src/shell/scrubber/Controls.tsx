// Play, step and speed.

import { playing, selectedIndex, setSpeed, speed, SPEEDS, step, togglePlaying } from "../../state/playback";
import { select, selectedToken } from "../../state/selection";
import { summary } from "../../state/trace";

export function Controls() {
  const n = summary.value?.batches.batch_id.length ?? 0;
  const at = selectedIndex.value;
  return (
    <div class="scrubber-controls" role="group" aria-label="Playback">
      <button type="button" class="sign" aria-label="Previous token" title="Previous token (P)" disabled={n === 0 || at === 0} onClick={() => step(-1)}>
        ◂
      </button>
      <button
        type="button"
        class="sign play"
        aria-label={playing.value ? "Pause" : "Play the tokens"}
        title={playing.value ? "Pause (Space)" : "Play the tokens (Space)"}
        disabled={n === 0}
        onClick={togglePlaying}
      >
        {playing.value ? "❚❚" : "▶"}
      </button>
      <button type="button" class="sign" aria-label="Next token" title="Next token (N)" disabled={n === 0 || at === n - 1} onClick={() => step(1)}>
        ▸
      </button>
      <select
        aria-label="Speed"
        title="Speed of playing (< slower, > faster)"
        value={speed.value.id}
        onChange={(event) => setSpeed(event.currentTarget.value)}
      >
        {[
          { label: "Token by token", list: SPEEDS.filter((s) => s.tokensPerS) },
          { label: "Inside the tokens", list: SPEEDS.filter((s) => s.realTime) },
        ].map(({ label, list }) => (
          <optgroup key={label} label={label}>
            {list.map((s) => (
              <option key={s.id} value={s.id}>
                {s.title}
              </option>
            ))}
          </optgroup>
        ))}
      </select>
      <button
        type="button"
        aria-pressed={selectedToken.value === null}
        title="All tokens together"
        onClick={() => select({ token: null })}
      >
        All
      </button>
    </div>
  );
}
