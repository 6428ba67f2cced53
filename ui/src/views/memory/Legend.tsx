// What the colours and patterns mean, in numbers.

import { css, isDark, sequence } from "../../draw/colour";
import { loadingHeat, partWords } from "./data";
import { scaleWords, valueWords } from "./describe";
import { METRIC_ABOUT, METRIC_TITLES, middleOf, type Scale } from "./heat";

function gradient(dark: boolean, reversed: boolean): string {
  const stops = Array.from({ length: 11 }, (_, i) => css(sequence((reversed ? 10 - i : i) / 10, dark)));
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

export function Legend(props: { scale: Scale }) {
  const { scale } = props;
  const empty = scale.most === 0 && scale.metric !== "residency";
  return (
    <div class="legend" aria-label="Legend" role="group">
      <span>
        <strong>{METRIC_TITLES[scale.metric]}</strong> ({METRIC_ABOUT[scale.metric]}), {partWords.value}
        {loadingHeat.value ? " …" : ""}
      </span>
      {empty ? (
        <span class="quiet">nothing to show in this part</span>
      ) : (
        <span class="ramp">
          {valueWords(scale.metric, scale.least)}
          <i style={{ background: gradient(isDark.value, scale.metric === "recency") }} />
          {valueWords(scale.metric, scale.most)}
          <span class="quiet">
            {scaleWords(scale)}, middle {valueWords(scale.metric, middleOf(scale))}
          </span>
        </span>
      )}
      <span class="signs">
        <i class="sign never" /> never touched
        <i class="sign unknown" /> not observed
        <i class="sign merged" /> several, drawn as one
        <i class="sign copied" /> read from a copy in a buffer
        <b>≈</b> not to scale: small ones are widened
      </span>
    </div>
  );
}
