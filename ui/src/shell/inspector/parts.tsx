// Token, layer, time range and region.

import { bytes, count, counted, duration, ends, moment, perSecond, plainName, visible } from "../../draw/format";
import { PageFaults } from "../../parts/PageFaults";
import { layerName } from "../../state/layers";
import { select, selectedToken, selection, type Region } from "../../state/selection";
import { batchIndex, summary, tensors } from "../../state/trace";
import { phaseWord, segmentWords } from "../../state/words";
import { Figure, Part, Within } from "./Part";
import { Used } from "./Used";
import { Why } from "./Why";

/** Of a prompt, as much as one looks at. */
const TEXT_MOST = 400;

export function TokenPart(props: { token: number }) {
  const batches = summary.value?.batches;
  const i = batchIndex(props.token);
  const clear = () => select({ token: null });
  if (!batches || i < 0)
    return (
      <Part kind="Token" title={props.token} onClear={clear}>
        <Figure name="Found">not in this trace</Figure>
      </Part>
    );
  const begin = batches.start_relative_ns[i] ?? null;
  const end = batches.end_relative_ns[i] ?? null;
  const n_tokens = batches.n_tokens[i]!;
  const took = begin === null || end === null ? null : end - begin;
  const text = batches.text[i] ?? null;
  return (
    <Part kind="Token" title={props.token} onClear={clear} views={["memory", "timeline", "graph", "log", "experts", "stats", "values"]}>
      <Figure name="Text">
        {text === null ? "not observed" : <span class="mono wrap">{visible(text.slice(0, TEXT_MOST))}{text.length > TEXT_MOST && " …"}</span>}
      </Figure>
      <Figure name="Phase">{phaseWord(batches.phase[i]!)}</Figure>
      {n_tokens > 1 && <Figure name="Tokens in the batch">{count(n_tokens)}</Figure>}
      <Figure name="Took">{duration(took)}</Figure>
      <Figure name="Begins at">{begin === null ? "not observed" : moment(begin, took || 1000)}</Figure>
      <Figure name="Speed">{took ? perSecond((n_tokens / took) * 1e9, "tokens") : "not observed"}</Figure>
      <Why of={{ batch: props.token }} />
      <Used filter={{ batch: props.token }} />
    </Part>
  );
}

export function LayerPart(props: { layer: number }) {
  const all = tensors.value;
  let n = 0;
  let size = 0;
  all?.layer_id.forEach((layer, i) => {
    if (layer !== props.layer) return;
    n++;
    size += all.size_bytes[i]!;
  });
  return (
    <Part kind="Layer" title={layerName(props.layer)} onClear={() => select({ layer: null })} views={["memory", "graph", "log", "experts", "stats", "values"]}>
      <Figure name="Weights">{all && n > 0 ? counted(n, "tensor") : "not known"}</Figure>
      <Figure name="Size">{all && n > 0 ? bytes(size) : "not known"}</Figure>
      <Why of={{ layer: props.layer, batch: selectedToken.value }} />
      {n > 0 && <Within />}
      {n > 0 && <Used filter={{ layer: props.layer, batch: selectedToken.value }} />}
    </Part>
  );
}

export function TimePart(props: { time: readonly [number, number] }) {
  const [from, to] = props.time;
  return (
    <Part kind="Time" title={duration(to - from)} onClear={() => select({ time: null })} views={["timeline", "log", "stats"]}>
      <Figure name="From">{ends(props.time)[0]}</Figure>
      <Figure name="To">{ends(props.time)[1]}</Figure>
      {to > 0 && to < Number.MAX_SAFE_INTEGER && (
        <Used filter={{ from_ns: Math.max(0, Math.round(from)), to_ns: Math.round(to) }} />
      )}
    </Part>
  );
}

/** Weights in a range of a file, by offset. */
function weightsIn(region: Region): string[] {
  const all = tensors.value;
  const file = /^file(\d+)$/.exec(region.segment);
  if (!all || !file) return [];
  const names: string[] = [];
  for (let i = 0; i < all.name.length; i++) {
    const from = all.file_offset_bytes[i]!;
    if (all.model_file_id[i] === Number(file[1]) && from < region.to && from + all.size_bytes[i]! > region.from)
      names.push(all.name[i]!);
  }
  return names;
}

const NAMES_MOST = 8;
const FAULTS_MOST = 8;

export function RegionPart(props: { region: Region }) {
  const { region } = props;
  const names = weightsIn(region);
  const { token, time } = selection.value;
  const params = time ? { from_ns: time[0], to_ns: time[1] } : { batch: token, batch_to: token };
  return (
    <Part kind="Region" title={segmentWords(region.segment)} onClear={() => select({ region: null })} views={["memory", "buffers", "log"]}>
      <Figure name="Size">{bytes(region.to - region.from)}</Figure>
      <Figure name="From byte">{count(region.from)}</Figure>
      <Figure name="To byte">{count(region.to)}</Figure>
      {names.length > 0 && (
        <Figure name="Weights">
          {names.slice(0, NAMES_MOST).map((name) => (
            <button type="button" class="link mono" key={name} onClick={() => select({ tensor: name })}>
              {plainName(name)}
            </button>
          ))}
          {names.length > NAMES_MOST && ` and ${counted(names.length - NAMES_MOST, "other")}`}
        </Figure>
      )}
      <PageFaults region={region} params={params} most={FAULTS_MOST} head="Page faults" chooses />
    </Part>
  );
}
