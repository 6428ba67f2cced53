// An executed op.

import { select, type OpRef } from "../../state/selection";
import { Figure, Part } from "./Part";

export function OpPart(props: { op: OpRef }) {
  const { op } = props;
  return (
    <Part kind="Op" title={`node ${op.node} of run ${op.run}`} onClear={() => select({ op: null })} views={["timeline", "graph", "log"]}>
      <Figure name="Run">{op.run}</Figure>
      <Figure name="Node">{op.node}</Figure>
    </Part>
  );
}
