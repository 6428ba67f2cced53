// Figures of `tensortrace boost` for the generated tokens.

import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import type { PoolAnswer } from "../../api/types";
import { bytes, counted, duration, percent } from "../../draw/format";
import { selectedTrace } from "../../state/selection";
import { generation } from "../../state/trace";
import { Figure, Part } from "./Part";

function Figures(props: { all: PoolAnswer; generated: PoolAnswer }) {
  const { total } = props.all;
  const g = props.generated;
  return (
    <>
      <Figure name="Memory">
        {bytes(total.peak_bytes)} at most, of {bytes(total.budget_bytes)}
      </Figure>
      <Figure name="Read">
        {bytes(total.read_bytes)} in {counted(total.reads, "read")}
      </Figure>
      {g.n_tokens > 0 && (
        <>
          <p class="within">Generated tokens</p>
          <Figure name="Read per token">{bytes(Math.round(g.read_bytes_per_token ?? 0))}</Figure>
          {g.total.hit_share !== null && <Figure name="Experts present">{percent(g.total.hit_share)}</Figure>}
          <Figure name="Wait per token">{g.pause_ns === null ? "not observed" : duration(g.pause_ns / g.n_tokens)}</Figure>
        </>
      )}
    </>
  );
}

export function PoolPart() {
  const { data, error } = useResource(`${selectedTrace.value} ${generation.value}`, (abort) => {
    const get = (phase: string | null) =>
      getJson<PoolAnswer>(ofTrace(selectedTrace.peek(), "pool"), { limit: 0, phase }, abort);
    return Promise.all([get(null), get("generate")]);
  });
  return (
    <Part kind="Boost" title="" views={["timeline"]}>
      {data.value ? (
        <Figures all={data.value[0]} generated={data.value[1]} />
      ) : (
        <Figure name="Figures">{error.value ? error.value.message : "…"}</Figure>
      )}
    </Part>
  );
}
