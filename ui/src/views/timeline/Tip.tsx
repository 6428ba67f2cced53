// What lies under the pointer, in words.

import { bytes, count, counted, duration, moment, percent, plainName } from "../../draw/format";
import { Tooltip } from "../../parts/Tooltip";
import { badWords } from "../../state/bad";
import { summary, tensors } from "../../state/trace";
import type { Hit } from "./hit";
import { sliceName, sliceToken } from "./shapes";
import { FUSED, NONE, OPEN } from "./tile";
import { batchAt, batchText } from "./tokens";

function SliceTip(props: { hit: Extract<Hit, { kind: "slice" }> }) {
  const { tile, i, row } = props.hit;
  const s = tile.slices;
  const kind = tile.kinds[s.kind[i]!]!;
  const open = (s.flags[i]! & OPEN) !== 0;
  const weight = s.weight[i] === NONE ? null : s.weight[i]!;
  const t = tensors.value;
  const bad = badWords(s.run[i]!, s.node[i]!);
  return (
    <>
      <strong>{plainName(sliceName(tile, i))}</strong>
      <div>
        {kind.op}
        {s.flags[i]! & FUSED ? " (fused)" : ""} · {kind.category}
        {s.layer_id[i]! >= 0 && ` · layer ${s.layer_id[i]}`}
        {sliceToken(tile, i) !== null && ` · token ${sliceToken(tile, i)}`}
      </div>
      <div>
        {row.title}: busy {open ? "not observed (its end was not seen)" : duration(s.busy_ns[i])}, waits{" "}
        {open ? "not observed" : duration(s.wait_ns[i])}
      </div>
      {bad && <strong>{bad}</strong>}
      <div>at {moment(s.start_ns[i]!, Math.max(1, s.busy_ns[i]! / 10))}</div>
      {weight !== null && t && (
        <div>
          reads {plainName(t.name[weight] ?? "")} ({t.type[weight]}, {bytes(t.size_bytes[weight])})
        </div>
      )}
    </>
  );
}

function MergedTip(props: { hit: Extract<Hit, { kind: "merged" }> }) {
  const { tile, i, row } = props.hit;
  const m = tile.merged;
  const kind = tile.kinds[m.kind[i]!];
  return (
    <>
      <strong>{counted(m.count[i]!, "op")} together</strong>
      <div>
        {row.title}, {duration(tile.bucket_ns)}: busy {percent(m.busy_ns[i]! / tile.bucket_ns)}, waits{" "}
        {percent(m.wait_ns[i]! / tile.bucket_ns)}
      </div>
      {kind && (
        <div>
          mostly {kind.op} ({kind.category})
        </div>
      )}
      <div>Zoom in to see each</div>
    </>
  );
}

function RowTip(props: { hit: Extract<Hit, { kind: "row" }> }) {
  const { row, at_ns } = props.hit;
  const b = summary.value?.batches;
  if (row.kind === "tokens" && b) {
    const i = batchAt(b, at_ns);
    if (i < 0 || at_ns > (b.end_ns[i] ?? Infinity)) return null;
    const took = b.end_ns[i] == null || b.begin_ns[i] == null ? null : b.end_ns[i] - b.begin_ns[i];
    return (
      <>
        <strong>token {b.batch_id[i]}</strong> ({b.phase[i]}, {counted(b.n_tokens[i]!, "token")})
        <div class="mono">{batchText(b, i)}</div>
        <div>{duration(took)}</div>
      </>
    );
  }
  return null;
}

function LayerTip(props: { hit: Extract<Hit, { kind: "layer" }> }) {
  const { tile, i } = props.hit;
  const l = tile.layers;
  const one = l.count[i] === 1;
  return (
    <>
      <strong>{one ? `layer ${l.first[i]}` : `layers ${l.first[i]} to ${l.last[i]}`}</strong>
      <div>{duration(l.end_ns[i]! - l.start_ns[i]!)}</div>
      {!one && <div>{count(l.count[i])} stretches together; zoom in to see each</div>}
    </>
  );
}

export function Tip(props: { hit: Hit | null; x: number; y: number }) {
  const { hit } = props;
  if (!hit) return null;
  const content =
    hit.kind === "slice" ? (
      <SliceTip hit={hit} />
    ) : hit.kind === "merged" ? (
      <MergedTip hit={hit} />
    ) : hit.kind === "layer" ? (
      <LayerTip hit={hit} />
    ) : hit.row.kind === "tokens" ? (
      <RowTip hit={hit} />
    ) : null;
  return (
    content && (
      <Tooltip x={props.x} y={props.y}>
        {content}
      </Tooltip>
    )
  );
}
