// The tokens, one after the other: choosing, stepping, playing.

import { useEffect } from "preact/hooks";
import { css } from "../draw/colour";
import { count, duration } from "../draw/format";
import { bind } from "../input/keys";
import { announce } from "../parts/announce";
import { Units } from "../parts/Units";
import { changeSpeed, selectedIndex, setPlayhead, step, STEP_NS, stepPlayhead, togglePlaying } from "../state/playback";
import { stepOp } from "../state/moment";
import { compareWith, otherToken, selectedToken } from "../state/selection";
import { summary } from "../state/trace";
import { allTokensWords, phaseWord } from "../state/words";
import { Bars } from "./scrubber/Bars";
import { Controls } from "./scrubber/Controls";
import { Playhead } from "./scrubber/Playhead";
import { duration_ns, fullScale_ns, isCutOff, PHASE_COLOURS } from "./scrubber/strip";
import { Tape } from "./scrubber/Tape";
import "./scrubber/scrubber.css";

/** With the one after, if it is the first. */
function compareBefore(): void {
  const at = selectedIndex.peek();
  const ids = summary.peek()?.batches.batch_id;
  const token = otherToken.peek() ?? ids?.[at > 0 ? at - 1 : at + 1];
  if (at >= 0 && token !== undefined) compareWith(token);
  else announce("Select a token first");
}

function bindKeys(): () => void {
  const scope = "Everywhere";
  return bind(
    { id: "token.next", keys: ["KeyN"], title: "Next token", scope, run: () => void step(1) },
    { id: "token.previous", keys: ["KeyP"], title: "Previous token", scope, run: () => void step(-1) },
    { id: "token.compare", keys: ["KeyH"], title: "Compare the token with the one before, or no longer", scope, run: compareBefore },
    { id: "token.play", keys: ["Space"], title: "Play the tokens, or pause", scope, run: togglePlaying },
    { id: "token.slower", keys: ["key:<"], title: "Play slower", scope, run: () => changeSpeed(-1) },
    { id: "token.faster", keys: ["key:>"], title: "Play faster", scope, run: () => changeSpeed(1) },
    { id: "playhead.forward", keys: ["KeyK"], title: "Playhead: 0.01 ms forward inside the token", scope, run: () => stepPlayhead(STEP_NS) },
    { id: "playhead.back", keys: ["KeyJ"], title: "Playhead: 0.01 ms back inside the token", scope, run: () => stepPlayhead(-STEP_NS) },
    { id: "playhead.nextOp", keys: ["Shift+KeyK"], title: "Playhead: to the next op", scope, run: () => stepOp(1) },
    { id: "playhead.previousOp", keys: ["Shift+KeyJ"], title: "Playhead: to the op before", scope, run: () => stepOp(-1) },
    { id: "playhead.none", keys: [], title: "Playhead: none, the token as a whole", scope, run: () => setPlayhead(null) },
  );
}

/** The height of a full bar, and what the bars' signs mean. */
function Scale() {
  const batches = summary.value!.batches;
  const swatch = (phase: string) => <i style={{ background: css(PHASE_COLOURS[phase]!) }} />;
  const full = duration(fullScale_ns(batches));
  const isCut = batches.batch_id.some((_, i) => isCutOff(batches, i));
  return (
    <p class="strip-scale">
      <span title="The height of the bars: a bar is as high as its token took long">{full}</span>
      <span title="The prompt's bar is hatched">{swatch("prompt")}prompt</span>
      {isCut && (
        <span title={`Such a line above a bar: that token took longer than ${full}, the height of the bars, so its bar is cut off`}>
          <i class="cut" />
          over {full}
        </span>
      )}
    </p>
  );
}

/** The selected token in figures. */
function Readout() {
  const batches = summary.value!.batches;
  const n = batches.batch_id.length;
  const at = selectedIndex.value;
  if (selectedToken.value !== null && at < 0) return <p>Token {selectedToken.value} is not in the trace</p>;
  if (at < 0) return <p>{n === 0 ? "No token was recorded" : `All ${allTokensWords()}`}</p>;
  const n_tokens = batches.n_tokens[at]!;
  return (
    <p>
      Token <b>{batches.batch_id[at]}</b> ({count(at + 1)} of {count(n)}), {phaseWord(batches.phase[at]!)}
      {n_tokens > 1 && ` (${count(n_tokens)} at once)`}: <Units>{duration(duration_ns(batches, at))}</Units>
    </p>
  );
}

/** Under every view. */
export function Scrubber() {
  useEffect(bindKeys, []);
  const batches = summary.value?.batches;
  if (!batches) return null;
  return (
    <section class="scrubber" aria-label="Tokens">
      <Controls />
      <Scale />
      <div class="scrubber-middle">
        <Tape batches={batches} selected={selectedIndex.value} />
        <Bars />
      </div>
      <div class="scrubber-readout">
        <Readout />
        <Playhead />
      </div>
    </section>
  );
}
