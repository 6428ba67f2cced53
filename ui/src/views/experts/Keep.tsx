// Which experts to keep in so much memory, and what that costs: by the code of `tensortrace whatif`.

import { useComputed, useSignal } from "@preact/signals";
import { useMemo } from "preact/hooks";
import { getJson, ofTrace } from "../../api/client";
import { useResource } from "../../api/resource";
import { layerText, type Layer } from "../../api/experts";
import { bytes, count, counted, percent } from "../../draw/format";
import { copy } from "../../parts/clipboard";
import { Failure, Loading } from "../../parts/messages";
import { VirtualTable, type Column, type Sorting } from "../../parts/VirtualTable";
import { selectedTrace } from "../../state/selection";
import { generation, summary } from "../../state/trace";
import { allExperts, keptOf, keepWords, neverWords, type Ranked, type WhatIf } from "./keeping";
import { expert, keepPolicy, keepStep, POLICIES, setKeepPolicy, setKeepStep, STEPS, type Measure } from "./state";
import { chooseCell } from "./words";
import { isPlain, layerFields } from "../../state/layers";

interface Row extends Ranked {
  readonly kept: boolean;
}

const COLUMNS: readonly Column<Row>[] = [
  { id: "rank", title: "Rank", width: 64, number: true, hint: "The order in which they are kept", cell: (r) => r.rank },
  { id: "kept", title: "Keep", width: 64, cell: (r) => (r.kept ? "keep" : "evict") },
  { id: "layer", title: "Layer", width: 90, cell: (r) => layerText(r.l) },
  { id: "e", title: "Expert", width: 74, number: true, cell: (r) => r.e },
  { id: "count", title: "Chosen", width: 84, number: true, hint: "Tokens that chose it", cell: (r) => count(r.l.count[r.e]) },
  { id: "share", title: "Share", width: 80, number: true, hint: "Of its layer's choices", cell: (r) => percent(r.l.choices ? (r.l.count[r.e] ?? 0) / r.l.choices : null) },
  { id: "batches", title: "Batches", width: 84, number: true, hint: "Batches in which a token chose it: each reads it", cell: (r) => count(r.l.batches[r.e]) },
  { id: "last", title: "Last token", width: 96, number: true, cell: (r) => r.l.last_batch_id[r.e] ?? "never" },
  { id: "size", title: "Size", width: 90, number: true, cell: (r) => bytes(r.l.expert_bytes) },
];

function sortValue(r: Row, id: string): number {
  const of: Record<string, number | null | undefined> = {
    rank: r.rank,
    kept: r.kept ? 0 : 1,
    layer: r.l.layer_id,
    e: r.e,
    count: r.l.count[r.e],
    share: r.l.choices ? (r.l.count[r.e] ?? 0) / r.l.choices : 0,
    batches: r.l.batches[r.e],
    last: r.l.last_batch_id[r.e],
    size: r.l.expert_bytes,
  };
  return of[id] ?? -1;
}

const ASCENDING = ["rank", "layer", "e", "kept"];

function Table(props: { rows: readonly Row[]; measure: Measure }) {
  const order = useSignal<Sorting>({ id: "rank", descending: false });
  const { id, descending } = order.value;
  const rows = useMemo(() => {
    const sign = descending ? -1 : 1;
    return [...props.rows].sort((a, b) => sign * (sortValue(a, id) - sortValue(b, id)) || a.rank - b.rank);
  }, [props.rows, id, descending]);
  const at = rows.findIndex((r) => r.e === expert() && r.l.layer_id !== null);
  return (
    <VirtualTable
      label="Experts of all layers"
      columns={COLUMNS}
      count={rows.length}
      row={(i) => rows[i] ?? null}
      selected={at >= 0 ? at : null}
      onSelect={(_, r) => chooseCell(r.l, r.e, props.measure)}
      sorting={order.value}
      onSort={(column) => (order.value = { id: column, descending: column === id ? !descending : !ASCENDING.includes(column) })}
    />
  );
}

/** Lines of "layer expert", or JSON (docs/tour.md). */
function copyEvicted(rows: readonly Row[], form: "list" | "json"): void {
  const out = rows.filter((r) => !r.kept);
  const plain = rows.every((r) => r.l.layer_id === null || isPlain(r.l.layer_id)) && (summary.value?.models.length ?? 0) < 2;
  const json = (): string => `${JSON.stringify({ evict: out.map((r) => ({ ...(plain ? { layer_id: r.l.layer_id } : layerFields(r.l.layer_id)), expert_id: r.e })) }, null, 1)}\n`;
  const text = form === "json" ? json() : out.map((r) => `${layerText(r.l)} expert ${r.e}\n`).join("");
  void copy(text, `experts-to-evict.${form === "json" ? "json" : "txt"}`, counted(out.length, "expert"));
}

export function Keep(props: { layers: readonly Layer[]; measure: Measure }) {
  const { layers } = props;
  const policy = keepPolicy();
  const trace = selectedTrace.value;
  const answer = useResource(JSON.stringify([trace, generation.value, policy.id]), (abort) =>
    getJson<WhatIf>(ofTrace(trace, "whatif"), { policy: policy.id, steps: STEPS }, abort),
  );
  const shown = useComputed(() => answer.data.value?.results[keepStep() - 1] ?? null).value;
  const ranked = useMemo(() => allExperts(layers, policy.id), [layers, policy.id]);
  const whole = answer.data.value;
  const rows = useMemo(() => {
    const kept = whole && shown ? keptOf(ranked, whole, shown.ram_bytes) : new Set<Ranked>();
    return ranked.map((r): Row => ({ ...r, kept: kept.has(r) }));
  }, [ranked, whole, shown]);
  if (answer.error.value) return <Failure error={answer.error.value} retry={answer.retry} />;
  if (!whole || !shown) return <Loading what="what a cache of each size would read" />;
  return (
    <section class="experts-keep" aria-label="What to keep">
      <div class="experts-keep-tools">
        <label>
          Memory for weights{" "}
          <input
            type="range"
            min={1}
            max={STEPS}
            value={keepStep()}
            aria-valuetext={`${bytes(shown.ram_bytes)} of ${bytes(whole.touched_bytes)}`}
            onInput={(event) => setKeepStep(Number(event.currentTarget.value))}
          />{" "}
          <strong>{bytes(shown.ram_bytes)}</strong>
        </label>
        <label>
          Keep{" "}
          <select value={policy.id} title={policy.about} onChange={(event) => setKeepPolicy(event.currentTarget.value)}>
            {POLICIES.map((p) => (
              <option value={p.id} key={p.id}>
                {p.title}
              </option>
            ))}
          </select>
        </label>
        <button type="button" onClick={() => copyEvicted(rows, "list")}>
          Copy what to evict
        </button>
        <button type="button" onClick={() => copyEvicted(rows, "json")}>
          As JSON
        </button>
      </div>
      <p class="experts-keep-answer" role="status">
        {keepWords(whole, shown, layers)}
      </p>
      <p class="experts-notes">{neverWords(layers)}</p>
      <div class="experts-keep-table">
        <Table rows={rows} measure={props.measure} />
      </div>
    </section>
  );
}
