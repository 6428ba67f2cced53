// The row of controls above the graph.

import type { MutableRef } from "preact/hooks";
import { fileAddress, ofTrace } from "../../api/client";
import { count, duration } from "../../draw/format";
import { select, selectedTrace } from "../../state/selection";
import { COLOUR_BYS, COLOUR_TITLES, type Colouring } from "./colours";
import type { TokenGraph } from "./graph";
import {
  colourBy,
  openParts,
  pathShown,
  searchText,
  setColourBy,
  setSearchText,
  showPath,
  showWeights,
  wantRun,
  weightsShown,
} from "./state";
import type { GraphStore } from "./store";

function Find(props: { store: GraphStore; box: MutableRef<HTMLInputElement | null> }) {
  const { store } = props;
  const total = store.hitsTotal.value;
  const listed = store.hits.value.length;
  const at = store.hit.value;
  const text = searchText();
  return (
    <span class="group" role="search" aria-label="Nodes">
      <input
        type="search"
        ref={props.box}
        aria-label="Search nodes and leafs by name, op, component or type"
        placeholder="Search nodes (/)"
        value={text}
        onInput={(event) => setSearchText(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === "Enter") store.nextHit(event.shiftKey ? -1 : 1);
          if (event.key === "Escape") {
            setSearchText("");
            event.currentTarget.blur();
            event.stopPropagation();
          }
        }}
      />
      {text.trim() && (
        <>
          <span>
            {total ? `${at === null ? "" : `${at + 1} of `}${count(total)}${total > listed ? ` (the first ${count(listed)})` : ""}` : "none"}
          </span>
          <button type="button" disabled={!listed} onClick={() => store.nextHit(-1)} aria-label="Previous match">
            ↑
          </button>
          <button type="button" disabled={!listed} onClick={() => store.nextHit(1)} aria-label="Next match">
            ↓
          </button>
        </>
      )}
    </span>
  );
}

function Runs(props: { g: TokenGraph }) {
  const { reply } = props.g;
  if (reply.batch_runs.length < 2) return null;
  return (
    <label>
      Run
      <select
        value={String(reply.run)}
        onChange={(event) => {
          select({ op: null });
          wantRun(Number(event.currentTarget.value));
        }}
      >
        {reply.batch_runs.map((r) => (
          <option key={r.run} value={String(r.run)}>
            {`${r.graph_run}: ${count(r.nodes_total)} nodes, ${duration(r.duration_ns)}`}
          </option>
        ))}
      </select>
    </label>
  );
}

function Export(props: { g: TokenGraph; colouring: Colouring }) {
  const { g, colouring } = props;
  const params = {
    run: g.reply.run,
    batch: g.reply.run === null ? g.reply.batch_id : null,
    color: { time: "time", bytes: "bytes", category: "op", origin: "none" }[colouring.by],
  };
  const closed = openParts().size === 0 && params.color !== "op";
  return (
    <a href={fileAddress(ofTrace(selectedTrace.value, "graph/dot"), { ...params, collapse: closed ? 1 : 0 })} download="graph.dot" title="Save the graph in Graphviz's language">
      DOT
    </a>
  );
}

export function Tools(props: {
  store: GraphStore;
  g: TokenGraph;
  colouring: Colouring;
  findBox: MutableRef<HTMLInputElement | null>;
}) {
  const { store, g } = props;
  const steps = g.reply.critical_path.nodes.length;
  return (
    <div class="graph-tools" role="toolbar" aria-label="Graph">
      <label>
        Colour
        <select value={colourBy()} onChange={(event) => setColourBy(event.currentTarget.value)}>
          {COLOUR_BYS.map((by) => (
            <option key={by} value={by}>
              {COLOUR_TITLES[by]}
            </option>
          ))}
        </select>
      </label>
      <label>
        <input type="checkbox" checked={weightsShown()} onChange={(event) => showWeights(event.currentTarget.checked)} />
        Weights
      </label>
      <label>
        <input type="checkbox" checked={pathShown()} disabled={!steps} onChange={(event) => showPath(event.currentTarget.checked)} />
        Critical path
      </label>
      <span class="group">
        <button type="button" onClick={() => store.toggleAll(true)}>
          Open all
        </button>
        <button type="button" onClick={() => store.toggleAll(false)}>
          Close all
        </button>
        <button type="button" onClick={() => store.camera.all()}>
          Fit
        </button>
      </span>
      <Runs g={g} />
      <Find store={store} box={props.findBox} />
      <Export g={g} colouring={props.colouring} />
    </div>
  );
}
