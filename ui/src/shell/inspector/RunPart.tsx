// The run as a whole, if nothing is selected.

import { count, duration, plainName } from "../../draw/format";
import { summary } from "../../state/trace";
import { phaseWord } from "../../state/words";
import { Figure, Part } from "./Part";
import { PoolPart } from "./PoolPart";

/** Of each phase: a prompt has several tokens in a batch. */
function Tokens() {
  const { phase, n_tokens } = summary.value!.batches;
  const of = new Map<string, number>();
  phase.forEach((p, i) => of.set(p, (of.get(p) ?? 0) + n_tokens[i]!));
  const all = [...of.values()].reduce((sum, n) => sum + n, 0);
  return (
    <>
      <Figure name="Tokens">
        {count(all)}
        {of.size > 1 && `: ${[...of].map(([p, n]) => `${count(n)} ${phaseWord(p)}`).join(", ")}`}
      </Figure>
      <Figure name="Batches">{count(phase.length)}</Figure>
    </>
  );
}

export function RunPart() {
  const s = summary.value!;
  const text = (value: string | null) =>
    value === null ? "not observed" : <span class="wrap">{plainName(value)}</span>;
  return (
    <>
      <Part kind="Run" title={<span class="mono">{s.run_id.slice(0, 8)}</span>}>
        <Figure name="Trace">{text(s.name)}</Figure>
        <Figure name="Model">{text(s.model_files[0]?.name ?? null)}</Figure>
        <Figure name="Architecture">{text(s.architecture)}</Figure>
        <Figure name="Layers">{count(s.n_layers)}</Figure>
        {s.n_experts !== null && s.n_experts > 0 && <Figure name="Experts per layer">{count(s.n_experts)}</Figure>}
        <Tokens />
        <Figure name="Threads">{count(s.n_lanes)}</Figure>
        <Figure name="Ops on threads">{count(s.n_ops)}</Figure>
        <Figure name="Time">{s.clock ? duration(s.end_relative_ns - s.start_relative_ns) : "not observed"}</Figure>
      </Part>
      {s.pool_recorded && <PoolPart />}
      <p class="hint">
        Select something in any view, and all views show it. <kbd>N</kbd> and <kbd>P</kbd> go from token to token,{" "}
        <kbd>Space</kbd> plays them, <kbd>?</kbd> lists all keys.
      </p>
    </>
  );
}
