// Legend of colours and patterns, with numbers.

import { css, isDark, sequence } from "../../draw/colour";
import { known, loadingHeat, partWords } from "./data";
import { scaleWords, valueWords } from "./describe";
import { PageLegend } from "./PageLegend";
import { pagedOf } from "./pages";
import { METRIC_TITLES, middleOf, shareOf, type Metric, type Scale, type Scales } from "./heat";

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
      {!one && scale.most > scale.least * 4 && <span class="quiet">(half-way {valueWords(scale.metric, middleOf(scale))})</span>}
    </span>
  );
}

function isPending(m: Metric): boolean {
  const k = known.value;
  return !k || !k.heat || (m === "residency" && !k.residency) || (m === "faults" && !k.faults);
}

export function Legend(props: { scales: Scales }) {
  const { metric, model, work } = props.scales;
  const paged = pagedOf(metric);
  if (paged) return <PageLegend paged={paged} />;
  if (isPending(metric))
    return (
      <div class="legend" role="status">
        <strong>{METRIC_TITLES[metric]}</strong>, {partWords.value}: being counted…
      </div>
    );
  const hasHeat = metric !== "residency" && metric !== "faults";
  return (
    <div class="legend" aria-label="Legend" role="group">
      <span>
        <strong>{METRIC_TITLES[metric]}</strong>, {partWords.value}
        {loadingHeat.value ? " …" : ""} <span class="quiet">({scaleWords(model)})</span>
      </span>
      <Ramp name="weights" scale={model} />
      {hasHeat && <Ramp name="KV, compute" scale={work} />}
      <span class="signs">
        <i class="sign never" /> never touched
        <i class="sign unknown" /> not observed
        <i class="sign merged" /> merged
        <i class="sign copied" /> copied at load
        <b title="Small tensors are drawn wider, at the cost of their neighbours">≈</b> not to scale
      </span>
    </div>
  );
}
