// The chosen expert, its layer, and the legend of the colours.

import { layerText, type Layer, type Slice } from "../../api/experts";
import { bytes, count, percent, plainName } from "../../draw/format";
import { css, isDark, sequence } from "../../draw/colour";
import { select, selectedLayer, selectedTensor } from "../../state/selection";
import { extentOf } from "./draw";
import { expert, type Measure } from "./state";
import { expertsFor } from "./words";

export function Legend(props: { layers: readonly Layer[]; measure: Measure; marks: boolean }) {
  const x = extentOf(props.layers, props.measure);
  const dark = isDark.value;
  return (
    <div class="experts-legend">
      <span>{props.measure.text(x.least)}</span>
      <span class="experts-ramp" aria-hidden="true">
        {[0, 1, 2, 3, 4, 5, 6, 7].map((i) => (
          <span key={i} style={{ background: css(sequence(0.12 + (0.88 * i) / 7, dark)) }} />
        ))}
      </span>
      <span>{props.measure.text(x.most)}</span>
      <span>
        <span class="experts-none" aria-hidden="true" /> not chosen
      </span>
      {props.marks ? <span>◆ chosen by the selected token</span> : <span>Select a token to see what its routers chose, a cell for its expert</span>}
    </div>
  );
}

function SliceButton(props: { slice: Slice; e: number }) {
  const { slice, e } = props;
  const from = slice.file_offset_bytes + e * slice.expert_bytes;
  const choose = () => select({ tensor: slice.tensor, slice: e, region: { segment: `file${slice.model_file_id}`, from, to: from + slice.expert_bytes } });
  return (
    <li>
      <button type="button" aria-pressed={selectedTensor.value === slice.tensor} onClick={choose}>
        {plainName(slice.tensor)}
      </button>
      <br />
      {bytes(slice.expert_bytes)} at byte {count(from)}
    </li>
  );
}

function Expert(props: { l: Layer; e: number }) {
  const { l, e } = props;
  const often = l.count[e] ?? 0;
  const last = l.last_batch_id[e] ?? null;
  const facts: [string, string][] = [
    ["Chosen", `${count(often)} × (${percent(l.choices ? often / l.choices : null)} of the layer's choices)`],
    ["In batches", count(l.batches[e] ?? 0)],
    ["Mean weight", l.mean_weight[e] === null ? (often ? "not observed" : "never chosen") : percent(l.mean_weight[e])],
    ["Last chosen", last === null ? "never" : `by token ${last}`],
    ["Size", bytes(l.expert_bytes)],
    ["From disk", l.disk_read_bytes === null ? "not observed" : `about ${bytes(l.disk_read_bytes[e])}`],
  ];
  return (
    <>
      <h2>
        Expert {e} of {layerText(l)}
      </h2>
      <dl>
        {facts.map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <ul class="experts-slices" aria-label="Its slices of tensors">
        {l.slices.map((s) => (
          <SliceButton key={s.tensor} slice={s} e={e} />
        ))}
      </ul>
      {last !== null && (
        <button type="button" onClick={() => select({ token: last })}>
          Go to token {last}
        </button>
      )}
    </>
  );
}

export function Details(props: { layers: readonly Layer[] }) {
  const l = props.layers.find((x) => selectedLayer.value !== null && x.layer_id === selectedLayer.value);
  const e = expert();
  if (!l) return null;
  return (
    <section class="experts-details" aria-label="Details">
      {e !== null && e < l.n_experts && <Expert l={l} e={e} />}
      <h2>All of {layerText(l)}</h2>
      <dl>
        {(
          [
            ["Experts", `${l.n_experts - l.unused_experts} of ${l.n_experts} chosen`],
            ["Experts per token", count(l.n_picked)],
            ["Half of the choices", expertsFor(l, 0.5) === null ? "none" : `${expertsFor(l, 0.5)} experts`],
            ["Evenness", l.evenness === null ? "not known" : percent(l.evenness)],
            ["Repeated from the previous token", l.stickiness === null ? "no two tokens in a row" : `${percent(l.stickiness)} (expected by chance: ${percent(l.chance)})`],
          ] as const
        ).map(([name, text]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}
