// The overview: the answer first, and the way from there to each view.

import { useEffect } from "preact/hooks";
import { Failure } from "../../parts/messages";
import { Units } from "../../parts/Units";
import { NoOps } from "../../parts/NoOps";
import { summary } from "../../state/trace";
import { Tiles, Where } from "./Head";
import { Findings, NotRecorded, Tensors } from "./Lists";
import "./command";
import "./overview.css";
import { answer, failure, followAnswer, retry } from "./state";
import { Tokens } from "./Tokens";
import { Views } from "./Views";

export function Component() {
  useEffect(followAnswer, []);
  const now = answer.value;
  const { n_ops, growing, batches } = summary.value!;
  if (failure.value && !now) return <Failure error={failure.value} retry={retry} />;
  return (
    <div class="overview-host">
      <div class={`overview ${batches.batch_id.length > 0 ? "" : "without-tokens"}`} aria-busy={!now}>
        <h2>{now ? <Units>{now.headline}</Units> : <span role="status">Reading the {growing ? "ops so far" : "ops"}…</span>}</h2>
        <Tiles answer={now} />
        {now && (n_ops > 0 ? <Where answer={now} /> : <NoOps />)}
        <Tokens answer={now} />
        {now && <Findings answer={now} />}
        {now && <Tensors answer={now} />}
        <Views ready={now !== null || failure.value !== null} />
        {now && <NotRecorded answer={now} />}
      </div>
    </div>
  );
}
