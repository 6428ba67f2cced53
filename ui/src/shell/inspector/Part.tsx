// One thing that is selected: its name, its figures, and where to look at it.

import type { ComponentChildren } from "preact";
import { Units } from "../../parts/Units";
import { selectedToken } from "../../state/selection";
import { showView } from "../../state/view";
import { VIEWS } from "../../views/all";

export interface PartProps {
  kind: string;
  title: ComponentChildren;
  /** Clears it; omitted: it cannot be cleared. */
  onClear?: () => void;
  /** Ids of views that show it. */
  views?: readonly string[];
  children: ComponentChildren;
}

/** Figures: pairs of a name and a value. */
export function Figure(props: { name: string; children: ComponentChildren }) {
  return (
    <dl class="figure">
      <dt>{props.name}</dt>
      <dd>
        <Units>{props.children}</Units>
      </dd>
    </dl>
  );
}

/** Scope of the figures below: the selected token, or all tokens. */
export function Within() {
  const token = selectedToken.value;
  return <p class="within">{token === null ? "In the whole run" : `In token ${token}`}</p>;
}

export function Part(props: PartProps) {
  return (
    <section class="part" aria-label={props.kind}>
      <div class="part-head">
        <h3>
          <span class="kind">{props.kind}</span> {props.title}
        </h3>
        {props.onClear && (
          <button type="button" class="sign" aria-label={`Clear the ${props.kind.toLowerCase()}`} title={`Clear the ${props.kind.toLowerCase()}`} onClick={props.onClear}>
            ×
          </button>
        )}
      </div>
      <div class="figures">{props.children}</div>
      {props.views && (
        <p class="links no-picture">
          Show in{" "}
          {VIEWS.filter((v) => props.views!.includes(v.id)).map((v) => (
            <button type="button" class="link" key={v.id} onClick={() => showView(v.id)}>
              {v.title}
            </button>
          ))}
        </p>
      )}
    </section>
  );
}
