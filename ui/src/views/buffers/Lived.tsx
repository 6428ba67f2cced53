// Buffers at one time: at the peak, or where the user clicked.

import { backingText, kindText, livesAt, type BufferRow, type Buffers } from "../../api/buffers";
import { bytes, counted, percent, plainName, when } from "../../draw/format";
import { css } from "../../draw/colour";
import { kindColour } from "../../draw/buffers";
import { chooseBuffer, isChosenBuffer } from "./choose";
import { lookAt, momentAt, showsMapped } from "./state";

const LISTED = 60;

function Caches(props: { answer: Buffers }) {
  const list = props.answer.kv_caches;
  if (list.length === 0) return null;
  return (
    <>
      <h2>KV cache</h2>
      {list.map((c, i) => (
        <p key={i}>
          {c.cells_written === null || c.cells === null
            ? `${bytes(c.size_bytes)}; which cells were written was not observed`
            : `${c.written_at_least ? "at least " : ""}${counted(c.cells_written, "cell")} of ${c.cells} written (${percent(c.cells_written / c.cells)}): ${bytes(c.written_bytes)} of ${bytes(c.size_bytes)}`}
        </p>
      ))}
    </>
  );
}

function Line(props: { b: BufferRow; share: number }) {
  const { b } = props;
  return (
    <li>
      <button type="button" class="buffers-line" aria-pressed={isChosenBuffer(b)} onClick={() => chooseBuffer(b)}>
        <span class="buffers-line-bar" style={{ width: `${props.share * 100}%`, background: css(kindColour(b.kind), 0.35) }} />
        <span class="buffers-line-name">
          {b.buffer_id} {plainName(b.name)}
        </span>
        <span class="buffers-line-kind">
          {kindText(b.kind)}, {backingText(b.backing)}
        </span>
        <span class="mono">{bytes(b.size_bytes)}</span>
      </button>
    </li>
  );
}

export function Lived(props: { answer: Buffers; peak_ns: number | null }) {
  const { answer, peak_ns } = props;
  const chosen = momentAt();
  const at = chosen ?? peak_ns;
  const alive = at === null ? [] : answer.buffers.filter((b) => livesAt(b, at) && (showsMapped() || b.backing !== "file"));
  const list = alive.toSorted((a, b) => b.size_bytes - a.size_bytes);
  const all = list.reduce((sum, b) => sum + b.size_bytes, 0);
  return (
    <section class="buffers-lived" aria-label="Buffers at that time">
      <h2>{chosen === null ? `Buffers at the peak, ${when(at)}` : `Buffers ${when(at)}`}</h2>
      <p>
        {counted(list.length, "buffer")}, {bytes(all)}
        {answer.buffers.length < answer.buffers_total && `, of the ${answer.buffers.length} largest of ${answer.buffers_total}`}
        {chosen !== null && (
          <>
            {" "}
            <button type="button" onClick={() => lookAt(null)}>
              Back to the peak
            </button>
          </>
        )}
      </p>
      <ul>
        {list.slice(0, LISTED).map((b) => (
          <Line key={b.buffer_index} b={b} share={all ? b.size_bytes / all : 0} />
        ))}
      </ul>
      {list.length > LISTED && <p>and {counted(list.length - LISTED, "smaller one", "smaller ones")}; the table has all.</p>}
      <Caches answer={answer} />
    </section>
  );
}
