// Tooltip of what is under the pointer.

import { useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import { bytes, count, counted, duration, moment, percent, plainName, rate } from "../../draw/format";
import { Tooltip } from "../../parts/Tooltip";
import { badWords } from "../../state/bad";
import { layerWords } from "../../state/layers";
import { summary, tensors } from "../../state/trace";
import type { Hit } from "./hit";
import { offCpuBetween, offCpuLack } from "./offCpu";
import { opDetails, type OpDetails } from "./op";
import { other } from "./other";
import { CAUSE_WORDS, CAUSES, pool, readName, waitOf } from "./pool";
import { sliceName, sliceToken } from "./shapes";
import { FUSED, NONE, OPEN } from "../../api/tile";
import { batchAt, batchText } from "./tokens";

const STILL_MS = 150;

/** What the picture of the op does not have; requested once the pointer rests. */
function useDetails(run: number, node: number): OpDetails | null {
  const details = useSignal<OpDetails | null>(null);
  useEffect(() => {
    let left = false;
    details.value = null;
    const timer = setTimeout(() => {
      void opDetails({ run, node })
        .then((d) => {
          if (!left) details.value = d;
        })
        .catch(() => undefined);
    }, STILL_MS);
    return () => {
      left = true;
      clearTimeout(timer);
    };
  }, [run, node]);
  return details.value;
}

function OffCpu(props: { details: OpDetails | null; track: number; reads_ns: number }) {
  const lack = offCpuLack();
  if (lack) return <div>off CPU: {lack}</div>;
  const lane = props.details?.lanes.find((each) => each.track === props.track);
  const off_ns = lane?.off_cpu_ns ?? 0;
  const else_ns = off_ns - props.reads_ns;
  if (else_ns <= 0) return null;
  if (props.reads_ns > 0) return <div>otherwise off CPU: {duration(else_ns)}</div>;
  return (
    <div>
      off CPU: {duration(off_ns)} of its busy time{lane?.busy_ns ? ` (${percent(off_ns / lane.busy_ns)})` : ""}
    </div>
  );
}

/** Of a stack of experts the op read some: that is not the tensor's size. */
function Weight(props: { name: string; type: string; size_bytes: number; details: OpDetails | null }) {
  const { name, type, size_bytes } = props;
  const source = props.details?.log.sources.find((s) => s.name === name);
  const read_bytes = source?.read_bytes ?? null;
  const of = read_bytes === null || read_bytes === size_bytes ? "" : ` of ${bytes(size_bytes)}`;
  const experts = source?.experts ?? [];
  return (
    <div>
      reads {plainName(name)} ({type}
      {read_bytes !== null && `, ${bytes(read_bytes)}${of}`})
      {experts.length > 0 && `, ${experts.length === 1 ? "expert" : "experts"} ${experts.map((e) => e.expert_id).join(", ")}`}
    </div>
  );
}

function SliceTip(props: { hit: Extract<Hit, { kind: "slice" }> }) {
  const { tile, i, row } = props.hit;
  const s = tile.slices;
  const kind = tile.kinds[s.kind[i]!]!;
  const open = (s.flags[i]! & OPEN) !== 0;
  const weight = s.weight[i] === NONE ? null : s.weight[i]!;
  const t = tensors.value;
  const bad = badWords(s.run[i]!, s.node[i]!);
  const waited = waitOf(s.track[i]!, s.run[i]!, s.node[i]!);
  const end_ns = s.start_ns[i]! + s.busy_ns[i]!;
  const about_ns = waited ? 0 : waitsBetween(s.track[i]!, s.start_ns[i]!, end_ns);
  const details = useDetails(s.run[i]!, s.node[i]!);
  return (
    <>
      <strong>{plainName(sliceName(tile, i))}</strong>
      <div>
        {kind.op}
        {s.flags[i]! & FUSED ? " (fused)" : ""} · {kind.category}
        {s.layer_id[i]! >= 0 && ` · ${layerWords(s.layer_id[i])}`}
        {sliceToken(tile, i) !== null && ` · token ${sliceToken(tile, i)}`}
      </div>
      <div>
        {row.title}: busy {open ? "not observed (its end was not observed)" : duration(s.busy_ns[i])}, waits{" "}
        {open ? "not observed" : duration(s.wait_ns[i])}
        {pool.value && " for other threads"}
      </div>
      {waited && (
        <div>
          of its busy time waits {duration(waited.ns)} for the read of {waited.name === null ? "weights" : plainName(waited.name)} (
          {waited.cause})
        </div>
      )}
      {about_ns > 0 && <div>of its busy time waits about {duration(about_ns)} for reads; zoom in to see which</div>}
      {!open && <OffCpu details={details} track={s.track[i]!} reads_ns={waited?.ns ?? about_ns} />}
      {bad && <strong>{bad}</strong>}
      <div>at {moment(s.start_ns[i]!, Math.max(1, s.busy_ns[i]! / 10))}</div>
      {weight !== null && t && (
        <Weight name={t.name[weight] ?? ""} type={t.type[weight] ?? ""} size_bytes={t.size_bytes[weight] ?? 0} details={details} />
      )}
    </>
  );
}

/** Time the track waited for reads in that range; of merged waits a proportional share. */
function waitsBetween(track: number, from: number, to: number): number {
  const p = pool.value;
  if (!p) return 0;
  const w = p.waits;
  let sum = 0;
  const within = (a: number, b: number) => Math.max(0, Math.min(b, to) - Math.max(a, from));
  for (let i = 0; i < w.n; i++) if (w.track[i] === track) sum += within(w.start_ns[i]!, w.end_ns[i]!);
  for (let i = 0; i < w.merged.n; i++) {
    if (w.merged.track[i] !== track) continue;
    const at = p.bins.from_ns + w.merged.bucket[i]! * w.bucket_ns;
    const waited = w.merged.ns.reduce((all, each) => all + each[i]!, 0);
    sum += (waited * within(at, at + w.bucket_ns)) / w.bucket_ns;
  }
  return sum;
}

function MergedTip(props: { hit: Extract<Hit, { kind: "merged" }> }) {
  const { tile, i, row } = props.hit;
  const m = tile.merged;
  const kind = tile.kinds[m.kind[i]!];
  const from = tile.from_ns + m.bucket[i]! * tile.bucket_ns;
  const reads_ns = waitsBetween(row.track, from, from + tile.bucket_ns);
  const off_ns = offCpuBetween(row.track, from, from + tile.bucket_ns, row.id.startsWith("other"));
  return (
    <>
      <strong>{counted(m.count[i]!, "op")} together</strong>
      <div>
        {row.title}, {duration(tile.bucket_ns)}: busy {percent(m.busy_ns[i]! / tile.bucket_ns)}, waits{" "}
        {percent(m.wait_ns[i]! / tile.bucket_ns)}
      </div>
      {reads_ns > 0 && <div>of it waits for reads: {percent(reads_ns / tile.bucket_ns)}</div>}
      {off_ns > 0 && <div>of it off CPU: {percent(off_ns / tile.bucket_ns)}</div>}
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
  if (b) {
    const i = batchAt(b, at_ns);
    // Beside the second token there is nothing.
    if (row.kind === "otherToken" && b.batch_id[i] !== other.value?.token) return null;
    if (i < 0 || at_ns > (b.end_relative_ns[i] ?? Infinity)) return null;
    const took = b.end_relative_ns[i] == null || b.start_relative_ns[i] == null ? null : b.end_relative_ns[i] - b.start_relative_ns[i];
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

function ReadTip(props: { hit: Extract<Hit, { kind: "read" }> }) {
  const { reads: r, i } = props.hit;
  const cause = CAUSES[r.cause[i]!] ?? "unknown";
  const size = r.size_bytes[i]!;
  const took = r.duration_ns[i]!;
  return (
    <>
      <strong>{plainName(readName(r, i))}</strong>
      <div>
        {bytes(size)} read · {cause}: {CAUSE_WORDS[cause]}
      </div>
      <div>
        took {duration(took)}
        {took > 0 && ` (${rate((size / took) * 1e9)})`}, queued {duration(r.queued_ns[i])} before
      </div>
      <div>
        {r.waiters[i] === 0
          ? "no thread waited for it"
          : `${counted(r.waiters[i]!, "thread")} waited for it, up to ${duration(r.waited_ns[i])}`}
      </div>
      {r.failed[i]! > 0 && <strong>it failed: the kernel's paging had to do</strong>}
      {r.discarded[i]! > 0 && <div>no longer needed when it arrived</div>}
    </>
  );
}

function LayerTip(props: { hit: Extract<Hit, { kind: "layer" }> }) {
  const { tile, i } = props.hit;
  const l = tile.layers;
  const one = l.count[i] === 1;
  return (
    <>
      <strong>{one ? layerWords(l.first[i]) : `${layerWords(l.first[i])} to ${layerWords(l.last[i])}`}</strong>
      <div>{duration(l.end_ns[i]! - l.start_ns[i]!)}</div>
      {!one && <div>{count(l.count[i])} merged intervals; zoom in to see each</div>}
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
    ) : hit.kind === "read" ? (
      <ReadTip hit={hit} />
    ) : hit.row.kind === "tokens" || hit.row.kind === "otherToken" ? (
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
