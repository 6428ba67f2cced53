import { Tooltip } from "../../parts/Tooltip";
import { tensors } from "../../state/trace";
import { factsOf, regionTitle } from "./describe";
import type { Known } from "./heat";

export function MapTooltip(props: { known: Known; region: number; expert: number | null; x: number; y: number }) {
  return (
    <Tooltip x={props.x} y={props.y}>
      <strong class="mono">{regionTitle(props.known.map, props.region)}</strong>
      <dl class="facts">
        {factsOf(props.known, tensors.value, props.region, props.expert).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
    </Tooltip>
  );
}
