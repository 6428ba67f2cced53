// Which experts the routers chose: a matrix of layers x experts, of one token or of many.

import { useEffect, useMemo } from "preact/hooks";
import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import type { Experts, Layer } from "../../api/experts";
import { plainName } from "../../draw/format";
import { bind } from "../../input/keys";
import { Empty, Failure, Loading } from "../../parts/messages";
import { selectedLayer, selectedToken, selectedTrace } from "../../state/selection";
import { generation, summary } from "../../state/trace";
import { Details, Legend } from "./Details";
import type { Marks } from "./draw";
import { ExpertTable, LayerTable } from "./Layers";
import { Keep } from "./Keep";
import { Matrix } from "./Matrix";
import { measure, MEASURES, of, OFS, paramsOf, setMeasure, setOf, setShown, shown, SHOWS, type Of } from "./state";
import { coverageWords } from "./words";
import "./command";
import "./experts.css";

function None(props: { answer: Experts }) {
  const { answer } = props;
  if (answer.expert_matmuls === 0 && summary.value?.counts.graphs === 0)
    return (
      <Empty title="Unknown whether the model has experts">
        <p>The trace has no graph: it was cut off, or the run ended, before the first one was written.</p>
      </Empty>
    );
  if (answer.expert_matmuls === 0)
    return (
      <Empty title="This model has no experts">
        <p>
          This view shows which experts the routers of a mixture of experts choose, layer by layer and token by token. In
          this run every token used all weights: no MUL_MAT_ID was executed.
        </p>
      </Empty>
    );
  return (
    <Empty title="The choices of experts were not observed">
      <p>
        {answer.not_observed
          ? `The recorder's reason: ${plainName(answer.not_observed)}.`
          : "The run was traced by an older version, or the choices were dropped. Trace it again to see them."}
      </p>
    </Empty>
  );
}

function Head(props: { of: Of; token: number | null; layers: readonly Layer[] }) {
  return (
    <div class="experts-head">
      <div class="experts-group" role="group" aria-label="Show">
        {SHOWS.map((s) => (
          <button type="button" key={s.id} aria-pressed={shown() === s.id} title={s.about} onClick={() => setShown(s.id)}>
            {s.title}
          </button>
        ))}
      </div>
      {shown() === "matrix" && <MatrixTools of={props.of} token={props.token} />}
      <span class="experts-coverage">{coverageWords(props.layers)}</span>
    </div>
  );
}

function MatrixTools(props: { of: Of; token: number | null }) {
  return (
    <>
      <div class="experts-group" role="group" aria-label="Tokens">
        {OFS.map((o) => (
          <button
            type="button"
            key={o.id}
            aria-pressed={props.of === o.id}
            disabled={props.token === null && o.id !== "all"}
            title={props.token === null && o.id !== "all" ? "Select a token first" : o.about}
            onClick={() => setOf(o.id)}
          >
            {o.title}
            {o.id === "token" && props.token !== null ? ` (${props.token})` : ""}
          </button>
        ))}
      </div>
      <label>
        Colour{" "}
        <select aria-label="Colour" value={measure().id} title={measure().about} onChange={(event) => setMeasure(event.currentTarget.value)}>
          {MEASURES.map((m) => (
            <option value={m.id} key={m.id}>
              {m.title}
            </option>
          ))}
        </select>
      </label>
    </>
  );
}

/** The experts that the token's routers chose, by layer. */
function chosenOf(layers: readonly Layer[] | undefined): Marks["chosen"] {
  return new Map((layers ?? []).map((l) => [l.layer_id, new Set(l.count.flatMap((n, e) => (n ? [e] : [])))]));
}

function Notes(props: { answer: Experts; disk: boolean }) {
  const unplaced = props.answer.layers.reduce((sum, l) => sum + l.tokens_without_row, 0);
  const notes = [
    !props.answer.sequences_observed && "The sequences of tokens were not observed: all tokens of a context count as one sequence.",
    unplaced > 0 && "The batch rows of some tokens are unknown: they are counted, but without a predecessor.",
    props.disk && "Disk reads are an estimate: the kernel counts them by op, and an op reads several experts. If they were not observed (--faults), nothing is coloured.",
  ].filter((n) => n !== false);
  return notes.length > 0 ? <p class="experts-notes">{notes.join(" ")}</p> : null;
}

function Shown(props: { answer: Experts; of: Of; token: number | null; chosen: Marks["chosen"] }) {
  const { answer } = props;
  const m = measure();
  const layer = answer.layers.find((l) => selectedLayer.value !== null && l.layer_id === selectedLayer.value);
  const what = props.of === "all" ? "of all tokens" : props.of === "upto" ? `of the tokens up to ${props.token}` : `of token ${props.token}`;
  if (shown() === "keep")
    return (
      <div class="experts">
        <Head of={props.of} token={props.token} layers={answer.layers} />
        <Keep layers={answer.layers} measure={m} />
      </div>
    );
  return (
    <div class="experts">
      <Head of={props.of} token={props.token} layers={answer.layers} />
      <Legend layers={answer.layers} measure={m} marks={props.chosen.size > 0} />
      <div class="experts-middle">
        <div class="experts-matrix">
          <Matrix
            layers={answer.layers}
            measure={m}
            chosen={props.chosen}
            label={`Experts ${what}: ${answer.layers.length} layers; colour: ${m.title}`}
          />
        </div>
        <Details layers={answer.layers} />
      </div>
      <Notes answer={answer} disk={m.id === "disk"} />
      <div class="experts-tables">
        <LayerTable layers={answer.layers} />
        {layer && <ExpertTable layer={layer} measure={m} />}
      </div>
    </div>
  );
}

export function Component() {
  const trace = selectedTrace.value;
  const token = selectedToken.value;
  // What to keep is asked of the whole run.
  const now = shown() === "keep" ? "all" : of(token);
  const params = paramsOf(now, token);
  useEffect(
    () =>
      bind(
        { id: "experts.of", keys: ["KeyC"], title: "Whole run, up to the token, the token", scope: "Experts", run: () => setOf(OFS[(OFS.findIndex((o) => o.id === of(selectedToken.peek())) + 1) % OFS.length]!.id) },
        { id: "experts.keep", keys: ["KeyE"], title: "Matrix, or what to keep in so much memory", scope: "Experts", run: () => setShown(shown() === "keep" ? "matrix" : "keep") },
        { id: "experts.colour", keys: ["KeyM"], title: "Next colour measure", scope: "Experts", run: () => setMeasure(MEASURES[(MEASURES.findIndex((m) => m.id === measure().id) + 1) % MEASURES.length]!.id) },
      ),
    [],
  );
  const all = useResource(JSON.stringify([trace, generation.value, params]), (abort) => getJson<Experts>(ofTrace(trace, "experts"), params, abort));
  const one = useResource(token === null ? null : JSON.stringify([trace, generation.value, token]), (abort) =>
    getJson<Experts>(ofTrace(trace, "experts"), { batch: token }, abort),
  );
  // For one token the colours show it already.
  const marked = now === "token" ? undefined : one.data.value?.layers;
  const chosen = useMemo(() => chosenOf(marked), [marked]);
  if (all.error.value) return <Failure error={all.error.value} retry={all.retry} />;
  const answer = all.data.value;
  if (!answer) return <Loading what="the choices of experts" />;
  if (answer.layers.length === 0 && now === "all") return <None answer={answer} />;
  if (answer.layers.length === 0)
    return (
      <Empty title="No choices of that token were observed">
        <p>
          <button type="button" onClick={() => setOf("all")}>
            Show the whole run
          </button>
        </p>
      </Empty>
    );
  return <Shown answer={answer} of={now} token={token} chosen={chosen} />;
}
