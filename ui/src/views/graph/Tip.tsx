// Tooltip of a box or a line.

import { bytes, count, counted, duration, percent, shape } from "../../draw/format";
import { badWords } from "../../state/bad";
import { Tooltip } from "../../parts/Tooltip";
import type { TokenGraph } from "./graph";
import type { Item, Line, Scene } from "./scene";

function Row(props: { what: string; value: string }) {
  return (
    <tr>
      <th scope="row">{props.what}</th>
      <td>{props.value}</td>
    </tr>
  );
}

function PartTip({ g, part }: { g: TokenGraph; part: number }) {
  const p = g.reply.parts;
  const alike = p.shape.filter((s) => s === p.shape[part]).length;
  const total = g.reply.total_ns;
  const time = p.total_ns[part] ?? null;
  return (
    <table>
      <caption>{g.partTitle(part)}</caption>
      <tbody>
        <Row what="nodes" value={`${count(p.nodes[part])}, of which ${count(p.executes[part])} execute`} />
        <Row what="ops recorded" value={count(p.ops[part])} />
        <Row what="time" value={`${duration(time)}${time !== null && total ? ` (${percent(time / total)} of all ops)` : ""}`} />
        <Row what="weights read" value={`${p.weight_bytes_at_most[part] ? "at most " : ""}${bytes(p.weight_bytes[part])}`} />
        <Row what="shape" value={alike > 1 ? `same structure as ${counted(alike - 1, "other part")}` : "no other part has the same structure"} />
      </tbody>
    </table>
  );
}

function NodeTip({ g, tensor }: { g: TokenGraph; tensor: number }) {
  const t = g.reply.tensors;
  const members = [...g.members(tensor)];
  const inputs = g.inputs(tensor);
  const step = g.criticalStep(tensor);
  const total = g.reply.total_ns;
  const time = t.duration_ns[tensor] ?? null;
  const bad = badWords(g.reply.run, tensor);
  return (
    <table>
      <caption>
        {g.op(tensor)} <span class="mono">{g.name(tensor)}</span>
      </caption>
      <tbody>
        {members.length > 1 && (
          <Row what="fused" value={`${members.length} nodes computed by one op: ${members.map((i) => g.name(i)).join(", ")}`} />
        )}
        <Row what="node" value={`${tensor} of ${g.partTitle(g.partOf(tensor))}, ${g.category(tensor)}`} />
        <Row what="value" value={`${g.type(tensor)} ${shape(g.ne(members.at(-1) ?? tensor))}, ${bytes(t.size_bytes[members.at(-1) ?? tensor])}`} />
        {g.executes(tensor) && (
          <Row what="time" value={`${duration(time)}${time !== null && total ? ` (${percent(time / total)} of all ops)` : ""}`} />
        )}
        {g.executes(tensor) && (
          <Row what="weights read" value={`${t.weight_bytes_at_most[tensor] ? "at most " : ""}${bytes(t.weight_bytes[tensor])}`} />
        )}
        <Row what="backend" value={g.backend(tensor) ?? "not observed"} />
        {bad && <Row what="values" value={bad} />}
        {step !== null && (
          <Row what="critical path" value={`step ${step + 1} of ${g.reply.critical_path.nodes.length}`} />
        )}
        {inputs.slice(0, 8).map((i) => (
          <Row key={i} what={g.origin(i)} value={`${g.name(i)}: ${g.type(i)} ${shape(g.ne(i))}, ${g.place(i)}`} />
        ))}
        {inputs.length > 8 && <Row what="" value={`and ${inputs.length - 8} more inputs`} />}
      </tbody>
    </table>
  );
}

function LeafTip({ g, tensor }: { g: TokenGraph; tensor: number }) {
  const t = g.reply.tensors;
  return (
    <table>
      <caption class="mono">{g.name(tensor)}</caption>
      <tbody>
        <Row what="leaf" value={t.weight[tensor] ? "a weight" : t.flag[tensor] || "not computed here"} />
        <Row what="value" value={`${g.type(tensor)} ${shape(g.ne(tensor))}, ${bytes(t.size_bytes[tensor])}`} />
        <Row what="origin" value={g.place(tensor)} />
        <Row what="used by" value={counted(g.consumers(tensor).length, "op")} />
      </tbody>
    </table>
  );
}

function PortTip({ g, item }: { g: TokenGraph; item: Item }) {
  const from = g.partTitle(g.partOf(item.tensor));
  return (
    <p>
      <span class="mono">{g.name(item.tensor)}</span>
      {item.kind === "entry" ? ` comes from ${from}` : " is used in another part"}; {g.type(item.tensor)}{" "}
      {shape(g.ne(item.tensor))}, {bytes(g.reply.tensors.size_bytes[item.tensor])}
    </p>
  );
}

export function ItemTip(props: { g: TokenGraph; item: Item; x: number; y: number }) {
  const { g, item } = props;
  return (
    <Tooltip x={props.x} y={props.y}>
      <div class="graph-tip">
        {item.kind === "part" ? (
          <PartTip g={g} part={item.part} />
        ) : item.kind === "leaf" ? (
          <LeafTip g={g} tensor={item.tensor} />
        ) : item.kind === "entry" || item.kind === "exit" ? (
          <PortTip g={g} item={item} />
        ) : (
          <NodeTip g={g} tensor={item.tensor} />
        )}
      </div>
    </Tooltip>
  );
}

function edgeText(g: TokenGraph, edge: number): string {
  const { source, target, slot, is_view } = g.reply.edges;
  const from = source[edge]!;
  const what = slot[edge] === null ? "viewed by" : `source ${slot[edge]} of`;
  return `${g.name(from)} is ${what} ${g.name(target[edge]!)}${is_view[edge] ? " (a view of its bytes)" : ""}: ${g.type(from)} ${shape(g.ne(from))}, ${bytes(g.reply.tensors.size_bytes[from])}`;
}

/** The ends of the line, and the shapes and sizes of its values. */
export function LineTip(props: { g: TokenGraph; scene: Scene; line: Line; x: number; y: number }) {
  const { g, scene, line } = props;
  const title = (item: Item) => (item.kind === "part" ? g.partTitle(item.part) : g.name(item.tensor));
  const texts = line.edges.length
    ? line.edges.map((edge) => edgeText(g, edge))
    : line.tensors.map((t) => `${g.name(t)}: ${g.type(t)} ${shape(g.ne(t))}, ${bytes(g.reply.tensors.size_bytes[t])}`);
  return (
    <Tooltip x={props.x} y={props.y}>
      <div class="graph-tip">
        <p>
          {title(scene.items[line.from]!)} → {title(scene.items[line.to]!)}
        </p>
        {texts.slice(0, 8).map((each) => (
          <p key={each} class="mono">
            {each}
          </p>
        ))}
        {texts.length > 8 && <p>and {texts.length - 8} more</p>}
      </div>
    </Tooltip>
  );
}
