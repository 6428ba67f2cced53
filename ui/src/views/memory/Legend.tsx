// Legend of colours and patterns, with numbers.

import { css, isDark, sequence } from "../../draw/colour";
import { firstReason, glow, known, loadingHeat, partOfRun, partWords } from "./data";
import { scaleWords, valueWords } from "./describe";
import { Menu } from "../../parts/Menu";
import { useTallest } from "../../parts/useTallest";
import { PageLegend } from "./PageLegend";
import { pagedOf } from "./pages";
import { ramWords } from "./ram";
import { METRIC_ABOUT, METRIC_TITLES, middleOf, shareOf, type Metric, type Scale, type Scales } from "./heat";

function gradient(dark: boolean, reversed: boolean): string {
  const stops = Array.from({ length: 11 }, (_, i) => css(sequence((reversed ? 10 - i : i) / 10, dark)));
  return `linear-gradient(to right, ${stops.join(", ")})`;
}

function Ramp(props: { name: string; scale: Scale }) {
  const { scale, name } = props;
  if (scale.most === 0 && scale.metric !== "residency") return <span class="quiet">{name}: nothing in this part</span>;
  const one = scale.least === scale.most;
  return (
    <span class="ramp">
      <span class="quiet">{name}</span>
      {one ? null : valueWords(scale.metric, scale.least)}
      <i class={one ? "one" : ""} style={{ background: one ? css(sequence(shareOf(scale, scale.most), isDark.value)) : gradient(isDark.value, scale.metric === "recency") }} />
      {valueWords(scale.metric, scale.most)}
      {one && <span class="quiet">(all the same)</span>}
    </span>
  );
}

function isPending(m: Metric): boolean {
  const k = known.value;
  return !k || !k.heat || (m === "residency" && !k.residency) || (m === "faults" && !k.faults);
}

export function Legend(props: { scales: Scales }) {
  const { metric, model, work } = props.scales;
  const box = useTallest<HTMLDivElement>(metric);
  const paged = pagedOf(metric);
  if (paged) return <PageLegend paged={paged} />;
  if (isPending(metric))
    return (
      <div class="legend" role="status" ref={box}>
        <strong>{METRIC_TITLES[metric]}</strong>, {partWords.value}: being counted…
      </div>
    );
  const hasHeat = metric !== "residency" && metric !== "faults";
  const ram = metric === "residency" && known.value ? ramWords(known.value) : null;
  return (
    <div class="legend" aria-label="Legend" role="group" ref={box}>
      <span>
        <strong>{METRIC_TITLES[metric]}</strong>, {partWords.value}
        <span class={loadingHeat.value ? "" : "hidden-room"} aria-hidden={!loadingHeat.value}>
          {" …"}
        </span>
      </span>
      <Menu title="?" label="What the colours and signs mean" class="legend-more">
        <Signs scales={props.scales} />
      </Menu>
      {ram && <strong>{ram}</strong>}
      <Ramp name="weights" scale={model} />
      {hasHeat && <Ramp name="KV, compute" scale={work} />}
      {firstReason.value && <span class="quiet reason" title={firstReason.value}>{firstReason.value}</span>}
    </div>
  );
}

function Signs(props: { scales: Scales }) {
  const { metric, model } = props.scales;
  const glows = partOfRun.value === "glow" && metric !== "residency" && metric !== "faults";
  return (
    <ul>
      <li>
        {METRIC_TITLES[metric]}: {METRIC_ABOUT[metric]}
      </li>
      <li>
        Colours: {scaleWords(model)}
        {model.most > model.least * 4 && `, half-way ${valueWords(metric, middleOf(model))}`}
      </li>
      {glows && <li>Afterglow: what was used {glow.value - 1} tokens ago is palest</li>}
      <li>24×: ops that used it, where the tensor is wide enough</li>
      <li>
        <i class="sign never" /> never touched in this part
      </li>
      <li>
        <i class="sign unknown" /> not observed
      </li>
      <li>
        <i class="sign merged" /> several tensors in one mark, with their number
      </li>
      <li>
        <i class="sign copied" /> copied to a buffer when the model was loaded, and read there
      </li>
      <li>
        <b>≈</b> not to scale: small tensors are drawn wider, at the cost of their neighbours
      </li>
    </ul>
  );
}
