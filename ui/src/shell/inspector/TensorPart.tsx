// A tensor: location, type, use.

import { bytes, count, plainName, shape } from "../../draw/format";
import { layerName } from "../../state/layers";
import { select, selection, selectedToken } from "../../state/selection";
import { summary, tensors } from "../../state/trace";
import { Figure, Part, Within } from "./Part";
import { asPattern, Used } from "./Used";
import { Values } from "./Values";

export function TensorPart(props: { name: string }) {
  const all = tensors.value;
  const i = all ? all.name.indexOf(props.name) : -1;
  const clear = () => select({ tensor: null });
  const title = <span class="mono wrap">{plainName(props.name)}</span>;
  if (!all || i < 0)
    return (
      <Part kind="Tensor" title={title} onClear={clear} views={["graph", "log"]}>
        <Figure name="Weight">none: computed, or not in this trace</Figure>
        <Values tensor={props.name} />
      </Part>
    );
  const layer = all.layer_id[i] ?? null;
  const slice = selection.value.slice;
  const file = summary.value?.model_files[all.model_file_id[i]!];
  return (
    <Part kind="Tensor" title={title} onClear={clear} views={["memory", "timeline", "graph", "log", "stats"]}>
      {slice !== null && (
        <Figure name="Expert">
          {slice}{" "}
          <button type="button" class="link" onClick={() => select({ slice: null, region: null })}>
            all experts
          </button>
        </Figure>
      )}
      <Figure name="Type">{plainName(all.type[i]!)}</Figure>
      <Figure name="Shape">{shape(all.ne[i]!)}</Figure>
      <Figure name="Size">{bytes(all.size_bytes[i])}</Figure>
      <Figure name="Part">
        {all.category[i]}
        {all.component[i] !== all.category[i] && `, ${plainName(all.component[i]!)}`}
      </Figure>
      <Figure name="Layer">
        {layer === null ? (
          "none"
        ) : (
          <button type="button" class="link" onClick={() => select({ layer })}>
            {layerName(layer)}
          </button>
        )}
      </Figure>
      <Figure name="File">
        <span class="mono wrap">{file ? plainName(file.name) : "not known"}</span>
      </Figure>
      <Figure name="Offset">{count(all.file_offset_bytes[i])}</Figure>
      <Within />
      {slice !== null && <p class="hint">By all its experts:</p>}
      <Used filter={{ tensor: asPattern(props.name), batch: selectedToken.value }} />
      <Values tensor={props.name} />
    </Part>
  );
}
