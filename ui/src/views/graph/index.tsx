// The graph of one token.

import { effect, useComputed, useSignalEffect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { isDark } from "../../draw/colour";
import { count, counted, duration, percent } from "../../draw/format";
import { bind } from "../../input/keys";
import { Empty, Failure, Loading } from "../../parts/messages";
import { useTallest } from "../../parts/useTallest";
import { selectedTrace, selection } from "../../state/selection";
import { generation, summary } from "../../state/trace";
import { graphBindings, type Pointer } from "./bindings";
import { Colouring } from "./colours";
import "./command";
import "./graph.css";
import type { TokenGraph } from "./graph";
import { GraphCanvas } from "./GraphCanvas";
import { Legend } from "./Legend";
import { pathInScene } from "./path";
import { marksOf } from "./select";
import { colourBy, openParts, pathShown, searchText, wantedRun, weightsShown } from "./state";
import { GraphStore, type Question } from "./store";
import { Tools } from "./Tools";

/** If a token has several runs: the one of the selected op, else the requested one. */
function runOf(g: TokenGraph | null, token: number | null, opRun: number | null): number | null {
  if (token === null && opRun !== null) return opRun;
  if (!g || g.reply.batch_id !== token) return null;
  const has = (run: number | null) => run !== null && g.reply.batch_runs.some((r) => r.run === run);
  const wanted = wantedRun();
  return has(opRun) ? opRun : has(wanted) ? wanted : null;
}

function question(g: TokenGraph | null): Question {
  const { trace, token, op } = selection.value;
  return { trace, token, run: runOf(g, token, op?.run ?? null), generation: generation.value };
}

/** Requests the graph when the selection needs another one. */
function useQuestions(store: GraphStore): void {
  useEffect(() => {
    let asked = "";
    return effect(() => {
      const g = store.graph.value;
      const q = question(g);
      const key = JSON.stringify(q);
      if (key === asked || summary.value?.counts.graphs === 0) return;
      asked = key;
      // Another token of the run that is already shown: no request.
      if (q.run !== null && g?.reply.run === q.run && g.reply.batch_id === q.token) return;
      store.ask(q);
    });
  }, []);
}

function Facts(props: { g: TokenGraph; simple: number }) {
  const { reply } = props.g;
  const box = useTallest<HTMLParagraphElement>();
  const path = reply.critical_path;
  const share = path.total_ns !== null && reply.duration_ns ? ` (${percent(path.total_ns / reply.duration_ns)} of the run's ${duration(reply.duration_ns)})` : "";
  const parts = [
    reply.batch_id === null ? "no token" : `token ${reply.batch_id} (${reply.phase})`,
    `graph ${reply.graph_id}${reply.graph_run === null ? ", described but not computed in the trace" : `, run ${reply.graph_run}`}`,
    `${counted(reply.nodes_total, "node")}, ${counted(reply.leafs_total, "leaf")}, ${counted(reply.edges_total, "edge")}`,
    reply.ops_recorded
      ? `${counted(reply.ops_recorded, "op")} recorded${reply.fused_ops ? `, ${reply.fused_ops} of fused nodes` : ""}${reply.missing_ops ? `, ${counted(reply.missing_ops, "node")} that execute not observed` : ""}`
      : "no op recorded: times and fusions were not observed",
    path.nodes.length
      ? `critical path: ${counted(path.nodes.length, "op")}, ${duration(path.total_ns)}${share}${path.untimed_ops ? `; ${counted(path.untimed_ops, "op")} without a time, so it may be longer` : ""}`
      : "critical path: not observed",
    path.ignored_sources ? `${counted(path.ignored_sources, "source")} computed after their uses: the trace is damaged there` : "",
    props.simple ? "too many nodes for a better layout: drawn in rows" : "",
  ];
  return <p class="graph-facts" ref={box}>{parts.filter(Boolean).join(" · ")}</p>;
}

function Busy(props: { store: GraphStore }) {
  const { store } = props;
  const progress = store.progress.value;
  if (progress)
    return (
      <div class="graph-busy" role="status">
        <span>
          Computing the layout: {count(progress.done)} of {count(progress.of)} shapes
        </span>
        <progress value={progress.done} max={progress.of} aria-label="Layout" />
        <button type="button" onClick={() => store.cancel()}>
          Cancel
        </button>
      </div>
    );
  if (!store.cancelled.value || store.scene.value) return null;
  return (
    <div class="graph-busy" role="status">
      <span>The layout was cancelled; the table below has all nodes.</span>
      <button type="button" onClick={() => store.retry()}>
        Compute the layout
      </button>
    </div>
  );
}

export function Component() {
  const store = useMemo(() => new GraphStore(), []);
  const pointer = useRef<Pointer>({ x: 0, y: 0, inside: false });
  const findBox = useRef<HTMLInputElement>(null);
  useQuestions(store);
  useEffect(() => () => store.dispose(), []);
  useEffect(() => bind(...graphBindings(store, pointer, findBox)), []);
  useEffect(
    () =>
      effect(() => {
        openParts();
        weightsShown();
        if (store.graph.value) void store.refresh();
      }),
    [],
  );
  useEffect(
    () =>
      effect(() => {
        store.graph.value;
        store.search(selectedTrace.value, searchText());
      }),
    [],
  );
  useEffect(
    () =>
      effect(() => {
        if (!store.begun.value || !store.graph.value || !store.scene.value) return;
        selection.value;
        // Not while an address is being read: what it opens is written into the address.
        queueMicrotask(() => store.bring(selection.peek()));
      }),
    [],
  );
  const colouring = useComputed(() => (store.graph.value ? new Colouring(store.graph.value, colourBy(), isDark.value) : null));
  const path = useComputed(() => {
    const [g, scene] = [store.graph.value, store.scene.value];
    return g && scene && pathShown() ? pathInScene(g, scene) : null;
  });
  const marks = useComputed(() => {
    const [g, scene] = [store.graph.value, store.scene.value];
    return g && scene ? marksOf(g, scene, selection.value, (run) => store.isAlike(run)) : null;
  });

  // The film stays in view.
  useSignalEffect(() => {
    const now = marks.value?.now ?? null;
    const item = now === null ? undefined : store.scene.peek()?.items[now];
    if (item) store.camera.reveal(item);
  });

  const g = store.graph.value;
  if (summary.value?.counts.graphs === 0)
    return (
      <Empty title="No graph was recorded">
        <p>The trace was cut off, or the run ended, before the first graph was written.</p>
      </Empty>
    );
  if (store.error.value && !g) return <Failure error={store.error.value} retry={() => store.ask(question(null))} />;
  if (!g || !colouring.value) return <Loading what="the graph" />;
  if (g.nTensors === 0 || g.nNodes === 0)
    return (
      <Empty title="This graph has no node">
        <p>Nothing was computed in this run. Choose another token below.</p>
      </Empty>
    );
  return (
    <div class="graph-view">
      <Tools store={store} g={g} colouring={colouring.value} findBox={findBox} />
      <Facts g={g} simple={store.scene.value?.simple ?? 0} />
      {store.error.value && (
        <p class="graph-facts" role="alert">
          {store.error.value.message}
        </p>
      )}
      <div class="graph-stage">
        <GraphCanvas store={store} colouring={colouring} path={path} marks={marks} pointer={pointer} />
        <Busy store={store} />
      </div>
      <Legend g={g} colouring={colouring.value} />
    </div>
  );
}
