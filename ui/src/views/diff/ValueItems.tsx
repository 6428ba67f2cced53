// The values that are not equal, in the order of execution.

import { count, plainName } from "../../draw/format";
import { VirtualTable, type Column } from "../../parts/VirtualTable";
import { BLAMES, errorText, VERDICTS, type ValueDiff, type ValueItem } from "./valuesAnswer";

const COLUMNS: Column<ValueItem>[] = [
  { id: "token", title: "Token", width: 60, number: true, cell: (i) => i.a?.batch_id ?? i.b?.batch_id ?? "none" },
  { id: "layer", title: "Layer", width: 60, number: true, cell: (i) => (i.layer === null ? "?" : i.layer < 0 ? "none" : i.layer) },
  { id: "stage", title: "Stage", width: 130, cell: (i) => plainName(i.stage) + (i.occurrence > 0 ? ` (${i.occurrence + 1})` : "") },
  { id: "name", title: "Output of A", width: 130, cell: (i) => (i.a ? plainName(i.a.name) : "not measured"), tip: (i) => i.a?.name },
  { id: "verdict", title: "Verdict", width: 110, cell: (i) => <span class={`diff-value-${i.verdict}`}>{VERDICTS[i.verdict]}</span> },
  { id: "blame", title: "The error is", width: 100, hint: "Own: its inputs are equal, or much closer. Inherited: an input has an error of this size.", cell: (i) => BLAMES[i.blame] },
  { id: "rel_l2", title: "Relative L2", width: 100, number: true, cell: (i) => errorText(i.rel_l2, i.rel_l2_infinite, i.rel_l2_at_least) },
  { id: "input", title: "Error of inputs", width: 100, number: true, cell: (i) => errorText(i.input_rel_l2) },
  { id: "gap", title: "1 - cosine", width: 90, number: true, cell: (i) => (i.cosine === null ? "not known" : errorText(Math.max(0, 1 - i.cosine))) },
  { id: "max_abs", title: "Max abs", width: 90, number: true, cell: (i) => errorText(i.max_abs) },
  { id: "basis", title: "From", width: 80, hint: "What the errors were computed from: all elements, samples, or statistics, which give lower bounds only.", cell: (i) => i.basis },
];

export function ValueItems(props: { diff: ValueDiff; selected: number; choose: (item: ValueItem) => void; related: (item: ValueItem) => boolean }) {
  const { items, items_left_out } = props.diff;
  return (
    <section aria-label="Values that are not equal">
      <h3>
        Values that are not equal: {count(items.length + items_left_out)}
        {items_left_out > 0 && `, the first ${count(items.length)} are listed`}
      </h3>
      <div class="diff-value-table">
        <VirtualTable
          label="Values that are not equal, in execution order"
          columns={COLUMNS}
          count={items.length}
          row={(i) => items[i] ?? null}
          selected={props.selected >= 0 ? props.selected : null}
          related={props.related}
          onSelect={(_, item) => props.choose(item)}
          empty={<p>All that was compared is equal, to the bit.</p>}
        />
      </div>
    </section>
  );
}
