import { Tooltip } from "../../parts/Tooltip";
import { tensors } from "../../state/trace";
import { factsOf, regionTitle } from "./describe";
import { cellFacts } from "./pageWords";
import { PageFaults } from "../../parts/PageFaults";
import type { Cell, Paged } from "./pages";
import { part } from "./data";
import { regionOfCell } from "./choose";
import type { Known } from "./heat";

/** At most so many single faults: more are listed in the inspector, once they are chosen. */
const FAULTS = 2;

export function MapTooltip(props: { known: Known; region: number; expert: number | null; cell: Cell | null; paged: Paged | null; pageBytes: number; x: number; y: number }) {
  const { cell, paged, known } = props;
  const region = cell ? regionOfCell(known, props.region, cell) : props.region;
  const facts = paged ? cellFacts(known, paged, region, cell, props.pageBytes) : factsOf(known, tensors.value, props.region, props.expert);
  return (
    <Tooltip x={props.x} y={props.y}>
      <strong class="mono">{regionTitle(known.map, region)}</strong>
      <dl class="facts">
        {facts.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {cell && paged === "pages" && <PageFaults region={cell} params={part.value.params} most={FAULTS} />}
    </Tooltip>
  );
}
