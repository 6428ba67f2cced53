// The answer in one sentence, its figures, and where the time went.

import { Units } from "../../parts/Units";
import { PartSign, TimeBar } from "../../parts/TimeBar";
import { duration, percent, perSecond } from "../../draw/format";
import { summary } from "../../state/trace";
import type { Overview, Tile } from "./answer";

/** Known before the ops are read: the first picture has them. */
function early(key: string): string | null {
  const s = summary.value;
  const value = key === "generate_tokens_per_s" ? s?.generate_tokens_per_s : key === "prompt_tokens_per_s" ? s?.prompt_tokens_per_s : null;
  return value == null ? null : perSecond(value, "tokens");
}

const EXPECTED: readonly (readonly [string, string])[] = [
  ["generate_tokens_per_s", "Generated"],
  ["prompt_tokens_per_s", "Prompt"],
  ["first_token_ns", "First token"],
  ["token_weight_bytes", "Weights a token"],
  ["ram_peak_bytes", "Memory at most"],
];

function TileBox(props: { tile: Tile }) {
  const { tile } = props;
  return (
    <div class="tile">
      <dt>{tile.title}</dt>
      {tile.value === null ? (
        <dd>
          not known
          {tile.why_not && <small>{tile.why_not}</small>}
        </dd>
      ) : (
        <TileText text={tile.text} />
      )}
    </div>
  );
}

/** "30.4 MiB, and 28.0 MiB of mapped files": what follows is smaller. */
function TileText(props: { text: string }) {
  const at = props.text.indexOf(", ");
  return (
    <dd>
      <b>
        <Units>{at < 0 ? props.text : props.text.slice(0, at)}</Units>
      </b>
      {at > 0 && (
        <small>
          <Units>{props.text.slice(at + 2)}</Units>
        </small>
      )}
    </dd>
  );
}

export function Tiles(props: { answer: Overview | null }) {
  return (
    <dl class="tiles" aria-label="Figures">
      {props.answer
        ? props.answer.tiles.map((tile) => <TileBox key={tile.key} tile={tile} />)
        : EXPECTED.map(([key, title]) => (
            <div class="tile" key={key}>
              <dt>{title}</dt>
              <dd>{early(key) === null ? "…" : <b><Units>{early(key)}</Units></b>}</dd>
            </div>
          ))}
    </dl>
  );
}

/** Not those that would be "0.0 %". */
const isSeen = (p: { share: number | null }) => p.share === null || p.share >= 0.0005;

export function Where(props: { answer: Overview }) {
  const { total_ns, parts, not_known } = props.answer.time;
  return (
    <section class="where" aria-label="Where the time went">
      <h3>
        Where the time went
        {not_known.length > 0 && <small> {not_known.join(" ")}</small>}
      </h3>
      {total_ns !== null && total_ns > 0 ? (
        <>
          <TimeBar parts={parts.map((p) => ({ part: p.part, title: p.title, ns: p.time_ns ?? 0 }))} of_ns={total_ns} labelled />
          <ul class="legend">
            {parts.filter(isSeen).map((p) => (
              <li key={p.part}>
                <PartSign part={p.part} /> {p.title} {p.time_ns === null ? "not known" : <><b>{percent(p.share)}</b> {duration(p.time_ns)}</>}
              </li>
            ))}
            <li>
              of <Units>{duration(total_ns)}</Units>
            </li>
          </ul>
        </>
      ) : (
        <p>Not known: no times were recorded.</p>
      )}
    </section>
  );
}
