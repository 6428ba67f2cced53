// The graph as a table: every node and leaf with its sources.

import { useMemo } from "preact/hooks";
import { useComputed } from "@preact/signals";
import { bytes, duration, shape } from "../../draw/format";
import { VirtualTable, type Column } from "../../parts/VirtualTable";
import { badWords } from "../../state/bad";
import type { TokenGraph } from "./graph";
import { selectTensor } from "./select";
import type { GraphStore } from "./store";

function inputsText(g: TokenGraph, i: number): string {
  return [...g.edgesInto(i)].map((e) => `${g.reply.edges.source[e]} ${g.name(g.reply.edges.source[e]!)}`).join(", ");
}

function columnsOf(g: TokenGraph): Column<number>[] {
  const t = g.reply.tensors;
  return [
    { id: "id", title: "Node", width: 60, number: true, cell: (i) => String(i) },
    { id: "op", title: "Op", width: 120, cell: (i) => (g.isNode(i) ? g.op(i) : "leaf") },
    { id: "name", title: "Name", width: 220, middle: true, tip: (i) => g.name(i), cell: (i) => g.name(i) },
    { id: "part", title: "Part", width: 80, cell: (i) => (g.isNode(i) ? g.partTitle(g.partOf(i)) : "") },
    { id: "type", title: "Type", width: 60, cell: (i) => g.type(i) },
    { id: "shape", title: "Shape", width: 130, cell: (i) => shape(g.ne(i)) },
    { id: "duration_ns", title: "Time", width: 90, number: true, cell: (i) => timeText(g, i) },
    {
      id: "weight_bytes",
      title: "Weights read",
      width: 100,
      number: true,
      cell: (i) => (g.isNode(i) && t.op_nodes[i] !== null ? bytes(t.weight_bytes[i]) : ""),
    },
    { id: "origin", title: "Origin", width: 220, tip: (i) => g.place(i), cell: (i) => g.place(i) },
    {
      id: "critical",
      title: "Critical step",
      width: 90,
      number: true,
      cell: (i) => String((g.criticalStep(i) ?? -1) + 1 || ""),
    },
    { id: "values", title: "Values", width: 130, cell: (i) => (g.isNode(i) ? (badWords(g.reply.run, g.opOf(i)) ?? "") : "") },
    { id: "inputs", title: "Inputs", width: 420, tip: (i) => inputsText(g, i), cell: (i) => inputsText(g, i) },
  ];
}

function timeText(g: TokenGraph, i: number): string {
  if (!g.isNode(i)) return "";
  const into = g.reply.tensors.fused_into[i];
  if (into !== null && into !== undefined) return `with ${into}`;
  return g.executes(i) ? duration(g.reply.tensors.duration_ns[i]) : "none";
}

export function NodeTable(props: { store: GraphStore; g: TokenGraph }) {
  const { store, g } = props;
  const columns = useMemo(() => columnsOf(g), [g]);
  const selected = useComputed(() => {
    const tensor = store.cursor.value?.tensor ?? -1;
    return tensor < 0 ? null : tensor;
  });
  return (
    <div class="graph-table">
      <VirtualTable
        label="Nodes and leafs of the graph, with their inputs"
        columns={columns}
        count={g.nTensors}
        row={(i) => i}
        selected={selected.value}
        onSelect={(i) => {
          selectTensor(g, i);
          void store.goTo(i);
        }}
      />
    </div>
  );
}
