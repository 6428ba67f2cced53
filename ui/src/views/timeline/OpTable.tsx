// The visible ops as a table: the canvas's content for screen readers.

import { counted, duration, moment, plainName } from "../../draw/format";
import { layerName } from "../../state/layers";
import { selection } from "../../state/selection";
import { selectSlice } from "./actions";
import { offCpu, offCpuLack, offCpuOf } from "./offCpu";
import { other } from "./other";
import { pool, waitOf } from "./pool";
import { layout } from "./rows";
import { settled } from "./settled";
import { sliceName, sliceToken } from "./shapes";

function forReads(track: number, run: number, node: number): string {
  const wait = waitOf(track, run, node);
  return wait ? `${duration(wait.ns)} (${wait.cause})` : "–";
}

function offCpuText(track: number, run: number, node: number): string {
  const off_ns = offCpuOf(track, run, node);
  return off_ns === null ? "–" : duration(off_ns);
}

/** below: of the second token. */
export function OpTable(props: { below?: boolean }) {
  const seen = props.below ? settled.value.below : settled.value;
  const l = props.below ? layout.value.other : layout.value;
  if (!seen || !l) return null;
  const { ops, n_ops, n_merged, range } = seen;
  const step = (range.to - range.from) / 1000;
  const chosen = selection.value.op;
  const lack = offCpuLack();
  return (
    <table>
      <caption>
        {props.below && `Token ${other.value?.token}, under token ${other.value?.beside}: `}
        {counted(n_ops, "op")} of the visible lanes are drawn singly
        {n_ops > ops.length && `, the first ${ops.length} are listed`}; {counted(n_merged, "op")} are merged (zoom in
        to list them).
        {lack && ` Time off CPU: ${lack}.`}
      </caption>
      <thead>
        <tr>
          <th scope="col">thread</th>
          <th scope="col">op</th>
          <th scope="col">computes</th>
          <th scope="col">token</th>
          <th scope="col">layer</th>
          <th scope="col" class="number">begins</th>
          <th scope="col" class="number">busy</th>
          <th scope="col" class="number">waits</th>
          {offCpu.value && <th scope="col" class="number">of busy, off CPU</th>}
          {pool.value && <th scope="col" class="number">of busy, for reads</th>}
        </tr>
      </thead>
      <tbody>
        {ops.map(({ shown: { tile }, i }) => {
          const s = tile.slices;
          const is = chosen?.run === s.run[i] && chosen?.node === s.node[i];
          return (
            <tr key={`${s.track[i]} ${s.run[i]} ${s.node[i]}`} aria-selected={is}>
              <td>{l.byTrack.get(s.track[i]!)?.title}</td>
              <td>{tile.kinds[s.kind[i]!]?.op}</td>
              <td>
                <button type="button" onClick={() => selectSlice(tile, i)}>
                  {plainName(sliceName(tile, i))}
                </button>
              </td>
              <td>{sliceToken(tile, i) ?? "–"}</td>
              <td>{s.layer_id[i]! < 0 ? "–" : layerName(s.layer_id[i]!)}</td>
              <td class="number">{moment(s.start_ns[i]!, step)}</td>
              <td class="number">{duration(s.busy_ns[i])}</td>
              <td class="number">{duration(s.wait_ns[i])}</td>
              {offCpu.value && <td class="number">{offCpuText(s.track[i]!, s.run[i]!, s.node[i]!)}</td>}
              {pool.value && <td class="number">{forReads(s.track[i]!, s.run[i]!, s.node[i]!)}</td>}
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
